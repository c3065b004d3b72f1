"""Rows of the conversation view, case by case (DESIGN.md 6)."""

from __future__ import annotations

from typing import Any

import pytest

from projections.scenario import Scenario, given


def user(turn: str, content: Any = "q", **more: Any) -> dict[str, Any]:
    return {"type": "user_message", "turn_id": turn, "content": content, **more}


def said(turn: str, step: str | None, text: str, **more: Any) -> dict[str, Any]:
    named = {} if step is None else {"step_id": step}
    return {"type": "text_complete", "turn_id": turn, "text": text, **named, **more}


def call(turn: str, step: str | None, call_id: str, name: str = "read", **more: Any) -> dict[str, Any]:
    named = {} if step is None else {"step_id": step}
    return {
        "type": "tool_start",
        "turn_id": turn,
        "tool_call_id": call_id,
        "tool_name": name,
        "args": {},
        **named,
        **more,
    }


def result(turn: str, call_id: str, content: Any = "out", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "turn_id": turn, "tool_call_id": call_id, "content": content, **more}


def end(turn: str, kind: str = "complete", **more: Any) -> dict[str, Any]:
    return {"type": kind, "turn_id": turn, **more}


def kinds(scenario: Scenario) -> list[str]:
    return [str(row["row"]) for row in scenario.rows()]


def the(scenario: Scenario, kind: str, number: int = 0) -> dict[str, Any]:
    return [row for row in scenario.rows() if row["row"] == kind][number]


def test_a_user_row_keeps_content_and_shows_its_text() -> None:
    blocks = [
        {"type": "text", "text": "look"},
        {"type": "image", "data": "QUJD"},
        {"type": "text", "text": "here"},
    ]
    row = the(given(user("t1", blocks, message_id="u1", steering=True, origin="runtime")), "user")
    assert row["content"] == blocks
    assert row["text"] == "look\n\nhere"
    assert (row["message_id"], row["steering"], row["origin"]) == ("u1", True, "runtime")


def test_only_what_an_event_touches_changes() -> None:
    changed = (
        given(user("t1"), said("t1", "m1", "a"), end("t1"), user("t2")).when(said("t2", "m2", "b")).changed()
    )
    assert [(row["row"], row["turn_id"], row.get("step_id"), row.get("text")) for row in changed] == [
        ("assistant", "t2", "m2", "b"),
        ("turn", "t2", None, None),
    ]


def test_a_terminal_marks_unfinished_steps_and_open_calls() -> None:
    before = given(
        user("t1"),
        said("t1", "m1", "whole"),
        {"type": "step_finish", "turn_id": "t1", "step_id": "m1"},
        said("t1", "m2", "hal"),
        call("t1", "m2", "c1"),
    )
    assert the(before, "tool")["status"] == "running"
    before.when(end("t1", "abort", reason="user_stop")).then(
        {"row": "assistant", "step_id": "m2", "status": "partial"},
        {"row": "tool", "status": "interrupted"},
        {"row": "turn", "status": "aborted", "stop_reason": "user_stop", "partial_output_retained": True},
    )


def test_a_late_finish_makes_a_step_whole_again() -> None:
    cut = given(user("t1"), said("t1", "m1", "hal"), end("t1", "abort"))
    cut.when({"type": "step_finish", "turn_id": "t1", "step_id": "m1"})
    assert the(cut, "assistant")["status"] == "complete"


def test_an_inferred_terminal_counts_while_it_is_the_last_word() -> None:
    inferred = {"inferred": True}
    seen = given(
        user("t1"), said("t1", "m1", "hm"), call("t1", "m1", "c1"), end("t1", "abort", source=inferred)
    )
    assert (the(seen, "turn")["status"], the(seen, "tool")["status"]) == ("aborted", "interrupted")
    assert the(seen, "assistant")["status"] == "partial"
    seen.when({"type": "note", "turn_id": "t1", "text": "still here"})
    assert (the(seen, "turn")["status"], the(seen, "tool")["status"]) == ("running", "running")
    assert the(seen, "assistant")["status"] == "complete"


