"""The projection on a database: how fast the runner is, and whether `show` stays quick."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ledger import Ledger
from projections.runner import Runner
from projections.store import PROJECTIONS
from projections.view import view
from scripts.benchmarks.corpus import encoded
from scripts.benchmarks.measure import Figure, Target, interleave
from scripts.benchmarks.settings import Settings

LONG = 100_000
SHORT = 1_000
TAIL = 20
VIEWS = 10


def show_postgres(settings: Settings) -> Iterator[Figure]:
    """Project, then `show` the last 50 rows, on PostgreSQL."""
    with settings.server.database() as url:
        yield from _show("postgres", url, settings)


def show_sqlite(settings: Settings) -> Iterator[Figure]:
    """The same on SQLite."""
    with tempfile.TemporaryDirectory(prefix="turnledger-bench-") as folder:
        yield from _show("sqlite", f"sqlite:///{Path(folder) / 'ledger.db'}", settings)


def _show(engine: str, url: str, settings: Settings) -> Iterator[Figure]:
    long = settings.size(LONG, quick=10_000)
    with Ledger.open(url, components=(PROJECTIONS,)) as ledger:
        batches = {"long": encoded("long", long + TAIL), "short": encoded("short", SHORT + TAIL)}
        for name, batch in batches.items():
            for at in range(0, len(batch) - TAIL, 5_000):
                ledger.append_encoded(name, batch[at : min(at + 5_000, len(batch) - TAIL)])
        started = time.perf_counter()
        for _ in Runner(ledger).catch_up():
            pass
        seconds = time.perf_counter() - started
        yield Figure(
            f"project {long + SHORT:,} events, {engine}", "runner", (long + SHORT) / seconds, "events/s"
        )
        yield _last_rows(ledger, f"show the last 50 rows, {engine}, projected", long, settings)
        for name, batch in batches.items():
            ledger.append_encoded(name, batch[-TAIL:])
        yield _last_rows(ledger, f"show the last 50 rows, {engine}, {TAIL} events behind", long, settings)


def _last_rows(ledger: Ledger, case: str, long: int, settings: Settings) -> Figure:
    def times(name: str) -> Callable[[], Callable[[], object]]:
        def run() -> None:
            for _ in range(VIEWS):
                assert len(view(ledger, name, last=50).rows) == 50

        return lambda: run

    rounds = interleave({f"of {SHORT:,}": times("short"), f"of {long:,}": times("long")}, settings.rounds)
    bound = Target(3, at_least=False)
    figure = rounds.compare(case, f"of {long:,}", f"of {SHORT:,}", VIEWS, bound, speed=False)
    figure.unit = "views/s"
    return figure
