"""pi's stream, rule by rule: prompts and their ends, retries, what broken lines lost, what is cut."""

from __future__ import annotations

from typing import Any

import pytest

from tests.streams import Taken, check_sound, lines, take

Record = dict[str, Any]


def text(said: str) -> Record:
    return {"type": "text", "text": said}


def user(said: str, time: int = 1796069754873) -> Record:
    return {"role": "user", "content": [text(said)], "timestamp": time}


def assistant(*blocks: Record, stop: str = "stop", **more: Any) -> Record:
    return {
        "role": "assistant",
        "content": list(blocks),
        "api": "anthropic-messages",
        "provider": "p",
        "model": "m",
        "stopReason": stop,
        "usage": {"input": 3, "output": 2, "cacheRead": 1, "cacheWrite": 0, "totalTokens": 6},
        **more,
    }


def call(name: str = "k1") -> Record:
    return {"type": "toolCall", "id": name, "name": "bash", "arguments": {"command": name}}


def message(said: Record) -> list[Record]:
    return [{"type": "message_start", "message": said}, {"type": "message_end", "message": said}]


def turn_end(said: Record, *results: Record) -> Record:
    return {"type": "turn_end", "message": said, "toolResults": list(results)}


def agent_end(*messages: Record, retry: bool | None = False) -> Record:
    return {"type": "agent_end", "messages": list(messages)} | ({} if retry is None else {"willRetry": retry})


def run(*said: Record, retry: bool | None = False) -> list[Record]:
    """A run of one step: what is given before, then the last message as the model's."""
    told = [record for one in said for record in message(one)]
    starts: list[Record] = [{"type": "agent_start"}, {"type": "turn_start"}]
    return [*starts, *told, turn_end(said[-1]), agent_end(*said, retry=retry)]


SETTLED: Record = {"type": "agent_settled"}
PROMPTED: Record = {"type": "response", "id": "p1", "command": "prompt", "success": True}
RETRYING: Record = {"type": "auto_retry_start", "attempt": 1, "errorMessage": "529"}


def taken(*records: Record | list[Record], **more: Any) -> Taken:
    flat = [one for record in records for one in (record if isinstance(record, list) else [record])]
    these = take("pi", flat, **more)
    check_sound(these)
    return these


def test_a_prompt_is_a_turn_and_a_message_a_step() -> None:
    these = taken({"type": "session", "id": "s", "cwd": "/x"}, run(user("q"), assistant(text("a"))), SETTLED)
    assert these.kinds == [
        "note", "turn_start", "user_message", "step_start", "text_complete", "step_finish", "complete",
    ]  # fmt: skip
    start, finish = these.only("step_start"), these.only("step_finish")
    assert (start["provider"], start["api"], start["model"]) == ("p", "anthropic-messages", "m")
    usage = finish["usage"]
    assert {name: usage[name] for name in ("input", "output", "cache_read", "cache_write")} == {
        "input": 3,
        "output": 2,
        "cache_read": 1,
        "cache_write": 0,
    }
    assert usage["reported"]["totalTokens"] == 6
    assert these.only("user_message")["at"] == "2026-11-30T20:15:54.873Z"
    assert these.only("complete")["stop_reason"] == "stop"


def test_a_retry_names_the_step_that_failed() -> None:
    failed = assistant(text("partial one"), stop="error", errorMessage="529")
    good = assistant(text("whole two"))
    these = taken(run(user("q"), failed, retry=True), RETRYING, run(good), SETTLED)
    first, second = these.of("step_start")
    assert second["retry_of"] == first["step_id"]
    (error,) = these.of("error")
    assert (error["step_id"], error["retryable"], error["message"]) == (first["step_id"], True, "529")
    assert these.only("complete")["stop_reason"] == "stop"
    partial, whole = these.of("text_complete")
    assert partial["partial"] is True
    assert "partial" not in whole
    assert [part["text"] for part in these.replay().messages[-1]["content"]] == ["whole two"]  # type: ignore[index, union-attr, call-overload]