def test_a_later_turns_message_leaves_a_call_behind_an_earlier_turns_does_not() -> None:
    overlapping = given(user("t1"), user("t2"), call("t2", "m1", "c1"))
    overlapping.when(user("t1", "faster", steering=True))
    assert the(overlapping, "tool")["status"] == "running"
    overlapping.when(user("t3"))
    assert the(overlapping, "tool")["status"] == "interrupted"
    overlapping.when(result("t2", "c1"))
    assert the(overlapping, "tool")["status"] == "done"


def test_a_hidden_message_leaves_nothing_behind() -> None:
    seen = given(user("t1"), call("t1", "m1", "c1"), user("t2", "context", visibility="hidden"))
    assert the(seen, "tool")["status"] == "running"
    assert the(seen, "user", 1)["hidden"] is True


def test_sub_agents_stand_after_the_row_that_started_them() -> None:
    sub = {"agent_id": "sub1", "parent_tool_call_id": "k1"}
    seen = given(
        user("t1"),
        call("t1", "m1", "k1", "task"),
        call("t1", "m1", "k2", "read"),
        user("t9", "sub task", **sub),
        said("t9", "n1", "Sub.", **sub),
        end("t9", **sub),
        result("t1", "k1"),
        said("t1", "m2", "Done."),
        end("t1"),
    )
    shown = [(row["row"], row["agent_id"], row.get("tool_call_id")) for row in seen.rows()]
    assert shown == [
        ("user", None, None),
        ("tool", None, "k1"),
        ("user", "sub1", None),
        ("assistant", "sub1", None),
        ("turn", "sub1", None),
        ("tool", None, "k2"),
        ("assistant", None, None),
        ("turn", None, None),
    ]


def test_a_sub_agents_rows_move_with_the_call_that_started_them() -> None:
    sub = {"agent_id": "sub1", "parent_tool_call_id": "k1"}
    seen = given(
        user("t1"),
        call("t1", "m1", "k1", block_index=5),
        call("t1", "m1", "k2", block_index=0),
        user("t9", "sub task", **sub),
    )
    assert [row["row"] for row in seen.rows()][:4] == ["user", "tool", "tool", "user"]
    seen.when(said("t1", "m1", "no index: the fixed order holds"))
    assert [(row["row"], row.get("tool_call_id")) for row in seen.rows()][1:5] == [
        ("assistant", None),
        ("tool", "k1"),
        ("user", None),
        ("turn", None),
    ]


def test_a_sub_agent_in_its_hosts_turn_ends_with_it_and_has_no_turn_row() -> None:
    sub = {"agent_id": "sub1", "parent_tool_call_id": "k1"}
    seen = given(user("t1"), call("t1", "m1", "k1"), call("t1", "n1", "c1", **sub))
    assert kinds(seen) == ["user", "tool", "tool", "turn"]
    seen.when(end("t1", "abort"))
    assert the(seen, "tool", 1)["status"] == "interrupted"


def test_approvals_show_at_their_call() -> None:
    approval = {"type": "tool_approval", "turn_id": "t1", "tool_call_id": "c1", "by": "ann"}
    seen = given(user("t1"), call("t1", "m1", "c1"), {**approval, "decision": "requested"})
    assert the(seen, "tool")["status"] == "running"
    seen.when({**approval, "decision": "denied"})
    assert the(seen, "tool")["status"] == "interrupted"
    assert the(seen, "tool")["approval"] == {"decision": "denied", "by": "ann"}


