"""Conversations as Turnledger's own JSON Lines (`ledger.intake.own` reads them again)."""

import hashlib
import json
from collections.abc import Iterator, Sequence

from ledger.errors import UnknownConversation
from ledger.events import json_bytes
from ledger.intake.own import closing, opening
from ledger.store import Head, Ledger
from turnledger.exporting.redaction import Redaction


def with_sources(ledger: Ledger, names: Sequence[str]) -> list[Head]:
    """The heads of conversations and of all that they branched off from, sources first, each once.

    Raises `UnknownConversation`.
    """
    found: dict[str, Head] = {}

    def take(name: str) -> None:
        if name in found:
            return
        head = ledger.head(name)
        if head is None:
            raise UnknownConversation(conversation_id=name, hint="")
        if head.source_conversation_id is not None:
            take(head.source_conversation_id)
        found[name] = head

    for name in names:
        take(name)
    return list(found.values())


def own_lines(ledger: Ledger, heads: Sequence[Head], redaction: Redaction | None = None) -> Iterator[bytes]:
    """The lines of these conversations as they stand at their heads, one page of events in memory."""
    for head in heads:
        name, source, version = head.conversation_id, head.source_conversation_id, head.source_version
        if redaction is not None:
            name, source = redaction.name(name), source and redaction.name(source)
        yield _line(json_bytes(opening(name, source, version, redacted=redaction is not None)))
        digest, count = hashlib.sha256(), 0
        for record in ledger.read(head.conversation_id, head.first_version - 1, head.version):
            body = record.body
            if redaction is not None:
                body = json_bytes(redaction.event(json.loads(body)))
            digest.update(body)
            count += 1
            yield _line(body)
        yield _line(json_bytes(closing(name, count, digest.hexdigest())))


def _line(body: bytes) -> bytes:
    return body + b"\n"
