"""The store: an append-only ledger of conversations on SQLite and PostgreSQL (DESIGN.md 4)."""

from ledger.store.book_recorder import BookRecorder
from ledger.store.cursor import Cursor
from ledger.store.engine import Engine
from ledger.store.ledger import Ledger
from ledger.store.migrations import Component
from ledger.store.reading import Page
from ledger.store.receipts import Appended, Conversation, Head

__all__ = [
    "Appended",
    "BookRecorder",
    "Component",
    "Conversation",
    "Cursor",
    "Engine",
    "Head",
    "Ledger",
    "Page",
]
