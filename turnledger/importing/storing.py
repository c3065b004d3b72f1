"""A session's conversations into the ledger: only what is new, in batches, again and again."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ledger.errors import DatabaseError, RecordedElsewhere, TurnledgerError, VersionConflict
from ledger.events import JsonObject
from ledger.intake.lines import split_lines
from ledger.intake.pi import Session, Stream
from ledger.recorded import EncodedEvent, RecordedEvent
from ledger.store import Ledger
from turnledger.importing.files import OpenFile, opened
from turnledger.importing.reports import ConversationReport, FileReport

BATCH_EVENTS = 1_000
BATCH_BYTES = 8 * 1024 * 1024
ATTEMPTS = 5

Progress = Callable[[int], None]
"""Told of bytes as they are read, twice each: for the tree, then for the events."""

_LIVE = frozenset({"turn_start", "step_start", "user_message"})


def import_pi(ledger: Ledger | None, path: Path, name: str | None, dry: bool, progress: Progress) -> FileReport:
    """Take in one pi session file; `name` is another name for its conversation.

    `ledger` None stands for an empty one. With `dry` nothing is stored, and the report says what would be.
    What is wrong with the file, or that it cannot be read, is in the report. Raises `DatabaseError`
    classes.
    """
    report = FileReport(path.name)
    try:
        with opened(path) as file:
            for attempt in range(1, ATTEMPTS + 1):
                report = FileReport(file.name)
                try:
                    _take(ledger, file, name, dry, report, progress)
                    break
                except VersionConflict:  # one of its conversations was appended to meanwhile: look again
                    if attempt == ATTEMPTS:
                        raise
    except OSError as error:
        report.failure = error.strerror or str(error)
    except DatabaseError:
        raise
    except TurnledgerError as error:
        report.failure = error.message
    return report


def _take(
    ledger: Ledger | None, file: OpenFile, name: str | None, dry: bool, report: FileReport, progress: Progress
) -> None:
    session = Session.read(split_lines(file.chunks(progress)), file.name, name)
    report.version, report.lines = session.version, session.lines
    report.repaired, report.problems = session.repaired, session.problems

    def fetch(offset: int, length: int) -> bytes:
        progress(length)
        return file.fetch(offset, length)

    for stream in session.streams(fetch):
        one = ConversationReport(stream.conversation_id, stream.source)
        report.conversations.append(one)
        _store(ledger, session, stream, dry, one)
    for one in report.conversations:
        one.current = one.conversation_id == session.current


def _store(ledger: Ledger | None, session: Session, stream: Stream, dry: bool, one: ConversationReport) -> None:
    head = ledger.head(stream.conversation_id) if ledger is not None else None
    stored: dict[str, int] = {}
    if ledger is not None and head is not None:
        own = ledger.read(stream.conversation_id, after=head.first_version - 1)
        stored = _stored(own, stream.conversation_id, session.id)
    version = head.version if head is not None else stream.source_version
    for batch in _batches(stream.events(stored, version)):
        one.events.update(event.type for event in batch)
        if ledger is None or dry:
            known = sum(event.id in stored for event in batch)
            one.known += known
            one.new += len(batch) - known
            continue
        done = ledger.append_encoded(stream.conversation_id, batch, version, known="skip")
        version = version if done.last_version is None else done.last_version
        one.known += done.known
        one.differing += done.differing
        one.new += len(batch) - done.known


def _stored(events: Iterable[RecordedEvent], conversation_id: str, session: str) -> dict[str, int]:
    """The versions of the conversation's own events by id.

    Raises `RecordedElsewhere` when it did not begin with this session, or was recorded live after.
    """
    stored: dict[str, int] = {}
    for event in events:
        if not stored and not _is_of(event, session):
            problem = "it was recorded live, or appended by hand" if not _source(event) else "another source"
            raise RecordedElsewhere(conversation_id=conversation_id, problem=problem)
        if event.type in _LIVE and not event.event_id.startswith("pi:"):
            problem = f"it goes on with what was recorded live, at version {event.version}"
            raise RecordedElsewhere(conversation_id=conversation_id, problem=problem)
        stored[event.event_id] = event.version
    return stored


def _is_of(event: RecordedEvent, session: str) -> bool:
    source = _source(event)
    return source.get("format") == "pi" and source.get("session") == session


def _source(event: RecordedEvent) -> JsonObject:
    return event.event.source or {}


def _batches(events: Iterator[EncodedEvent]) -> Iterator[list[EncodedEvent]]:
    batch: list[EncodedEvent] = []
    size = 0
    for event in events:
        if batch and (len(batch) == BATCH_EVENTS or size + len(event.body) > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(event)
        size += len(event.body)
    if batch:
        yield batch
