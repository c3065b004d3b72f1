"""A turn in progress: what a runtime's calls become (DESIGN.md 5)."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ledger.turns import LiveStamps, Recording, Step, Turn


def recording() -> Recording:
    """A recording whose ids are `i1`, `i2` … and whose clock stands still."""
    numbers = itertools.count(1)
    return Recording("c", LiveStamps(lambda: f"i{next(numbers)}", lambda: "2026-11-30T12:00:00Z"))


@pytest.fixture
def turn() -> Turn:
    begun = recording().begin_turn("t")
    begun.sheet.take()
    return begun


def told(turn: Turn, *names: str) -> list[tuple[Any, ...]]:
    """The events since the last time: their types, and the named fields."""
    return [(event["type"], *(event.get(name) for name in names)) for event in turn.sheet.take()]


def test_thinking_then_text_then_calls(turn: Turn) -> None:
    """Flushed at the step's end, whatever order the pieces came in; each has its place in the response."""
    step = turn.begin_step("s")
    step.text("Hel", index="b")
    step.arguments("c", '{"a":', "x1", "add")
    step.thinking("hm", index="a")
    step.text("lo", index="b")
    step.arguments("c", "1}")
    assert told(turn) == [("step_start",)], "deltas are no events"
    step.finish("tool_use", {"input": 3})
    assert told(turn, "step_id", "block_index", "text", "args") == [
        ("thinking_complete", "s", 2, "hm", None),
        ("text_complete", "s", 0, "Hello", None),
        ("tool_start", "s", 1, None, {"a": 1}),
        ("step_finish", "s", None, None, None),
    ]


def test_a_step_that_only_thought_is_closed_by_an_empty_text(turn: Turn) -> None:
    with turn.begin_step("s") as step:
        step.thinking("hm")
        step.call("x1", "add", {})
    assert told(turn, "text", "step_id") == [
        ("step_start", None, "s"),
        ("thinking_complete", "hm", "s"),
        ("text_complete", "", "s"),
        ("tool_start", None, "s"),
        ("step_finish", None, "s"),
    ]


def test_a_pure_tool_step_writes_neither_text_nor_thinking(turn: Turn) -> None:
    with turn.begin_step("s") as step:
        step.start_block(0, "text")
        step.end_text("", 0)
        step.end_thinking("", 1)
        step.call("x1", "add", {})
    assert told(turn) == [("step_start",), ("tool_start",), ("step_finish",)]


def test_a_signature_alone_is_thinking(turn: Turn) -> None:
    with turn.begin_step("s") as step:
        step.end_thinking("", 0, signature="sig")
        step.end_thinking("", 1, redacted_data="xx")
        step.end_thinking("", 2, provider_metadata={"openai": {"encrypted": "yy"}})
    assert told(turn, "signature", "redacted_data", "provider_metadata", "block_index")[1:4] == [
        ("thinking_complete", "sig", None, None, 0),
        ("thinking_complete", None, "xx", None, 1),
        ("thinking_complete", None, None, {"openai": {"encrypted": "yy"}}, 2),
    ]


def test_several_reasoning_items_and_texts_stay_apart(turn: Turn) -> None:
    with turn.begin_step("s") as step:
        for piece in ("one", " more"):
            step.thinking(piece)
        step.text("said")
        step.thinking("two")
        step.text("again")
    assert told(turn, "text", "block_index")[1:] == [
        ("thinking_complete", "one more", 0),
        ("text_complete", "said", 1),
        ("thinking_complete", "two", 2),
        ("text_complete", "again", 3),
        ("step_finish", None, None),
    ]


def test_step_ids_are_fresh_and_stamped_on_every_event(turn: Turn) -> None:
    for text in ("a", "b"):
        with turn.begin_step() as step:
            step.text(text)
            step.call(f"x{text}", "add", {})
        turn.tool_result(f"x{text}", 1)
    events = turn.sheet.take()
    steps = [event.get("step_id") for event in events]
    assert steps[0] != steps[5]
    assert steps == [steps[0]] * 4 + [None] + [steps[5]] * 4 + [None]
    assert turn.step_of("xa") == steps[0]


def test_a_step_that_nobody_ended_is_ended_by_the_next(turn: Turn) -> None:
    turn.begin_step("s1").text("a")
    turn.begin_step("s2").text("b")
    turn.complete("end_turn")
    assert told(turn, "step_id", "stop_reason") == [
        ("step_start", "s1", None),
        ("text_complete", "s1", None),
        ("step_finish", "s1", None),
        ("step_start", "s2", None),
        ("text_complete", "s2", None),
        ("step_finish", "s2", None),
        ("complete", None, "end_turn"),
    ]


