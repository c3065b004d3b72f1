"""Rebuilding views beside the old ones, and how far the runner is (`project rebuild`, `project status`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, cast

from ledger import Ledger
from projections.finding import statements
from projections.pause import Pause
from projections.runner import Runner
from projections.store.recorder import ViewRecorder

PAGE = 500


class Rebuilt(NamedTuple):
    """One conversation folded anew. `differing` names the rows (by id) that were not as they should be."""

    tenant: str
    conversation_id: str
    version: int
    rows: int
    differing: list[str]
    pause: Pause | None


class Lag(NamedTuple):
    """How far the views are behind in one book: positions taken, and positions there are."""

    book: int
    taken: int
    last: int


class Paused(NamedTuple):
    """A conversation that waits at an event."""

    tenant: str
    conversation_id: str
    pause: Pause


class Status(NamedTuple):
    """How the projection stands."""

    lags: list[Lag]
    paused: list[Paused]


def status(ledger: Ledger) -> Status:
    """Lag by book, and the conversations that are paused (of all tenants). Raises `DatabaseError` classes."""
    engine = ledger.engine
    taken = ViewRecorder(engine).cursor()
    ends = cast("list[tuple[int, int]]", engine.select("books"))
    rows = engine.fetch(statements(engine.name)["paused"])
    paused = [
        Paused(tenant, conversation_id, Pause(version, event_id, reason))
        for tenant, conversation_id, version, event_id, reason in cast(
            "list[tuple[str, str, int, str, str]]", rows
        )
    ]
    return Status([Lag(book, taken[book], last) for book, last in ends], paused)


def rebuild(ledger: Ledger) -> Iterator[Rebuilt]:
    """Fold every projected conversation anew, and put it in the place of its rows.

    One transaction a conversation: readers see the old rows, then the new ones. Gives what differed; where
    nothing was wrong nothing does. Conversations that were paused are tried again. Runners may go on
    meanwhile. Call `Runner.catch_up` afterwards for what was never projected. Raises `DatabaseError`
    classes.
    """
    runner = Runner(ledger)
    engine = ledger.engine
    after = 0
    while True:
        rows = engine.fetch(statements(engine.name)["views"], {"after": after, "limit": PAGE})
        for vid, tenant, conversation_id, _ in cast("list[tuple[int, str, str, int]]", rows):
            after = vid
            rebuilt = runner.refold(tenant, conversation_id)
            if rebuilt is not None:
                yield Rebuilt(tenant, conversation_id, *rebuilt)
        if len(rows) < PAGE:
            return


def delete(ledger: Ledger) -> None:
    """Forget all rows and what was taken of every book: the next run folds everything again."""
    ViewRecorder(ledger.engine).reset()