def test_usage_is_counted_once_a_step_and_summed_for_the_turn() -> None:
    def used(step: str | None, **usage: Any) -> dict[str, Any]:
        named = {} if step is None else {"step_id": step}
        return {"type": "token_usage", "turn_id": "t1", "usage": usage, **named}

    seen = given(
        user("t1"),
        said("t1", "m1", "a"),
        used("m1", input=100, output=20),
        used("m1", input=100, output=24, cost=0.1),
        said("t1", "m2", "b"),
        {"type": "step_finish", "turn_id": "t1", "step_id": "m2", "usage": {"input": 7, "cost": 0.2}},
        used(None, input=1, model="not a number"),
    )
    assert the(seen, "assistant")["usage"] == {"input": 100, "output": 24, "cost": 0.1}
    assert the(seen, "assistant", 1)["usage"] == {"input": 7, "cost": 0.2}
    assert the(seen, "turn")["usage"] == {"input": 108, "output": 24, "cost": pytest.approx(0.3)}


def test_durations_come_from_the_runtimes_clock() -> None:
    def at(second: str) -> dict[str, str]:
        return {"at": f"2026-05-01T08:00:{second}+02:00"}

    seen = given(
        user("t1", **at("00")),
        {"type": "step_start", "turn_id": "t1", "step_id": "m1", "model": "big", **at("01.5")},
        said("t1", "m1", "a", **at("02")),
        call("t1", "m1", "c1", **at("03")),
        result("t1", "c1", **at("03.25")),
        call("t1", "m1", "c2", **at("03")),
        result("t1", "c2", duration_ms=7, **at("09")),
        end("t1", **at("10")),
    )
    assert the(seen, "assistant")["duration_ms"] == 500
    assert [row["duration_ms"] for row in seen.rows() if row["row"] == "tool"] == [250, 7]
    assert the(seen, "turn")["duration_ms"] == 10_000


def test_a_clock_that_runs_back_gives_no_duration() -> None:
    seen = given(user("t1", at="2026-05-01T08:00:05Z"), end("t1", at="2026-05-01T08:00:01Z"))
    assert the(seen, "turn")["duration_ms"] is None


def test_part_of_a_row_may_be_hidden_or_taken_back() -> None:
    seen = given(
        user("t1"),
        said("t1", "m1", "shown"),
        said("t1", "m1", "context", visibility="hidden"),
        said("t1", "m1", "oops"),
        {"type": "retraction", "turn_id": "t1", "event_ids": ["e4", "e99"]},
    )
    row = the(seen, "assistant")
    assert (row["hidden"], row["hidden_versions"]) == (False, [3])
    assert (row["retracted"], row["retracted_versions"]) == (False, [4])
    seen.when({"type": "retraction", "turn_id": "t1", "event_ids": ["e2", "e3"]})
    assert the(seen, "assistant")["retracted"] is True


def test_a_step_is_taken_back_with_its_calls_in_its_own_turn_first() -> None:
    seen = given(
        user("t1"),
        said("t1", "m1", "one"),
        end("t1"),
        user("t2"),
        said("t2", "m1", "two"),
        call("t2", "m1", "c1"),
        {"type": "retraction", "turn_id": "t2", "step_ids": ["m1"]},
    )
    assert [row["retracted"] for row in seen.rows() if row["row"] == "assistant"] == [False, True]
    assert the(seen, "tool")["retracted"] is True


def test_a_turn_is_taken_back_with_what_comes_late() -> None:
    seen = given(user("t1"), call("t1", "m1", "c1"), {"type": "retraction", "turn_ids": ["t1"]})
    seen.when(said("t1", "m1", "late"))
    marked = {row["row"]: row["retracted"] for row in seen.rows()}
    assert marked == {"user": True, "assistant": True, "tool": True, "turn": True, "note": False}


