"""Records on their way into events: named, and with what does not change of them as their source."""

from ledger.events import Json, JsonObject
from ledger.intake.found import Findings, Found, element
from ledger.intake.mending import as_text
from ledger.intake.opencode.reading import Message
from ledger.intake.scribe import Scribe
from ledger.turns.lane import Lane

_CHANGING = ("summary", "time", "finish", "error", "tokens", "cost")
"""What OpenCode writes into a message later."""


class Unfinished(Exception):
    """The next record is not over yet: nothing behind it is taken."""


class Records:
    """The scribe of one conversation, told of messages and parts instead of lines. A message's place in its
    session stands where lines have their number."""

    def __init__(self, scribe: Scribe) -> None:
        self.scribe = scribe
        self.recording = scribe.recording

    def head(self, value: JsonObject, key: str, at: Json = None) -> None:
        """Go on to something that the session says of itself."""
        self.scribe.take(_found(0, value), key, at)

    def message(self, message: Message, at: Json = None, of: str = "", value: JsonObject | None = None) -> None:
        """Go on to a message, or to what it says `of` something."""
        kept = (
            {name: it for name, it in message.info.items() if name not in _CHANGING} if value is None else value
        )
        found = _found(message.number, kept)
        self.scribe.take(found, f"{message.id}:{of}" if of else message.id or None, at)

    def over(self, number: int, turn_id: str) -> None:
        """Go on to the end of a turn, of which nothing is said, behind a message."""
        self.scribe.take(_found(number, {"turn_id": turn_id}), f"{turn_id}:over")

    def part(self, message: Message, part: JsonObject, at: Json = None, state: str = "") -> None:
        """Go on to a part, in the state in which it now stands."""
        name = as_text(part.get("id"))
        key = f"{name}:{state}" if state else name
        self.scribe.take(_found(message.number, part), key or None, at, part=name or None)

    def note(self, message: Message, part: JsonObject, lane: Lane) -> None:
        """A part that is no event of its own."""
        self.part(message, part)
        lane.note(as_text(part.get("type")) or "raw", None, entry=part)

    def damaged(self, message: Message) -> None:
        """What could not be read of a message."""
        for found in message.damaged:
            self.scribe.damaged(found)


def _found(number: int, value: JsonObject) -> Found:
    """A record whose digest is the same whatever order its fields stand in: exports have another."""
    return element(number, dict(sorted(value.items())), Findings())
