"""Codex's rollouts (specs/formats.md 4): one file a thread, its records in order."""

from collections.abc import Iterator

from ledger.errors import NotASession
from ledger.intake.codex.envelopes import opened
from ledger.intake.codex.rollout import FORMAT, Rollout
from ledger.intake.found import Findings, Found, records
from ledger.intake.linear import Linear, first_records
from ledger.intake.mending import as_text
from ledger.intake.sniffing import first_objects
from ledger.intake.transcript import Format, Source


def read(source: Source, name: str | None = None) -> Linear:
    """The thread that a rollout holds, of any generation.

    Raises `NotASession` when nothing in it names a thread.
    """

    def found(findings: Findings) -> Iterator[Found]:
        return records(source.lines(), findings)

    for record in first_records(found, FORMAT, source.name):
        envelope = opened(record.value or {})
        if envelope.kind == "session_meta":
            thread = as_text(envelope.payload.get("id")) or as_text(envelope.payload.get("session_id"))
            version = as_text(envelope.payload.get("cli_version")) or None
            if thread:
                return Linear(FORMAT, source.name, thread, name, found, Rollout, version)
    raise NotASession(
        file=source.name, runtime=FORMAT, problem="no session_meta with an id among its first records"
    )


def _looks_like(_name: str, head: bytes) -> bool:
    kinds = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
    for value in first_objects(head, 3):
        if isinstance(value.get("payload"), dict) and value.get("type") in kinds:
            return True
        if "instructions" in value and "timestamp" in value and "type" not in value:
            return True
    return False


FILES = Format(FORMAT, "Codex rollouts, of every generation", (".jsonl", ".jsonl.zst"), read, _looks_like)

__all__ = ["FILES", "Rollout"]