@pytest.mark.parametrize(
    ("event", "kind", "text"),
    [
        ({"type": "compaction", "summary": "short", "through_version": 1}, "compaction", "short"),
        ({"type": "note", "text": "seen", "kind": "hint"}, "hint", "seen"),
        ({"type": "note", "payload": [1]}, "note", '{"payload": [1]}'),
        ({"type": "system_message", "content": "be brief"}, "system", "be brief"),
        ({"type": "context", "digest": "d", "system": "s", "tools": [{}, {}]}, "context", "2 tools"),
        ({"type": "hologram", "depth": 3}, "unknown event", "hologram"),
        ({"type": "error", "turn_id": "t1", "message": "busy", "retryable": True}, "retryable error", "busy"),
        ({"type": "erasure", "event_ids": ["e1"], "reason": "asked", "skeletons": {}}, "erasure", "asked"),
    ],
)
def test_control_events_are_notes_where_they_were(event: dict[str, Any], kind: str, text: str) -> None:
    seen = given(user("t1"), event, said("t1", "m1", "a"))
    assert kinds(seen) == ["user", "note", "assistant", "turn"]
    row = the(seen, "note")
    assert row["kind"] == kind
    assert text in row["text"]


def test_a_second_terminal_is_a_note_and_changes_nothing() -> None:
    seen = given(user("t1"), end("t1", stop_reason="end_turn")).when(end("t1", "error", message="late"))
    assert the(seen, "turn")["status"] == "complete"
    assert the(seen, "note")["kind"] == "extra terminal"


def test_a_turn_stopped_at_its_step_limit_says_so() -> None:
    seen = given(user("t1"), said("t1", "m1", "a"), end("t1", stop_reason="step_limit"))
    assert kinds(seen) == ["user", "assistant", "note", "turn"]
    assert the(seen, "note")["kind"] == "step limit"


def test_a_turn_that_only_control_events_name_has_no_turn_row() -> None:
    seen = given(
        user("t1"), end("t1"), {"type": "compaction", "turn_id": "t2", "summary": "s", "through_version": 2}
    )
    assert kinds(seen) == ["user", "turn", "note"]
    seen.when(user("t2"))
    assert kinds(seen) == ["user", "turn", "note", "user", "turn"]


def test_occurrence_follows_the_order_of_the_requests() -> None:
    seen = given(
        user("t1"),
        said("t1", "m1", "first"),
        call("t1", "m2", "x"),
        call("t1", "m1", "x"),
    )
    shown = [(row["step_id"], row["occurrence"]) for row in seen.rows() if row["row"] == "tool"]
    assert shown == [("m1", 1), ("m2", 2)]


def test_a_result_of_a_turn_seen_before_the_call_is_an_orphan() -> None:
    seen = given(user("t1"), user("t2"), call("t2", "m1", "x"), result("t1", "x"))
    assert [row["status"] for row in seen.rows() if row["row"] == "tool"] == ["orphan", "running"]


def test_legacy_groups_end_where_the_rules_say() -> None:
    def thought(text: str) -> dict[str, Any]:
        return {"type": "thinking_complete", "turn_id": "t1", "text": text}

    seen = given(
        user("t1"),
        thought("a"),
        said("t1", None, "one"),
        thought("b"),
        said("t1", None, "two"),
        call("t1", None, "c1"),
        said("t1", None, "while it runs"),
        result("t1", "c1"),
        said("t1", None, "after"),
    )
    texts = [row["text"] for row in seen.rows() if row["row"] == "assistant"]
    assert texts == ["one", "two\n\nwhile it runs", "after"]


def test_sub_agents_without_end_stay_within_what_an_index_can_hold() -> None:
    deep: list[dict[str, Any]] = [user("t0"), call("t0", "m", "k0")]
    for level in range(1, 60):
        sub = {"agent_id": f"a{level}", "parent_tool_call_id": f"k{level - 1}"}
        deep.append(call(f"t{level}", "m", f"k{level}", **sub))
    scenario = given(*deep)
    assert len([row for row in scenario.rows() if row["row"] == "tool"]) == 60
    assert max(len(record.sort) for record in scenario._records.values()) < 2_000
