"""The conversation view as a fold: `apply` takes an event into a state, `changes` gives the rows that differ.

Pure: no I/O, no clock, no randomness; the same events give the same rows however they are cut into batches
(DESIGN.md 6). `apply` only marks what an event touches; what depends on a whole turn (partial, superseded,
interrupted, retracted) is worked out once, when changes are asked for (`projections.settle`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop
from typing import NamedTuple

from ledger.events import Abort, Complete, Error, Event, JsonObject, Retraction, UserMessage
from ledger.recorded import RecordedEvent
from projections import notes, order
from projections.calls import take_approval, take_call, take_result
from projections.lanes import Lane
from projections.plain import plain_row, take_note
from projections.records import Record, Step, Turn
from projections.retracting import retract
from projections.rows import row_of, user_row
from projections.settle import settle
from projections.state import Found, Move, State, unknown
from projections.steps import (
    replace_step,
    start_step,
    take_step_finish,
    take_step_start,
    take_text,
    take_thinking,
    take_usage,
)


class Changes(NamedTuple):
    """What a fold changed: rows new or other than before, and places that moved (apply those first)."""

    rows: list[Record]  # each with `row`, `sort`, `kind` and `first`; a `row` of None says that it has none
    moves: list[Move]


def fold(state: State, recorded: RecordedEvent) -> Changes:
    """Take one event and give the rows it changed. Raises as `apply`."""
    apply(state, recorded)
    return changes(state)


def rows(
    events: Iterable[RecordedEvent], conversation_id: str, find: Callable[[str], Found | None] = unknown
) -> list[JsonObject]:
    """All rows of these events, in the order of the view. `find` gives events that a retraction names by id."""
    state = State(conversation_id, find)
    for recorded in events:
        apply(state, recorded)
    return [record.row for record in sorted(changes(state).rows, key=_sort) if record.row is not None]


def _sort(record: Record) -> bytes:
    return record.sort


def changes(state: State) -> Changes:
    """The rows that differ since this was last asked."""
    settle(state)
    dirty, moves = state.taken()
    for record in dirty:
        record.row = row_of(record, state.conversation_id)
    return Changes(dirty, moves)


class OutOfOrder(ValueError):
    """An event that does not follow the last one folded: a bug of the caller."""


def apply(state: State, recorded: RecordedEvent) -> None:
    """Take one event into the state.

    Raises `ValueError` when its bytes are no event, `OutOfOrder` when it is not the next one. After any
    exception the state is void: fold again up to the event before.
    """
    version = recorded.version
    if version != state.version + 1:
        raise OutOfOrder(f"event {version} was given to a fold that stands at {state.version}")
    event = recorded.event
    kind = event.type
    lane = state.lanes.get(event.agent_id) or state.lane(event.agent_id)
    hidden = event.visibility == "hidden"
    turn: Turn | None = None
    turn_id = event.turn_id
    if turn_id is not None:
        turn = lane.turns.get(turn_id) or state.turn(lane, turn_id)
        if turn is None:
            turn = state.open_turn(lane, turn_id, version, event.parent_tool_call_id)
        turn.last = version
        if not turn.dirty:
            state.touch(turn)
        if turn.at is None:
            turn.at = event.at
        if turn.inferred:  # an inferred terminal counts only while nothing of its turn comes later
            turn.end, turn.end_kind, turn.end_at = 0, None, None
            turn.stop_reason = turn.error = None
            turn.inferred = False
        lane.current = turn_id
    if lane.group is not None and not hidden:
        _end_group(lane, event, turn)
    step: Step | None = None
    step_id = event.step_id
    if turn is not None and step_id is not None:
        step = turn.steps.get(step_id) or state.step(turn, step_id)
        if step is None:
            step = state.open_step(turn, step_id, version)
        if not (step.started or hidden):
            start_step(state, lane, step)
    handler = _HANDLERS.get(kind)
    if handler is not None and turn is not None:
        turn.real = True
        handler(state, version, event, lane, turn, step)
    else:
        take_note(state, version, event, lane, turn)
        if isinstance(event, Retraction):
            retract(state, version, event, turn)
    state.version = version


def _end_group(lane: Lane, event: Event, turn: Turn | None) -> None:
    """A legacy group ends at any event of the user, of another turn or of a named step (7.2, rule 10)."""
    group = lane.group
    assert group is not None
    other = turn is not None and turn is not group.turn
    named = (
        event.step_id is not None and event.type != "tool_result"
    )  # the result of a named step's call ends none
    if other or named or event.type == "user_message":
        lane.group = None


def _user(state: State, version: int, event: UserMessage, lane: Lane, turn: Turn, _step: Step | None) -> None:
    """A user row; another turn\'s message also leaves earlier turns and their unanswered calls behind."""
    body = user_row(event)
    plain_row(state, "user", turn, version, order.item(turn.prefix, version), body)
    if event.visibility == "hidden":
        return
    if lane.user_turn != turn.turn_id:
        lane.user_turn, lane.other_user_at = turn.turn_id, lane.user_at
    lane.user_at = version
    for turn_id in [each for each in lane.attempts if each != turn.turn_id]:  # those turns are over now
        del lane.attempts[turn_id]
        followed = state.turn(lane, turn_id)
        if followed is not None:
            state.touch(followed)
    while lane.waiting and lane.waiting[0][0] < turn.first:
        left = heappop(lane.waiting)[1]
        left.waits = False
        if left.running:
            state.close(left.running)
            left.running = None


def _terminal(
    state: State,
    version: int,
    event: Complete | Abort | Error,
    lane: Lane,
    turn: Turn,
    step: Step | None,
) -> None:
    """The first terminal decides the turn; later ones, and retryable errors, are notes."""
    if isinstance(event, Error) and event.retryable:
        if step is not None:
            step.own(version, None)
            state.touch(step)
            if event.visibility != "hidden" and step.first < version:
                replace_step(state, lane, step)
        take_note(state, version, event, lane, turn)
        return
    if turn.end:
        take_note(state, version, event, lane, turn)  # recorded and shown; the first one decides
        return
    turn.explicit = True
    turn.end = version
    turn.end_at = event.at
    turn.inferred = bool(event.source and event.source.get("inferred") is True)
    if isinstance(event, Complete):
        turn.end_kind, turn.stop_reason = "complete", event.stop_reason
    elif isinstance(event, Abort):
        turn.end_kind, turn.stop_reason = "aborted", event.reason
    else:
        turn.end_kind = "error"
        turn.error = {"message": event.message, "code": event.code, "reason": event.reason}
    if notes.at_step_limit(event) and not turn.inferred:
        plain_row(state, "note", turn, version, order.item(turn.prefix, version), notes.step_limit_row(event))


def _turn_start(
    _state: State, _version: int, _event: Event, _lane: Lane, turn: Turn, _step: Step | None
) -> None:
    turn.explicit = True


_HANDLERS: dict[str, Callable[..., None]] = {
    "user_message": _user,
    "text_complete": take_text,
    "thinking_complete": take_thinking,
    "tool_start": take_call,
    "tool_result": take_result,
    "tool_approval": take_approval,
    "step_start": take_step_start,
    "step_finish": take_step_finish,
    "token_usage": take_usage,
    "turn_start": _turn_start,
    "complete": _terminal,
    "error": _terminal,
    "abort": _terminal,
}
