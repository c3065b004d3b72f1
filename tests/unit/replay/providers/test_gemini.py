"""Requests to Gemini: what they look like, the judge beside the vendor's own types, and each mend."""

from __future__ import annotations

from typing import Any

import pytest

from replay import Result, replay
from replay.items import NO_RESULT
from replay.providers import content, gemini, gemini_parts
from replay.providers.gemini_signatures import DUMMY
from replay.providers.merging import Merged
from replay.providers.names import FunctionNames
from replay.providers.rules import Judged
from replay.providers.rules.gemini import RULES
from replay.providers.violations import violations
from tests.unit.replay.providers.gemini_shapes import gemini_faults
from tests.unit.replay.providers.rendering import call, codes, records, result, start, text, thinking, user

Content = dict[str, Any]
THIRD, SECOND = "gemini-3-pro", "gemini-2.5-flash"
IMAGE = {"type": "image", "media_type": "image/png", "data": "QUJD"}
INLINE = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}
SIGNATURE, OTHER = "c2ln", "b3RoZXI="


def u(*parts: Any) -> Content:
    return {"role": "user", "parts": list(parts) or [{"text": "x"}]}


def m(*parts: Any) -> Content:
    return {"role": "model", "parts": list(parts) or [{"text": "x"}]}


def f(name: str = "f", signature: str | None = None, args: Any = None, **more: Any) -> dict[str, Any]:
    signed = {} if signature is None else {"thoughtSignature": signature}
    return {"functionCall": {"name": name, "args": {} if args is None else args, **more}, **signed}


def r(name: str = "f", response: Any = None, **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"result": "x"} if response is None else response,
                                 **more}}  # fmt: skip


SERVED = {"toolType": "GOOGLE_SEARCH_WEB", "id": "s1"}

# Rules, model, whether the vendor's types find it too, history.
BAD: list[tuple[str, str, bool, list[Content]]] = [
    ("G1", SECOND, False, [u(), m(f(), f("g")), u(r())]),
    ("G1", SECOND, False, [u(), m(f()), u()]),
    ("G1", SECOND, False, [u(), m(f()), u({"text": "x"}, r())]),
    ("G1", SECOND, False, [u(), m(f()), u(r(), r())]),
    ("G2 G9", SECOND, False, [m(f()), u(r())]),
    ("G2", SECOND, False, [u(), m(), m(f()), u(r())]),
    ("G3", SECOND, False, [u(), u(r())]),
    ("G3", SECOND, False, [u(), m(), u(r()), m(), u()]),
    ("G5", SECOND, False, [u(), {"role": "model", "parts": []}, u()]),
    ("G5", SECOND, False, [u(), m({"text": ""}), u()]),
    ("G5", SECOND, False, [u({"text": "x", **INLINE})]),
    ("G5", SECOND, False, [u(), m({"thoughtSignature": SIGNATURE}), u()]),
    ("G6", SECOND, False, [u(), {"role": "assistant", "parts": [{"text": "x"}]}, u()]),
    ("G7", SECOND, True, [u(), m(f()), u(r(response="x"))]),
    ("G7", SECOND, False, [u(), m(f()), u(r("g"))]),
    ("G7", SECOND, False, [u(), m(f(id="1")), u(r(id="2"))]),
    ("G7", SECOND, False, [u(), m(f()), u(r(response={"x": [{"$ref": "a"}]}))]),
    ("G8", SECOND, True, [u(), m(f(args="{}")), u(r())]),
    ("G7 G8", SECOND, False, [u(), m(f("a b")), u(r())]),
    ("G9", SECOND, False, [m(), u()]),
    ("G10", THIRD, False, [u(), m(f()), u(r())]),
    ("G10", THIRD, False, [u(), m(f(signature=SIGNATURE)), u(r()), m(f()), u(r())]),
    ("G11", SECOND, False, [u(), m(f(signature=DUMMY)), u(r())]),
    ("G11", THIRD, False, [u(), m(f(signature=DUMMY), f("g", DUMMY)), u(r(), r("g"))]),
    ("G11", THIRD, False, [u(), m({"text": "x", "thoughtSignature": DUMMY}), u()]),
    ("G13", THIRD, False, [u(), m({**INLINE, "thoughtSignature": SIGNATURE}), u()]),
    ("G15", SECOND, False, [u(), m({"toolCall": SERVED}, {"toolResponse": SERVED}), u()]),
    ("G15", THIRD, False, [u(), m({"toolCall": SERVED}), u()]),
    ("S1", SECOND, False, [u({"text": "\ud800"})]),
    ("S2", SECOND, True, [u({"text": 7})]),
    ("S2", SECOND, True, [u({"text": "x", "cacheControl": {}})]),
    ("S2", SECOND, True, [{**u(), "id": "x"}]),
    ("S2", SECOND, False, [u(), m({"text": "x", "thoughtSignature": "no base64!"}), u()]),
    ("X5", SECOND, False, [u(), m()]),
    ("X5", SECOND, False, []),
]
GOOD: list[tuple[str, list[Content]]] = [
    (SECOND, [u(), m(f(), f("g")), u(r(), r("g"), INLINE, {"text": "x"})]),
    (SECOND, [u(), m({"text": "x"}, f()), u(r()), m({"text": "y"}), u()]),
    (THIRD, [u(), m(f(signature=SIGNATURE), f("g")), u(r(), r("g")), m(f(signature=DUMMY)), u(r())]),
    (THIRD, [u(), m(f()), u(r()), m(), u()]),  # earlier turns are not validated
    (THIRD, [u(), m({"text": "", "thoughtSignature": SIGNATURE}), u()]),
    (THIRD, [u(), m({"text": "hm", "thought": True}, f(id="1", signature=SIGNATURE)), u(r(id="1"))]),
    (THIRD, [u(), m({"toolCall": SERVED}, {"toolResponse": SERVED}, {"text": "x"}), u()]),
]


