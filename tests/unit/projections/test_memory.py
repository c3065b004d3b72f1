"""What a fold keeps grows with the rows, not with the events."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from ledger.events import from_json
from ledger.recorded import RecordedEvent
from projections import State, apply, changes

CALL = {
    "type": "tool_start",
    "turn_id": "t1",
    "step_id": "m1",
    "tool_call_id": "c1",
    "tool_name": "f",
    "args": {},
}
PROGRESS = {"type": "tool_result", "turn_id": "t1", "tool_call_id": "c1", "content": "x" * 500, "final": False}
USAGE = {"type": "token_usage", "turn_id": "t1", "step_id": "m1", "usage": {"input": 1}}


@pytest.mark.parametrize("event", [PROGRESS, USAGE], ids=["progress", "usage"])
def test_events_that_make_no_rows_cost_no_memory(event: dict[str, Any]) -> None:
    def recorded(data: dict[str, Any], version: int) -> RecordedEvent:
        return RecordedEvent.of(from_json({"id": f"e{version}", "conversation_id": "c", **data}), version)

    state = State("c")
    apply(state, recorded(CALL, 1))
    for version in range(2, 200):
        apply(state, recorded(event, version))
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for version in range(200, 4_200):
            apply(state, recorded(event, version))
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(changes(state).rows) == 3
    assert after - before < 20_000, "4,000 events of 500 characters and more"
