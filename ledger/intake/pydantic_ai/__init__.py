"""pydantic-ai: its runs (specs/formats.md 11), and its messages as they are kept (`all_messages_json`)."""

from ledger.intake.documents import document
from ledger.intake.found import Found
from ledger.intake.linear import Linear
from ledger.intake.mending import as_text
from ledger.intake.pydantic_ai.history import FORMAT, History
from ledger.intake.sniffing import document_keys
from ledger.intake.transcript import Format, Source


def read(source: Source, name: str | None = None) -> Linear:
    """The conversation that a list of messages holds: named as they name it, else as the file.

    Raises `NotASession` where it holds no message.
    """
    return document(FORMAT, source, name, _session, History)


def _session(first: Found) -> str:
    return as_text((first.value or {}).get("conversation_id"))


def _looks_like(_name: str, head: bytes) -> bool:
    keys = document_keys(head)
    listed = head.lstrip().startswith((b"[", b"{")) and keys >= {"part_kind", "parts", "kind"}
    return listed and "event_kind" not in keys  # its stream


FILES = Format(FORMAT, "pydantic-ai's messages as JSON", (".json",), read, _looks_like)

__all__ = ["FILES", "History"]
