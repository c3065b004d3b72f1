"""Events that a fold cannot take: the conversation pauses there, and says so (DESIGN.md 6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ledger.errors import DatabaseError
from ledger.events import JsonObject
from ledger.recorded import RecordedEvent
from projections.conversation import apply
from projections.state import State

LONGEST_REASON = 300


@dataclass(frozen=True)
class Pause:
    """The event that a conversation's fold could not take; what came before it stands."""

    version: int
    event_id: str
    reason: str

    def as_json(self) -> JsonObject:
        return {"version": self.version, "event_id": self.event_id, "reason": self.reason}


def take(state: State, events: Iterable[RecordedEvent]) -> Pause | None:
    """Fold events into a state up to the first that cannot be taken; None when all were.

    After a pause the state stands before the event; but when the fold broke inside the event,
    `state.version` is -1 and the state is void: fold again, up to the event before. Raises `DatabaseError`
    classes of the ledger that is read.
    """
    for recorded in events:
        try:
            recorded.event  # noqa: B018 - decoded before anything is touched
        except Exception as error:
            return _pause(recorded, error)
        try:
            apply(state, recorded)
        except DatabaseError:
            raise
        except Exception as error:
            state.version = -1
            return _pause(recorded, error)
    return None


def _pause(recorded: RecordedEvent, error: Exception) -> Pause:
    words = " ".join(f"{type(error).__name__}: {error}".split())
    # The reason may quote the event: only what any table and any terminal takes.
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in words)
    return Pause(recorded.version, recorded.event_id, shown[:LONGEST_REASON])
