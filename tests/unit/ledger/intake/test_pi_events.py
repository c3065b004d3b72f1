"""Records of a pi session as canonical events: one test a rule (specs/pi.md 2.6 and 3)."""

from __future__ import annotations

from typing import Any

from ledger.events import (
    Abort,
    BaseEvent,
    Compaction,
    Complete,
    Context,
    Error,
    Note,
    StepFinish,
    StepStart,
    TextComplete,
    ThinkingComplete,
    TokenUsage,
    ToolResult,
    ToolStart,
    UserMessage,
)
from tests.pi_files import START, SessionFile, Taken, call, take


def of(taken: Taken, *kinds: type[BaseEvent]) -> list[Any]:
    return [event for event in taken.events() if isinstance(event, kinds)]


def types(taken: Taken) -> list[str]:
    return [event.type for event in taken.events()]


def test_a_turn_with_two_steps() -> None:
    file = SessionFile()
    file.user("q", "u1")
    thinking = {"type": "thinking", "thinking": "hm", "thinkingSignature": "SIG"}
    file.assistant(thinking, "let me look", call("c1", command="ls"), stop="toolUse", entry_id="a1")
    file.result("c1", "out", "r1")
    file.assistant("done", entry_id="a2", responseId="msg_1")
    taken = take(file.data())
    assert types(taken) == [
        *("note", "turn_start", "user_message"),
        *("step_start", "thinking_complete", "text_complete", "tool_start", "token_usage", "step_finish"),
        "tool_result",
        *("step_start", "text_complete", "token_usage", "step_finish", "complete"),
    ]
    events = taken.events()
    assert {event.turn_id for event in events[1:]} == {"u1"}
    assert [event.step_id for event in events[3:]] == ["a1"] * 7 + ["a2"] * 4 + [None]
    assert [event.block_index for event in events[4:7]] == [0, 1, 2]
    assert of(taken, ThinkingComplete)[0].signature == "SIG"
    assert of(taken, ToolStart)[0].args == {"command": "ls"}
    assert of(taken, ToolResult)[0].content == [{"type": "text", "text": "out"}]
    assert of(taken, StepStart)[0].provider == "anthropic"
    assert of(taken, StepFinish)[-1].response_id == "msg_1"
    assert of(taken, Complete)[0].source == events[-2].source


def test_usage_is_disjoint_and_the_sources_own_numbers_are_kept() -> None:
    file = SessionFile()
    file.user("q")
    usage = {"input": 5, "output": 7, "cacheRead": 11, "cacheWrite": 13, "reasoning": 2, "totalTokens": 36}
    file.assistant("a", usage=usage)
    event = of(take(file.data()), TokenUsage)[0]
    assert event.usage == {"input": 5, "output": 7, "cache_read": 11, "cache_write": 13, "reasoning": 2}
    assert event.provider_metadata["pi"]["usage"] == usage


def test_redacted_thinking_holds_its_payload_and_not_the_placeholder() -> None:
    file = SessionFile()
    file.user("q")
    file.assistant(
        {"type": "thinking", "thinking": "[redacted]", "thinkingSignature": "ENC", "redacted": True}, "a"
    )
    event = of(take(file.data()), ThinkingComplete)[0]
    assert (event.text, event.signature, event.redacted_data) == ("", None, "ENC")


def test_a_field_name_and_an_empty_signature_sign_nothing() -> None:
    file = SessionFile()
    file.user("q")
    named = {"type": "thinking", "thinking": "t", "thinkingSignature": "reasoning_content"}
    file.assistant(named, "a", api="openai-completions")
    file.assistant({"type": "thinking", "thinking": "t", "thinkingSignature": ""}, "a")
    first, second = of(take(file.data()), ThinkingComplete)
    assert first.signature is None
    assert first.provider_metadata == {"pi": {"thinkingSignature": "reasoning_content"}}
    assert second.signature is None
    assert second.provider_metadata == {"pi": {"thinkingSignature": ""}}


