"""A transcript's conversations into the ledger: only what is new, in batches, again and again."""

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from ledger.errors import DatabaseError, IdConflict, RecordedElsewhere, TurnledgerError, VersionConflict
from ledger.events import JsonObject
from ledger.intake.beside import Beside, Places
from ledger.intake.live import Live
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
            _store(ledger, chosen, file, name, transcript.id, stream, dry, one)
    finally:
        report.version, report.lines = transcript.version, transcript.lines
        report.repaired, report.problems = transcript.repaired, [*transcript.problems, *problems_of(file)]
    for one in report.conversations:
        one.current = one.conversation_id == transcript.current


def _store(
    ledger: Ledger | None,
    chosen: Format,
    file: OpenFile,
    name: str | None,
    session: str,
    stream: ConversationStream,
    dry: bool,
    one: ConversationReport,
) -> None:
    head = ledger.head(stream.conversation_id) if ledger is not None else None
    stored: dict[str, int] = {}
    beside: Beside | None = None
    if ledger is not None and head is not None:
        own = ledger.read(stream.conversation_id, after=head.first_version - 1)
        if chosen.own:
            stored = {event.event_id: event.version for event in own}
        else:
            stored = _stored(own, stream.conversation_id, chosen, session)
        if not chosen.own and any(_is_live(event_id, chosen) for event_id in stored):
            own = ledger.read(stream.conversation_id, after=head.first_version - 1)
            beside = _beside(own, chosen, file, name, stored, stream.conversation_id)
    version = head.version if head is not None else stream.source_version
    if beside is not None:
        events = _new_beside(stream.events(ChainMap(beside.told, stored), version), beside, chosen.name, one)
    else:
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


def _beside(
    own: Iterable[RecordedEvent],
    chosen: Format,
    file: OpenFile,
    name: str | None,
    stored: Mapping[str, int],
    conversation_id: str,
) -> Beside:
    """What becomes of the file's events beside what was recorded live. The file is read twice for it.

    Raises `RecordedElsewhere` where the recording is of another session, or what is new would come too late.
    """
    live = Live()
    for recorded in own:
        live.take(recorded)
    places = Places(live)
    for event in _again(chosen, file, name, conversation_id):
        places.take(event)
    if not places.end():
        problem = "what was recorded live is of another session, or not in this file"
        raise RecordedElsewhere(conversation_id=conversation_id, problem=problem)
    beside = Beside(live, places, stored, conversation_id)
    for event in _again(chosen, file, name, conversation_id):
        beside.take(event)
    return beside


def _again(chosen: Format, file: OpenFile, name: str | None, conversation_id: str) -> Iterator[EncodedEvent]:
    """The events that the file gives a conversation, from the beginning."""
    for stream in chosen.read(file, name).streams():
        if stream.conversation_id == conversation_id:
            yield from stream.events()
            return
        for _ in stream.events():  # each is to be read to its end before the next
            pass


def _new_beside(
    events: Iterator[EncodedEvent], beside: Beside, source_format: str, one: ConversationReport
) -> Iterator[EncodedEvent]:
    """The events that the recording does not tell; the others are counted as known."""
    one.differing += beside.differing
    one.unplaced = beside.kept
    for event in events:
        if event.id not in beside.told:
            yield beside.written(event)
        else:
            one.known += 1
            one.events[event.type] += 1
    yield from beside.rest(source_format)


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
    events: Iterable[RecordedEvent], conversation_id: str, chosen: Format, session: str
) -> dict[str, int]:
    """The versions of the conversation's own events by id.

    Raises `RecordedElsewhere` when it did not begin with this session, or was recorded live after, but for what
    a format's files are taken in beside (`Format.recorded`).
    """
    stored: dict[str, int] = {}
    began: str | None = None  # why it is not this session's, as its first event says
    live = ours = False
    for event in events:
        if not stored and not _is_of(event, chosen.name, session):
            began = "it was recorded live, or appended by hand" if not _source(event) else "another source"
            if not chosen.recorded or _source(event):
                raise RecordedElsewhere(conversation_id=conversation_id, problem=began)
        mine = event.event_id.startswith(f"{chosen.name}:")
        if event.type in _LIVE and not mine and (ours or began is None):
            problem = f"it goes on with what was recorded live, at version {event.version}"
            raise RecordedElsewhere(conversation_id=conversation_id, problem=problem)
        ours = ours or mine
        live = live or _is_live(event.event_id, chosen)
        stored[event.event_id] = event.version
    if began is not None and not live:
        raise RecordedElsewhere(conversation_id=conversation_id, problem=began)
    return stored


def _is_live(event_id: str, chosen: Format) -> bool:
    """Whether an id was made from the bytes of a stream of the format (`StreamStamps`)."""
    return chosen.recorded and event_id.startswith(f"{chosen.name}:line:")


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
