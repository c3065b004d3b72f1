"""Requests to the Responses API: what they look like, the judge beside the vendor's types, and each mend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.admission import parse_event
from ledger.intake.openai_responses.stream import make
from ledger.intake.stream import events_of_stream
from ledger.recorded import RecordedEvent
from replay import Options, Result, replay
from replay.providers import openai_chat_parts, openai_responses, openai_responses_items, openai_responses_units
from replay.providers.judges.openai_responses_shape import _KEYS, _OTHERS
from replay.providers.openai_responses_items import output_item
from replay.providers.rules import Judged
from replay.providers.rules.openai_responses import RULES
from replay.providers.violations import violations
from tests.conformance import SHARED, needs_shared
from tests.corpus.streams.test_provider_streams import taken
from tests.unit.replay.providers.openai_responses_shapes import openai_responses_faults
from tests.unit.replay.providers.rendering import call, codes, records, result, start, text, thinking, user

Item = dict[str, Any]
STATELESS = {"provider": "openai-responses", "model": "gpt-5.4"}
STORED = {**STATELESS, "stored": True}


def u(content: Any = "x") -> Item:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": content}]}


def a(content: Any = "x", **more: Any) -> Item:
    return {"type": "message", "role": "assistant", "content": content, **more}


def c(name: str = "c1", **more: Any) -> Item:
    return {"type": "function_call", "call_id": name, "name": "f", "arguments": "{}", **more}


def o(name: str = "c1", output: Any = "out", kind: str = "function_call_output") -> Item:
    return {"type": kind, "call_id": name, "output": output}


def r(name: str | None = "rs_1", sealed: str | None = "gAAA", **more: Any) -> Item:
    named = {} if name is None else {"id": name}
    return {
        "type": "reasoning",
        **named,
        "summary": [],
        **({"encrypted_content": sealed} if sealed else {}),
        **more,
    }


CUSTOM = {"type": "custom_tool_call", "call_id": "c1", "name": "f", "input": "x"}
# Rules, whether the vendor's types find it too, input.
BAD: list[tuple[str, bool, list[Item]]] = [
    ("R1", False, [u(), c(), u()]),
    ("R1", False, [u(), c(), c("c2"), o("c2")]),
    ("R1", False, [u(), c(), c(), o()]),
    ("R2", False, [u(), o()]),
    ("R2", False, [u(), c(), o(), o()]),
    ("R1 R2", False, [u(), o(), c(), u()]),
    ("R1 R3", False, [u(), CUSTOM, o()]),
    ("R4", False, [u(), r(), u()]),
    ("R4", False, [u(), a(), r(), u()]),
    ("R7", False, [u(), r(sealed=None), a(), u()]),
    ("R7", False, [u(), {"type": "item_reference", "id": "ws_1"}, u()]),
    ("R9", False, [u(), r("x_1"), a(), u()]),
    ("R9", False, [u(), r("rs_" + "1" * 62), a(), u()]),
    ("R9", False, [u(), r(), a(), r(), a(), u()]),
    ("R9", False, [u(), c("c" * 65), o("c" * 65)]),
    ("R10", True, [u(), {"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}, a(), u()]),
    ("R12", True, [{"type": "compaction", "id": "cmp_1"}, u()]),
    ("R13", True, [u(), a(phase="final"), u()]),
    ("R14", True, [{"type": "message", "role": "user", "content": [{"type": "output_text", "text": "x"}]}]),
    ("R14", True, [u(), a([{"type": "input_text", "text": "x"}]), u()]),
    ("R14", False, [u(), a([{"type": "output_text", "text": "x"}]), u()]),
    ("R15", True, [u(), c(arguments={}), o()]),
    ("R15", True, [u(), c(), o(output={"x": 1})]),
    ("R16", False, [u(), c(status="in_progress"), o()]),
    ("R17", False, []),
    ("X5", False, [u(), a()]),
    ("S1", False, [u("\ud800")]),
    ("S2", True, [u(), a(annotations=[]), u()]),
    ("S2", False, [u(), {"type": "bogus"}, u()]),
    ("S2", False, [u(), {**c(), "name": "a.b"}, o()]),
]
GOOD: list[list[Item]] = [
    [u(), c(), c("c2"), o("c2"), o(), u()],
    [u(), c(), u(), o()],
    [u(), r(), c(), o(), r("rs_2"), a(phase="final_answer"), u()],
    [u(), r(None), a(), u()],
    [u(), CUSTOM, o(kind="custom_tool_call_output")],
    [u(), c(), o(output=[{"type": "input_text", "text": "x"}])],
    [{"role": "user", "content": "x"}],
]


def broken(items: Any, **more: Any) -> set[str]:
    return {one.rule for one in violations(STATELESS, {"store": False, "input": items}, **more)}


def faults(items: list[Item]) -> list[str]:
    try:
        return openai_responses_faults({"input": items})
    except KeyError as error:
        return [str(error)]


@pytest.mark.parametrize(("rules", "by_vendor", "items"), BAD)
def test_a_bad_history(rules: str, by_vendor: bool, items: list[Item]) -> None:
    assert broken(items) == set(rules.split())
    if by_vendor:
        assert faults(items)


@pytest.mark.parametrize("items", GOOD)
def test_a_good_history(items: list[Item]) -> None:
    assert broken(items) == set()
    if "type" in items[0]:
        assert faults(items) == []


def test_every_rule_that_a_request_can_break_has_a_bad_history() -> None:
    judged = {rule.id for rule in RULES.values() if rule.judged is Judged.REQUEST}
    assert {name for rules, _, _ in BAD for name in rules.split()} | {"R11"} == judged
    both = {"previous_response_id": "resp_1", "conversation": "conv_1", "input": [u()]}
    assert [one.rule for one in violations(STATELESS, both)] == ["R11"]


def test_what_belongs_together_is_judged_beside_the_response() -> None:
    response = [r(sealed=None), c(id="fc_1")]
    kept: dict[str, Any] = {"store": True, "input": [u(), c(id="fc_1"), o()]}
    assert [one.rule for one in violations(STORED, kept, original=[response])] == ["R5"]
    kept["input"][1:1] = [r(sealed=None)]
    assert violations(STORED, kept, original=[response]) == []


def test_the_start_of_a_conversation_may_be_open() -> None:
    assert broken([u(), r(), c()], sendable=False) == set()
    assert broken([u(), c(), u(), c("c2")], sendable=False) == {"R1"}


@pytest.mark.parametrize("given", [{}, {"input": 3}, {"input": [3, None, {}]}, {"input": [u()], "tools": 3}])
def test_anything_can_be_judged(given: dict[str, Any]) -> None:
    assert violations("openai-responses", given)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.sampled_from(["", "x", "rs_1", "user", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id"]), inner),
    max_leaves=8,
)
any_item = st.fixed_dictionaries(
    {"type": st.sampled_from([*_KEYS, *_OTHERS, "bogus"]) | values},
    optional=dict.fromkeys(
        ["role", "content", "id", "call_id", "summary", "output", "arguments", "input", "name", "phase",
         "encrypted_content", "status"],
        values,
    ),
)  # fmt: skip


@given(
    items=st.lists(any_item | values, max_size=5) | values,
    beside=st.fixed_dictionaries({}, optional=dict.fromkeys(["store", "tools", "conversation"], values)),
    sendable=st.booleans(),
)
def test_whatever_stands_in_a_request_is_judged(items: Any, beside: Item, sendable: bool) -> None:
    found = violations(STATELESS, {**beside, "input": items}, sendable=sendable, original=[[{"id": "rs_1"}]])
    assert all(one.rule in RULES and one.where for one in found)


# -- the renderer


def answer(*events: dict[str, Any], **target: Any) -> Result:
    spelled = {**STATELESS, **target}
    found = replay(records(events), "c", spelled)
    assert violations(spelled, found.request, sendable=found.sendable) == []
    assert openai_responses_faults(found.request) == []
    return found


def own(step: str = "s1", turn: str = "t1", **more: Any) -> dict[str, Any]:
    return start(step, turn, "gpt-5.4", "openai", api="openai-responses", **more)


def think(step: str, words: str = "hm", turn: str = "t1", **metadata: Any) -> dict[str, Any]:
    return thinking(step, words, None, turn, provider_metadata=metadata)


PNG = {"type": "image", "media_type": "image/png", "data": "QUJD"}
PDF = {"type": "file", "media_type": "application/pdf", "data": "QUJD", "filename": "a.pdf"}


def test_a_request_from_memory() -> None:
    found = answer(
        {"type": "context", "digest": "d", "system": "Be brief.", "settings": {"max_tokens": 90, "x": 1},
         "tools": [{"name": "a.b", "description": "Reads.", "input_schema": {"type": "object"}}]},
        {"type": "system_message", "content": "Now."},
        user([{"type": "text", "text": "q"}, PNG, PDF]),
        own(),
        think("s1", item_id="rs_1", encrypted_content="gAAA"),
        text("s1", "Looking.", provider_metadata={"item_id": "msg_1", "phase": "commentary"}),
        call("s1", "c|1", {"path": "ä"}, tool_name="a.b", provider_metadata={"item_id": "fc_1"}),
        call("s1", "c2", {"input": "ls"}, provider_metadata={"type": "custom_tool_call"}),
        result("c2", content=[{"type": "text", "text": "seen"}, PNG]),
        result("c|1", content="gone", is_error=True),
        {"type": "system_message", "content": "Hurry."},
    )  # fmt: skip
    (name,) = (tool["name"] for tool in found.extra["tools"])  # type: ignore[index,union-attr,call-overload]
    sent = found.messages[3]["call_id"]
    image = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,QUJD"}
    document = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"}
    assert name != "a.b"
    assert sent != "c|1"
    assert found.request == {
        "model": "gpt-5.4",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 90,
        "instructions": "Be brief.\n\nNow.",
        "tools": [
            {"type": "function", "name": name, "description": "Reads.", "parameters": {"type": "object"},
             "strict": False}
        ],
        "input": [
            {**u(), "content": [{"type": "input_text", "text": "q"}, image, document]},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}],
             "encrypted_content": "gAAA"},
            a("Looking.", phase="commentary"),
            {"type": "function_call", "call_id": sent, "name": name, "arguments": '{"path":"ä"}'},
            {"type": "custom_tool_call", "call_id": "c2", "name": "read", "input": "ls"},
            {"type": "function_call_output", "call_id": sent, "output": "[error] gone"},
            {"type": "custom_tool_call_output", "call_id": "c2",
             "output": [{"type": "input_text", "text": "seen"}, image]},
            {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "Hurry."}]},
        ],
    }  # fmt: skip
    assert found.provenance[1:4] == [[[5]], [[6]], [[7]]]
    assert found.sendable


RESPONSE: list[Item] = [
    {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA",
     "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}},
    {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "commentary",
     "content": [{"type": "output_text", "text": "A.", "annotations": []},
                 {"type": "output_text", "text": "B.", "annotations": []}]},
    {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "gBBB"},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": '{"x":1}',
     "status": "completed"},
]  # fmt: skip


def streamed(response: list[Item]) -> list[dict[str, Any]]:
    """What our own adapter records of a response, its call answered."""
    body = {"id": "resp_1", "model": "gpt-5.4", "status": "completed", "output": response, "usage": {}}
    events = [
        {"type": "response.created", "response": {"id": "resp_1", "model": "gpt-5.4", "status": "in_progress"}},
        *(
            {"type": "response.output_item.done", "output_index": at, "item": it}
            for at, it in enumerate(response)
        ),
        {"type": "response.completed", "response": body},
    ]
    chunks = [json.dumps(event).encode() + b"\n" for event in events]
    recorded = events_of_stream(make, "openai-responses", chunks, "c", end="user_stop")
    turn = recorded[0]["turn_id"]
    kept = [event for event in recorded if event["type"] != "abort"]
    for event in kept:
        event.pop("id")
        event.pop("conversation_id")
    asked = {"type": "user_message", "turn_id": turn, "content": "q"}
    return [asked, *kept, {"type": "tool_result", "turn_id": turn, "tool_call_id": "c1", "content": "out"}]


def test_a_recorded_response_goes_back_by_its_ids_as_it_came() -> None:
    found = answer(*streamed(RESPONSE), **STORED)
    sent = found.request["input"]
    assert isinstance(sent, list)
    expected = json.loads(json.dumps(RESPONSE))
    expected[1] = {"type": "item_reference", "id": "ws_1"}
    assert sent[1:-1] == expected
    assert sent[-1] == o()
    assert violations(STORED, found.request, original=[RESPONSE]) == []


def test_a_recorded_response_goes_back_from_memory() -> None:
    found = answer(*streamed(RESPONSE))
    kinds = [item["type"] for item in found.messages]
    assert kinds == ["message", "message", "message", "reasoning", "function_call", "function_call_output"]
    assert found.messages[3]["encrypted_content"] == "gBBB"
    # The search was run by the provider and is not kept: neither it nor the reasoning that led to it can go.
    assert codes(found) == ["thinking_tail_skipped", "hosted_block_skipped", "hosted_block_skipped"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"id": ""}, "an item without its id"),
        ({"id": "msg_" + "x" * 70}, "an id that is too long"),
        ({"id": "x_1"}, "an id of another type"),
        ({"content": [{"type": "output_text", "text": " ", "annotations": []}]}, "a text that is left out"),
        ({"status": "incomplete"}, "a message that was cut off (R16)"),
    ],
)
def test_a_response_that_is_not_whole_goes_without_any_id(change: Item, why: str) -> None:
    response = [RESPONSE[0], {**RESPONSE[2], **change}, RESPONSE[4]]
    found = answer(*streamed(response), **STORED)
    assert [item.get("id") for item in found.messages] == [None] * len(found.messages), why
    assert found.messages[1]["encrypted_content"] == "gAAA"


def test_reasoning_that_lost_its_follower_goes_without_its_id() -> None:
    """An item of a kind that is not replayed stood between reasoning and the call, as the indexes show (R5)."""
    response = [RESPONSE[0], {"type": "mcp_list_tools", "id": "mcpl_1"}, RESPONSE[4]]
    found = answer(*streamed(response), **STORED)
    assert [item.get("id") for item in found.messages] == [None] * len(found.messages)


def test_without_indexes_only_one_reasoning_has_a_known_follower() -> None:
    for response, whole in (
        ([RESPONSE[0], RESPONSE[4]], True),
        ([RESPONSE[0], RESPONSE[3], RESPONSE[4]], False),
    ):
        events = [
            {key: value for key, value in event.items() if key != "block_index"} for event in streamed(response)
        ]
        found = answer(*events, **STORED)
        assert ("id" in found.messages[1]) == whole


CITED = {"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": 0, "end_index": 2}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ([CITED], [CITED]),
        (
            [{"type": "file_path", "file_id": "f", "index": 1}],
            [{"type": "file_path", "file_id": "f", "index": 1}],
        ),
        ([{**CITED, "end_index": True}, {**CITED, "more": 1}, {"type": "other"}, 7], []),
        ([{**CITED, "title": "\ud800"}], []),
    ],
)
def test_citations_go_back_with_their_text_where_they_are_whole(given: list[Any], sent: list[Any]) -> None:
    text_of = {"type": "output_text", "text": "A.", "annotations": given}
    found = answer(*streamed([{**RESPONSE[2], "content": [text_of]}, RESPONSE[4]]), **STORED)
    assert found.messages[1]["content"] == [{**text_of, "annotations": sent}]


def test_a_refusal_goes_back_as_one() -> None:
    refusal = {"type": "refusal", "refusal": "No."}
    response = [{**RESPONSE[2], "content": [refusal]}, RESPONSE[4]]
    assert answer(*streamed(response), **STORED).messages[1]["content"] == [refusal]
    assert answer(*streamed(response)).messages[1]["content"] == "No."


def test_reasoning_content_is_not_sent_as_its_summary() -> None:
    shown = {"type": "reasoning_text", "text": "hm"}
    reasoning = {**RESPONSE[0], "summary": [], "content": [shown]}
    assert answer(*streamed([reasoning, RESPONSE[4]])).messages[1]["summary"] == []
    both = {**RESPONSE[0], "summary": [{"type": "summary_text", "text": "s"}], "content": [shown]}
    assert answer(*streamed([both, RESPONSE[4]])).messages[1]["summary"] == both["summary"]


def test_a_response_that_is_in_the_request_already_goes_without_ids() -> None:
    events = streamed([RESPONSE[0], RESPONSE[4]])
    again = [{**event, "turn_id": "again"} for event in events]
    found = answer(*events, *again, **STORED)
    named = [item["id"] for item in found.messages if "id" in item]
    assert named == ["rs_1", "fc_1"]


def test_reasoning_of_another_maker_is_left_out_and_so_are_its_ids() -> None:
    events = [
        {**event, "model": "gpt-4.1"} if event["type"] == "step_start" else event
        for event in streamed(RESPONSE)
    ]
    for target in (STATELESS, STORED):
        found = answer(*events, **target)
        assert not any("id" in item or item["type"] == "reasoning" for item in found.messages)
        assert codes(found).count("foreign_thinking_skipped") == 2


def test_reasoning_that_nothing_follows_is_left_out() -> None:
    tail = {**think("s1", item_id="rs_2", encrypted_content="x"), "block_index": 1}
    found = answer(user("q"), own(), text("s1", block_index=0), tail, user("r", turn="t2"))
    assert [item["type"] for item in found.messages] == ["message"] * 3
    assert codes(found) == ["thinking_tail_skipped"]
    alone = answer(user("q"), own(), think("s1", encrypted_content="x"), user("r", turn="t2"))
    assert codes(alone) == ["thinking_only_step_skipped"]
    plain = answer(user("q"), own(), think("s1", item_id="rs_2"), text("s1"), user("r", turn="t2"))
    assert codes(plain) == ["unsigned_thinking_skipped"]


def test_arguments_that_are_no_object_become_one() -> None:
    found = answer(
        user("q"), own(), call("s1", "c1", "text"), call("s1", "c2", '{"x": 1}'), result(), result("c2")
    )
    assert [item["arguments"] for item in found.messages[1:3]] == ['{"_raw":"text"}', '{"x":1}']


COMPACTION: Item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gCCC"}


@pytest.mark.parametrize("target", [STATELESS, STORED])
def test_a_compaction_of_its_own_stands_for_what_was_before_it(target: Item) -> None:
    events = streamed([RESPONSE[2], COMPACTION, RESPONSE[3], RESPONSE[4]])
    found = answer(user("old", turn="t0"), own("s0", "t0"), text("s0", "older", "t0"), *events, **target)
    assert found.messages == [
        COMPACTION,
        {key: RESPONSE[3][key] for key in ("type", "id", "summary", "encrypted_content") if key != "id"}
        if target is STORED
        else RESPONSE[3],
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"x":1}'},
        o(),
    ]
    assert found.provenance[0] == [[1, 3, 4, 7, 8, 9]]
    assert found.sendable


def test_a_call_before_a_compaction_is_kept_for_its_output() -> None:
    found = answer(*streamed([RESPONSE[4], COMPACTION]))
    assert [item["type"] for item in found.messages] == ["compaction", "function_call", "function_call_output"]


def test_a_compaction_alone_in_its_response_stands_before_what_comes_after_it() -> None:
    events = streamed([COMPACTION])[:-1]
    found = answer(*events, user("r", turn="t2"))
    assert found.messages == [COMPACTION, u("r")]


@pytest.mark.parametrize(
    "target",
    [{"model": "gpt-4.1"}, {"rung": "no-thinking"}, {"rung": "text-only"}],
)
def test_a_compaction_of_another_maker_keeps_the_history(target: Item) -> None:
    found = answer(*streamed([COMPACTION, RESPONSE[2], RESPONSE[4]]), **target)
    assert found.messages[0] == u("q")
    assert all(item["type"] != "compaction" for item in found.messages)


@pytest.mark.parametrize(
    "change", [{"encrypted_content": None}, {"encrypted_content": "\ud800"}, {"type": "other"}]
)
def test_a_compaction_that_cannot_go_back_keeps_the_history(change: Item) -> None:
    events = streamed([COMPACTION, RESPONSE[4]])
    for event in events:
        if event["type"] == "compaction":
            event["provider_metadata"] = {"openai": {**COMPACTION, **change}}
    assert answer(*events).messages[0] == u("q")


@pytest.mark.parametrize(
    ("model", "asked"),
    [("gpt-5.4", True), ("o3", True), ("gpt-7-codex", True), ("gpt-4.1-mini", False), ("ft:gpt-4o:acme", False),
     ("openai/gpt-4o", False), ("gpt-5-chat-latest", False), ("gpt-5.2-chat-latest", False)],
)  # fmt: skip
def test_sealed_reasoning_is_asked_of_models_that_reason(model: str, asked: bool) -> None:
    assert ("include" in answer(user("q"), model=model).extra) == asked
    assert "include" not in answer(user("q"), **{**STORED, "model": model}).extra


def test_custom_tools_are_declared_as_such() -> None:
    grammar = {"type": "grammar", "definition": "start: x", "syntax": "lark"}
    tools = [
        {"type": "custom", "name": "a.b", "description": "Runs.", "format": grammar},
        {"type": "custom", "name": "plain", "format": {"type": "grammar", "definition": 7}},
        {"type": "custom", "name": "f"},
        {"type": "custom", "name": "f", "input_schema": {"type": "object"}},
        {"type": "web_search"},
    ]
    context = {"type": "context", "digest": "d", "tools": tools}
    found = answer(context, user("q"), own(), call("s1", tool_name="a.b"), result())
    name = found.messages[1]["name"]
    assert found.extra["tools"] == [
        {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False},
        {"type": "custom", "name": name, "description": "Runs.", "format": grammar},
        {"type": "custom", "name": "plain"},
    ]
    assert codes(found).count("tool_definition_skipped") == 2


REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}


@pytest.mark.parametrize(
    ("thought", "said"),
    [
        ({"pi": {"thinkingSignature": json.dumps(REASONING)}},
         {"pi": {"textSignature": '{"v":1,"id":"msg_1","phase":"final_answer"}'}}),
        ({"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "gAAA"}},
         {"openai": {"itemId": "msg_1", "phase": "final_answer"}}),
        ({"item_id": "rs_1", "encrypted_content": "gAAA"}, {"item_id": "msg_1", "phase": "final_answer"}),
    ],
)  # fmt: skip
def test_whichever_runtime_recorded_it_reasoning_goes_back(thought: Item, said: Item) -> None:
    events = [
        user("q"), own(), thinking("s1", "", None, provider_metadata=thought),
        text("s1", "A.", provider_metadata=said), user("r", turn="t2"),
    ]  # fmt: skip
    assert answer(*events).messages[1:3] == [REASONING, a("A.", phase="final_answer")]
    told = {"type": "output_text", "text": "A.", "annotations": []}
    message = a([told], id="msg_1", status="completed", phase="final_answer")
    assert answer(*events, **STORED).messages[1:3] == [REASONING, message]


GOES_BY_IDS = {
    "responses-openai-code-interpreter-tool.1.chunks.txt",
    "responses-openai-compaction.1.chunks.txt",
}  # the others hold an item of another type, ids of no type, or no response at all
FIXTURES = SHARED / "fixtures" / "openai-sse"


@needs_shared
@pytest.mark.parametrize("path", sorted(FIXTURES.glob("responses-*.txt")), ids=lambda path: path.name)
def test_a_recorded_stream_goes_back_as_it_came(path: Path) -> None:
    """Every item of the recording that goes by its id is what the provider gave, byte for byte."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    output = {
        event["item"]["id"]: event["item"] for event in lines if event["type"] == "response.output_item.done"
    }
    made = [event["response"]["model"] for event in lines if event["type"] == "response.created"]
    recorded = taken(f"openai-sse/{path.name}").records
    asked = parse_event(
        {"id": "x", "conversation_id": "c", "type": "user_message", "turn_id": "x", "content": "q"}
    )
    records_ = [*recorded, RecordedEvent.of(asked, len(recorded) + 1)]
    target = {**STORED, "model": made[0] if made else "m"}
    found = replay(records_, "c", target, Options(pending_calls="close"))
    assert violations(target, found.request) == []
    assert openai_responses_faults(found.request) == []
    named = [item for item in found.messages if "id" in item]
    for item in named:
        if item["type"] == "item_reference":
            assert item["id"] in output
            continue
        came = output[str(item["id"])]
        for part in came.get("content") or []:
            assert not part.pop("logprobs", None)
        assert item == {key: value for key, value in came.items() if value is not None}
    assert bool(named) == (path.name in GOES_BY_IDS)