def test_parallel_tools_answered_in_any_order_while_the_step_streams(turn: Turn) -> None:
    """A runtime that runs tools in mid-step: a call is written when it starts, or else with its answer."""
    step = turn.begin_step("s")
    step.thinking("hm")
    step.call("x1", "add", {"n": 1})
    step.call("x2", "add", {"n": 2})
    step.call("x3", "add", {"n": 3})
    turn.start_call("x2")
    turn.tool_result("x3", 3)
    turn.tool_result("x2", 2)
    step.text("so")
    step.finish("tool_use")
    turn.tool_result("x1", 1)
    assert told(turn, "tool_call_id", "block_index") == [
        ("step_start", None, None),
        ("tool_start", "x2", 2),
        ("tool_start", "x3", 3),
        ("tool_result", "x3", None),
        ("tool_result", "x2", None),
        ("thinking_complete", None, 0),
        ("text_complete", None, 4),
        ("tool_start", "x1", 1),
        ("step_finish", None, None),
        ("tool_result", "x1", None),
    ]


def test_provider_executed_tools_are_blocks_of_their_response(turn: Turn) -> None:
    with turn.begin_step("s") as step:
        step.call("w1", "web_search", {"q": 1}, index=0, provider_executed=True)
        step.provider_result("w1", ["found"], index=1)
        step.text("It is so.", index=2)
    assert told(turn, "tool_call_id", "block_index", "provider_executed", "step_id")[1:4] == [
        ("tool_start", "w1", 0, True, "s"),
        ("tool_result", "w1", 1, True, "s"),
        ("text_complete", None, 2, None, "s"),
    ]


def test_out_of_tokens_drops_calls_that_did_not_start(turn: Turn) -> None:
    step = turn.begin_step("s")
    step.text("Writing.")
    step.call("x1", "add", {})
    step.call("x2", "add", {})
    step.arguments("half", '{"a', "x3", "add")
    turn.start_call("x1")
    step.finish("max_tokens", out_of_tokens=True)
    dropped = [{"what": "tool-call", "why": "out of tokens", "id": name} for name in ("x2", "x3")]
    assert told(turn, "tool_call_id", "dropped") == [
        ("step_start", None, None),
        ("tool_start", "x1", None),
        ("text_complete", None, None),
        ("step_finish", None, dropped),
    ]


def test_arguments_that_do_not_parse_are_kept_as_they_are(turn: Turn) -> None:
    with turn.begin_step() as step:
        step.arguments(0, '{"a": ', "x1", "add")
        step.call(index=1, tool_call_id="x2", tool_name="add", args='{"n": NaN}')
        step.call(index=2, tool_call_id="x3", tool_name="add", args="")
    assert [event["args"] for event in turn.sheet.take() if event["type"] == "tool_start"] == [
        '{"a": ',
        {"n": "NaN"},
        "",
    ]


@pytest.mark.parametrize("way", ["abort", "error"])
def test_what_was_streamed_survives_every_bad_end(turn: Turn, way: str) -> None:
    """Open blocks are marked, closed ones are not; a step that was cut off has no finish, but its usage."""
    step = turn.begin_step("s")
    step.end_thinking("thought it through", 0)
    step.text("half an ans", 1)
    step.text("   ", 2)
    step.call("x1", "add", {"a": 1})
    step.usage({"input": 5})
    turn.abort("user_stop") if way == "abort" else turn.error("boom", "overloaded")
    assert told(turn, "text", "partial") == [
        ("step_start", None, None),
        ("thinking_complete", "thought it through", None),
        ("text_complete", "half an ans", True),
        ("token_usage", None, None),
        ("note", "The response was cut off before these came to anything.", None),
        (way, None, None),
    ]


def test_one_terminal_a_turn(turn: Turn) -> None:
    assert turn.complete("end_turn")
    assert not turn.error("late")
    assert not turn.abort()
    turn.tool_result("x1", "late, and still kept")
    assert told(turn, "kind") == [
        ("complete", None),
        ("note", "extra terminal"),
        ("note", "extra terminal"),
        ("tool_result", None),
    ]


def test_a_failed_attempt_and_the_one_that_replaces_it(turn: Turn) -> None:
    step = turn.begin_step("s1")
    step.text("half")
    step.fail("overloaded", "529")
    turn.begin_step("s2").finish()
    turn.begin_step("s3")
    assert told(turn, "step_id", "retry_of", "retryable", "partial") == [
        ("step_start", "s1", None, None, None),
        ("text_complete", "s1", None, None, True),
        ("error", "s1", None, True, None),
        ("step_start", "s2", "s1", None, None),
        ("step_finish", "s2", None, None, None),
        ("step_start", "s3", None, None, None),
    ]


