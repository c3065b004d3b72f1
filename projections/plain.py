"""Rows that one event makes alone: user rows, notes, orphaned results."""

from __future__ import annotations

from ledger.events import Event, JsonObject
from projections import notes, order
from projections.lanes import Lane
from projections.records import Plain, Turn
from projections.state import State


def plain_row(state: State, kind: str, turn: Turn | None, version: int, sort: bytes, body: JsonObject) -> None:
    """Add the row of this kind that the event at `version` makes."""
    record = Plain(kind, turn, version, sort, body)
    state.by_version[version] = record
    if turn is not None:
        turn.plain.append(record)
    state.touch(record)


def take_note(state: State, version: int, event: Event, lane: Lane, turn: Turn | None) -> None:
    """A note stands where its event was: in its turn, else in the lane's turn that is still going on."""
    if turn is None and lane.current is not None:
        current = state.turn(lane, lane.current)
        if current is not None and not current.end:
            turn = current
    prefix = order.turn_prefix(b"", version) if turn is None else turn.prefix
    plain_row(state, "note", turn, version, order.item(prefix, version), notes.note_row(event))