def broken(model: str | None, contents: list[Content], **more: Any) -> set[str]:
    return {
        one.rule for one in violations({"provider": "gemini", "model": model}, {"contents": contents}, **more)
    }


@pytest.mark.parametrize(("rules", "model", "by_vendor", "contents"), BAD)
def test_a_bad_history(rules: str, model: str, by_vendor: bool, contents: list[Content]) -> None:
    assert broken(model, contents) == set(rules.split())
    if by_vendor:
        assert gemini_faults({"contents": contents})


@pytest.mark.parametrize(("model", "contents"), GOOD)
def test_a_good_history(model: str, contents: list[Content]) -> None:
    assert broken(model, contents) == set()
    assert gemini_faults({"contents": contents}) == []


def test_every_rule_that_a_request_can_break_has_a_bad_history() -> None:
    judged = {one.id for one in RULES.values() if one.judged is Judged.REQUEST}
    assert {name for rules, *_ in BAD for name in rules.split()} == judged


def test_the_start_of_a_conversation_may_be_open() -> None:
    assert broken(SECOND, [u(), m(f())], sendable=False) == set()
    assert broken(SECOND, [u(), m(f()), u(), m()], sendable=False) == {"G1"}


def test_of_an_unknown_model_nothing_is_said_that_only_some_refuse() -> None:
    assert broken(None, [u(), m(f(signature=DUMMY)), u(r())]) == set()
    assert broken("made-up", [u(), m(f()), u(r())]) == set()


def test_what_stands_beside_the_contents() -> None:
    for beside, rule in (
        ({"systemInstruction": "s"}, "S2"),
        ({"tools": [{"functionDeclarations": [{"name": "a b"}]}]}, "G8"),
    ):
        assert [one.rule for one in violations("gemini", {"contents": [u()], **beside})] == [rule]
    assert [one.rule for one in violations("gemini", {"contents": 3})] == ["S2"]


def answer(*events: dict[str, Any], model: str = THIRD, **target: Any) -> Result:
    spelled = {"provider": "gemini", "model": model, **target}
    found = replay(records(events), "c", spelled)
    assert violations(spelled, found.request, sendable=found.sendable) == []
    assert gemini_faults(found.request) == []
    return found


def own(step: str = "s1", api: str | None = "google-generative-ai", model: str = THIRD, **more: Any) -> Content:
    return start(step, provider="google", api=api, model=model, **more)


def told(signature: str) -> dict[str, Any]:
    return {"provider_metadata": {"google": {"thoughtSignature": signature}}}


