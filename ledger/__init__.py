"""Events, the store and what records into it; imports nothing of ours."""

from ledger.recorded import EncodedEvent, RecordedEvent
from ledger.recorder import LiveTurn, Recorder
from ledger.store import Appended, Conversation, Cursor, Head, Ledger
from ledger.store.leases import Recovered
from ledger.store.leasing import Lease

__all__ = [
    "Appended",
    "Conversation",
    "Cursor",
    "EncodedEvent",
    "Head",
    "Lease",
    "Ledger",
    "LiveTurn",
    "RecordedEvent",
    "Recorder",
    "Recovered",
]
