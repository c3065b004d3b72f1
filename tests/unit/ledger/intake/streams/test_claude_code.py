"""Claude Code's stream, rule by rule."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ledger.intake.identity import made_id
from tests.streams import Taken, check_sound, take

Record = dict[str, Any]
NUMBERS = itertools.count(1)
INIT: Record = {
    "type": "system",
    "subtype": "init",
    "session_id": "s",
    "claude_code_version": "2.1",
    "uuid": "i",
}


def line(kind: str, **more: Any) -> Record:
    return {"type": kind, "session_id": "s", "uuid": f"u{next(NUMBERS)}", "parent_tool_use_id": None, **more}


def assistant(name: str, *blocks: Record, **more: Any) -> Record:
    usage = {"input_tokens": 5, "output_tokens": 1}
    message = {"id": name, "role": "assistant", "model": "claude-x", "content": list(blocks), "usage": usage}
    return line("assistant", message=message, **more)


def text(said: str) -> Record:
    return {"type": "text", "text": said}


def call(name: str = "t1", tool: str = "Bash") -> Record:
    return {"type": "tool_use", "id": name, "name": tool, "input": {"command": name}}


def user(content: Any, **more: Any) -> Record:
    return line("user", message={"role": "user", "content": content}, **more)


def answer(name: str = "t1", content: Any = "ok", **more: Any) -> Record:
    return user([{"type": "tool_result", "tool_use_id": name, "content": content}], **more)


def result(**more: Any) -> Record:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 9}
    return line("result", subtype="success", is_error=False, stop_reason="end_turn", usage=usage, **more)


def event(**told: Any) -> Record:
    return line("stream_event", event=told)


def taken(*records: Record, sound: bool = True, **more: Any) -> Taken:
    these = take("claude-code", list(records), **more)
    if sound:
        check_sound(these)
    return these


def test_blocks_of_one_message_come_a_line_each() -> None:
    records = [
        INIT,
        assistant("m1", {"type": "thinking", "thinking": "hm", "signature": "sig"}),
        assistant("m1", text("Let me look.")),
        assistant("m1", call("t1")),
        answer("t1"),
        assistant("m1", call("t2")),
        answer("t2"),
        assistant("m2", text("Done.")),
        result(result="Done."),
    ]
    these = taken(*records)
    assert these.steps == ["m1", "m2"]
    assert [event["block_index"] for event in these.of("thinking_complete", "text_complete", "tool_start")] == [
        0, 1, 2, 3, 0,
    ]  # fmt: skip
    assert {event["step_id"] for event in these.of("tool_result")} == {"m1"}
    assert these.only("turn_start")["runtime"] == "claude-code 2.1"
    assert [finish.get("finish_reason") for finish in these.of("step_finish")] == [None, "end_turn"]
    assert these.of("text_complete")[0]["id"] == made_id("claude-code", "s", records[2]["uuid"], "0")
    usage = these.only("token_usage")
    assert "step_id" not in usage
    assert (usage["usage"]["input"], usage["usage"]["cache_read"], usage["usage"]["output"]) == (5, 2, 9)
    assert [event.get("usage") for event in these.of("step_finish")] == [None, None], "those are not final"
    assert "result" not in these.only("complete")["provider_metadata"]["claude-code"], "it is the last text"


def partial(name: str = "m1", *, stop: str = "end_turn") -> list[Record]:
    return [
        INIT,
        event(type="message_start", message={"id": name, "model": "claude-x", "usage": {"input_tokens": 5}}),
        event(type="content_block_start", index=0, content_block=text("")),
        event(type="content_block_delta", index=0, delta={"type": "text_delta", "text": "Hel"}),
        event(type="content_block_delta", index=0, delta={"type": "text_delta", "text": "lo"}),
        assistant(name, text("Hello")),
        event(type="content_block_stop", index=0),
        event(type="content_block_start", index=1, content_block={**call("t1"), "input": {}}),
        event(
            type="content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": '{"a": '}
        ),
        event(type="content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": "1}"}),
        assistant(name, {**call("t1"), "input": {"a": 1}}),
        event(type="content_block_stop", index=1),
        event(type="message_delta", delta={"stop_reason": stop}, usage={"output_tokens": 7}),
        event(type="message_stop"),
        result(),
    ]


def test_partial_messages_count_once() -> None:
    these = taken(*partial())
    assert these.texts == ["Hello"]
    assert these.calls == [("t1", "Bash", {"a": 1})]
    finish = these.only("step_finish")
    assert (finish["finish_reason"], finish["usage"]["input"], finish["usage"]["output"]) == ("end_turn", 5, 7)
    assert these.of("token_usage") == [], "the message said its own"


def test_a_whole_block_that_was_lost_is_taken_from_its_pieces() -> None:
    these = taken(*(record for record in partial() if record["type"] != "assistant"))
    assert these.texts == ["Hello"]
    assert these.calls == [("t1", "Bash", {"a": 1})]


@pytest.mark.parametrize("lost", range(1, 14))
def test_any_one_line_of_a_partial_message_may_be_lost(lost: int) -> None:
    records = partial()
    del records[lost]
    these = taken(*records)
    assert these.texts == ["Hello"]
    assert these.calls == [("t1", "Bash", {"a": 1})]
    assert these.steps == ["m1"]


def test_a_cut_in_mid_stream_keeps_the_text_and_no_end_of_the_step() -> None:
    these = taken(*partial()[:4])
    assert these.only("text_complete")["partial"] is True
    assert these.texts == ["Hel"]
    assert these.of("step_finish") == []
    assert these.ends == [("error", "missing_terminal_event")]


@pytest.mark.parametrize(
    ("told", "end"),
    [
        ({}, ("complete", "end_turn")),
        ({"is_error": True, "terminal_reason": "api_error", "result": "API Error"}, ("error", "api_error")),
        (
            {"subtype": "error_max_turns", "is_error": True, "terminal_reason": "max_turns"},
            ("error", "max_turns"),
        ),
        (
            {"subtype": "error_during_execution", "is_error": True, "terminal_reason": "aborted_streaming"},
            ("abort", "user_stop"),
        ),
        (
            {"subtype": "error_during_execution", "is_error": True, "terminal_reason": "aborted_tools"},
            ("abort", "user_stop"),
        ),
        ({"subtype": "error_during_execution", "is_error": True}, ("error", "error_during_execution")),
    ],
)
def test_how_a_result_ends_the_turn(told: Record, end: tuple[str, str]) -> None:
    these = taken(INIT, assistant("m1", text("Hm.")), {**result(), **told})
    assert these.ends == [end]


def test_an_interruption_of_older_versions() -> None:
    these = taken(
        INIT,
        assistant("m1", text("Hm.")),
        user([text("[Request interrupted by user]")]),
        {**result(), "subtype": "error_during_execution", "is_error": True},
    )
    assert these.ends == [("abort", "user_stop")]
    assert these.only("user_message")["origin"] == "runtime"


def test_words_of_claude_code_itself_are_never_the_models() -> None:
    record = assistant("x", text("API Error: 529"), error="server_error", is_api_error_message=True)
    record["message"]["model"] = "<synthetic>"
    these = taken(INIT, record, {**result(), "is_error": True, "terminal_reason": "api_error"})
    assert these.texts == []
    assert these.only("error")["message"] == "API Error: 529"
    assert these.notes("synthetic")[0]["entry"] == record
    assert taken(INIT, record).only("error")["message"] == "API Error: 529"


def test_an_answer_that_was_cut_off_and_resumed() -> None:
    these = taken(
        INIT,
        assistant("m1", text("The first ha")),
        user([text("Resume directly.")], isSynthetic=True),
        assistant("m2", text("lf is this.")),
        result(),
    )
    assert [event["step_id"] for event in these.of("step_finish")] == ["m2"]
    assert these.only("user_message")["origin"] == "runtime"


def test_the_prompt_where_it_is_replayed() -> None:
    asked = user("Do it.", isReplay=True)
    steered = user("Faster.", isReplay=True)
    these = taken(
        INIT, asked, assistant("m1", call()), answer(), steered, steered, assistant("m2", text("ok")), result()
    )
    assert [(event["content"], event.get("steering")) for event in these.of("user_message")] == [
        ("Do it.", None),
        ("Faster.", True),
    ]
    assert these.of("user_message")[0]["message_id"] == asked["uuid"]


def test_a_summary_after_its_boundary_is_a_compaction() -> None:
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "b",
        "session_id": "s",
        "compact_metadata": {"pre_tokens": 9},
    }
    these = taken(
        INIT,
        assistant("m1", text("old")),
        boundary,
        user("The summary.", isSynthetic=True),
        assistant("m2", text("new")),
        result(),
    )
    told = these.only("compaction")
    assert told["summary"] == "The summary."
    assert told["provider_metadata"]["claude-code"]["compact_metadata"] == {"pre_tokens": 9}
    assert [message["role"] for message in these.replay().messages] == ["user", "assistant"]
    alone = taken(INIT, boundary, result())
    assert alone.of("compaction") == []
    assert alone.notes("compact_boundary")[0]["entry"] == boundary


def test_denied_calls() -> None:
    meta = [{"id": "t1", "permission_decision": {"decision": "reject", "source": "user"}}]
    these = taken(
        INIT,
        assistant("m1", call()),
        answer("t1", "no", tool_result_meta=meta, tool_use_result="denied"),
        result(),
    )
    approval, told = these.only("tool_approval"), these.only("tool_result")
    assert (approval["decision"], approval["by"]) == ("denied", "user")
    assert told["structured"] == "denied"
    assert told["provider_metadata"]["claude-code"] == meta[0]


def test_what_is_superseded_is_retracted() -> None:
    gone = assistant("m1", text("Half"))
    these = taken(INIT, gone, assistant("m2", text("Whole"), supersedes=[gone["uuid"], "unknown"]), result())
    assert these.only("retraction")["event_ids"] == [these.of("text_complete")[0]["id"]]
    fallback = {
        "type": "system",
        "subtype": "model_refusal_fallback",
        "uuid": "f",
        "session_id": "s",
        "retracted_message_uuids": [gone["uuid"]],
    }
    these = taken(INIT, gone, fallback, fallback, result())
    assert these.only("retraction")["event_ids"] == [these.only("text_complete")["id"]]


def test_sub_agents_go_on_after_the_turn_ended() -> None:
    parent = {"parent_tool_use_id": "t1"}
    task = {
        "type": "system",
        "subtype": "task_started",
        "task_id": "a7",
        "tool_use_id": "t1",
        "task_type": "local_agent",
        "prompt": "Count.",
        "uuid": "k",
        "session_id": "s",
    }
    these = taken(
        INIT,
        assistant("m1", call("t1", "Agent")),
        task,
        answer("t1", "launched"),
        assistant("s1", call("t2"), **parent),
        assistant("m2", text("It runs.")),
        result(),
        answer("t2", "2", **parent),
        assistant("s2", text("Two."), **parent),
        line("result", subtype="success", is_error=False, result="Two files."),
    )
    assert these.ends == [("complete", "end_turn")]
    lane = [event for event in these.events if event.get("agent_id")]
    assert {(event["agent_id"], event["parent_tool_call_id"], event["turn_id"]) for event in lane} == {
        ("a7", "t1", these.only("turn_start")["turn_id"])
    }
    assert lane[0]["content"] == "Count."
    assert [event["text"] for event in lane if event["type"] == "text_complete" and event["text"]] == ["Two."]
    (extra,) = these.notes("extra terminal")
    assert extra["terminal"]["provider_metadata"]["claude-code"]["result"] == "Two files."


def test_turns_of_one_process() -> None:
    these = taken(
        INIT,
        assistant("m1", text("one")),
        result(),
        {**INIT, "uuid": "j"},
        assistant("m2", text("two")),
        result(),
    )
    assert these.ends == [("complete", "end_turn")] * 2
    assert taken(INIT, assistant("m1", text("one")), turn_id="mine").only("turn_start")["turn_id"] == "mine"


def test_lines_that_come_twice_count_once() -> None:
    said, asked, told, end = assistant("m1", text("one")), assistant("m1", call()), answer(), result()
    these = taken(INIT, said, said, asked, asked, told, told, end, end)
    assert (these.texts, len(these.calls), len(these.results)) == (["one"], 1, 1)


def test_a_block_of_a_message_that_was_over_is_not_lost() -> None:
    these = taken(
        INIT,
        assistant("m1", text("one")),
        assistant("m2", text("two")),
        assistant("m1", text("late")),
        result(),
    )
    late = these.of("text_complete")[-1]
    assert (late["step_id"], late["text"]) == ("m1", "late")
    assert these.steps == ["m1", "m2"]


def test_progress_for_the_eye_is_not_recorded_and_the_rest_is() -> None:
    told = [
        {"type": "system", "subtype": "thinking_tokens", "estimated_tokens": 8},
        {"type": "system", "subtype": "status", "status": "requesting"},
        {"type": "keep_alive"},
        {"type": "system", "subtype": "api_retry", "error": "overloaded"},
        {"type": "control_response", "response": {}},
        {"type": "record_of_tomorrow", "x": 1},
    ]
    these = taken(INIT, *told, result())
    assert [note["kind"] for note in these.notes()] == [
        "init",
        "api_retry",
        "control_response",
        "record_of_tomorrow",
    ]
    assert these.notes("record_of_tomorrow")[0]["entry"] == told[-1]
