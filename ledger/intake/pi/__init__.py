"""pi's session files (specs/pi.md 3): lines to records, to a tree, to conversations of events."""

from ledger.intake.pi.session import Session, Stream

__all__ = ["Session", "Stream"]
