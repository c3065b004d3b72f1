"""Marking what a retraction names: turns, steps, single events (DESIGN.md 3.2)."""

from __future__ import annotations

from ledger.events import Retraction, ToolResult
from projections.records import Call, Record, Step, Turn
from projections.state import State


def retract(state: State, version: int, event: Retraction, turn: Turn | None) -> None:
    """Mark the rows of all that the retraction at `version` names. What it does not find it passes over."""
    if event.visibility == "hidden":
        return
    for turn_id in event.turn_ids or ():
        for named in state.turns_of(turn_id):
            named.retracted = True
            state.touch(named)
    for step_id in event.step_ids or ():
        step = state.step(turn, step_id) if turn is not None else None  # the retraction's own turn first
        step = step or state.latest_step(step_id)
        if step is not None and not step.retracted:
            step.retracted = True
            state.touch(step)
            if state.shelf is not None:
                state.shelf.step_calls(state, step)
            for call in step.calls():
                state.touch(call)
    for event_id in event.event_ids or ():
        _retract_event(state, version, event_id)


def _retract_event(state: State, version: int, event_id: str) -> None:
    found = state.find(event_id)
    if found is None or found.version >= version:
        return
    event = found.event
    if event.type in ("text_complete", "thinking_complete"):
        step = _step(state, found.version, event.agent_id, event.turn_id, event.step_id)
        if step is not None:
            step.gone |= {found.version}
            state.touch(step)
        return
    if isinstance(event, ToolResult) and state.shelf is not None:
        state.shelf.named_calls(state, event.tool_call_id)
    record = state.record(found.version)
    if record is None:
        return
    if isinstance(record, Call) and event.type == "tool_result":
        record.gone = record.result_version == found.version
    else:
        record.retracted = True
    state.touch(record)


def _step(
    state: State, version: int, agent: str | None, turn_id: str | None, step_id: str | None
) -> Step | None:
    if step_id is None:
        group: Record | None = state.by_version.get(version)
        if group is None and state.shelf is not None:
            group = state.shelf.group_at(state, state.lane(agent), version)
        return group if isinstance(group, Step) else None
    turn = state.turn(state.lane(agent), turn_id) if turn_id is not None else None
    return state.step(turn, step_id) if turn is not None else None