def test_a_step_whose_block_raised_is_retried(turn: Turn) -> None:
    def lose(step: Step) -> None:
        with step:
            step.text("half")
            raise ValueError("lost")

    with pytest.raises(ValueError, match="lost"):
        lose(turn.begin_step("s1"))
    turn.begin_step("s2")
    assert told(turn, "step_id", "retry_of") == [
        ("step_start", "s1", None),
        ("text_complete", "s1", None),
        ("step_start", "s2", "s1"),
    ]


def test_context_is_written_when_it_changes(turn: Turn) -> None:
    one = turn.context(system="Be kind.", tools=[{"name": "add", "schema": {"a": 1, "b": 2}}])
    turn.begin_step("s1")
    assert turn.context(tools=[{"schema": {"b": 2, "a": 1}, "name": "add"}], system="Be kind.") == one
    turn.begin_step("s2")
    two = turn.context(system="Be brief.")
    turn.begin_step("s3")
    assert one != two
    assert [(kind, context) for kind, context in told(turn, "context") if kind == "step_start"] == [
        ("step_start", one),
        ("step_start", one),
        ("step_start", two),
    ]
    turn.context(system="Be kind.", tools=[{"name": "add", "schema": {"a": 1, "b": 2}}])
    assert told(turn, "digest") == [("context", one)], "back again is a change"


def test_a_step_limit_notice_never_shares_a_step(turn: Turn) -> None:
    step = turn.begin_step()
    step.thinking("on and on")
    turn.step_limit_notice("The step limit was reached.")
    events = turn.sheet.take()
    notice = events[-1]
    assert (notice["type"], notice["text"]) == ("text_complete", "The step limit was reached.")
    assert notice["step_id"] not in {event.get("step_id") for event in events[:-1]}


def test_sub_agents_have_lanes_of_their_own(turn: Turn) -> None:
    main = turn.begin_step("s1")
    helper = turn.lane("helper", "x1")
    assert turn.lane("helper") is helper
    helper.user_message("Look it up.")
    inner = helper.begin_step("h1")
    inner.text("look")
    main.text("wait")
    turn.abort("user_stop")
    assert told(turn, "agent_id", "parent_tool_call_id", "step_id") == [
        ("step_start", None, None, "s1"),
        ("user_message", "helper", "x1", None),
        ("step_start", "helper", "x1", "h1"),
        ("text_complete", "helper", "x1", "h1"),
        ("text_complete", None, None, "s1"),
        ("abort", None, None, None),
    ]


def test_steering_and_progress(turn: Turn) -> None:
    turn.steer("Faster, please.", "m1")
    turn.tool_result("x1", "10 %", final=False)
    assert told(turn, "steering", "message_id", "final") == [
        ("user_message", True, "m1", None),
        ("tool_result", None, None, False),
    ]


def test_a_turn_that_runs_is_redirected_by_the_next() -> None:
    made = recording()
    made.begin_turn("t1").begin_step("s").text("half")
    made.begin_turn("t2")
    assert [(event["type"], event["turn_id"]) for event in made.sheet.take()] == [
        ("turn_start", "t1"),
        ("step_start", "t1"),
        ("text_complete", "t1"),
        ("abort", "t1"),
        ("turn_start", "t2"),
    ]


def test_ids_that_cannot_be_ids_are_replaced(turn: Turn) -> None:
    turn.tool_result("x" * 300, 1, step_id="bad\nid")
    [event] = turn.sheet.take()
    assert str(event["tool_call_id"]).startswith("sha256:")
    assert str(event["step_id"]).startswith("sha256:")


def test_replay_entries_travel_with_their_blocks(turn: Turn) -> None:
    """Pruned like the blocks, whatever dropped one; unknown blocks take theirs along."""
    step = turn.begin_step("s")
    step.push({"type": "text-delta", "index": 0, "text": "t"})
    step.push({"type": "block-end", "index": 1, "block": {"type": "video", "url": "u"}})
    step.push({"type": "tool-call-delta", "index": 2, "id": "x1", "name": "n", "argumentsDelta": "{"})
    entries = [{"type": "text"}, {"type": "video"}, {"type": "tool-call"}]
    step.push(
        {"type": "finish", "reason": {"kind": "max-tokens"}, "replayState": {"response": 1, "blocks": entries}}
    )
    step.finish()
    events = turn.sheet.take()
    assert [event["type"] for event in events] == ["step_start", "text_complete", "note", "step_finish"]
    assert events[-1]["replay_state"] == {"response": 1, "blocks": [{"type": "text"}]}
    assert events[-1]["finish_reason"] == "max-tokens"


def test_open_blocks_are_what_streams_and_is_no_event_yet(turn: Turn) -> None:
    step = turn.begin_step("s")
    step.thinking("hm")
    step.text("Hel")
    step.arguments(9, "{", "x1", "add")
    [block] = turn.open_blocks()
    assert (block.event_type, block.fields["block_index"], block.part.text) == ("text_complete", 1, "Hel")
    step.finish()
    assert turn.open_blocks() == []