def test_an_error_that_is_not_tried_again_ends_the_turn_at_the_marker_or_the_end() -> None:
    failed = assistant(stop="error", errorMessage="401")
    for after in ([SETTLED], []):
        these = taken(run(user("q"), failed, retry=None), *after)
        assert these.ends == [("error", None)]
        assert these.only("error")["message"] == "401"


@pytest.mark.parametrize("between", [[], [PROMPTED]])
def test_without_a_marker_the_next_prompt_tells_that_the_failed_run_is_over(between: list[Record]) -> None:
    failed = assistant(stop="error", errorMessage="401")
    these = taken(run(user("one"), failed, retry=None), between, run(user("two"), assistant(text("b"))))
    assert these.ends == [("error", None), ("complete", "stop")]
    (error,) = these.of("error")
    assert "retryable" not in error
    assert [event["turn_id"] for event in these.of("user_message")] == [
        event["turn_id"] for event in these.of("turn_start")
    ]


def test_overflow_is_compacted_and_tried_again_with_the_prompt_kept() -> None:
    failed = assistant(stop="error", errorMessage="too long")
    compaction: Record = {
        "type": "compaction_end",
        "reason": "overflow",
        "willRetry": True,
        "result": {"summary": "so far", "firstKeptEntryId": "e7"},
    }
    these = taken(
        run(user("old"), assistant(text("answer"))),
        SETTLED,
        run(user("q", 2), failed),
        {"type": "compaction_start", "reason": "overflow"},
        compaction,
        run(assistant(text("shorter"))),
        SETTLED,
    )
    assert these.ends == [("complete", "stop"), ("complete", "stop")]
    told = these.only("compaction")
    assert told["summary"] == "so far"
    assert told["provider_metadata"]["pi"]["firstKeptEntryId"] == "e7"
    messages = these.replay().messages
    assert [message["role"] for message in messages] == ["user", "user", "assistant"]
    assert messages[0]["content"] == [text("so far")]
    assert these.of("user_message")[-1]["origin"] == "runtime"


def test_a_run_after_the_answer_is_a_turn_of_its_own() -> None:
    these = taken(
        PROMPTED,
        run(user("q"), assistant(text("first"))),
        run(user("queued", 2), assistant(text("second"))),
        SETTLED,
        {**PROMPTED, "id": "p2"},
        run(user("q3", 3), assistant(text("third"))),
        SETTLED,
    )
    said = {event["turn_id"]: event["text"] for event in these.of("text_complete")}
    asked = {event["turn_id"]: event["content"][0]["text"] for event in these.of("user_message")}
    assert [(asked[turn], said[turn]) for turn in asked] == [
        ("q", "first"),
        ("queued", "second"),
        ("q3", "third"),
    ]
    assert these.notes("stray_settled_skipped") == []


def test_stray_markers_are_skipped_and_said() -> None:
    these = taken(SETTLED, run(user("q"), assistant(text("a"))), SETTLED, SETTLED)
    assert these.ends == [("complete", "stop")]
    assert len(these.notes("stray_settled_skipped")) == 2


def test_a_refused_prompt() -> None:
    refused: Record = {"type": "response", "id": "p2", "command": "prompt", "success": False, "error": "busy"}
    idle = taken(refused, run(user("q"), assistant(text("a"))))
    assert idle.ends == [("error", "prompt_refused"), ("complete", "stop")]
    began = run(user("q"), assistant(text("a")))
    within = taken(began[:3], refused, began[3:])
    assert within.ends == [("complete", "stop")]
    assert within.notes("response")[0]["entry"] == refused


def test_steering_and_follow_ups_are_part_of_the_turn() -> None:
    these = taken(
        {"type": "agent_start"},
        message(user("q")),
        message(assistant(call(), stop="toolUse")),
        {"type": "tool_execution_start", "toolCallId": "k1", "toolName": "bash", "args": {}},
        {
            "type": "tool_execution_end",
            "toolCallId": "k1",
            "toolName": "bash",
            "result": {"content": [text("ok")]},
        },
        {"type": "queue_update", "steering": ["s"], "followUp": []},
        message(user("s", 2)),
        message(assistant(text("steered"))),
        agent_end(user("q"), assistant(text("steered"))),
    )
    asked = these.of("user_message")
    assert [event.get("steering") for event in asked] == [None, True]
    assert len(these.of("turn_start")) == 1