def test_signatures_of_texts_and_calls_stay_beside_them() -> None:
    file = SessionFile()
    file.user("q")
    text = {"type": "text", "text": "a", "textSignature": '{"v":1,"id":"msg_1"}'}
    file.assistant(text, {**call("c1"), "thoughtSignature": "TS", "partialJson": "{"}, stop="toolUse")
    taken = take(file.data())
    assert of(taken, TextComplete)[0].provider_metadata == {"pi": {"textSignature": '{"v":1,"id":"msg_1"}'}}
    assert of(taken, ToolStart)[0].provider_metadata == {"pi": {"thoughtSignature": "TS", "partialJson": "{"}}


def test_a_retried_error_is_no_end_and_names_its_attempt() -> None:
    file = SessionFile()
    file.user("q", "u1")
    file.assistant("half", stop="error", errorMessage="503", entry_id="e1")
    file.assistant("whole", entry_id="a1")
    taken = take(file.data())
    errors = of(taken, Error)
    assert [(error.retryable, error.step_id, error.message) for error in errors] == [(True, "e1", "503")]
    assert [step.retry_of for step in of(taken, StepStart)] == [None, "e1"]
    assert taken.texts() == ["q", "whole"]


def test_an_error_is_final_once_the_user_speaks_again_and_its_text_is_kept() -> None:
    file = SessionFile()
    file.user("q", "u1")
    file.assistant("half", stop="error", errorMessage="503")
    file.user("again", "u2")
    taken = take(file.data())
    last = of(taken, Error)[-1]
    assert (last.turn_id, last.retryable, last.source["inferred"]) == ("u1", None, True)
    assert taken.texts() == ["q", "half", "again"]


def test_the_last_turn_of_a_file_is_not_ended_without_evidence() -> None:
    for stop in ("error", "toolUse", "pending"):
        file = SessionFile()
        file.user("q")
        file.assistant("half", stop=stop, errorMessage="503")
        assert not [event for event in take(file.data()).events() if event.type in ("complete", "abort")]
        assert all(error.retryable for error in of(take(file.data()), Error))


def test_an_aborted_answer_is_partial_and_ends_its_turn() -> None:
    file = SessionFile()
    file.user("q", "u1")
    file.assistant("slow st", stop="aborted", errorMessage="Request was aborted")
    taken = take(file.data())
    assert "step_finish" not in types(taken)
    assert [(event.turn_id, event.reason) for event in of(taken, Abort)] == [("u1", "user_stop")]
    assert taken.texts() == ["q", "slow st"]


def test_length_ends_a_turn_unless_calls_go_on() -> None:
    file = SessionFile()
    file.user("q", "u1")
    file.assistant(call("c1"), stop="length")
    file.result("c1", "not executed")
    file.assistant("trunc", stop="length")
    taken = take(file.data())
    assert [event.stop_reason for event in of(taken, Complete)] == ["length"]
    assert len(of(taken, StepStart)) == 2


def test_a_message_typed_while_the_turn_ran_steers_it() -> None:
    file = SessionFile()
    file.user("q", "u1", timestamp=1_790_000_000_500)
    file.assistant(call("c1"), stop="toolUse")
    file.result("c1")
    file.user("rather so", "u2", timestamp=START)
    file.assistant("ok")
    users = of(take(file.data()), UserMessage)
    assert [(user.turn_id, user.steering) for user in users] == [("u1", None), ("u1", True)]


def test_a_message_typed_later_begins_a_turn_and_the_open_one_is_closed() -> None:
    file = SessionFile()
    file.user("q", "u1")
    file.assistant(call("c1"), stop="toolUse")
    file.result("c1")
    file.user("anew", "u2", timestamp=START + 10_000_000)
    taken = take(file.data())
    assert [(user.turn_id, user.steering) for user in of(taken, UserMessage)] == [("u1", None), ("u2", None)]
    assert [(end.turn_id, end.source["inferred"]) for end in of(taken, Abort)] == [("u1", True)]


def test_a_turn_killed_with_an_open_call_is_closed_by_the_next_prompt() -> None:
    file = SessionFile()
    file.user("q", "u1")
    file.assistant(call("c1"), stop="toolUse")
    file.user("anew", "u2", timestamp=START)
    assert [end.turn_id for end in of(take(file.data()), Abort)] == ["u1"]


