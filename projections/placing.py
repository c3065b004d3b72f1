"""Where the tool rows of a step stand, and what moves with them (DESIGN.md 6, and 7.2 rule 2)."""

from __future__ import annotations

from projections import order
from projections.pairing import Ids
from projections.records import Call, Step
from projections.state import Move, State


def reorder_calls(state: State, step: Step) -> None:
    """The step's blocks have no full set of indexes any more: its calls stand in the fixed order."""
    if state.shelf is not None:
        state.shelf.step_calls(state, step)
    for call in step.calls():
        old, call.sort = call.sort, call_place(step, call)
        if old == call.sort:
            continue
        state.touch(call)
        ids = state.calls_of(call.turn.lane, call.hidden).get(call.call_id)
        if isinstance(ids, Ids):
            state.renumber[ids] = None
        if call.nested or state.shelf is not None:
            state.moves.append(Move(old, call.sort))
            _carry(state, call, len(old))


def _carry(state: State, call: Call, length: int) -> None:
    """The turns that a moved call started move with it."""
    for turn in call.nested or ():
        turn.prefix = call.sort + turn.prefix[length:]
        turn.sort = call.sort + turn.sort[length:]
        state.touch(turn)
        for record in turn.items():
            before = len(record.sort)
            record.sort = call.sort + record.sort[length:]
            state.touch(record)
            if isinstance(record, Step):
                record.prefix = call.sort + record.prefix[length:]
            elif isinstance(record, Call):
                _carry(state, record, before)


def call_place(step: Step, call: Call) -> bytes:
    """Key of a call's row: by block index while every kept block has one, else in the fixed order."""
    if not step.unindexed and call.index is not None:
        return order.tool(step.prefix, order.CALL_BY_INDEX, call.index, call.first)
    rank = order.CALL_OF_PROVIDER if call.provider_executed else order.CALL_OF_CLIENT
    return order.tool(step.prefix, rank, 0, call.first)
