"""The fold over random ledgers: however the events are cut or ordered, the same rows."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from ledger.events import JsonObject
from ledger.recorded import RecordedEvent
from projections import Found, State, apply, changes, fold, rows
from tests.property.ledgers import EventDict, recorded
from tests.property.projections.nested import any_ledger

CONTROL = {"step_start", "step_finish", "token_usage", "tool_result", "tool_approval", "turn_start"}
"""Events that may leave no trace of their own in a row's versions: facts of sub-agents without a turn row."""


def found(events: list[RecordedEvent]) -> dict[str, Found]:
    return {each.event_id: Found(each.version, each.event) for each in events}


def at_once(dicts: list[EventDict]) -> list[JsonObject]:
    events = recorded(dicts)
    return rows(events, "c", found(events).get)


def shown(kept: dict[tuple[str, int], tuple[bytes, JsonObject | None]]) -> list[JsonObject]:
    ordered = sorted(kept.values(), key=lambda entry: entry[0])
    return [row for _, row in ordered if row is not None]


@given(any_ledger, st.data())
def test_rows_do_not_depend_on_how_the_events_are_cut(dicts: list[EventDict], data: st.DataObject) -> None:
    events = recorded(dicts)
    state = State("c", found(events).get)
    kept: dict[tuple[str, int], tuple[bytes, JsonObject | None]] = {}
    for each in events:
        apply(state, each)
        if data.draw(st.booleans()):
            for record in changes(state).rows:
                kept[record.kind, record.first] = (record.sort, copy.deepcopy(record.row))
    for record in changes(state).rows:
        kept[record.kind, record.first] = (record.sort, record.row)
    assert shown(kept) == at_once(dicts)


@given(any_ledger)
def test_event_by_event_gives_the_same_rows(dicts: list[EventDict]) -> None:
    events = recorded(dicts)
    state = State("c", found(events).get)
    kept: dict[tuple[str, int], tuple[bytes, JsonObject | None]] = {}
    for each in events:
        for record in fold(state, each).rows:
            kept[record.kind, record.first] = (record.sort, copy.deepcopy(record.row))
    assert shown(kept) == at_once(dicts)


@given(any_ledger)
def test_places_and_row_ids_are_unique(dicts: list[EventDict]) -> None:
    events = recorded(dicts)
    state = State("c", found(events).get)
    for each in events:
        apply(state, each)
    records = [record for record in changes(state).rows if record.row is not None]
    assert len({record.sort for record in records}) == len(records)
    assert len({record.row["id"] for record in records if record.row}) == len(records)
    assert len({lane.first for lane in state.lanes.values()}) == len(state.lanes)


@given(any_ledger)
def test_every_event_is_in_a_row(dicts: list[EventDict]) -> None:
    covered: set[int] = set()
    for row in at_once(dicts):
        first, last = row["versions"]  # type: ignore[misc]
        covered.update(range(first, last + 1))  # type: ignore[arg-type]
    missing = [
        (version, event["type"])
        for version, event in enumerate(dicts, start=1)
        if version not in covered and event["type"] not in CONTROL
    ]
    assert missing == []


@st.composite
def indexed_steps(draw: st.DrawFn) -> tuple[list[EventDict], list[EventDict]]:
    """A turn with one step whose blocks all have an index, in two orders; results come after."""
    count = draw(st.integers(1, 5))
    blocks: list[dict[str, Any]] = []
    calls = []
    for index in range(count):
        kind = draw(st.sampled_from(["text_complete", "thinking_complete", "tool_start"]))
        block: dict[str, Any] = {"type": kind, "turn_id": "t1", "step_id": "m1", "block_index": index}
        if kind == "tool_start":
            block |= {
                "tool_call_id": draw(st.sampled_from(["c1", "c2"])),
                "tool_name": f"n{index}",
                "args": index,
            }
            calls.append(block["tool_call_id"])
        else:
            block["text"] = f"text {index}"
        blocks.append(block)
    head = [
        {"type": "user_message", "turn_id": "t1", "content": "q"},
        {"type": "step_start", "turn_id": "t1", "step_id": "m1"},
    ]
    results = [
        {"type": "tool_result", "turn_id": "t1", "tool_call_id": call, "content": f"result {place}"}
        for place, call in enumerate(draw(st.permutations(calls)))
    ]
    tail = [*results, *draw(st.sampled_from([[], [{"type": "complete", "turn_id": "t1"}]]))]
    return [*head, *blocks, *tail], [*head, *draw(st.permutations(blocks)), *tail]


@given(indexed_steps())
def test_indexed_blocks_may_come_in_any_order(pair: tuple[list[EventDict], list[EventDict]]) -> None:
    def without_versions(dicts: list[EventDict]) -> list[JsonObject]:
        return [
            {name: value for name, value in row.items() if name not in ("versions", "id")}
            for row in at_once(dicts)
        ]

    assert without_versions(pair[0]) == without_versions(pair[1])


@given(any_ledger)
@example([{"type": "tool_result", "turn_id": "t1", "tool_call_id": "c1", "content": None}])
def test_rows_are_of_known_shapes(dicts: list[EventDict]) -> None:
    for row in at_once(dicts):
        assert row["conversation_id"] == "c"
        assert row["row"] in ("user", "assistant", "tool", "turn", "note")
        if row["row"] == "tool":
            assert row["status"] in ("running", "done", "error", "interrupted", "orphan")
        if row["row"] == "assistant":
            assert row["status"] in ("complete", "partial", "superseded")
        if row["row"] == "turn":
            assert row["status"] in ("running", "complete", "error", "aborted")