def test_a_whole_request() -> None:
    found = answer(
        {"type": "context", "digest": "d", "system": "Be brief.",
         "settings": {"temperature": 0.5, "top_p": 0.9, "max_tokens": 99, "tool_choice": "required", "x": 1},
         "tools": [{"name": "read", "description": "Reads.", "input_schema": {"type": "object"}}]},
        user([{"type": "text", "text": "q"}, IMAGE]),
        own(),
        text("s1", "Reading."),
        call("s1", "c1", {"path": "ä"}, **told(SIGNATURE)),
        call("s1", "c2"),
        result("c2", content="second"),
        result("c1", content=[{"type": "text", "text": "first"}, IMAGE]),
        user("r"),
        thinking={"includeThoughts": True},
    )  # fmt: skip
    assert found.request == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [
            {"name": "read", "description": "Reads.", "parametersJsonSchema": {"type": "object"}}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "generationConfig": {"temperature": 0.5, "topP": 0.9, "maxOutputTokens": 99,
                             "thinkingConfig": {"includeThoughts": True}},
        "contents": [
            u({"text": "q"}, INLINE),
            m({"text": "Reading."}, f("read", SIGNATURE, {"path": "ä"}, id="c1"), f("read", id="c2")),
            u(r("read", {"result": "first"}, id="c1"), r("read", {"result": "second"}, id="c2"), INLINE,
              {"text": "r"}),
        ],
    }  # fmt: skip
    assert [(one.code, one.detail) for one in found.diagnostics] == [("setting_skipped", {"setting": "x"})]
    assert found.provenance == [[[2], [2]], [[4], [5], [6]], [[8], [7], [8], [9]]]


SIGNED = [
    {"provider_metadata": {"google": {"thoughtSignature": SIGNATURE}}},  # AI SDK
    {"provider_metadata": {"vertex": {"thoughtSignature": SIGNATURE}}},
    {"provider_metadata": {"google": {"thought_signature": SIGNATURE}}},
    {"provider_metadata": {"pi": {"thoughtSignature": SIGNATURE}}},
    {"provider_metadata": {"pydantic-ai": {"provider_details": {"thought_signature": SIGNATURE}}}},
    {"provider_metadata": {"thoughtSignature": SIGNATURE}},
]


@pytest.mark.parametrize("opaque", SIGNED)
def test_a_signature_stays_on_its_part_whoever_recorded_it(opaque: dict[str, Any]) -> None:
    found = answer(user("q"), own(), text("s1", "a"), text("s1", "b", **opaque), call("s1", **opaque), result())
    signed = {"thoughtSignature": SIGNATURE}
    assert found.messages[1] == m({"text": "a"}, {"text": "b", **signed}, f("read", SIGNATURE, id="c1"))
    assert codes(found) == []


def test_pis_envelope_gives_signatures_back() -> None:
    blocks = [
        {"type": "reasoning", "thinkingSignature": SIGNATURE},
        {"type": "text", "textSignature": OTHER},
        {"type": "tool-call", "thoughtSignature": SIGNATURE},
    ]
    state = {
        "response": {"kind": "pi-ai", "version": 2, "api": "google-generative-ai", "provider": "google",
                     "model": THIRD, "stopReason": "toolUse"},
        "blocks": blocks,
    }  # fmt: skip
    finish = {"type": "step_finish", "turn_id": "t1", "step_id": "s1", "finish_reason": "tool_use"}
    step = [own(), thinking("s1", "hm", None), text("s1", "a"), call("s1")]
    found = answer(user("q"), *step, {**finish, "replay_state": state}, result())
    assert found.messages[1] == m(
        {"text": "hm", "thought": True, "thoughtSignature": SIGNATURE},
        {"text": "a", "thoughtSignature": OTHER},
        f("read", SIGNATURE, id="c1"),
    )
    spoilt = {**state, "response": {**state["response"], "version": 9}}  # type: ignore[dict-item]
    found = answer(user("q"), *step, {**finish, "replay_state": spoilt}, result())
    assert found.messages[1] == m({"text": "a"}, f("read", DUMMY, id="c1"))
    assert SIGNATURE not in str(found.request)


