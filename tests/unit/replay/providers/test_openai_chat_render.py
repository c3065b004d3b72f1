"""What requests to Chat Completions look like, and that without a mend the judge finds a fault."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.errors import BadInput
from replay import Result, replay
from replay.items import NO_RESULT
from replay.providers import content, openai_chat, openai_chat_parts
from replay.providers.names import Names
from replay.providers.openai_dialects import DIALECTS
from replay.providers.violations import violations
from tests.unit.replay.providers.openai_chat_shapes import openai_chat_faults
from tests.unit.replay.providers.rendering import call, codes, records, result, start, text, thinking, user

IMAGE = {"type": "image", "media_type": "image/png", "data": "QUJD"}


def answer(*events: dict[str, Any], model: str = "gpt-4.1", **target: Any) -> Result:
    spelled = {"provider": "openai-chat", "model": model, **target}
    found = replay(records(events), "c", spelled)
    assert violations(spelled, found.request, sendable=found.sendable) == []
    assert openai_chat_faults(found.request) == []
    return found


def asked(words: str = "q", turn: str = "t1") -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": words}]}


def called(call_id: str = "c1", name: str = "read", arguments: str = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_step_is_one_message_and_its_results_stand_behind_it() -> None:
    found = answer(
        {"type": "context", "digest": "d", "system": "Be brief.", "settings": {"temperature": 0.5, "x": 1},
         "tools": [{"name": "read", "description": "Reads.", "input_schema": {"type": "object"}}]},
        user("q"),
        start("s1"),
        text("s1", "one"),
        text("s1", "two"),
        call("s1", "c1", {"path": "ä"}),
        call("s1", "c2"),
        result("c2", content="second"),
        result("c1", content=[{"type": "text", "text": "first"}, IMAGE]),
    )  # fmt: skip
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
    assert found.request == {
        "model": "gpt-4.1",
        "temperature": 0.5,
        "tools": [
            {"type": "function",
             "function": {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}}
        ],
        "messages": [
            {"role": "system", "content": "Be brief."},
            asked(),
            {"role": "assistant", "content": "one\n\ntwo",
             "tool_calls": [called("c1", arguments='{"path":"ä"}'), called("c2")]},
            {"role": "tool", "tool_call_id": "c1", "content": "first"},
            {"role": "tool", "tool_call_id": "c2", "content": "second"},
            {"role": "user", "content": [image]},
        ],
    }  # fmt: skip
    assert found.provenance == [[[1]], [[2]], [[4, 5], [6], [7]], [[9]], [[8]], [[9]]]


@pytest.mark.parametrize("provider", ["anthropic", "mistral", "openai-chat"])
def test_a_renamed_tool_is_called_by_the_name_that_defines_it(provider: str) -> None:
    tools = [{"name": "a.b", "input_schema": {"type": "object"}}, {"type": "web_search_20250305", "name": "w"}]
    events = [
        {"type": "context", "digest": "d", "tools": tools}, user("q"), start("s1"), call("s1", tool_name="a.b"),
        result(),
    ]  # fmt: skip
    found = replay(records(events), "c", {"provider": provider, "model": "m"})
    assert isinstance(found.extra["tools"], list)
    (defined,) = (
        tool.get("function", tool)["name"] for tool in found.extra["tools"] if tool.get("name") != "w"
    )
    (message,) = (message for message in found.messages if message["role"] == "assistant")
    used = message["tool_calls"][0]["function"] if "tool_calls" in message else message["content"][0]  # type: ignore[index]
    assert used["name"] == defined != "a.b"


@pytest.mark.parametrize("provider", ["anthropic", "openai-chat"])
def test_an_image_in_a_system_prompt_is_said_in_text(provider: str) -> None:
    events = [{"type": "system_message", "content": [{"type": "text", "text": "s"}, IMAGE]}, user("q")]
    found = replay(records(events), "c", {"provider": provider, "model": "m"})
    assert found.system == [
        {"type": "text", "text": "s"},
        {"type": "text", "text": "[image left out: a system prompt is text]"},
    ]
    assert codes(found) == ["content_stand_in"]


def test_errors_and_silence_are_said() -> None:
    found = answer(
        user("q"),
        start("s1"),
        *(call("s1", name) for name in ("c1", "c2", "c3", "c4", "c5")),
        result("c1", content="", is_error=True),
        result("c2", content=""),
        result("c3", content="gone", is_error=True),
        result("c4", content=[3], is_error=True),
        user("r", turn="t2"),
    )
    assert [message["content"] for message in found.messages if message["role"] == "tool"] == [
        "[the tool failed without a message]",
        "[the tool returned nothing]",
        "[error] gone",
        "[error] [3]",
        NO_RESULT,
    ]


def test_a_result_whose_images_stand_behind_it_says_so() -> None:
    image = {"type": "image", "media_type": "image/png", "data": "QUJD"}
    found = answer(
        user("q"), start("s1"), call("s1", "c1"), result("c1", content=[image]), user("r", turn="t2")
    )
    told, behind = found.messages[2:4]
    assert told["content"] == "[what the tool returned follows]"
    assert behind["role"] == "user"


def turn_of(provider: str, model: str) -> list[dict[str, Any]]:
    return [
        user("q"),
        start("s1", provider=provider, api="openai-completions", model=model),
        thinking("s1", "hm", None),
        call("s1"),
        result(),
    ]


@pytest.mark.parametrize(
    ("dialect", "field"),
    [
        ("plain", None), ("deepseek", "reasoning_content"), ("deepseek-r1", None), ("glm", "reasoning_content"),
        ("kimi", "reasoning_content"), ("mimo", "reasoning_content"), ("minimax", "reasoning_content"),
        ("mistral", None), ("reasoning", "reasoning"), ("gemini", None),
    ],
)  # fmt: skip
def test_reasoning_goes_back_where_a_dialect_has_a_field_for_it(dialect: str, field: str | None) -> None:
    (provider, *_) = sorted(DIALECTS[dialect].providers)
    found = answer(*turn_of(provider, "m"), model="m", dialect=dialect)
    beside = {} if field is None else {field: "hm"}
    assert found.messages[1] == {"role": "assistant", **beside, "tool_calls": [called()]}
    assert ("reasoning_not_taken" in codes(found)) == (field is None)


@pytest.mark.parametrize(("dialect", "filler"), [("deepseek", ""), ("kimi", " "), ("mimo", " "), ("glm", None)])
def test_reasoning_of_others_stays_out_and_a_filler_stands_where_one_must(
    dialect: str, filler: str | None
) -> None:
    found = answer(*turn_of("anthropic", "m"), model="m", dialect=dialect)
    beside = {} if filler is None else {"reasoning_content": filler}
    assert found.messages[1] == {"role": "assistant", **beside, "tool_calls": [called()]}
    assert "foreign_thinking_skipped" in codes(found)


def test_system_messages_amid_the_history() -> None:
    late = [user("q"), {"type": "system_message", "content": "now"}, user("r")]
    told = {"role": "system", "content": [{"type": "text", "text": "now"}]}
    assert answer(*late).messages == [asked(), told, asked("r")]
    tagged = answer(*late, dialect="mistral")
    assert tagged.messages == [asked(), asked("<system>\nnow\n</system>"), asked("r")]
    assert "system_message_as_user" in codes(tagged)


def test_what_cannot_be_carried_is_said() -> None:
    found = answer(user([IMAGE, {"type": "file", "media_type": "application/pdf", "data": "QUJD"}]),
                   model="deepseek-flash")  # fmt: skip
    assert [part["text"] for part in found.messages[0]["content"]] == [  # type: ignore[union-attr]
        "[image left out: this model takes text only]",
        "[file left out: application/pdf is not taken here]",
    ]
    assert codes(found) == ["content_stand_in", "content_stand_in"]


def test_hosted_blocks_blank_texts_and_thinking_alone_are_left_out_and_said() -> None:
    found = answer(
        user("q"), start("s1"), thinking("s1"), user("r"), start("s2"), text("s2", " "),
        call("s2", "w", provider_executed=True), user("s"),
    )  # fmt: skip
    assert found.messages == [asked(), asked("r"), asked("s")]
    assert codes(found) == ["foreign_thinking_skipped", "blank_text_skipped", "hosted_block_skipped"]


def test_the_models_own_end_is_not_sendable() -> None:
    found = answer(user("q"), start("s1"), text("s1"), {"type": "complete", "turn_id": "t1"})
    assert not found.sendable
    assert "nothing_to_answer" in codes(found)


def test_an_unknown_dialect_lists_what_there_is() -> None:
    with pytest.raises(BadInput, match="no dialect 'acme'; it has: plain, deepseek"):
        answer(user("q"), dialect="acme")


def names_kept(self: Names, name: str) -> str:
    return name


@pytest.mark.parametrize(
    ("mend", "events", "rule"),
    [
        (lambda patch: patch.setattr(openai_chat_parts, "json_text", lambda value: value),
         [user("q"), start("s1"), call("s1"), result()], "O5"),
        (lambda patch: patch.setattr(Names, "sent", names_kept),
         [user("q"), start("s1"), call("s1", tool_name="a.b"), result()], "O7"),
        (lambda patch: patch.setattr(openai_chat, "result_text", lambda content, *_: (content, [])),
         [user("q"), start("s1"), call("s1"), result(content=[IMAGE])], "O5"),
        (lambda patch: patch.setattr(content, "sendable_text", lambda text, _: text),
         [user("\ud800")], "S1"),
        (lambda patch: patch.setattr(openai_chat_parts, "_media", lambda media: {"type": "image"}),
         [user([IMAGE])], "O6"),
        (lambda patch: patch.setattr(openai_chat.ChatWriting, "_results", lambda self, message: None),
         [user("q"), start("s1"), call("s1"), result(), user("r")], "O1"),
    ],
)  # fmt: skip
def test_without_a_mend_the_judge_finds_the_fault(
    mend: Any, events: list[dict[str, Any]], rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = {"provider": "openai-chat", "model": "gpt-4.1"}
    assert violations(target, replay(records(events), "c", target).request) == []
    mend(monkeypatch)
    assert rule in [one.rule for one in violations(target, replay(records(events), "c", target).request)]


@pytest.mark.parametrize(("dialect", "rule"), [("deepseek", "O20"), ("kimi", "O22"), ("mimo", "O23")])
def test_without_the_filler_the_judge_finds_the_fault(
    dialect: str, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DIALECTS, dialect, DIALECTS["glm"])
    target = {"provider": "openai-chat", "model": "m", "dialect": dialect}
    found = replay(records(turn_of("anthropic", "m")), "c", target)
    assert rule in [one.rule for one in violations(target, found.request)]


def test_structured_reasoning_goes_back_whole_where_the_dialect_has_it() -> None:
    details = [{"type": "reasoning.text", "text": "hm", "signature": "S", "index": 0}]
    told = {"field": "reasoning", "reasoning_details": details}
    begin = start("s1", provider="openrouter", api="openai-completions", model="m")
    history = [user("q"), begin, thinking("s1", "hm", None, provider_metadata=told), call("s1"), result()]
    target = {"provider": "openai-chat", "model": "m", "dialect": "reasoning"}
    found = replay(records(history), "c", target)
    assert violations(target, found.request) == []
    assert found.messages[1]["reasoning_details"] == details
    for other in ({"model": "another"}, {"dialect": "plain"}, {"rung": "no-thinking"}):
        assert "signature" not in str(replay(records(history), "c", {**target, **other}).request)


def test_geminis_signatures_go_back_on_their_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    def signed(signature: str) -> dict[str, Any]:
        return {"extra_content": {"google": {"thought_signature": signature}}}

    begin = start("s1", provider="google", api="openai-completions", model="gemini-3-pro")
    made = call("s1", "c1", provider_metadata=signed("c2ln"))
    history = [user("q"), begin, made, call("s1", "c2"), result("c1"), result("c2")]
    both = [{**called("c1"), **signed("c2ln")}, called("c2")]
    assert answer(*history, model="gemini-3-pro").messages[1]["tool_calls"] == both

    plain = [called("c1"), called("c2")]
    assert answer(*history, model="gemini-2.5-flash").messages[1]["tool_calls"] == plain
    dummy = signed("skip_thought_signature_validator")
    for other in ({"model": "gemini-3-flash"}, {"model": "gemini-3-pro", "rung": "no-thinking"}):
        found = answer(*history, **other)
        assert found.messages[1]["tool_calls"] == [{**called("c1"), **dummy}, called("c2")]
        assert "signature_dummy" in codes(found)

    monkeypatch.setattr(openai_chat.ChatWriting, "_signed", lambda *_: {})
    target = {"provider": "openai-chat", "model": "gemini-3-pro"}
    found = replay(records(history), "c", target)
    assert [one.rule for one in violations(target, found.request)] == ["O27"]


@pytest.mark.parametrize("choice", ["auto", {"type": "any"}, 7])
def test_a_choice_among_tools_needs_tools(choice: Any) -> None:
    tools = [{"name": "read", "input_schema": {"type": "object"}}]
    context = {"type": "context", "digest": "d", "settings": {"tool_choice": choice}}
    assert answer({**context, "tools": tools}, user("q")).extra.get("tool_choice") == (
        choice if choice == "auto" else None
    )
    assert "tool_choice" not in answer(context, user("q")).extra
