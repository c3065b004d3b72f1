"""DeepSeek Harness: its session logs (specs/dsh.md 5)."""

from collections.abc import Iterator

from ledger.errors import NotASession
from ledger.intake.dsh.log import FORMAT, Log
from ledger.intake.found import Findings, Found, records
from ledger.intake.linear import Linear, first_records
from ledger.intake.mending import as_text
from ledger.intake.sniffing import first_objects
from ledger.intake.transcript import Format, Source

VERSION = 0
"""Of the format: newer logs may mean other things by the same words (5.3)."""


def read(source: Source, name: str | None = None) -> Linear:
    """The session that a log holds.

    Raises `NotASession` without a header, and for one of a later version.
    """

    def found(findings: Findings) -> Iterator[Found]:
        return records(source.lines(), findings)

    first = first_records(found, FORMAT, source.name, upto=5)
    head = next((one.value for one in first if one.value and one.value.get("type") == "session"), None)
    if head is None:
        raise NotASession(
            file=source.name, runtime=FORMAT, problem="no line of its beginning is a session header"
        )
    version = head.get("version")
    if isinstance(version, int) and version > VERSION:
        problem = f"its log is of version {version}, and this build reads {VERSION}; upgrade turnledger"
        raise NotASession(file=source.name, runtime=FORMAT, problem=problem)
    session = as_text(head.get("id")) or source.name.partition(".")[0]
    return Linear(FORMAT, source.name, session, name, found, Log, version if isinstance(version, int) else None)


def _looks_like(_name: str, head: bytes) -> bool:
    first = first_objects(head, 3)
    if not first or first[0].get("type") != "session" or "createdAt" not in first[0]:
        return False
    return len(first) == 1 or any("/" in as_text(one.get("type")) for one in first[1:])


FILES = Format(
    FORMAT, "session logs of DeepSeek Harness", (".jsonl", ".jsonl.zst", ".jsonl.zstd"), read, _looks_like
)

__all__ = ["FILES", "Log"]