def history(**made_by: Any) -> list[dict[str, Any]]:
    return [
        user("q"), start("s1", **made_by), thinking("s1", "hm", SIGNATURE),
        text("s1", "Reading.", **told(SIGNATURE)), call("s1", "c1", **told(SIGNATURE)), call("s1", "c2"),
        result("c1"), result("c2"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("made_by", "target"),
    [
        ({"provider": "anthropic", "model": "claude-opus-4-5"}, {}),
        ({"provider": "google", "model": "gemini-3-flash"}, {}),
        ({"provider": "google-vertex", "model": THIRD}, {}),
        ({"provider": "google", "api": "vertex", "model": THIRD}, {}),
        ({"provider": "google", "api": "google-generative-ai", "model": THIRD}, {"api": "vertex"}),
        ({"provider": "google", "model": THIRD, "account": "a"}, {"account": "b"}),
        ({"provider": "google", "model": THIRD}, {"rung": "no-foreign"}),
        ({"provider": "google", "model": THIRD}, {"rung": "no-thinking"}),
    ],
)
def test_what_gemini_cannot_read_is_a_dummy_on_the_first_call(made_by: Any, target: Any) -> None:
    found = answer(*history(**made_by), **target)
    assert found.messages[1:] == [
        m({"text": "Reading."}, f("read", DUMMY), f("read")),
        u(r("read", {"result": "out"}), r("read", {"result": "out"})),
    ]
    assert SIGNATURE not in str(found.request)
    assert "signature_dummy" in codes(found)


def test_vertex_reads_its_own() -> None:
    found = answer(*history(provider="google-vertex", api="vertex", model=THIRD), api="vertex")
    assert SIGNATURE in str(found.messages[1])
    assert DUMMY not in str(found.request)


def test_models_before_the_third_get_no_dummy_and_no_ids() -> None:
    found = answer(*history(provider="anthropic", model="claude-opus-4-5"), model=SECOND)
    assert found.messages[1] == m({"text": "Reading."}, f("read"), f("read"))
    mine = answer(*history(provider="google", model=SECOND), model=SECOND)
    assert mine.messages[1]["parts"][2] == f("read", SIGNATURE)


def test_a_dummy_stands_in_every_turn() -> None:
    """The current turn moves on, and what was sent stays as it was (X7)."""
    events = [*history(provider="openai", model="gpt-5.4"), start("s2", provider="openai"), text("s2", "done")]
    earlier = answer(*events[:8]).messages
    later = answer(*events, user("r", turn="t2")).messages
    assert later[: len(earlier)] == earlier


def test_responses_are_objects() -> None:
    made = [call("s1", f"c{at}") for at in range(6)]
    found = answer(
        user("q"), own(), *made,
        result("c0", {"a": {"$ref": "x", "b": [{"$ref": 1}]}}),
        result("c1", [3]),
        result("c2", "gone", is_error=True),
        result("c3", ""),
        result("c4", [IMAGE]),
        user("r", turn="t2"),
    )  # fmt: skip
    parts: Any = found.messages[2]["parts"]
    assert [part["functionResponse"]["response"] for part in parts if "functionResponse" in part] == [
        {"a": {"$$ref": "x", "b": [{"$$ref": 1}]}},
        {"result": "[3]"},
        {"error": "gone"},
        {"result": content.NO_OUTPUT},
        {"result": ""},
        {"error": NO_RESULT},
    ]
    assert parts[6:] == [INLINE, {"text": "r"}]


def test_a_tool_is_called_by_the_name_that_declares_it() -> None:
    tools = [{"name": "files read/1", "input_schema": {}}]
    found = answer({"type": "context", "digest": "d", "tools": tools}, user("q"), own(),
                   call("s1", tool_name="files read/1"), result())  # fmt: skip
    request: Any = found.request
    name = request["tools"][0]["functionDeclarations"][0]["name"]
    assert request["contents"][1]["parts"][0]["functionCall"]["name"] == name
    assert request["contents"][2]["parts"][0]["functionResponse"]["name"] == name
    assert "tool_name_rewritten" in codes(found)


def test_neighbours_are_one_content_and_their_parts_stay_apart() -> None:
    found = answer(
        user("a"), user("b"),
        own(), text("s1", "c", **told(SIGNATURE)), own("s2"), text("s2", "d", **told(OTHER)),
        {"type": "system_message", "content": "now"}, user("e"),
    )  # fmt: skip
    assert found.messages == [
        u({"text": "a"}, {"text": "b"}),
        m({"text": "c", "thoughtSignature": SIGNATURE}, {"text": "d", "thoughtSignature": OTHER}),
        u({"text": "<system>\nnow\n</system>"}, {"text": "e"}),
    ]
    assert codes(found) == ["system_message_as_user"]


def test_files() -> None:
    data = {"type": "file", "media_type": "application/pdf", "data": "QUJD"}
    url = "https://generativelanguage.googleapis.com/v1beta/files/x"
    film, image = {"type": "file", "media_type": "video/mp4", "url": url}, "https://a.example/x.png"
    found = answer(user([data, film, {"type": "image", "url": image}, {"type": "hologram"}]))
    assert found.messages == [
        u(
            {"inlineData": {"mimeType": "application/pdf", "data": "QUJD"}},
            {"fileData": {"fileUri": url, "mimeType": "video/mp4"}},
            {"text": "[image left out: only Google's own files are taken by URL]"},
            {"text": "[hologram left out: a block of another kind]"},
        )
    ]
    assert codes(found) == ["content_stand_in", "content_stand_in"]


def test_what_is_left_out_is_said() -> None:
    found = answer(
        user("q"), own(), thinking("s1", "hm", None), own("s2"), text("s2", "  "),
        call("s2", "h1", provider_executed=True), {**result("h1", provider_executed=True), "step_id": "s2"},
        text("s2", "done"), user("r"),
    )  # fmt: skip
    assert found.messages == [u({"text": "q"}), m({"text": "done"}), u({"text": "r"})]
    assert codes(found) == [
        "unsigned_thinking_skipped", "blank_text_skipped", "hosted_block_skipped", "hosted_block_skipped"
    ]  # fmt: skip


def test_a_history_begins_with_the_user_and_ends_before_the_model() -> None:
    found = answer(own(), text("s1", "done"))
    assert found.messages == [u({"text": content.ANCHOR}), m({"text": "done"})]
    assert not found.sendable
    assert codes(found) == ["assistant_first_anchored", "nothing_to_answer"]
    assert not answer().sendable


class Apart(Merged):
    """Neighbours of one role as contents of their own."""

    def add(self, role: str, content: list[Any], origins: Any) -> None:
        self.role = ""
        super().add(role, content, origins)


HISTORY = [
    start("s0", provider="openai"), text("s0", "well"), start("s1", provider="openai"), text("s1", " "),
    call("s1", args="no object"), call("s1", "c2", tool_name="a b"), result(content={"$ref": 1}), result("c2"),
    user([{"type": "text", "text": "\ud800"}, IMAGE]),
]  # fmt: skip


class Swapped(Merged):
    """Each role's parts with the other."""

    def add(self, role: str, content: list[Any], origins: Any) -> None:
        super().add("model" if role == "user" else "user", content, origins)


class Unanchored(Merged):
    """Nothing before a history that the model begins."""

    def add(self, role: str, content: list[Any], origins: Any) -> None:
        if origins != [None]:
            super().add(role, content, origins)


def _signed_data(media: Any) -> Any:
    return {"inlineData": {"mimeType": "image/png", "data": media.data}, "thoughtSignature": "c2ln"}


MENDS: list[tuple[Any, str, Any, str]] = [
    (gemini.GeminiWriting, "_call", lambda *_, **__: {"text": "called"}, "G3"),
    (gemini, "Merged", Swapped, "G6"),
    (gemini, "Merged", Unanchored, "G9"),
    (gemini_parts, "media_part", _signed_data, "G13"),
    (gemini.GeminiWriting, "_results", lambda *_: None, "G1"),
    (gemini, "Merged", Apart, "G2"),
    (gemini, "ANCHOR", "", "G5"),
    (gemini, "is_blank", lambda _: False, "G5"),
    (gemini, "response_of", lambda *_: ("x", []), "G7"),
    (gemini_parts, "_POINTER", "", "G7"),
    (gemini, "input_object", lambda args, _: args, "G8"),
    (FunctionNames, "sent", lambda _, name: name, "G8"),
    (content, "sendable_text", lambda text, _: text, "S1"),
    (gemini_parts, "media_part", lambda media: {"image": media.data}, "S2"),
]


@pytest.mark.parametrize(("place", "attribute", "value", "rule"), MENDS)
def test_without_a_mend_the_judge_finds_the_fault(
    place: Any, attribute: str, value: Any, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = {"provider": "gemini", "model": THIRD}
    assert violations(target, replay(records(HISTORY), "c", target).request) == []
    monkeypatch.setattr(place, attribute, value)
    assert rule in [one.rule for one in violations(target, replay(records(HISTORY), "c", target).request)]


def test_without_its_refusal_an_end_that_nothing_answers_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    target = {"provider": "gemini", "model": THIRD}
    ended = records([user("q"), start("s1", provider="openai"), text("s1", "done")])
    monkeypatch.setattr(gemini.GeminiWriting, "_refusal", lambda _: True)
    found = replay(ended, "c", target)
    assert [one.rule for one in violations(target, found.request, sendable=found.sendable)] == ["X5"]


def test_a_dummy_for_an_older_model_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemini, "demands_signatures", lambda _: True)
    target = {"provider": "gemini", "model": SECOND}
    assert "G11" in [one.rule for one in violations(target, replay(records(HISTORY), "c", target).request)]


def test_without_the_dummy_the_judge_finds_the_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemini, "demands_signatures", lambda _: False)
    target = {"provider": "gemini", "model": THIRD}
    found = replay(records(HISTORY[:-1]), "c", target)
    assert [one.rule for one in violations(target, found.request)] == ["G10"]