def test_the_settings_of_a_context() -> None:
    tools = [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": True}]
    settings = {
        "temperature": 1.0, "top_p": 3, "max_output_tokens": 12, "tool_choice": "required",
        "parallel_tool_calls": False, "reasoning": {"effort": "xhigh", "summary": "loud"},
        "text": {"verbosity": "low", "format": {"type": "text"}}, "store": True,
    }  # fmt: skip
    context = {"type": "context", "digest": "d", "settings": settings}
    base: Item = {
        "model": "gpt-5.4",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "temperature": 1.0,
    }
    assert answer(context, user("q")).extra == base
    used = [{**context, "tools": tools}, user("q"), own(), text("s1"), user("r", turn="t2")]
    declared = {
        **base,
        "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False}],
        "tool_choice": "required",
        "parallel_tool_calls": False,
    }
    native = {"reasoning": {"effort": "xhigh"}, "text": {"verbosity": "low"}}
    assert answer(*used).extra == {**declared, **native}
    del declared["include"]
    assert answer(*used, model="gpt-4.1").extra == {**declared, "model": "gpt-4.1"}
    chosen = answer(*used, thinking={"effort": "low"})
    assert chosen.extra["reasoning"] == {"effort": "low"}


def test_the_models_own_end_is_not_sendable() -> None:
    found = answer(user("q"), own(), text("s1"))
    assert not found.sendable
    assert codes(found) == ["nothing_to_answer"]


# -- each mend switched off


LONG = "c" * 70
HISTORY = [
    user("q"), own(), think("s1", "\ud800", item_id="rs_9", encrypted_content="x"),
    think("s1", item_id="rs_1"), think("s1", item_id="rs_2", encrypted_content="x"),
    text("s1", "\ud800", provider_metadata={"phase": "other"}),
    call("s1", LONG, "text", tool_name="a.b"),
    call("s1", "c2", {"input": "ls"}, provider_metadata={"type": "custom_tool_call"}),
    result(LONG, content={"x": 1}), result("c2"), user("r", turn="t2"),
    own("s2", "t2"), text("s2", "so", "t2", block_index=0),
    {**think("s2", "tail", "t2", item_id="rs_3", encrypted_content="y"), "block_index": 1},
    user("s", turn="t3"), own("s3", "t3"), think("s3", "again", "t3", item_id="rs_2", encrypted_content="x"),
    text("s3", "end", "t3"), user("last", turn="t4"),
]  # fmt: skip


def _same(value: Any, *_: Any) -> Any:
    return value


MENDS: list[tuple[Any, str, Any, str]] = [
    (openai_responses.Names, "sent", lambda _, name: name, "R9"),
    (openai_responses_units.ItemIds, "take", lambda *_: True, "R9"),
    (openai_responses, "reasoning_item", lambda *_: r("rs_7", None), "R7"),
    (openai_responses_items, "_PHASES", ("other",), "R13"),
    (openai_chat_parts, "json_text", _same, "R15"),
    (openai_responses_items, "is_clean", lambda _: True, "S1"),
    (openai_responses, "sendable_text", _same, "S1"),
    (openai_responses.ResponsesWriting, "_drop", lambda self, unit, _: self._flush(unit), "R4"),
    (openai_responses, "output_item", lambda *it: output_item(*it[:3], False, it[4]), "R3"),
    (openai_responses.ResponsesWriting, "_results", lambda *_: None, "R1"),
    (openai_responses, "reasoning_item", lambda *_: {"type": "reasoning", "encrypted_content": "x"}, "R10"),
    (openai_responses, "user_part", lambda *_: {"type": "output_text", "text": "x"}, "R14"),
    (openai_responses, "call_item", lambda _, sent, *__: c(sent, status="incomplete"), "R16"),
    (openai_responses.Names, "sent", lambda _, name: name, "S2"),
]


@pytest.mark.parametrize(("place", "attribute", "value", "rule"), MENDS)
def test_without_a_mend_the_judge_finds_the_fault(
    place: Any, attribute: str, value: Any, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert violations(STATELESS, replay(records(HISTORY), "c", STATELESS).request) == []
    monkeypatch.setattr(place, attribute, value)
    assert rule in [one.rule for one in violations(STATELESS, replay(records(HISTORY), "c", STATELESS).request)]


def test_without_the_unit_the_judge_finds_the_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    events = streamed([RESPONSE[0], {**RESPONSE[2], "content": []}, RESPONSE[4]])
    monkeypatch.setattr(openai_responses_units, "_is_left_out", lambda _: False)
    request = replay(records(events), "c", STORED).request
    response = [RESPONSE[0], RESPONSE[2], RESPONSE[4]]
    assert violations(STORED, request, original=[response]) == []  # the reasoning went with what followed
    monkeypatch.setattr(openai_responses_units, "_prefixes", lambda _: ("",))
    wrong = streamed([{**RESPONSE[0], "id": "x_1"}, RESPONSE[4]])
    assert [one.rule for one in violations(STORED, replay(records(wrong), "c", STORED).request)] == ["R9"]
