"""Verification: is the ledger what was appended, event by event, and if not, which event is the first that
is not.

Every event is hashed again and held against the head that was stored with it, so that a change is named
where it was made. The books are walked for holes. What was erased on purpose is accounted for: its
commitment keeps the chain whole, and an `erasure` event vouches for the skeleton that is left (DESIGN.md
4).
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import NamedTuple, cast

from ledger.chain import DIGEST_BYTES, SALT_BYTES, commitment, genesis, next_head
from ledger.errors import DatabaseUnavailable, UnknownConversation
from ledger.store import Ledger
from ledger.store.draft import Standing
from ledger.store.engine import Engine, Evidence
from ledger.store.reading import read_evidence

PAGE = 1_000


class Finding(NamedTuple):
    """One thing that is not as it was appended. `version` and `event_id` name the event, where it is one's."""

    kind: str
    """`edited_body`, `edited_header`, `edited_head`, `reordered`, `removed`, `truncated`, `unknown_event`
    (beyond the conversation's version), `head_mismatch`, `edited_row`, `source_missing`, `not_vouched`
    (erased without an erasure event that says so), `position`, `damaged_file`."""
    problem: str
    tenant: str | None = None
    conversation_id: str | None = None
    version: int | None = None
    event_id: str | None = None
    book: int | None = None

    def __str__(self) -> str:
        where = []
        if self.conversation_id is not None:
            tenant = "" if self.tenant in (None, "default") else f"tenant {self.tenant}, "
            where.append(f"{tenant}conversation {self.conversation_id}")
        if self.version is not None:
            where.append(f"version {self.version}" + (f" (event {self.event_id})" if self.event_id else ""))
        if self.book is not None:
            where.append(f"book {self.book}")
        return f"{', '.join(where) or 'the database'}: {self.problem}"


