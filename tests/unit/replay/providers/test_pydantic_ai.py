"""Requests to pydantic-ai: what they look like, the judge beside the library's own adapter, and each mend."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.intake.pydantic_ai.run import Run
from ledger.recorded import RecordedEvent
from ledger.turns import Recording, StreamStamps
from replay import Continued, Result, replay
from replay.providers import content, families, names, pydantic_ai, pydantic_ai_parts
from replay.providers.rules import Judged
from replay.providers.rules.pydantic_ai import RULES
from replay.providers.violations import violations
from tests.unit.replay.providers.pydantic_ai_shapes import pydantic_ai_faults
from tests.unit.replay.providers.rendering import (
    call,
    codes,
    complete,
    records,
    result,
    start,
    text,
    thinking,
    user,
)

TARGET = {"provider": "pydantic-ai", "model": "claude-opus-4-5"}
Part = dict[str, Any]
Message = dict[str, Any]


def q(*parts: Part) -> Message:
    return {"kind": "request", "parts": list(parts)}


def a(*parts: Part) -> Message:
    return {"kind": "response", "parts": list(parts)}


def said(content: Any = "x") -> Part:
    return {"part_kind": "user-prompt", "content": content}


def words(content: str = "y") -> Part:
    return {"part_kind": "text", "content": content}


def thought(**more: Any) -> Part:
    return {"part_kind": "thinking", "content": "hm", **more}


def c(call_id: str = "c1", args: Any = None, name: str = "read", **more: Any) -> Part:
    return {
        "part_kind": "tool-call",
        "tool_name": name,
        "tool_call_id": call_id,
        "args": {} if args is None else args,
        **more,
    }


def o(call_id: str = "c1", content: Any = "out", **more: Any) -> Part:
    return {
        "part_kind": "tool-return",
        "tool_name": "read",
        "tool_call_id": call_id,
        "content": content,
        "outcome": "success",
        **more,
    }


HOSTED = {"tool_name": "web_search", "tool_call_id": "srvtoolu_1", "provider_name": "anthropic"}
HOSTED_CALL = {"part_kind": "builtin-tool-call", **HOSTED}
HOSTED_RETURN = {"part_kind": "builtin-tool-return", **HOSTED, "content": {"hits": 1}}
IMAGE = {"kind": "binary", "data": "aGk=", "media_type": "image/png"}
U, A = q(said()), a(words())

# Rules, whether the library refuses it too, history.
BAD: list[tuple[str, bool, list[Message]]] = [
    ("X5", False, [U, A]),
    ("X5", False, []),
    ("X5", False, [q({"part_kind": "system-prompt", "content": "s"})]),
    ("X6", False, [U, a(c(args="[1]")), q(o())]),
    ("X6", True, [U, a(c(args=[1])), q(o())]),
    ("P1", False, [U, a(c()), U]),
    ("P1 P2", False, [U, a(c()), A, q(o()), U]),
    ("P1", False, [U, a(c(), c("c2")), q(o())]),
    ("P1 P2", False, [U, a(c()), q(said(), o())]),
    ("P2", False, [U, A, q(o(), said())]),
    ("P2", False, [U, a(c()), q(o(), o())]),
    ("P3", False, [U, a(c()), q(o()), a(c()), q(o())]),
    ("P4", False, [U, a(words(" ")), U]),
    ("P4", False, [U, a(), U]),
    ("P4", False, [q(said([]))]),
    ("P4", False, [U, a(c()), q(o(content=["a", ""]))]),
    ("P5", False, [U, a(thought(), words()), U]),
    ("P5", False, [U, a(thought(signature="s"), words()), U]),
    ("P5", False, [U, a(thought(signature="", provider_name="anthropic"), words()), U]),
    ("P6", True, [{"kind": "answer", "parts": []}, U]),
    ("P6", True, [q({"part_kind": "text", "content": "x"}), U]),
    ("P6", True, [q(said(7)), U]),
    ("P6", True, [{**U, "role": "user"}]),
    ("P6", True, [U, a(c()), q(o(outcome="lost"))]),
    ("P7", False, [U, a(HOSTED_CALL, words()), U]),
    ("P7", False, [U, a(HOSTED_RETURN, words()), U]),
    ("P8", False, [A, U]),
    ("P8", False, [q({"part_kind": "system-prompt", "content": "s"}), A, U]),
    ("P9", False, [U, a(c("a.b")), q(o("a.b"))]),
    ("P9", False, [U, a(c(name="read file")), q(o())]),
    ("P11", False, [q(said([{**IMAGE, "data": "?"}]))]),
    ("P11", False, [q(said([{"kind": "image-url", "url": "ftp://x/y"}]))]),
    ("S1", False, [q(said("\ud800"))]),
]
GOOD: list[list[Message]] = [
    [q({"part_kind": "system-prompt", "content": "s"}), U, A, U],
    [U, a(thought(signature="s", provider_name="anthropic"), words(), c(), c("c2")), q(o("c2"), o()), U],
    [q(said(["x", IMAGE, {"kind": "image-url", "url": "https://x.y/z", "media_type": "image/png"}]))],
    [U, a(HOSTED_CALL, HOSTED_RETURN, words()), U],
    [U, a(c()), q(o(content={"a": 1}, content_file_digests=[])), A, A, U],
]


NOVA, LARGE = "amazon.nova-pro-v1:0", "mistral-large-latest"
DECLARED = {"model_request_parameters": {"function_tools": [{"name": "read"}]}}

# Rule, model, history and what stands beside it.
BESIDE: list[tuple[str, str, Message]] = [
    ("P9", LARGE, {"messages": [U, a(c()), q(o())]}),
    ("P12", NOVA, {"messages": [U, A, A, U]}),
    ("P13", NOVA, {"messages": [U, a(c()), q(o())]}),
]


@pytest.mark.parametrize(("rule", "model", "request_"), BESIDE)
def test_what_a_provider_below_refuses(rule: str, model: str, request_: Message) -> None:
    target = {"provider": "pydantic-ai", "model": model}
    assert [one.rule for one in violations(target, request_) if one.rule == rule]
    assert violations(TARGET, request_) == []


@pytest.mark.parametrize(
    ("model", "messages"),
    [(LARGE, [U, a(c("a1B2c3D4e")), q(o("a1B2c3D4e"))]), (NOVA, [U, a(words(), c()), q(o()), A, U])],
)
def test_what_a_provider_below_takes(model: str, messages: list[Message]) -> None:
    request = {"messages": messages, **DECLARED}
    assert violations({"provider": "pydantic-ai", "model": model}, request) == []


def broken(messages: list[Message], **more: Any) -> set[str]:
    return {one.rule for one in violations(TARGET, {"messages": messages}, **more)}


@pytest.mark.parametrize(("rules", "by_vendor", "messages"), BAD)
def test_a_bad_history(rules: str, by_vendor: bool, messages: list[Message]) -> None:
    assert broken(messages) == set(rules.split())
    assert bool(pydantic_ai_faults({"messages": messages})) >= by_vendor


@pytest.mark.parametrize("messages", GOOD)
def test_a_good_history(messages: list[Message]) -> None:
    assert broken(messages) == set()
    assert pydantic_ai_faults({"messages": messages}) == []


def test_every_rule_has_a_bad_history() -> None:
    judged = {name for name, rule in RULES.items() if rule.judged is not Judged.NEVER}
    assert {name for rules, *_ in (*BAD, *BESIDE) for name in rules.split()} == judged


def test_the_start_of_a_conversation_may_be_open() -> None:
    assert broken([U, a(c())], sendable=False) == set()
    assert broken([U, a(c()), U, A], sendable=False) == {"P1"}


def answer(*events: dict[str, Any], **target: Any) -> Result:
    return replayed(records(events), **target)


def replayed(taken: list[RecordedEvent], **target: Any) -> Result:
    spelled = {**TARGET, **target}
    found = replay(taken, "c", spelled)
    assert violations(spelled, found.request, sendable=found.sendable) == []
    assert pydantic_ai_faults(found.request) == []
    return found


TOOLS = [{"name": "read", "description": "d", "input_schema": {"properties": {}}}]
CONTEXT = {
    "type": "context",
    "digest": "d",
    "system": "Be brief.",
    "tools": TOOLS,
    "settings": {"max_output_tokens": 9, "temperature": 0.5, "top_p": 7, "tool_choice": "auto"},
}


def test_a_request() -> None:
    found = answer(
        CONTEXT, user("q"), start("s1"), thinking("s1", "hm", "c2ln"), text("s1", "Reading."),
        call("s1", "c1", {"a": 1}), call("s1", "c.2", "{}"), result("c1", {"b": 2}),
        result("c.2", "no", is_error=True), complete(), user("r", "t2"),
    )  # fmt: skip
    made = found.messages[2]["parts"][3]["tool_call_id"]  # type: ignore[index, call-overload]
    assert found.messages == [
        q({"part_kind": "system-prompt", "content": "Be brief."}),
        q(said(["q"])),
        {
            **a(
                thought(signature="c2ln", provider_name="anthropic"),
                words("Reading."),
                c("c1", {"a": 1}),
                c(made),
            ),
            "model_name": "claude-opus-4-5",
            "provider_name": "anthropic",
        },
        q(
            o("c1", {"b": 2}, content_file_digests=[]),
            o(made, "no", outcome="failed"),
        ),
        q(said(["r"])),
    ]
    assert made != "c.2"
    assert found.extra == {
        "model": "anthropic:claude-opus-4-5",
        "model_request_parameters": {
            "function_tools": [
                {
                    "name": "read",
                    "description": "d",
                    "parameters_json_schema": {"type": "object", "properties": {}},
                }
            ]
        },
        "model_settings": {"max_tokens": 9, "temperature": 0.5, "tool_choice": "auto"},
    }
    assert codes(found) == ["setting_skipped", "tool_id_rewritten", "args_wrapped"]
    assert found.diagnostics[0].detail == {"setting": "top_p"}
    assert found.provenance[2] == [[4], [5], [6], [7]]


def test_images_files_and_system_messages() -> None:
    png = {"type": "image", "data": "aGk=", "media_type": "image/png"}
    found = answer(
        user([{"type": "text", "text": "see"}, png,
              {"type": "file", "data": "aGk=", "media_type": "text/plain"},
              {"type": "image", "url": "https://x.y/z"}, {"type": "file", "url": "https://x.y/z.pdf",
              "media_type": "application/pdf"}, {"type": "image", "data": "aGk=", "media_type": "image/tiff"}]),
        start("s1"), call("s1"), result("c1", [{"type": "text", "text": "one"}, png]),
        {"type": "system_message", "content": "now"},
    )  # fmt: skip
    assert found.messages[0] == q(
        said(
            [
                "see",
                IMAGE,
                "hi",
                {"kind": "image-url", "url": "https://x.y/z", "media_type": "image/png"},
                {"kind": "document-url", "url": "https://x.y/z.pdf", "media_type": "application/pdf"},
                "[image left out: image/tiff is not taken here]",
            ]
        )
    )
    assert found.messages[2:] == [
        q(o("c1", "one")),
        q(said([IMAGE])),
        q(said(["<system>\nnow\n</system>"])),
    ]
    assert codes(found) == ["content_stand_in", "system_message_as_user"]


def test_the_history_of_another_provider_keeps_its_words_and_calls() -> None:
    found = answer(
        user("q"),
        start("s1", provider="openai", model="gpt-5.4"),
        thinking("s1"),
        text("s1", "w"),
        user("r", "t2"),
    )
    assert found.messages[1]["parts"] == [words("w")]
    assert codes(found) == ["foreign_thinking_skipped"]


def test_a_history_that_starts_with_the_assistant_gets_an_anchor() -> None:
    found = answer(start("s1"), text("s1", "w"), user("r"))
    assert found.messages[0] == q(said([pydantic_ai.ANCHOR]))
    assert codes(found) == ["assistant_first_anchored"]


def test_the_models_own_end_is_not_sendable() -> None:
    found = answer(user("q"), start("s1"), text("s1", "w"))
    assert not found.sendable
    assert codes(found) == ["nothing_to_answer"]


def test_manual_thinking_goes_off_when_the_open_loop_did_not_start_with_it() -> None:
    config = {"type": "enabled", "budget_tokens": 1024}
    found = answer(user("q"), start("s1"), call("s1"), result(), thinking=config)
    assert found.extra["model_settings"] == {"anthropic_thinking": {"type": "disabled"}}
    kept = answer(user("q"), thinking=config)
    assert kept.extra["model_settings"] == {"anthropic_thinking": config}


def own(model: str, provider: str, *parts: Part) -> list[RecordedEvent]:
    """What our adapter records of a run that the library made, and a question after it."""
    written: list[Any] = []
    recording = Recording("c", StreamStamps("pydantic-ai"), sink=written.append)
    run = Run(recording.begin_turn(runtime="pydantic-ai"))
    response = {**a(*parts), "model_name": model, "provider_name": provider}
    run.messages([q(said("q")), response, q(o(), said("r"))])
    return records(written)


@pytest.mark.parametrize(
    ("model", "provider", "parts"),
    [
        ("claude-opus-4-5", "anthropic", [thought(signature="c2ln", provider_name="anthropic"), words(), c()]),
        (
            "claude-opus-4-5",
            "anthropic",
            [
                thought(content="", id="redacted_thinking", signature="c2ln", provider_name="anthropic"),
                words(),
                c(),
            ],
        ),
        ("gpt-5.4", "openai", [thought(id="rs_1", signature="gAAA", provider_name="openai"), words(), c()]),
        (
            "gemini-3-pro",
            "google",
            [
                words(),
                c(provider_name="google", provider_details={"thought_signature": "c2ln"}),
            ],
        ),
        ("deepseek-flash", "deepseek", [thought(id="reasoning_content", provider_name="deepseek"), c()]),
    ],
)
def test_what_the_library_made_goes_back_as_it_came(model: str, provider: str, parts: list[Part]) -> None:
    found = replayed(own(model, provider, *parts), model=model)
    assert found.messages[1]["parts"] == parts


def _same(value: Any, *_: Any) -> Any:
    return value


HISTORY = [
    start("s0", "t0"), text("s0", "w", "t0"),
    user("q \ud800"), start("s1"), thinking("s1", "hm", "c2ln"), text("s1", " "),
    call("s1", "a.b", 7, tool_name="read file"), result("a.b", ""),
    user([{"type": "image", "url": "https://a b/"}, {"type": "image", "data": "?", "media_type": "image/png"}]),
]  # fmt: skip
MENDS: list[tuple[Any, str, Any, str]] = [
    (content, "sendable_text", _same, "S1"),
    (pydantic_ai, "is_blank", lambda _: False, "P4"),
    (pydantic_ai, "result_content", lambda content, *_: (content, []), "P4"),
    (pydantic_ai, "input_object", _same, "X6"),
    (names, "_marked", _same, "P9"),
    (names.Renamed, "known", lambda _, name: name, "P2"),
    (pydantic_ai_parts, "image_problem", lambda _: None, "P11"),
    (pydantic_ai_parts, "is_url", lambda _: True, "P11"),
    (pydantic_ai, "thinking_parts", lambda *_: [thought()], "P5"),
    (pydantic_ai, "_OUTCOMES", {"result": "lost"}, "P6"),
    (pydantic_ai.PydanticWriting, "_anchor", lambda *_: None, "P8"),
    (pydantic_ai.PydanticWriting, "_results", lambda *_: None, "P1"),
]


BELOW_BEDROCK = [
    user("q"), start("s1"), text("s1", "one"), start("s2"), text("s2", "two"), call("s2"), result(),
    complete(), user("r", "t2"),
]  # fmt: skip
BELOW_MENDS: list[tuple[str, Any, str, Any, str]] = [
    (NOVA, pydantic_ai, "_is_response", lambda _: False, "P12"),
    (NOVA, pydantic_ai.PydanticWriting, "_stubs", lambda _: {}, "P13"),
    (LARGE, families.Below, "call_ids", lambda *_: names.Names(), "P9"),
]


@pytest.mark.parametrize(("model", "place", "attribute", "value", "rule"), BELOW_MENDS)
def test_without_a_mend_for_who_is_below_the_judge_finds_the_fault(
    model: str, place: Any, attribute: str, value: Any, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = {"provider": "pydantic-ai", "model": model}
    assert violations(target, replay(records(BELOW_BEDROCK), "c", target).request) == []
    monkeypatch.setattr(place, attribute, value)
    assert rule in [one.rule for one in violations(target, replay(records(BELOW_BEDROCK), "c", target).request)]


def test_below_bedrock_steps_in_a_row_are_one_response() -> None:
    found = answer(*BELOW_BEDROCK, model=NOVA)
    assert found.messages[1]["parts"] == [words("one"), words("two"), c(args={})]
    assert found.provenance[1] == [[3], [5], [6]]
    stub = {"name": "read", "parameters_json_schema": {"type": "object"}}
    assert found.extra["model_request_parameters"] == {"function_tools": [stub]}
    assert [len(one["parts"]) for one in answer(*BELOW_BEDROCK).messages] == [1, 1, 2, 1, 1]  # type: ignore[arg-type]


def test_a_response_that_goes_on_is_apart_from_the_request_before() -> None:
    going = Continued("c", {"provider": "pydantic-ai", "model": NOVA})
    for record in records(BELOW_BEDROCK):
        going.feed([record])
        so_far = list(records(BELOW_BEDROCK))[: record.version]
        target = {"provider": "pydantic-ai", "model": NOVA}
        assert going.result().request == replay(so_far, "c", target).request


HOSTED = [
    user("q"), start("s1"),
    call("s1", "srvtoolu_1", {"query": "x"}, tool_name="web_search", provider_executed=True),
    call("s1", "c1"), call("s1", "c2"), result("c1"), result("c2"), user("r", "t2"),
]  # fmt: skip
PART = pydantic_ai.PydanticWriting._part


def _as_builtin(self: Any, part: Any, block: Any) -> Any:
    if block.kind == "call" and block.hosted:
        return {**self._call(block), "part_kind": "builtin-tool-call"}
    return PART(self, part, block)


CALL_MENDS: list[tuple[Any, str, Any, str]] = [
    (names.Names, "sent", lambda *_: "x", "P3"),
    (pydantic_ai.PydanticWriting, "_part", _as_builtin, "P7"),
]


@pytest.mark.parametrize(("place", "attribute", "value", "rule"), CALL_MENDS)
def test_without_a_mend_about_calls_the_judge_finds_the_fault(
    place: Any, attribute: str, value: Any, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert violations(TARGET, replay(records(HOSTED), "c", TARGET).request) == []
    monkeypatch.setattr(place, attribute, value)
    assert rule in [one.rule for one in violations(TARGET, replay(records(HOSTED), "c", TARGET).request)]


def test_without_its_refusal_an_end_that_nothing_answers_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pydantic_ai.PydanticWriting, "_refusal", lambda _: True)
    found = replay(records([user("q"), start("s1"), text("s1", "done")]), "c", TARGET)
    assert [one.rule for one in violations(TARGET, found.request, sendable=found.sendable)] == ["X5"]


@pytest.mark.parametrize(("place", "attribute", "value", "rule"), MENDS)
def test_without_a_mend_the_judge_finds_the_fault(
    place: Any, attribute: str, value: Any, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert violations(TARGET, replay(records(HISTORY), "c", TARGET).request) == []
    monkeypatch.setattr(place, attribute, value)
    assert rule in [one.rule for one in violations(TARGET, replay(records(HISTORY), "c", TARGET).request)]


def test_hosted_blocks_are_left_out_and_said() -> None:
    hosted = call("s1", "srvtoolu_1", {"query": "x"}, tool_name="web_search", provider_executed=True)
    found = answer(user("q"), start("s1"), hosted, text("s1", "w"), user("r", "t2"))
    assert found.messages[1]["parts"] == [words("w")]
    assert codes(found) == ["hosted_block_skipped"]