def test_shell_commands_reach_the_model_with_the_next_prompt_unless_excluded() -> None:
    file = SessionFile()
    file.user("q", "u1")
    file.assistant("a")
    bash: dict[str, Any] = {
        "role": "bashExecution",
        "output": "2 files\n",
        "exitCode": 1,
        "cancelled": False,
        "truncated": False,
    }
    file.message("b1", command="ls", **bash)
    file.message("b2", command="env", excludeFromContext=True, **bash)
    file.user("next", "u2")
    taken = take(file.data())
    shell = [user for user in of(taken, UserMessage) if user.origin == "runtime"]
    assert [(user.visibility, user.turn_id) for user in shell] == [(None, "b1"), ("hidden", "b1")]
    assert of(taken, UserMessage)[-1].turn_id == "b1"
    assert all(words in shell[0].content for words in ("Ran `ls`", "2 files", "code 1"))
    assert shell[0].provider_metadata["pi"]["exitCode"] == 1
    assert [text for text in taken.texts() if "env" in text] == []


def test_custom_entries_stay_out_of_the_context_and_custom_messages_are_in_it() -> None:
    file = SessionFile()
    file.user("q")
    file.assistant("a")
    file.entry("custom", customType="state", data={"n": 1})
    file.entry("custom_message", customType="note", content="remember", display=False, details={"k": 1})
    taken = take(file.data())
    assert taken.texts() == ["q", "a", "remember"]
    note = of(taken, Note)[-1]
    assert note.fields["entry"]["data"] == {"n": 1}
    assert of(taken, UserMessage)[-1].provider_metadata["pi"]["display"] is False


def test_models_and_thinking_levels_are_the_context_in_force() -> None:
    file = SessionFile()
    file.entry("model_change", provider="p", modelId="m1")
    file.entry("thinking_level_change", thinkingLevel="high")
    file.user("q")
    file.assistant("a")
    file.entry("model_change", provider="p", modelId="m2")
    file.user("q")
    file.assistant("a")
    taken = take(file.data())
    contexts = of(taken, Context)
    assert contexts[1].settings == {"provider": "p", "model": "m1", "thinking_level": "high"}
    assert [step.context for step in of(taken, StepStart)] == [contexts[1].digest, contexts[2].digest]


def test_labels_names_edits_and_unknown_entries_are_notes_kept_whole() -> None:
    file = SessionFile()
    file.user("q", "u1")
    file.entry("label", targetId="u1", label="start")
    file.entry("label", targetId="u1")
    file.entry("session_info", name="  My session ")
    file.entry("context_edit", targetId="u1", replacement=None)
    file.entry("hologram", beam={"x": [1, 2]})
    notes = of(take(file.data()), Note)
    kinds = [note.fields["kind"] for note in notes]
    assert kinds == ["session", "label", "label", "session_info", "context_edit", "hologram"]
    assert notes[-1].fields["entry"]["beam"] == {"x": [1, 2]}
    assert "label" not in notes[2].fields["entry"]


def test_unknown_roles_and_blocks_are_notes_and_unknown_fields_stay() -> None:
    file = SessionFile()
    file.user("q", "u1", mood="good")
    file.message("x1", role="oracle", content="?")
    file.assistant({"type": "hologram", "beam": 1}, "a", diagnostics=[{"d": 1}], entry_id="a1")
    file.lines[1] = file.lines[1][:-1] + b', "extra": 7}'
    taken = take(file.data())
    user = of(taken, UserMessage)[0]
    assert user.provider_metadata["pi"]["mood"] == "good"
    assert of(taken, UserMessage) == [user]
    oracle, block = of(taken, Note)[1:]
    assert oracle.fields["entry"]["message"] == {"role": "oracle", "content": "?"}
    assert (block.fields["entry"], block.step_id, block.block_index) == (
        {"type": "hologram", "beam": 1},
        "a1",
        0,
    )
    assert of(taken, StepStart)[0].provider_metadata["pi"]["diagnostics"] == [{"d": 1}]
    assert "extra" in str(taken.events()[1].provider_metadata)


