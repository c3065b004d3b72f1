"""What the store answers: plain values, immutable, JSON-able by their fields."""

from typing import NamedTuple


class Appended(NamedTuple):
    """What an append did.

    Versions and positions are those of the first and last event of the batch (None when nothing of it
    stands in the ledger by this call: an empty batch, deltas only, or `known="skip"` with nothing new).
    Positions of a new batch are contiguous in `book`.
    """

    first_version: int | None = None
    last_version: int | None = None
    book: int | None = None
    first_position: int | None = None
    last_position: int | None = None
    replayed: bool = False
    """The whole batch was stored before; nothing was stored now, and the answer is the one given then."""
    known: int = 0
    """Events left out because their ids are stored (`known="skip"`)."""
    differing: int = 0
    """Those of them whose stored body has another value."""
    live: int = 0
    """Deltas in the batch: for live display only, dropped."""


class Head(NamedTuple):
    """How a conversation stands. Times are integer microseconds UTC."""

    conversation_id: str
    version: int
    digest: bytes
    """The chain's head after `version`: 32 bytes."""
    book: int
    created_at: int
    recorded_at: int
    source_conversation_id: str | None
    """The conversation that a branch left, at `source_version`."""
    source_version: int | None

    @property
    def first_version(self) -> int:
        """The version of its first own event."""
        return (self.source_version or 0) + 1


Conversation = Head
"""`conversations()` gives how each one stands."""
