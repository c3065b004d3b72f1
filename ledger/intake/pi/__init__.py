"""pi's session files (specs/pi.md 3): lines to records, to a tree, to conversations of events."""

from ledger.intake.pi.records import ENTRY_TYPES
from ledger.intake.pi.session import Session, Stream
from ledger.intake.sniffing import first_objects
from ledger.intake.transcript import Format


def _looks_like(_name: str, head: bytes) -> bool:
    begun = False
    for value in first_objects(head):
        kind = value.get("type")
        if begun:  # what stands behind the header of a stream (`pi --mode json`) is no entry
            return "id" in value or kind in ENTRY_TYPES
        if kind == "session" and isinstance(value.get("id"), str):
            if "createdAt" in value:
                return False  # DeepSeek Harness heads its logs like this
            begun = "cwd" in value or "version" in value or "timestamp" in value
            if not begun:
                return False
        elif kind not in ENTRY_TYPES:
            return False
    return begun


FILES = Format(
    "pi",
    "pi session files, versions 1 to 3",
    (".jsonl",),
    lambda source, name: Session.of(source, name),
    _looks_like,
)

__all__ = ["FILES", "Session", "Stream"]
