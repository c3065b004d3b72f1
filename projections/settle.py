"""What hangs on a whole turn is worked out when rows are asked for, once for all events since the last time.

A turn's facts (how it ended, whether it is over, which attempt is its last with a block, whether it was taken
back) are compared with what they were; only where they changed are the turn's rows looked at again.
"""

from __future__ import annotations

from projections.records import Call, Record, Turn
from projections.state import State


def settle(state: State) -> None:
    """Mark every record whose row depends on turn facts that changed, and number calls anew where needed."""
    for turn in state.touched:  # grows while it runs: the turns of sub-agents follow their host's
        _settle_turn(state, turn)
    state.touched = []
    for ids in state.renumber:
        for call in ids.number():
            state.touch(call)
    state.renumber = {}


def _settle_turn(state: State, turn: Turn) -> None:
    ended = turn.ended()
    end = (0, None, False) if ended is None else (ended.end, ended.end_kind, ended.inferred)
    over = 0 if not turn.named else turn.followed() if ended is None else -1
    attempts = (turn.named, over, turn.last_block if over else 0)
    if (end, attempts, turn.retracted) == turn.settled:
        return
    before = turn.settled or ((0, None, False), (0, 0, 0), False)
    turn.settled = (end, attempts, turn.retracted)
    if end != before[0]:
        _settle_end(state, turn, cut=_cuts(end[1]) or _cuts(before[0][1]))
    if attempts[1:] != before[1][1:]:
        if state.shelf is not None:
            state.shelf.watched(state, turn)
        for step in turn.steps.values():
            if step.named:
                state.touch(step)
    if turn.retracted and not before[2]:
        if state.shelf is not None:
            state.shelf.items(state, turn)
        for record in turn.items():
            state.touch(record)


def _cuts(kind: str | None) -> bool:
    """Whether a terminal of this kind leaves unfinished steps partial."""
    return kind in ("error", "aborted")


def _settle_end(state: State, turn: Turn, cut: bool) -> None:
    ended = turn.ended()
    if turn.running:
        for call in turn.running:
            state.touch(call)
        if ended is not None and not ended.inferred:
            turn.running = None
    if cut:
        if state.shelf is not None:
            state.shelf.watched(state, turn)
        for step in turn.steps.values():
            if step.low and not step.finished:
                state.touch(step)
    for version in turn.suspects or ():
        record: Record | None = state.record(version)
        if isinstance(record, Call):
            state.touch(record)
    for guest in turn.guests or ():
        state.touch(guest)
