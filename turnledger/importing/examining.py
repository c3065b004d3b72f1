"""A file, or a ledger's database, looked over for damage; nothing is stored or changed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ledger.errors import TurnledgerError
from ledger.events import JsonObject, decode
from ledger.recorded import EncodedEvent, RecordedEvent
from ledger.store import Ledger
from replay import Options
from replay.ailments import Symptom, of_chain, of_diagnostics, of_problem
from replay.audit import verify
from replay.plan import plan
from turnledger.importing.files import opened
from turnledger.importing.formats import format_of
from turnledger.importing.others import OWN_TABLES, problems_of, tables_of

OWN = "turnledger database"

_LIVE = frozenset({"pending_tool_call"})
"""What is no damage in a ledger: a turn that is recorded now, or that `recover` ends."""


@dataclass
class Examination:
    """What one file is, and what is wrong with it. `failure` is why it could not be looked at at all."""

    file: str
    format: str | None = None
    version: int | str | None = None
    lines: int = 0
    conversations: int = 0
    events: int = 0
    symptoms: list[Symptom] = field(default_factory=list)
    failure: str | None = None

    def as_json(self) -> JsonObject:
        """The examination for machines."""
        return {
            "file": self.file,
            "format": self.format,
            "version": self.version,
            "lines": self.lines,
            "conversations": self.conversations,
            "events": self.events,
            "failure": self.failure,
            "damage": [
                {
                    "class": one.ailment.name,
                    "text": one.text,
                    "line": one.line,
                    "conversation_id": one.conversation_id,
                    "version": one.version,
                    "fault": one.ailment.fault,
                    "replay": one.ailment.replay,
                }
                for one in self.symptoms
            ],
        }


def examine(path: Path, source_format: str) -> Examination:
    """Look a file over as an importer of its format would; holds one conversation at a time."""
    found = Examination(str(path))
    try:
        with opened(path) as file:
            chosen = format_of(source_format, file)
            found.format = chosen.name
            transcript = chosen.read(file, None)
            told: dict[str, list[RecordedEvent]] = {}
            try:
                for stream in transcript.streams():
                    before = told.get(stream.source or "", [])[: stream.source_version]
                    records = [*before, *_records(stream.events(), stream.source_version)]
                    told[stream.conversation_id] = records
                    found.conversations += 1
                    found.events += len(records) - len(before)
                    found.symptoms += _of_conversation(records, stream.source_version)
            finally:
                found.version, found.lines = transcript.version, transcript.lines
                problems = [*transcript.problems, *problems_of(file)]
                found.symptoms[:0] = [of_problem(problem) for problem in problems]
    except OSError as error:
        found.failure = error.strerror or str(error)
    except TurnledgerError as error:
        found.failure = error.message
    return found


def examine_ledger(ledger: Ledger, name: str) -> Examination:
    """Look a ledger over: its chain, then every conversation of the tenant as a replay reads it.

    Raises `DatabaseError` classes.
    """
    found = Examination(name, OWN)
    for one in verify(ledger).findings:
        found.symptoms.append(of_chain(str(one), one.conversation_id, one.version))
    for conversation in ledger.conversations():
        found.conversations += 1
        try:
            records = list(ledger.read(conversation.conversation_id))
        except TurnledgerError as error:  # its first bad event was found by the verification
            found.symptoms.append(of_chain(error.message, conversation.conversation_id, None))
            continue
        found.events += len(records)
        symptoms = _of_conversation(records, conversation.first_version - 1, _LIVE)
        found.symptoms += [one._replace(line=None) for one in symptoms]  # the line is one of another file
    return found


def is_ledger(path: Path) -> bool:
    """Whether a file is a ledger's SQLite database; False for what cannot be read."""
    try:
        with opened(path) as file:
            return tables_of(file) >= OWN_TABLES
    except OSError:
        return False


def _records(encoded: Iterable[EncodedEvent], version: int) -> Iterator[RecordedEvent]:
    for number, event in enumerate(encoded, start=version + 1):
        yield RecordedEvent.of(decode(event.body), number)


def _of_conversation(
    records: list[RecordedEvent], after: int, passed_over: frozenset[str] = frozenset()
) -> list[Symptom]:
    """What is wrong in any lane, of the events behind version `after`: those before are the source's."""
    lanes = {record.event.agent_id for record in records}
    symptoms: list[Symptom] = []
    for lane in sorted(lanes, key=lambda name: name or ""):
        found = [one for one in plan(records, Options(agent_id=lane)).diagnostics if (one.version or 0) > after]
        symptoms += of_diagnostics((one for one in found if one.code not in passed_over), records)
    return symptoms
