"""The AI SDK's streams: every kind of part, in both spellings, and every way to end."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.events import JsonObject
from tests.streams import Taken, check_sound, lines, sse
from tests.streams import take as take_stream


def ui(*records: JsonObject, done: bool = True, **options: Any) -> Taken:
    these = take_stream("ai-sdk", sse(records, done=done), **options)
    check_sound(these)
    return these


def full(*records: JsonObject, **options: Any) -> Taken:
    these = take_stream("ai-sdk", lines(records), **options)
    check_sound(these)
    return these


START: JsonObject = {"type": "start", "messageId": "m1"}
STEP: JsonObject = {"type": "start-step"}
END_STEP: JsonObject = {"type": "finish-step"}
FINISH: JsonObject = {"type": "finish", "finishReason": "stop"}


def text(*pieces: str, name: str = "0", **more: Any) -> list[JsonObject]:
    deltas: list[JsonObject] = [{"type": "text-delta", "id": name, "delta": piece} for piece in pieces]
    return [{"type": "text-start", "id": name}, *deltas, {"type": "text-end", "id": name, **more}]


def thinking(words: str, name: str = "0", **metadata: Any) -> list[JsonObject]:
    return [
        {"type": "reasoning-start", "id": name},
        {"type": "reasoning-delta", "id": name, "delta": words},
        {"type": "reasoning-delta", "id": name, "delta": "", "providerMetadata": metadata},
        {"type": "reasoning-end", "id": name},
    ]


def call(call_id: str = "c1", tool: str = "Read", given: Any = None, **more: Any) -> list[JsonObject]:
    return [
        {"type": "tool-input-start", "toolCallId": call_id, "toolName": tool},
        {"type": "tool-input-delta", "toolCallId": call_id, "inputTextDelta": "{"},
        {
            "type": "tool-input-available",
            "toolCallId": call_id,
            "toolName": tool,
            "input": {} if given is None else given,
            **more,
        },
    ]


def output(call_id: str = "c1", value: Any = "ok", **more: Any) -> JsonObject:
    return {"type": "tool-output-available", "toolCallId": call_id, "output": value, **more}


def test_steps_with_parts_whose_ids_repeat() -> None:
    these = ui(
        START,
        STEP,
        *thinking("Hm.", anthropic={"signature": "s1"}),
        *text("Looking", " now.", name="1"),
        *call(),
        output(),
        END_STEP,
        STEP,
        *text("Again", name="1"),
        *text(" and again", name="1"),
        END_STEP,
        FINISH,
        turn_id="mine",
    )
    assert these.texts == ["Looking now.", "Again", " and again"]
    assert these.steps == ["m1:1", "m1:2"]
    assert these.only("thinking_complete")["signature"] == "s1"
    assert these.only("thinking_complete")["provider_metadata"] == {"anthropic": {"signature": "s1"}}
    assert these.calls == [("c1", "Read", {})]
    assert these.ends == [("complete", "stop")]
    assert these.only("turn_start")["turn_id"] == "mine"
    assert these.only("turn_start")["message_id"] == "m1"


def test_who_answered_is_said_as_soon_as_it_is_known() -> None:
    usage = {"inputTokens": 100, "inputTokenDetails": {"cacheReadTokens": 60}, "outputTokens": 9}
    these = full(
        {"type": "start"},
        STEP,
        *thinking("Hm.", anthropic={"signature": "s1"}),
        *text("Yes."),
        {
            "type": "finish-step",
            "finishReason": "stop",
            "usage": usage,
            "response": {"id": "msg_1", "modelId": "claude-opus-4-5"},
            "providerMetadata": {"anthropic": {"container": None}},
        },
        {"type": "finish", "finishReason": "stop", "totalUsage": usage},
    )
    finish = these.only("step_finish")
    assert finish["usage"] == {"input": 40, "output": 9, "cache_read": 60, "reported": usage}
    assert finish["response_id"] == "msg_1"
    sent = these.replay({"provider": "anthropic", "model": "claude-opus-4-5"}).messages[-1]["content"]
    assert sent[0] == {"type": "thinking", "thinking": "Hm.", "signature": "s1"}
    assert these.of("token_usage") == []


@pytest.mark.parametrize(
    ("metadata", "signature", "redacted"),
    [
        ({"anthropic": {"signature": "S"}}, "S", None),
        ({"anthropic": {"redactedData": "R"}}, None, "R"),
        ({"bedrock": {"signature": "S"}}, "S", None),
        ({"pydantic_ai": {"signature": "S", "provider_name": "anthropic"}}, "S", None),
        ({"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "E"}}, None, None),
        ({"google": {"thoughtSignature": "T"}}, None, None),
    ],
)
def test_reasoning_keeps_its_identity(metadata: Any, signature: str | None, redacted: str | None) -> None:
    thought = ui(START, STEP, *thinking("Hm.", **metadata), END_STEP, FINISH).only("thinking_complete")
    assert (thought.get("signature"), thought.get("redacted_data")) == (signature, redacted)
    assert thought["provider_metadata"] == metadata


def test_metadata_of_start_delta_and_end_is_one() -> None:
    these = ui(
        START,
        STEP,
        {"type": "reasoning-start", "id": "r", "providerMetadata": {"openai": {"itemId": "rs_1"}}},
        {
            "type": "reasoning-end",
            "id": "r",
            "providerMetadata": {"openai": {"reasoningEncryptedContent": "E"}},
        },
        *text("x", providerMetadata={"openai": {"itemId": "msg_1"}}),
        END_STEP,
        FINISH,
    )
    assert these.only("thinking_complete")["provider_metadata"] == {
        "openai": {"itemId": "rs_1", "reasoningEncryptedContent": "E"}
    }
    assert [event.get("provider") for event in these.of("step_start")] == [None, "openai"]


# -- tools


def test_results_in_completion_order_stand_with_their_calls() -> None:
    these = ui(
        START,
        STEP,
        *call("c1"),
        *call("c2"),
        output("c2", "two", preliminary=True),
        output("c2", {"n": 2}),
        {"type": "tool-output-error", "toolCallId": "c1", "errorText": "Error: no"},
        END_STEP,
        STEP,
        *text("x"),
        END_STEP,
        FINISH,
    )
    assert these.results == [("c2", "two", None), ("c2", {"n": 2}, None), ("c1", "Error: no", True)]
    assert [result.get("final") for result in these.of("tool_result")] == [False, None, None]
    tool = these.replay().messages[1]
    assert [part["tool_call_id"] for part in tool["content"]] == ["c1", "c2"]


def test_the_full_streams_names_for_the_same() -> None:
    these = full(
        {"type": "start"},
        STEP,
        {"type": "tool-input-start", "id": "c1", "toolName": "Read"},
        {"type": "tool-input-delta", "id": "c1", "delta": "{}"},
        {"type": "tool-input-end", "id": "c1"},
        {"type": "tool-call", "toolCallId": "c1", "toolName": "Read", "input": {}, "dynamic": True},
        {"type": "tool-call", "toolCallId": "c2", "toolName": "Read", "input": "bad", "invalid": True},
        {
            "type": "tool-error",
            "toolCallId": "c2",
            "error": {"name": "AI_InvalidToolInputError", "message": "bad"},
        },
        {"type": "tool-result", "toolCallId": "c1", "toolName": "Read", "output": "ok"},
        {"type": "raw", "rawValue": {"type": "content_block_stop"}},
        {"type": "finish-step", "finishReason": "tool-calls"},
        {"type": "finish", "finishReason": "tool-calls"},
    )
    assert these.calls == [("c1", "Read", {}), ("c2", "Read", "bad")]
    assert these.results == [("c2", "AI_InvalidToolInputError: bad", True), ("c1", "ok", None)]
    assert these.ends == [("complete", "tool-calls")]
    assert these.notes() == []


def test_the_older_names() -> None:
    these = full(
        {"type": "step-start", "messageId": "m", "request": {}},
        {"type": "reasoning", "textDelta": "Hm."},
        {"type": "reasoning-signature", "signature": "S"},
        {"type": "redacted-reasoning", "data": "R"},
        {"type": "text-delta", "textDelta": "Look"},
        {"type": "text-delta", "textDelta": "ing."},
        {"type": "tool-call-streaming-start", "toolCallId": "c1", "toolName": "Read"},
        {"type": "tool-call-delta", "toolCallId": "c1", "toolName": "Read", "argsTextDelta": "{}"},
        {"type": "tool-call", "toolCallId": "c1", "toolName": "Read", "args": {"a": 1}},
        {"type": "tool-result", "toolCallId": "c1", "toolName": "Read", "args": {}, "result": "ok"},
        {
            "type": "step-finish",
            "finishReason": "tool-calls",
            "usage": {"promptTokens": 5, "completionTokens": 2},
            "response": {"id": "r1", "modelId": "m"},
        },
        {"type": "step-start", "messageId": "m"},
        {"type": "text-delta", "textDelta": "Done."},
        {"type": "step-finish", "finishReason": "stop", "usage": {"promptTokens": 6, "completionTokens": 1}},
        {"type": "finish", "finishReason": "stop", "usage": {"promptTokens": 11, "completionTokens": 3}},
    )
    assert these.texts == ["Looking.", "Done."]
    assert [
        thought.get("signature") or thought.get("redacted_data") for thought in these.of("thinking_complete")
    ] == [
        "R",
        "S",
    ]
    assert these.calls == [("c1", "Read", {"a": 1})]
    assert these.results == [("c1", "ok", None)]
    assert [finish["usage"]["input"] for finish in these.of("step_finish")] == [5, 6]
    assert these.ends == [("complete", "stop")]
    assert these.notes() == []


def test_tools_that_the_provider_runs_are_blocks_of_the_step() -> None:
    meta = {"anthropic": {"type": "mcp-tool-use"}}
    these = ui(
        START,
        STEP,
        *call("s1", "web_search", {"query": "x"}, providerExecuted=True, providerMetadata=meta),
        output("s1", [{"url": "u"}], providerExecuted=True),
        *text("Found."),
        END_STEP,
        FINISH,
    )
    assert [event["provider_executed"] for event in these.of("tool_start", "tool_result")] == [True, True]
    assert these.only("tool_start")["provider_metadata"] == meta
    assert these.only("tool_result")["step_id"] == "m1:1"
    assert [event["block_index"] for event in these.of("tool_start", "tool_result", "text_complete")] == [
        0,
        1,
        2,
    ]


def test_an_input_that_was_refused_is_answered_by_the_error() -> None:
    these = ui(
        START,
        STEP,
        {"type": "tool-input-error", "toolCallId": "c1", "toolName": "Read", "input": "{", "errorText": "bad"},
        END_STEP,
        FINISH,
    )
    assert these.calls == [("c1", "Read", "{")]
    assert these.results == [("c1", "bad", True)]


def test_approvals() -> None:
    request = {"type": "tool-approval-request", "approvalId": "a1", "toolCallId": "c1"}
    asked = [START, STEP, *call(), request, END_STEP, {"type": "finish", "finishReason": "tool-calls"}]
    these = ui(*asked)
    assert these.only("tool_approval")["decision"] == "requested"
    assert these.ends == [("complete", "tool-calls")]
    denied = ui(
        *asked,
        START,
        {"type": "tool-approval-response", "approvalId": "a1", "approved": False, "reason": "No."},
        {"type": "tool-output-denied", "toolCallId": "c1"},
        STEP,
        *text("I won't."),
        END_STEP,
        FINISH,
    )
    assert [event["decision"] for event in denied.of("tool_approval")] == ["requested", "denied"]
    assert denied.results == [("c1", "No.", True)]
    assert len(denied.of("turn_start")) == 2
    approved = full(
        {"type": "start"},
        STEP,
        {"type": "tool-call", "toolCallId": "c1", "toolName": "Read", "input": {}},
        {"type": "tool-approval-request", "approvalId": "a1", "toolCall": {"toolCallId": "c1"}},
        {
            "type": "tool-approval-response",
            "approvalId": "a1",
            "toolCall": {"toolCallId": "c1"},
            "approved": True,
        },
        {"type": "tool-result", "toolCallId": "c1", "output": "ok"},
        {"type": "finish-step", "finishReason": "tool-calls"},
        {"type": "finish", "finishReason": "tool-calls"},
    )
    assert [event["decision"] for event in approved.of("tool_approval")] == ["requested", "approved"]


def test_a_denial_that_nobody_announced() -> None:
    these = ui(START, STEP, *call(), {"type": "tool-output-denied", "toolCallId": "c1"}, END_STEP, FINISH)
    assert [event["decision"] for event in these.of("tool_approval")] == ["denied"]
    assert these.results == [("c1", "Tool execution denied.", True)]


# -- ends


@pytest.mark.parametrize(
    ("reason", "end"),
    [
        ("stop", ("complete", "stop")),
        ("tool-calls", ("complete", "tool-calls")),
        ("length", ("complete", "length")),
        ("content-filter", ("complete", "content-filter")),
        ("error", ("error", "incomplete")),
        ("other", ("error", "incomplete")),
        ("unknown", ("error", "incomplete")),
        (None, ("complete", None)),
    ],
)
def test_reasons(reason: str | None, end: tuple[str, str | None]) -> None:
    finish: JsonObject = {"type": "finish"} if reason is None else {"type": "finish", "finishReason": reason}
    these = ui(START, STEP, *text("x"), END_STEP, finish)
    assert these.ends == [end]
    assert these.texts == ["x"]
    assert (these.of("step_finish") == []) == (end[0] == "error")


def test_a_reason_that_only_the_provider_knows_is_no_cut() -> None:
    these = full(
        {"type": "start"},
        STEP,
        *text("x"),
        {"type": "finish-step", "finishReason": "other", "rawFinishReason": "pause_turn"},
        {"type": "finish", "finishReason": "other", "rawFinishReason": "pause_turn"},
    )
    assert these.ends == [("complete", "other")]
    assert these.only("step_finish")["provider_metadata"] == {"rawFinishReason": "pause_turn"}


def test_a_tool_that_ran_stays_though_tokens_ran_out() -> None:
    these = ui(
        START, STEP, *call(), output(), *call("c2")[:2], END_STEP, {"type": "finish", "finishReason": "length"}
    )
    assert these.calls == [("c1", "Read", {})]
    assert these.only("step_finish")["dropped"] == [{"what": "tool-call", "id": "c2", "why": "out of tokens"}]


def test_abort_keeps_the_call_that_runs() -> None:
    these = ui(START, STEP, *text("Wait", " for"), *call(), {"type": "abort", "reason": "user stop"})
    assert these.ends == [("abort", "user stop")]
    assert these.calls == [("c1", "Read", {})]
    assert ui(START, STEP, {"type": "abort"}).ends == [("abort", None)]


def test_errors() -> None:
    assert (
        ui(START, {"type": "error", "errorText": "An error occurred."}).events[-1]["message"]
        == "An error occurred."
    )
    mid = ui(
        START,
        STEP,
        {"type": "text-start", "id": "0"},
        {"type": "text-delta", "id": "0", "delta": "half"},
        {"type": "error", "errorText": "gone"},
        {"type": "finish", "finishReason": "error"},
    )
    assert mid.ends == [("error", None)]
    assert mid.events[-1]["message"] == "gone"
    assert mid.only("text_complete")["text"] == "half"
    assert mid.of("step_finish") == []
    only_said = full({"type": "start"}, {"type": "error", "error": "words"})
    assert only_said.events[-1]["message"] == "words"


def test_an_error_that_did_not_end_the_answer_is_a_note() -> None:
    these = ui(START, {"type": "error", "errorText": "a tool's"}, STEP, *text("x"), END_STEP, FINISH)
    assert these.ends == [("complete", "stop")]
    assert these.only("step_finish")["finish_reason"] == "stop"
    assert [note["text"] for note in these.notes("error")] == ["a tool's"]


def test_a_cut_stream() -> None:
    half = [START, STEP, {"type": "text-start", "id": "0"}, {"type": "text-delta", "id": "0", "delta": "ha"}]
    for these in (ui(*half, done=False), ui(*half, done=True), ui(*half, START, *text("x"), FINISH)):
        assert these.ends[0] == ("error", "missing_terminal_event")
        assert these.of("text_complete")[0]["partial"] is True
    stopped = ui(*half, done=False, end="user_stop")
    assert stopped.ends == [("abort", "user_stop")]


def test_a_cut_after_a_steps_end_leaves_the_step_whole() -> None:
    these = ui(START, STEP, *call(), output(), END_STEP, done=False)
    assert these.ends == [("error", "missing_terminal_event")]
    assert len(these.of("step_finish")) == 1


def test_a_stream_written_by_hand_is_whole_when_it_is_done() -> None:
    assert ui(*text("By hand.")).ends == [("complete", None)]
    assert ui(START, *text("By hand."), FINISH).ends == [("complete", "stop")]
    assert ui(START, *text("By hand.")[:-1]).ends == [("error", "missing_terminal_event")]


def test_a_step_that_is_tried_again() -> None:
    these = ui(START, STEP, *text("Wrong."), {"type": "reset-step"}, *text("Right."), END_STEP, FINISH)
    assert these.only("retraction")["step_ids"] == ["m1:1"]
    assert [part["text"] for part in these.replay().messages[-1]["content"]] == ["Right."]
    assert these.ends == [("complete", "stop")]


def test_several_answers_over_one_stream() -> None:
    these = ui(
        START,
        STEP,
        *text("One."),
        END_STEP,
        FINISH,
        {"type": "start", "messageId": "m2"},
        STEP,
        *text("Two."),
        END_STEP,
        {"type": "finish", "finishReason": "length"},
        turn_id="mine",
    )
    assert these.ends == [("complete", "stop"), ("complete", "length")]
    assert these.steps == ["m1:1", "m2:1"]
    assert these.of("turn_start")[1]["turn_id"] != "mine"


def test_what_comes_after_the_end_is_kept_with_its_turn() -> None:
    late = output("c1", "late")
    these = ui(START, STEP, *call(), END_STEP, {"type": "finish", "finishReason": "tool-calls"}, late)
    assert these.results == [("c1", "late", None)]
    assert len({event["turn_id"] for event in these.events}) == 1


# -- beside the answer


def test_what_is_no_block_is_a_note() -> None:
    records: list[JsonObject] = [
        {"type": "source-url", "sourceId": "s", "url": "u"},
        {"type": "source", "sourceType": "url", "id": "s", "url": "u"},
        {"type": "data-weather", "id": "d", "data": {"sun": True}},
        {"type": "file", "url": "data:image/png;base64,aGk=", "mediaType": "image/png"},
        {"type": "message-metadata", "messageMetadata": {"mood": "good"}},
        {"type": "custom", "kind": "x"},
        {"type": "brand-new", "id": 1},
    ]
    these = ui(START, STEP, *records, *text("x"), END_STEP, FINISH)
    assert [note["kind"] for note in these.notes()] == [
        "source",
        "source",
        "data",
        "file",
        "metadata",
        "custom",
        "raw",
    ]
    assert [note["entry"] for note in these.notes()] == records
    assert these.notes("file")[0]["block_index"] == 0


def test_usage_that_an_app_adds() -> None:
    usage = {"inputTokens": 12, "outputTokens": 3, "cachedInputTokens": 2, "reasoningTokens": 1}
    metadata: JsonObject = {"type": "message-metadata", "messageMetadata": {"usage": usage, "model": "gpt-x"}}
    these = ui(START, STEP, *text("x"), metadata, END_STEP, FINISH)
    assert these.only("step_finish")["usage"] == {
        "input": 10,
        "output": 3,
        "cache_read": 2,
        "reasoning": 1,
        "reported": usage,
    }
    assert these.of("step_start")[-1]["model"] == "gpt-x"
    total: JsonObject = {"type": "finish", "finishReason": "stop", "messageMetadata": {"totalUsage": usage}}
    whole = ui(START, STEP, *text("x"), END_STEP, total)
    assert whole.only("token_usage")["usage"]["input"] == 10
    assert whole.only("complete")["provider_metadata"] == {"totalUsage": usage}


def test_a_hole_in_reasoning_voids_its_signature() -> None:
    whole = thinking("all of it", anthropic={"signature": "S"})
    these = take_stream("ai-sdk", sse([START, STEP, *whole[:2], b"{broken", *whole[2:], END_STEP, FINISH]))
    thought = these.only("thinking_complete")
    assert "signature" not in thought
    assert thought["provider_metadata"] == {"damaged": {"anthropic": {"signature": "S"}}}
    assert thought["partial"] is True


def test_values_of_the_wrong_type_are_kept_and_are_no_faults() -> None:
    these = ui(
        {"type": "start", "messageId": 5, "messageMetadata": "x"},
        {"type": "start-step", "warnings": 3},
        {"type": "text-delta", "id": {}, "delta": 3, "providerMetadata": "x"},
        {"type": "text-end", "id": "never"},
        {"type": "reasoning-delta", "providerMetadata": {"anthropic": 4}},
        {"type": "tool-input-available"},
        {"type": "tool-input-available", "toolCallId": 3, "toolName": None},
        {"type": "tool-input-delta", "toolCallId": "c"},
        {"type": "tool-output-available", "toolCallId": None},
        {"type": "tool-output-error", "toolCallId": "zz", "errorText": {"name": 3}},
        {"type": "tool-approval-response", "approvalId": []},
        {"type": "message-metadata"},
        {"type": "message-metadata", "messageMetadata": {"usage": {"inputTokens": "x"}}},
        {"type": "finish-step", "usage": 3, "response": [], "providerMetadata": 4},
        {"type": "reset-step"},
        {"type": "error", "error": None},
        {"type": "finish", "finishReason": 7, "totalUsage": []},
    )
    assert these.gist == [
        {"type": "turn_start", "runtime": "ai-sdk", "message_id": "5"},
        {
            "type": "note",
            "kind": "metadata",
            "entry": {"type": "start", "messageId": 5, "messageMetadata": "x"},
        },
        {"type": "step_start"},
        {"type": "note", "kind": "warning", "entry": {"type": "start-step", "warnings": 3}},
        {
            "type": "note",
            "kind": "raw",
            "text": "Line 7: not understood.",
            "entry": {"type": "text-end", "id": "never"},
        },
        {
            "type": "note",
            "kind": "raw",
            "text": "Line 11: not understood.",
            "entry": {"type": "tool-input-available"},
        },
        {"type": "tool_start", "tool_call_id": "3", "tool_name": "", "args": None},
        {
            "type": "note",
            "kind": "raw",
            "text": "Line 17: not understood.",
            "entry": {"type": "tool-output-available", "toolCallId": None},
        },
        {"type": "tool_result", "tool_call_id": "zz", "content": "3", "is_error": True},
        {
            "type": "note",
            "kind": "raw",
            "text": "Line 21: not understood.",
            "entry": {"type": "tool-approval-response", "approvalId": []},
        },
        {
            "type": "note",
            "kind": "metadata",
            "entry": {"type": "message-metadata", "messageMetadata": {"usage": {"inputTokens": "x"}}},
        },
        {"type": "text_complete", "text": "3", "partial": True},
        {"type": "thinking_complete", "text": "", "provider_metadata": {"anthropic": 4}},
        {"type": "tool_start", "tool_call_id": "c", "tool_name": "", "args": ""},
        {"type": "step_finish"},
        {"type": "note", "kind": "raw", "text": "Line 29: not understood.", "entry": {"type": "reset-step"}},
        {"type": "error", "message": "The SDK reported an error.", "entry": {"type": "error", "error": None}},
    ]
