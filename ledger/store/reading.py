"""Reading: one conversation, and everything in the order of the books; in pages, so that memory stays bounded."""

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from ledger.recorded import RecordedEvent
from ledger.store.cursor import Cursor
from ledger.store.engine import Engine, Span

PAGE_EVENTS = 1_000
PAGE_BYTES = 4 * 1024 * 1024
LONGEST_WAIT = 0.5
SHORTEST_WAIT = 0.005


class Page(NamedTuple):
    """Some events in the order of their book, and a reader's cursor once it has taken them."""

    events: Sequence[RecordedEvent]
    cursor: Cursor


class _Run(NamedTuple):
    """Batches that lie one after another: the first number of each with its size, up to a last number."""

    first: int
    last: int


def read_span(engine: Engine, span: Span) -> Iterator[RecordedEvent]:
    """The events of one conversation's own versions, in order."""
    standing = span.standing
    tenant, conversation_id, book, cid = standing.tenant, standing.id, standing.book, standing.stored
    after = span.after
    text = engine.statements["events_of_conversation"]
    while after < span.upto:
        batches = engine.select(
            "batches_of_conversation", cid=cid, after=after, upto=span.upto, limit=PAGE_EVENTS
        )
        if not batches:
            return  # fewer events than the conversation's row says: the audit names it
        shifts = [
            (cast(int, first) + cast(int, n), cast(int, position) - cast(int, first))
            for first, n, _, position in batches
        ]
        sizes = [(cast(int, first), cast(int, n), cast(int, size)) for first, n, size, _ in batches]
        at = 0
        until, shift = shifts[0]
        for run in _runs(sizes, after, span.upto):
            rows = engine.fetch(text, {"cid": cid, "after": run.first - 1, "upto": run.last})
            for version, kind, header, body, erased, _ in rows:
                while version >= until:
                    at += 1
                    until, shift = shifts[at]
                yield RecordedEvent.stored(
                    tenant, conversation_id, version, kind, header, body, erased, book, version + shift
                )
            after = run.last


def follow_pages(
    engine: Engine, cursor: Cursor, tenant: str | None, live: bool, idle: float | None = None
) -> Iterator[Page]:
    """Pages of what was committed after `cursor`, each of one book; what is there now, or with `live` for ever.

    A page may hold no events (they were other tenants'): its cursor still moves on. With `live`, and `idle` seconds
    given, a page without events also comes whenever nothing happened for so long.
    """
    wait, quiet_since = SHORTEST_WAIT, time.monotonic()
    # A bounded reader stops where the ledger stood when it began: writers may be faster than it.
    end = None if live else dict(cast("list[tuple[int, int]]", engine.select("books")))
    while True:
        ends = end or dict(cast("list[tuple[int, int]]", engine.select("books")))
        moved = False
        for book, last in ends.items():
            while cursor[book] < last:
                page = _page(engine, book, cursor, last, tenant)
                moved = True
                cursor = page.cursor
                yield page
                if live:
                    break  # a busy book must not keep the others waiting
        if not live:
            return
        if moved:
            wait, quiet_since = SHORTEST_WAIT, time.monotonic()
            continue
        with engine.committed:
            if engine.committed.wait(wait):
                wait = SHORTEST_WAIT
                continue
        wait = min(wait * 2, LONGEST_WAIT)
        if idle is not None and time.monotonic() - quiet_since >= idle:
            quiet_since = time.monotonic()
            yield Page((), cursor)


def _page(engine: Engine, book: int, cursor: Cursor, last: int, tenant: str | None) -> Page:
    after = cursor[book]
    batches = engine.select("batches_of_book", book=book, after=after, limit=PAGE_EVENTS)
    sizes = [(cast(int, first), cast(int, n), cast(int, size)) for first, n, size in batches]
    run = next(_runs(sizes, after, last), None)
    if run is None:
        return Page((), cursor.at(book, last))  # a hole: the audit names it, readers go on
    rows = engine.select("events_of_book", book=book, after=run.first - 1, upto=run.last, tenant=tenant)
    rows.sort(key=_position)
    events = [
        RecordedEvent.stored(of, conversation, version, kind, header, body, erased, book, position)  # type: ignore[arg-type]
        for position, of, conversation, version, kind, header, body, erased in rows
    ]
    return Page(events, cursor.at(book, run.last))


def _position(row: Sequence[object]) -> int:
    return cast(int, row[0])


def _runs(batches: Sequence[tuple[int, int, int]], after: int, upto: int) -> Iterator[_Run]:
    """Cut what lies after `after` into runs of at most PAGE_EVENTS events and, by their average, PAGE_BYTES bytes.

    `batches` are (first number, count, bytes). A batch larger than a page is cut as if its events were alike.
    """
    start, events, size = after + 1, 0, 0
    end = after
    for first, n, batch_bytes in batches:
        if events and (events + n > PAGE_EVENTS or size + batch_bytes > PAGE_BYTES):
            yield _Run(start, end)
            start, events, size = end + 1, 0, 0
        if n > PAGE_EVENTS or batch_bytes > PAGE_BYTES:
            step = max(1, min(PAGE_EVENTS, n * PAGE_BYTES // batch_bytes if batch_bytes else PAGE_EVENTS))
            for piece in range(max(first, after + 1), min(first + n - 1, upto) + 1, step):
                end = min(piece + step - 1, first + n - 1, upto)
                yield _Run(piece, end)
            start = end + 1
            continue
        end = min(first + n - 1, upto)
        events += n
        size += batch_bytes
    if events and end >= start:
        yield _Run(start, end)