class Verification(NamedTuple):
    """What was looked at, and what was found. `erased`: events whose content was erased, and vouched for."""

    conversations: int
    events: int
    erased: int
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether everything is as it was appended."""
        return not self.findings


class _Checked(NamedTuple):
    """What checking one conversation gave; `listed`: how many of its events stand in the part of the book
    that is looked at."""

    events: int
    listed: int
    erased: int
    findings: list[Finding]


def verify(ledger: Ledger, conversation_id: str | None = None) -> Verification:
    """Verify one conversation of the ledger's tenant with its sources, or the whole database: all tenants'
    chains and all books. Writers may go on meanwhile; what they append is not looked at.

    Raises `UnknownConversation`, `DatabaseError` classes.
    """
    engine = ledger.engine
    if conversation_id is not None:
        return _summary([_check(engine, each, 0) for each in _with_sources(ledger, conversation_id)], ())
    # What is there now is looked at. A batch shows only once its book's counter does, so the counters come
    # second.
    ends = _ends(engine)
    counters = engine.positions()
    checked = []
    listed: Counter[int] = Counter()
    for standing in _all(engine):
        checked.append(_check(engine, standing, ends.get(standing.book, 0)))
        listed[standing.book] += checked[-1].listed
    books: list[Finding] = []
    for book, end in ends.items():
        books += _book(engine, book, end, listed[book])
    books += [Finding("damaged_file", text) for text in engine.integrity()]
    later = _ends(engine)
    for book, counter in counters.items():
        if counter < ends[book]:
            text = f"its counter says {counter}, its batches end at {ends[book]}"
            books.append(Finding("position", text, book=book))
        elif counter > later[book]:
            books += _hole(engine, book, later[book] + 1, counter)
    return _summary(checked, books)


def chain_findings(standing: Standing, before: bytes, evidence: Iterable[Evidence]) -> Iterator[Finding]:
    """What is wrong with a conversation's own events, up to its version; pure. `before` is the chain's head
    before its first own event.
    """
    version = standing.source_version or 0
    head = before
    suspect: tuple[Evidence, bytes] | None = None
    erased: dict[str, tuple[int, str]] = {}
    vouched: dict[str, str] = {}
    times: list[object] = []
    for event in evidence:
        first_missing, version = version + 1, event.version
        expected = next_head(head, event.header, _commitment(event))
        if version > first_missing:
            if suspect is not None:
                yield _edited(standing, suspect[0], None)
                suspect = None
            yield _removed(standing, first_missing, version - 1)
            expected = event.head  # what it followed is gone: it can only be taken at its word
        elif suspect is not None:
            # The one before did not match its head. Which of the two was changed, this one tells.
            reached = next_head(suspect[1], event.header, _commitment(event))
            kind = "edited_head" if expected != event.head == reached else None
            yield _edited(standing, suspect[0], kind)
            expected = reached if kind else expected
            suspect = None
        if event.head != expected:
            suspect = (event, expected)
        else:
            yield from _misplaced(standing, event)
        head = event.head
        times = [*times[:1], _told(event).get("recorded_at")]
        if event.state is None:
            erased[event.id] = (event.version, sha256((event.erased or b"")[DIGEST_BYTES:]).hexdigest())
        elif event.type == "erasure":
            vouched.update(_skeletons(event))
    if suspect is not None:
        last = suspect[0].version == standing.version and suspect[1] == standing.head
        yield _edited(standing, suspect[0], "edited_head" if last else None)
        head = suspect[1] if last else head
    yield from _end(standing, version, head)
    if version == standing.version and times not in (
        [standing.created_at],
        [standing.created_at, standing.recorded_at],
    ):
        yield _finding(standing, "edited_row", "its times are not those of its first and last event")
    for event_id, (at, digest) in erased.items():
        if vouched.get(event_id) != digest:
            said = "another skeleton" if event_id in vouched else "no erasure event"
            text = f"its content is gone, and {said} accounts for it"
            yield _finding(standing, "not_vouched", text, at, event_id)


def _check(engine: Engine, standing: Standing, end: int) -> _Checked:
    events = listed = erased = 0
    findings: list[Finding] = []
    beyond: Evidence | None = None

    def own() -> Iterator[Evidence]:
        nonlocal beyond, events, listed, erased
        for event in read_evidence(engine, standing):
            if event.version > standing.version:
                beyond = event
                return
            events += 1
            erased += event.state is None
            if event.position is None:
                text = "no batch of its book holds it"
                findings.append(_finding(standing, "position", text, event.version, event.id))
            else:
                listed += event.position <= end
            yield event

    try:
        before = _before(engine, standing)
    except DatabaseUnavailable as error:
        return _Checked(0, 0, 0, [_finding(standing, "source_missing", error.problem)])
    try:
        for finding in chain_findings(standing, before, own()):
            findings.append(finding)
    except DatabaseUnavailable as error:
        findings.append(_finding(standing, "damaged_file", f"it cannot be read further: {error.problem}"))
    if beyond is not None and not _has_grown(engine, standing):
        text = f"it is there, but the conversation ends at version {standing.version}"
        findings.append(_finding(standing, "unknown_event", text, beyond.version, beyond.id))
    return _Checked(events, listed, erased, findings)


def _before(engine: Engine, standing: Standing) -> bytes:
    """The head before the first own event: for a branch, from its source."""
    if standing.source_version is None:
        return genesis(standing.tenant, standing.id)
    source = engine.source(standing)
    reached = None if source is None else engine.head_at(source, standing.source_version)
    if reached is None:
        text = f"its source's event {standing.source_version} is gone"
        raise DatabaseUnavailable(database=engine.database, problem=text)
    return genesis(standing.tenant, standing.id, reached)


def _has_grown(engine: Engine, standing: Standing) -> bool:
    rows = engine.select("conversation_by_cid", cid=standing.cid)
    return bool(rows) and cast(int, rows[0][4]) > standing.version


def _commitment(event: Evidence) -> bytes:
    return (event.erased or b"")[:DIGEST_BYTES] if event.state is None else commitment(event.state)


def _edited(standing: Standing, event: Evidence, kind: str | None) -> Finding:
    """The problem of an event that does not match its head: of its header, where that shows, else of its
    body."""
    if kind is None:
        kind = "edited_header" if _header_is_off(standing, event) else "edited_body"
        if _told(event).get("version", event.version) != event.version:
            kind = "reordered"
    text = {
        "edited_head": "the stored head is not the chain's",
        "edited_header": "its header was changed",
        "edited_body": "its content was changed, or what its header alone says of it",
        "reordered": f"the event that stands there was version {_told(event).get('version')}",
    }[kind]
    return _finding(standing, kind, text, event.version, event.id)


def _header_is_off(standing: Standing, event: Evidence) -> bool:
    told = _told(event)
    canonical = json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    if canonical.encode("utf-8", "replace") != event.header:
        return True
    if (told.get("tenant"), told.get("conversation_id")) != (standing.tenant, standing.id):
        return True
    body = _json((event.state or b"")[SALT_BYTES:])
    return not _fits(event, told) or any(
        told.get(name) != body.get(name) for name in ("turn_id", "step_id") if body
    )


def _fits(event: Evidence, told: Mapping[str, object]) -> bool:
    """Whether the columns that an event is found by are what its header says."""
    named = (told.get("event_id"), told.get("type"), told.get("version"))
    return named == (event.id, event.type, event.version)


def _misplaced(standing: Standing, event: Evidence) -> Iterator[Finding]:
    if not _fits(event, _told(event)):
        text = "the columns that it is found by are not what its header says"
        yield _finding(standing, "edited_header", text, event.version, event.id)


def _told(event: Evidence) -> Mapping[str, object]:
    return _json(event.header)


def _json(text: bytes) -> Mapping[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _skeletons(event: Evidence) -> dict[str, str]:
    told = _json((event.state or b"")[SALT_BYTES:]).get("skeletons")
    return {str(key): str(value) for key, value in told.items()} if isinstance(told, dict) else {}


def _removed(standing: Standing, first: int, last: int) -> Finding:
    which = f"version {first} is" if first == last else f"versions {first} to {last} are"
    return _finding(standing, "removed", f"{which} not there", first)


def _end(standing: Standing, version: int, head: bytes) -> Iterator[Finding]:
    if version < standing.version:
        text = f"the events from here to version {standing.version} are not there"
        yield _finding(standing, "truncated", text, version + 1)
    elif head != standing.head:
        text = "its last event does not lead to the head that the conversation has"
        yield _finding(standing, "head_mismatch", text)


def _finding(
    standing: Standing, kind: str, text: str, version: int | None = None, event_id: str | None = None
) -> Finding:
    return Finding(kind, text, standing.tenant, standing.id, version, event_id)


def _book(engine: Engine, book: int, end: int, found: int) -> Iterator[Finding]:
    """Walk a book up to position `end`: no hole, nothing twice, every batch somebody's; `found` events say
    that they stand there."""
    position = listed = 0
    for first, n, cid, first_version in _batches(engine, book, end):
        if first > position + 1:
            yield from _hole(engine, book, position + 1, first - 1)
        elif first <= position:
            text = f"positions {first} to {position} are in the batch log twice"
            yield Finding("position", text, version=first_version, book=book)
        position = first + n - 1
        listed += n
        if not engine.select("conversation_by_cid", cid=cid):
            text = f"positions {first} to {position} belong to a conversation that is not there"
            yield Finding("position", text, version=first_version, book=book)
    if listed != found:
        yield Finding("position", f"its batch log lists {listed} events, {found} are there", book=book)


def _batches(engine: Engine, book: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    after = 0
    while rows := engine.select("batch_log", book=book, after=after, limit=PAGE):
        for row in cast("list[tuple[int, int, int, int]]", rows):
            if row[0] > end:
                return
            yield row
            after = row[0]


def _ends(engine: Engine) -> dict[int, int]:
    """The last position of each book by its last batch."""
    return dict(cast("list[tuple[int, int]]", engine.select("book_ends")))


def _hole(engine: Engine, book: int, first: int, last: int) -> Iterator[Finding]:
    text = f"positions {first} to {last} are not in the batch log"
    rows = engine.select("events_at", book=book, first=first, last=last)
    for tenant, name, version in cast("list[tuple[str, str, int]]", rows):
        yield Finding("position", text, tenant, name, version, book=book)
    if not rows:
        yield Finding("position", text, book=book)


def _all(engine: Engine) -> Iterator[Standing]:
    after = 0
    while rows := engine.select("all_conversations", after=after, limit=PAGE):
        for row in rows:
            standing = Standing(*row)  # type: ignore[arg-type] # the columns of the named statement
            yield standing
            after = standing.stored


def _with_sources(ledger: Ledger, conversation_id: str) -> Iterator[Standing]:
    standing = ledger.engine.standing(ledger.tenant, conversation_id)
    if standing is None:
        raise UnknownConversation(conversation_id=conversation_id, hint="")
    while standing is not None:
        yield standing
        standing = ledger.engine.source(standing)


def _summary(checked: Iterable[_Checked], books: Iterable[Finding]) -> Verification:
    done = list(checked)
    findings = (finding for one in done for finding in one.findings)
    return Verification(
        len(done),
        sum(one.events for one in done),
        sum(one.erased for one in done),
        (*findings, *books),
    )
