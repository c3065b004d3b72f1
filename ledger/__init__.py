"""Events, the store and what records into it; imports nothing of ours."""

from ledger.recorded import EncodedEvent, RecordedEvent
from ledger.store import Appended, Conversation, Cursor, Head, Ledger

__all__ = ["Appended", "Conversation", "Cursor", "EncodedEvent", "Head", "Ledger", "RecordedEvent"]
