"""The conversation view and the replay read the same ledger alike: pairs, orphans, attempts, legacy groups."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given

from ledger.recorded import RecordedEvent
from projections import Found, rows
from replay import Plan, plan
from replay.items import Block, Call, Step, Thinking, Words
from tests.property.ledgers import ledgers, recorded

BESIDE = ("retraction", "compaction")  # views keep what these leave out


def both(events: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], Plan]:
    """The rows and the plan of the main lane's visible events."""
    kept = [
        event
        for event in events
        if event["type"] not in BESIDE and event.get("visibility") != "hidden" and not event.get("agent_id")
    ]
    records = recorded(kept)
    found = {record.event_id: Found(record.version, record.event) for record in records}
    return rows(records, "c", found.get), plan(records)  # type: ignore[return-value]


def blocks(step: Step) -> list[Block]:
    return [*step.blocks, *(step.left_out or ())]


def seen(call: Call) -> int:
    """How many results were taken for a call, whatever became of them."""
    records: list[RecordedEvent] = [*(call.finals or ()), *(call.progress or ()), *(call.unused or ())]
    return len(records) + len(call.late or ()) + (call.hosted_result is not None)


@given(ledgers())
def test_results_belong_to_the_same_calls(events: list[dict[str, Any]]) -> None:
    shown, planned = both(events)
    viewed = {
        row["versions"][0]: row["results_seen"]
        for row in shown
        if row["row"] == "tool" and row["status"] != "orphan"
    }
    steps = [step for turn in planned.turns.values() for step in turn.steps]
    calls = [block for step in steps for block in blocks(step) if isinstance(block, Call)]
    assert viewed == {call.version: seen(call) for call in calls}


@given(ledgers())
def test_orphans_are_the_same(events: list[dict[str, Any]]) -> None:
    shown, planned = both(events)
    viewed = {row["versions"][0] for row in shown if row["row"] == "tool" and row["status"] == "orphan"}
    assert viewed == {one.version for one in planned.diagnostics if one.code == "unmatched_tool_result"}


@given(ledgers())
@example(  # the message that ends the turn is of a turn that was seen before it
    [
        {"type": "user_message", "turn_id": "t2", "content": "go"},
        {"type": "user_message", "turn_id": "t1", "content": "go"},
        {"type": "text_complete", "turn_id": "t1", "step_id": "m3", "text": ""},
        {"type": "error", "turn_id": "t1", "step_id": "m3", "message": "no", "retryable": True},
        {"type": "user_message", "turn_id": "t2", "content": "go"},
    ]
)
def test_replaced_attempts_are_the_same(events: list[dict[str, Any]]) -> None:
    shown, planned = both(events)
    attempts = {
        (row["turn_id"], row["step_id"]): row["status"]
        for row in shown
        if row["row"] == "assistant" and row["step_id"] is not None
    }
    left_out = {
        (one.turn_id, one.step_id) for one in planned.diagnostics if one.code == "superseded_step_skipped"
    }
    assert {name for name, status in attempts.items() if status == "superseded"} == left_out & set(attempts)


@given(ledgers())
@example(  # thinking follows a text that is empty
    [
        {"type": "text_complete", "turn_id": "t1", "text": ""},
        {"type": "thinking_complete", "turn_id": "t1", "text": ""},
    ]
)
def test_legacy_groups_are_the_same(events: list[dict[str, Any]]) -> None:
    shown, planned = both(events)
    viewed = [row["versions"][0] for row in shown if row["row"] == "assistant" and row["step_id"] is None]
    groups = [step for turn in planned.turns.values() for step in turn.steps if step.step_id is None]
    spoken = [step for step in groups if any(isinstance(block, Thinking | Words) for block in blocks(step))]
    assert len(viewed) == len(spoken)