def test_results_in_any_order_progress_and_details() -> None:
    both = assistant(call("a"), call("b"), stop="toolUse")
    end = {"type": "tool_execution_end", "toolName": "bash", "isError": False}
    result = {"role": "toolResult", "toolName": "bash", "isError": False}
    these = taken(
        {"type": "agent_start"},
        message(user("q")),
        message(both),
        {"type": "tool_execution_start", "toolCallId": "a", "toolName": "bash", "args": {}},
        {"type": "tool_execution_start", "toolCallId": "b", "toolName": "bash", "args": {}},
        {
            "type": "tool_execution_update",
            "toolCallId": "a",
            "toolName": "bash",
            "partialResult": {"content": []},
        },
        {**end, "toolCallId": "b", "result": {"content": [text("B")], "details": {"n": 1}}, "durationMs": 12},
        {**end, "toolCallId": "a", "result": {"content": [text("A")]}},
        message({**result, "toolCallId": "a", "content": [text("A")]}),
        message({**result, "toolCallId": "b", "content": [text("B")], "details": {"n": 1}}),
        turn_end(both, {**result, "toolCallId": "a", "content": [text("A")]}),
        message(assistant(text("done"))),
        agent_end(assistant(text("done"))),
    )
    assert [(name, content[0]["text"]) for name, content, _ in these.results] == [("b", "B"), ("a", "A")]
    first = these.of("tool_result")[0]
    assert (first["structured"], first["duration_ms"]) == ({"n": 1}, 12)
    answers = these.replay().messages[2]["content"]
    assert [part["tool_call_id"] for part in answers] == ["a", "b"]  # type: ignore[index, union-attr, call-overload]


def test_the_same_call_id_in_a_later_step_is_answered_again() -> None:
    def step(said: str) -> list[Record]:
        end = {"type": "tool_execution_end", "toolCallId": "k1", "result": {"content": [text(said)]}}
        return [*message(assistant(call(), stop="toolUse")), end]

    these = taken({"type": "agent_start"}, message(user("q")), step("one"), step("two"), SETTLED)
    assert [content[0]["text"] for _, content, _ in these.results] == ["one", "two"]
    assert len({event["step_id"] for event in these.of("tool_result")}) == 2


def test_what_a_broken_line_lost_is_taken_from_what_restates_it() -> None:
    whole = run(user("q"), assistant(text("a"), call(), stop="stop"))
    for lost in (
        ["message_end"],
        ["message_start", "message_end"],
        ["message_start", "message_end", "turn_end"],
    ):
        kept = [record for record in whole if record["type"] not in lost]
        these = taken([*kept, SETTLED])
        assert (these.texts, [name for _, name, _ in these.calls]) == (["a"], ["bash"])
        assert these.of("user_message")[0]["content"] == [text("q")]
        assert these.ends == [("complete", "stop")]


def update(kind: str, index: int = 0, **more: Any) -> Record:
    partial = more.pop("partial", None)
    event = {"type": kind, "contentIndex": index, **more}
    return {"type": "message_update", "assistantMessageEvent": event} | (
        {"message": partial} if partial else {}
    )


def test_a_cut_keeps_what_streamed_and_says_what_is_partial() -> None:
    began: list[Record] = [{"type": "agent_start"}, *message(user("q"))]
    start: Record = {"type": "message_start", "message": assistant()}
    streamed = [
        update("thinking_start"),
        update("thinking_delta", delta="why"),
        update("thinking_end", content="why"),
        update("text_start", 1),
        update("text_delta", 1, delta="hel"),
    ]
    these = taken(began, start, streamed)
    thought, said = these.only("thinking_complete"), these.only("text_complete")
    assert (thought["text"], said["text"], said["partial"]) == ("why", "hel", True)
    assert these.ends == [("error", "missing_terminal_event")]
    assert these.of("step_finish") == []
    stopped = taken(began, start, streamed, end="user_stop")
    assert stopped.ends == [("abort", "user_stop")]
    assert stopped.texts == ["hel"]


