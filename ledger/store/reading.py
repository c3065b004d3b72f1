"""Reading in pages, so that memory stays bounded: one conversation, and everything in the order of the
books."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, cast

from ledger.errors import DatabaseUnavailable
from ledger.recorded import RecordedEvent
from ledger.store.cursor import Cursor
from ledger.store.draft import Standing
from ledger.store.engine import PAGE_BYTES, PAGE_EVENTS, Engine, Evidence, Span

LONGEST_WAIT = 0.5
SHORTEST_WAIT = 0.005


class Page(NamedTuple):
    """Some events in the order of their book, and a reader's cursor once it has taken them."""

    events: Sequence[RecordedEvent]
    cursor: Cursor


def read_spans(engine: Engine, spans: Iterable[Span]) -> Iterator[RecordedEvent]:
    """The events of spans of conversations, in order."""
    for standing, after, upto in spans:
        while after < upto:
            page = engine.conversation_page(standing, after, upto)
            yield from page
            # A hole (the audit names it) is stepped over: readers get what there is. In a damaged file keys may
            # stand in no order at all: a reader still comes to an end.
            after = max(page[-1].version, after + 1) if page else after + PAGE_EVENTS


def follow_pages(
    engine: Engine, cursor: Cursor, tenant: str | None, live: bool, idle: float | None = None
) -> Iterator[Page]:
    """Pages of what was committed after `cursor`, each of one book; what is there now, or with `live` for ever.

    A page may hold no events (they were other tenants'): its cursor still moves on. With `live`, and `idle`
    seconds given, a page without events also comes whenever nothing happened for so long.
    """
    wait, quiet_since = SHORTEST_WAIT, time.monotonic()
    # A bounded reader stops where the ledger stood when it began: writers may be faster than it.
    bounds = None if live else engine.positions()
    while True:
        seen = engine.appends
        moved = False
        for book, last in (bounds or engine.positions()).items():
            while cursor[book] < last:
                events, reached = engine.book_page(book, cursor[book], last, tenant)
                cursor = cursor.at(book, reached)
                moved = True
                yield Page(events, cursor)
                if live:
                    break  # a busy book must not keep the others waiting
        if not live:
            return
        if moved:
            wait, quiet_since = SHORTEST_WAIT, time.monotonic()
            continue
        if engine.wait_for_append(seen, wait):
            wait = SHORTEST_WAIT
            continue
        wait = next_wait(wait)
        if idle is not None and time.monotonic() - quiet_since >= idle:
            quiet_since = time.monotonic()
            yield Page((), cursor)


def read_evidence(engine: Engine, standing: Standing) -> Iterator[Evidence]:
    """Everything stored of a conversation's own events, in order of versions, also beyond what its row says.

    Raises `DatabaseUnavailable` where a damaged file cannot be read on.
    """
    after = 0
    while rows := engine.select("versions", cid=standing.cid, after=after, limit=PAGE_EVENTS):
        upto, size = after, 0
        if not all(after < version for version, _ in cast("list[tuple[int, int]]", rows)):
            problem = f"keys are out of order after version {after} of {standing.id}"
            raise DatabaseUnavailable(database=engine.database, problem=problem)
        for version, length in cast("list[tuple[int, int]]", rows):
            if size and size + length > PAGE_BYTES:
                break
            upto, size = version, size + length
        for row in engine.select("evidence", cid=standing.cid, after=after, upto=upto):
            yield Evidence(*row)  # type: ignore[arg-type] # the columns of the named statement
        after = upto


def next_wait(wait: float) -> float:
    """How long (seconds) to wait before looking again, after having waited `wait` for nothing."""
    return min(wait * 2, LONGEST_WAIT)
