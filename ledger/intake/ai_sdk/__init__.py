"""The AI SDK: its streams, and the UIMessages that apps keep (specs/formats.md 8)."""

from ledger.intake.ai_sdk.ui_messages import FORMAT, UiMessages
from ledger.intake.documents import document
from ledger.intake.found import Found
from ledger.intake.linear import Linear
from ledger.intake.sniffing import document_keys
from ledger.intake.transcript import Format, Source


def read(source: Source, name: str | None = None) -> Linear:
    """The chat that a list of UIMessages holds, or an object with `messages`; named as its file.

    Raises `NotASession` where it holds no message.
    """
    return document(FORMAT, source, name, _unnamed, UiMessages)


def _unnamed(_first: Found) -> str:
    return ""


def _looks_like(_name: str, head: bytes) -> bool:
    keys = document_keys(head)
    listed = head.lstrip().startswith(b"[") or "messages" in keys
    return listed and keys >= {"id", "role", "parts"} and not keys & {"part_kind", "sessionID"}


FILES = Format(FORMAT, "UIMessages of the Vercel AI SDK", (".json",), read, _looks_like)

__all__ = ["FILES", "UiMessages"]