def test_a_snapshot_may_hold_more_than_the_deltas() -> None:
    """Up to 0.83 an update shows the message as it stood when it was written out."""
    signed = {"type": "thinking", "thinking": "why so", "thinkingSignature": "half"}
    snapshot = assistant(signed, text("hello wor"))
    these = taken(
        {"type": "agent_start"},
        message(user("q")),
        {"type": "message_start", "message": assistant()},
        update("thinking_delta", delta="why", partial=snapshot),
        update("text_delta", 1, delta="hello", partial=snapshot),
    )
    assert these.texts == ["hello wor"]
    thought = these.only("thinking_complete")
    assert "signature" not in thought, "it may stand over half of the text"
    assert thought["provider_metadata"]["pi"]["thinkingSignature"] == "half"


def test_an_abort_keeps_the_partial_text_and_no_call_that_never_ran() -> None:
    stopped = assistant(text("half"), call(), stop="aborted", errorMessage="Request was aborted")
    these = taken(run(user("q"), stopped), SETTLED)
    assert these.ends == [("abort", "user_stop")]
    assert these.only("text_complete")["partial"] is True
    assert these.calls == []
    (note,) = these.notes("dropped")
    assert note["dropped"][0]["id"] == "k1"


def test_output_of_a_tool_that_was_still_running_is_kept_as_progress() -> None:
    these = taken(
        {"type": "agent_start"},
        message(user("q")),
        message(assistant(call(), stop="toolUse")),
        {"type": "tool_execution_start", "toolCallId": "k1", "toolName": "bash", "args": {}},
        {
            "type": "tool_execution_update",
            "toolCallId": "k1",
            "toolName": "bash",
            "partialResult": {"content": [text("1")]},
        },
        {
            "type": "tool_execution_update",
            "toolCallId": "k1",
            "toolName": "bash",
            "partialResult": {"content": [text("12")]},
        },
    )
    (progress,) = these.of("tool_result")
    assert (progress["content"], progress["final"]) == ([text("12")], False)
    assert these.ends == [("error", "missing_terminal_event")]


def test_context_that_an_extension_puts_in_waits_for_the_next_prompt() -> None:
    custom = {"role": "custom", "customType": "note", "content": "noted", "display": True, "timestamp": 5}
    these = taken(message(custom), PROMPTED, run(user("q", 6), assistant(text("a"))), SETTLED)
    assert len(these.of("turn_start")) == 1
    assert [event.get("origin") for event in these.of("user_message")] == ["runtime", None]
    alone = taken(message(custom))
    assert alone.ends == [("complete", "handled")]


def test_settings_and_the_system_prompt_are_context() -> None:
    system = {
        "role": "system",
        "content": "",
        "sections": {"a": "Be kind.", "b": "Be short."},
        "toolsAdded": [{"name": "x"}],
    }
    these = taken(
        {"type": "thinking_level_changed", "level": "high"},
        run(system, user("q"), assistant(text("a"))),
        SETTLED,
    )
    context = these.of("context")[-1]
    assert context["system"] == "Be kind.\n\nBe short."
    assert context["tools"] == [{"name": "x"}]
    assert context["settings"] == {"thinking_level": "high"}
    assert these.only("step_start")["context"] == context["digest"]


def test_blocks_of_tomorrow_and_records_of_tomorrow() -> None:
    strange = {"type": "hologram", "data": 1}
    these = taken(run(user("q"), assistant(text("a"), strange)), {"type": "fresh_event", "n": 1}, SETTLED)
    (block,), (record,) = these.notes("block"), these.notes("raw")
    assert (block["entry"], block["block_index"]) == (strange, 1)
    assert record["entry"] == {"type": "fresh_event", "n": 1}
    assert these.ends == [("complete", "stop")]


def test_nothing_but_the_header_is_a_failed_turn() -> None:
    these = taken({"type": "session", "id": "s", "cwd": "/x"})
    assert these.ends == [("error", "missing_terminal_event")]
    assert taken({"type": "response", "command": "get_state", "success": True, "data": {}}).events == []


def test_line_ends_inside_strings_are_text() -> None:
    said = "one\u2028two\u0085three"
    data = lines(run(user("q"), assistant(text(said))))
    assert take("pi", data.replace(b"\n", b"\r\n")).texts == [said]
