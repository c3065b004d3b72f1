"""Claude Code: its streams (specs/formats.md 3) and its session files (2)."""

from collections.abc import Callable, Iterator

from ledger.errors import NotASession
from ledger.intake.claude_code.blocks import FORMAT
from ledger.intake.claude_code.history import History
from ledger.intake.found import Findings, Found, records
from ledger.intake.linear import first_records
from ledger.intake.mending import as_text
from ledger.intake.sniffing import document_keys, first_objects
from ledger.intake.transcript import Format, Source


def read(source: Source, name: str | None = None) -> History:
    """The session that a file holds, with its sub-agents; a sub-agent's own file is one of its own.

    Raises `NotASession` when nothing in it names a session.
    """

    def found(findings: Findings) -> Iterator[Found]:
        return records(source.lines(), findings)

    first = first_records(found, FORMAT, source.name)
    values = [record.value for record in first if record.value is not None]
    sessions = [session for value in values if (session := as_text(value.get("sessionId")))]
    stem = source.name.removesuffix(".jsonl")
    if not sessions:
        if not any("leafUuid" in value for value in values):
            raise NotASession(file=source.name, runtime=FORMAT, problem="no sessionId among its first records")
        sessions = [stem]  # labels of other files' sessions
    session = stem if stem in sessions else sessions[0]
    versions = [version for value in values if (version := as_text(value.get("version")))]
    agent = stem.removeprefix("agent-") if stem.startswith("agent-") else None
    named = session if agent is None else f"{session}~agent-{agent}"
    return History(source, named, name, versions[-1] if versions else None, agent)


def part_of(path: str, head: Callable[[], bytes]) -> str | None:
    """The session file that takes in a sub-agent's, by the sub-agent's path, or by what that says first."""
    folder, _, file = path.replace("\\", "/").rpartition("/")
    if not file.startswith("agent-"):
        return None
    above, below, _ = f"{folder}/".rpartition("/subagents/")
    if below:
        return f"{above}.jsonl"
    first = first_objects(head(), 1)
    session = as_text(first[0].get("sessionId")) if first else ""
    return f"{folder}/{session}.jsonl" if session and "/" not in session else None


def _looks_like(_name: str, head: bytes) -> bool:
    if "session_id" in {key for value in first_objects(head, 3) for key in value}:
        return False  # its stream
    keys = document_keys(head)
    first = first_objects(head, 3)
    return (
        ("sessionId" in keys and "parentUuid" in keys)
        or any("sessionId" in value and value.get("type") in ("system", "user", "assistant") for value in first)
        or ("leafUuid" in keys and any(value.get("type") == "summary" for value in first))
    )


FILES = Format(FORMAT, "Claude Code's session files", (".jsonl",), read, _looks_like, part_of, recorded=True)

__all__ = ["FILES", "History"]
