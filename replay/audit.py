"""Verification of a ledger: every conversation's chain, and the books for holes."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple, cast

from ledger.chain import genesis
from ledger.errors import DatabaseUnavailable, UnknownConversation
from ledger.store import Ledger
from ledger.store.draft import Standing
from ledger.store.engine import Engine, Evidence
from ledger.store.reading import read_evidence
from replay.chain_judge import Finding, chain_findings, finding

PAGE = 1_000
_NO_SENSE = (TypeError, ValueError, AttributeError)  # what a damaged column of another type leads to


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
    last_position: int
    findings: list[Finding]


def verify(ledger: Ledger, conversation_id: str | None = None) -> Verification:
    """Verify one conversation of the ledger's tenant with its sources, or the whole database: all tenants'
    chains and all books. Writers may go on meanwhile; what they append is not looked at.

    Raises `UnknownConversation`, `DatabaseError` classes.
    """
    engine = ledger.engine
    if conversation_id is not None:
        return _summary([_check(engine, each, 0) for each in _with_sources(ledger, conversation_id)])
    # What is there now is looked at. A batch shows only once its book's counter does, so the counters come
    # second.
    ends = _ends(engine)
    counters = engine.positions()
    listed: Counter[int] = Counter()
    highest: dict[int, int] = {}

    def conversations() -> Iterator[_Checked]:
        for standing in _all(engine):
            checked = _check(engine, standing, ends.get(standing.book, 0))
            listed[standing.book] += checked.listed
            highest[standing.book] = max(highest.get(standing.book, 0), checked.last_position)
            yield checked

    found = _summary(conversations())
    books = [Finding("position", "the book is not there", book=book) for book in listed if book not in ends]
    for book, end in ends.items():
        try:
            books += _book(engine, book, end, listed[book])
        except _NO_SENSE as error:
            books.append(Finding("damaged_file", f"a stored value makes no sense ({error})", book=book))
    books += [Finding("damaged_file", text) for text in engine.integrity()]
    later = _ends(engine)
    for book, counter in counters.items():
        if counter < ends[book]:
            text = f"its counter says {counter}, its batches end at {ends[book]}"
            books.append(Finding("position", text, book=book))
        elif max(counter, highest.get(book, 0)) > later[book]:
            books += _hole(engine, book, later[book] + 1, max(counter, highest.get(book, 0)))
    return found._replace(findings=(*found.findings, *books))


def _check(engine: Engine, standing: Standing, end: int) -> _Checked:
    events = listed = erased = highest = 0
    findings: list[Finding] = []
    beyond: Evidence | None = None

    def own() -> Iterator[Evidence]:
        nonlocal beyond, events, listed, erased, highest
        for event in read_evidence(engine, standing):
            if event.version > standing.version:
                beyond = event
                return
            events += 1
            erased += event.state is None
            if event.position is None:
                text = "no batch of its book holds it"
                findings.append(finding(standing, "position", text, event.version, event.id))
            else:
                listed += event.position <= end
                highest = max(highest, event.position)
            yield event

    before: bytes | None = None
    try:
        before = _before(engine, standing)
        for found in chain_findings(standing, before, own()):
            findings.append(found)
    except DatabaseUnavailable as error:
        kind = "source_missing" if before is None else "damaged_file"
        findings.append(finding(standing, kind, f"it cannot be verified: {error.problem}"))
    except _NO_SENSE as error:
        findings.append(finding(standing, "damaged_file", f"a stored value makes no sense ({error})"))
    if beyond is not None and not _has_grown(engine, standing):
        text = f"it is there, but the conversation ends at version {standing.version}"
        findings.append(finding(standing, "unknown_event", text, beyond.version, beyond.id))
    return _Checked(events, listed, erased, highest, findings)


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
        rows = engine.select("conversation_by_cid", cid=cid)
        owner = Standing(*rows[0]) if rows else None  # type: ignore[arg-type] # the named statement's columns
        if owner is None or owner.book != book:
            text = f"positions {first} to {position} belong to no conversation of the book"
            yield Finding("position", text, version=first_version, book=book)
        elif engine.select("batch_holds", cid=cid, first_version=first_version, first_position=first, n=n) != [
            (n,)
        ]:
            text = f"positions {first} to {position} are not those of their events"
            yield Finding("position", text, owner.tenant, owner.id, first_version, book=book)
    if listed != found:
        yield Finding("position", f"its batch log lists {listed} events, {found} are there", book=book)


def _batches(engine: Engine, book: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    after = 0
    while rows := engine.select("batch_log", book=book, after=after, limit=PAGE):
        for row in cast("list[tuple[int, int, int, int]]", rows):
            if row[0] > end or row[0] <= after:  # the latter in a damaged file: what is missing then is found
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
            if standing.stored <= after:
                return  # keys out of order: the file is damaged, and the database says so itself
            yield standing
            after = standing.stored


def _with_sources(ledger: Ledger, conversation_id: str) -> Iterator[Standing]:
    standing = ledger.engine.standing(ledger.tenant, conversation_id)
    if standing is None:
        raise UnknownConversation(conversation_id=conversation_id, hint="")
    while standing is not None:
        yield standing
        standing = ledger.engine.source(standing)


def _summary(checked: Iterable[_Checked]) -> Verification:
    conversations = events = erased = 0
    findings: list[Finding] = []
    for one in checked:
        conversations += 1
        events += one.events
        erased += one.erased
        findings += one.findings
    return Verification(conversations, events, erased, tuple(findings))