def test_odd_content_is_kept() -> None:
    file = SessionFile()
    file.user(None, "u1")
    file.user([{"text": "no type"}], "u2")
    file.user(7, "u3")
    file.assistant(call("c1"), stop="toolUse", entry_id="a1")
    file.message("r1", role="toolResult", toolCallId="c1", toolName=3, content=None, isError="yes")
    file.message("a2", role="assistant", content="just text", stopReason="stop")
    file.message("a3", role="assistant", content=None, stopReason="stop")
    file.message("a4", role="assistant", content=["bare", {"type": "toolCall"}], stopReason=5)
    file.entry("message", "x1", message="not an object")
    taken = take(file.data())
    first, second, third = of(taken, UserMessage)
    assert (first.content, second.content, third.content) == ("", '[{"text": "no type"}]', "7")
    assert (second.normalized, third.normalized) == (["content"], ["content"])
    result = of(taken, ToolResult)[0]
    assert (result.content, result.is_error, result.tool_name) == ([], None, None)
    assert result.provider_metadata["pi"] == {"toolName": 3, "isError": "yes"}
    assert [event.text for event in of(taken, TextComplete)] == ["just text"]
    assert [note.fields["kind"] for note in of(taken, Note)[1:]] == ["block", "block", "message"]


def test_a_call_id_that_is_no_id_is_replaced_on_both_sides_and_kept_beside() -> None:
    long = "call_abc/+=|fc_" + "x" * 440
    file = SessionFile()
    file.user("q")
    file.assistant(call(long), stop="toolUse")
    file.result(long)
    taken = take(file.data())
    start, result = of(taken, ToolStart)[0], of(taken, ToolResult)[0]
    assert start.tool_call_id == result.tool_call_id
    assert start.tool_call_id.startswith("sha256:")
    assert start.normalized == result.normalized == ["tool_call_id"]
    assert start.provider_metadata["pi"]["tool_call_id"] == long
    assert result.step_id == start.step_id


def test_numbers_that_json_cannot_hold_become_strings_and_say_so() -> None:
    file = SessionFile()
    file.user("q")
    file.assistant(call("c1", x=1), stop="toolUse")
    file.lines[-1] = file.lines[-1].replace(b'"x":1', b'"x":NaN,"y":1e999')
    start = of(take(file.data()), ToolStart)[0]
    assert start.args == {"x": "NaN", "y": "1e999"}
    assert start.normalized == ["args.x", "args.y"]


def test_every_event_names_its_source_line() -> None:
    file = SessionFile()
    file.user("q", "u1")
    file.assistant("a", entry_id="a1")
    data = file.data()
    taken = take(data, file="2026_x.jsonl")
    for event in taken.events():
        source = event.source or {}
        assert (source["format"], source["file"], source["session"]) == ("pi", "2026_x.jsonl", taken.session.id)
        offset = source["offset"]
        assert isinstance(offset, int)
        assert data[offset:].split(b"\n")[0] == file.lines[source["line"] - 1]  # type: ignore[index, operator]


def test_an_oversize_result_is_left_out_and_its_digest_kept() -> None:
    file = SessionFile()
    file.user("q")
    file.assistant(call("c1"), stop="toolUse")
    file.result("c1", "x" * (17 * 1024 * 1024))
    result = of(take(file.data()), ToolResult)[0]
    assert set(result.content) == {"omitted_bytes", "sha256"}
    assert result.normalized == ["content"]


def test_a_compaction_cuts_before_what_it_keeps() -> None:
    file = SessionFile()
    file.user("u1")
    file.assistant("a1")
    file.user("u2", "u2")
    file.assistant("a2")
    file.entry("compaction", summary="SUM", firstKeptEntryId="u2", tokensBefore=9)
    file.user("u3")
    taken = take(file.data())
    assert taken.texts() == ["SUM", "u2", "a2", "u3"]
    assert of(taken, Compaction)[0].provider_metadata["pi"]["tokensBefore"] == 9


def test_a_compaction_that_keeps_nothing_known_keeps_nothing() -> None:
    file = SessionFile()
    file.user("u1")
    file.assistant("a1")
    file.entry("compaction", summary="SUM", firstKeptEntryId="nowhere")
    file.user("u3")
    assert take(file.data()).texts() == ["SUM", "u3"]
