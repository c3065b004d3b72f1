"""A transcript's conversations into the ledger: only what is new, in batches, again and again."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from ledger.errors import DatabaseError, IdConflict, RecordedElsewhere, TurnledgerError, VersionConflict
from ledger.events import JsonObject
from ledger.intake.transcript import ConversationStream, Format
from ledger.recorded import EncodedEvent, RecordedEvent
from ledger.store import Appended, Ledger
from turnledger.importing.files import OpenFile, opened
from turnledger.importing.formats import format_of
from turnledger.importing.others import problems_of
from turnledger.importing.reports import ConversationReport, FileReport

BATCH_EVENTS = 4_000
"""Few and large: every batch writes the pages of the index of ids anew, since ids of hashes lie all over it."""
BATCH_BYTES = 8 * 1024 * 1024
ATTEMPTS = 5

Progress = Callable[[int], None]
"""Told of bytes as they are read, twice each: for the tree, then for the events."""

_LIVE = frozenset({"turn_start", "step_start", "user_message"})


def import_file(
    ledger: Ledger | None, source_format: str, path: Path, name: str | None, dry: bool, progress: Progress
) -> FileReport:
    """Take in one file of a format, `auto` for the one that it looks like; `name` is another name for its
    (main) conversation.

    `ledger` None stands for an empty one. With `dry` nothing is stored, and the report says what would be.
    What is wrong with the file, or that it cannot be read, is in the report. Raises `DatabaseError`
    classes.
    """
    report = FileReport(path.name)
    try:
        with opened(path, progress) as file:
            for attempt in range(1, ATTEMPTS + 1):
                report = FileReport(file.name)
                try:
                    chosen = format_of(source_format, file)
                    report.format = chosen.name
                    _take(ledger, chosen, file, name, dry, report)
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
    ledger: Ledger | None, chosen: Format, file: OpenFile, name: str | None, dry: bool, report: FileReport
) -> None:
    transcript = chosen.read(file, name)
    try:
        for stream in transcript.streams():
            one = ConversationReport(stream.conversation_id, stream.source)
            report.conversations.append(one)
            _store(ledger, chosen, transcript.id, stream, dry, one)
    finally:
        report.version, report.lines = transcript.version, transcript.lines
        report.repaired, report.problems = transcript.repaired, [*transcript.problems, *problems_of(file)]
    for one in report.conversations:
        one.current = one.conversation_id == transcript.current


def _store(
    ledger: Ledger | None,
    chosen: Format,
    session: str,
    stream: ConversationStream,
    dry: bool,
    one: ConversationReport,
) -> None:
    head = ledger.head(stream.conversation_id) if ledger is not None else None
    stored: dict[str, int] = {}
    if ledger is not None and head is not None:
        own = ledger.read(stream.conversation_id, after=head.first_version - 1)
        if chosen.own:
            stored = {event.event_id: event.version for event in own}
        else:
            stored = _stored(own, stream.conversation_id, chosen.name, session)
    version = head.version if head is not None else stream.source_version
    events = stream.events(stored, version)
    if chosen.own and stored:
        events = _same_beginning(events, next(iter(stored)), stream.conversation_id)
    for batch in _batches(events):
        one.events.update(event.type for event in batch)
        if ledger is None or dry:
            known = sum(event.id in stored for event in batch)
            one.known += known
            one.new += len(batch) - known
            continue
        done = _append(ledger, stream.conversation_id, batch, version, stored)
        version = version if done.last_version is None else done.last_version
        known = len(batch) if done.replayed else done.known
        one.known += known
        one.differing += done.differing
        one.new += len(batch) - known


def _append(
    ledger: Ledger, conversation_id: str, batch: list[EncodedEvent], version: int, stored: Mapping[str, int]
) -> Appended:
    """Store what is new of a batch. Only where an id is known, or comes twice, is every one looked up: a file
    that is taken in for the first time has none."""
    if not any(event.id in stored for event in batch):
        try:
            return ledger.append_encoded(conversation_id, batch, version)
        except IdConflict:
            pass
    return ledger.append_encoded(conversation_id, batch, version, known="skip")


def _same_beginning(events: Iterator[EncodedEvent], first: str, conversation_id: str) -> Iterator[EncodedEvent]:
    """The events of an export, whose first must be the first of the conversation that is stored.

    Raises `RecordedElsewhere` where another conversation has that name.
    """
    for number, event in enumerate(events):
        if not number and event.id != first:
            problem = "another conversation has that name; `--as` gives it another one"
            raise RecordedElsewhere(conversation_id=conversation_id, problem=problem)
        yield event


def _stored(
    events: Iterable[RecordedEvent], conversation_id: str, source_format: str, session: str
) -> dict[str, int]:
    """The versions of the conversation's own events by id.

    Raises `RecordedElsewhere` when it did not begin with this session, or was recorded live after.
    """
    stored: dict[str, int] = {}
    for event in events:
        if not stored and not _is_of(event, source_format, session):
            problem = "it was recorded live, or appended by hand" if not _source(event) else "another source"
            raise RecordedElsewhere(conversation_id=conversation_id, problem=problem)
        if event.type in _LIVE and not event.event_id.startswith(f"{source_format}:"):
            problem = f"it goes on with what was recorded live, at version {event.version}"
            raise RecordedElsewhere(conversation_id=conversation_id, problem=problem)
        stored[event.event_id] = event.version
    return stored


def _is_of(event: RecordedEvent, source_format: str, session: str) -> bool:
    source = _source(event)
    return source.get("format") == source_format and source.get("session") == session


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
