"""Reading back: one conversation, and everything in the order of the books, beside the bare decode."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg

from ledger import EncodedEvent, Ledger
from ledger.events import decode
from scripts.benchmarks.contenders import NAMESPACE, StockRecorder, raw_sqlite
from scripts.benchmarks.corpus import encoded
from scripts.benchmarks.measure import Figure, interleave
from scripts.benchmarks.settings import Settings

STREAM = 1_000
STREAMS = 60
RAW_SELECT = {
    "postgres": "SELECT version, header, body FROM turnledger.event ORDER BY cid, version",
    "sqlite": "SELECT place, header, body FROM event ORDER BY place",
}


def read_postgres(settings: Settings) -> Iterator[Figure]:
    """Read a stream and follow all on PostgreSQL."""
    with settings.server.database() as url:
        yield from _read("postgres", url, settings)


def read_sqlite(settings: Settings) -> Iterator[Figure]:
    """Read a stream and follow all on SQLite."""
    with tempfile.TemporaryDirectory(prefix="turnledger-bench-") as folder:
        yield from _read("sqlite", f"sqlite:///{Path(folder) / 'ledger.db'}", settings)


def _read(engine: str, url: str, settings: Settings) -> Iterator[Figure]:
    streams = settings.size(STREAMS, quick=4)
    batch = encoded("s", STREAM)
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger.open(url))
        stock_url = url if engine == "postgres" else url.replace("ledger.db", "stock.db")
        stock = StockRecorder(stock_url, "s0", create=True)
        stack.callback(stock.close)
        for number in range(streams):
            ledger.append_encoded(f"s{number}", batch)
            stock.stream, stock.version = _stream(number), 0
            for at in range(0, STREAM, 100):
                stock.append(batch[at : at + 100])
        yield from _compare(
            f"read one stream of {STREAM:,}, {engine}",
            batch,
            repeat=settings.size(10, quick=2),
            ours=lambda: ledger.read("s1"),
            stock=lambda: stock.recorder.select_events(_stream(1)),
            settings=settings,
        )
        whole = batch * streams
        yield from _compare(
            f"follow {len(whole):,} events, {engine}",
            whole,
            repeat=1,
            ours=ledger.follow,
            stock=lambda: _notifications(stock),
            settings=settings,
            raw=lambda: _raw_rows(engine, url),
        )


def _stream(number: int):
    from uuid import uuid5

    return uuid5(NAMESPACE, f"s{number}")


def _notifications(stock: StockRecorder) -> list[object]:
    met: list[object] = []
    start = 0
    while page := stock.recorder.select_notifications(start + 1, 1000):
        met += page
        start = page[-1].id
    return met


def _raw_rows(engine: str, url: str) -> object:
    if engine == "sqlite":
        connection = raw_sqlite(url)
        rows = connection.execute(RAW_SELECT[engine]).fetchall()
        connection.close()
        return rows
    with psycopg.connect(url) as other:
        return other.execute(RAW_SELECT[engine], binary=True).fetchall()


def _compare(
    case: str,
    batch: list[EncodedEvent],
    *,
    repeat: int,
    ours: Callable[[], object],
    stock: Callable[[], object],
    settings: Settings,
    raw: Callable[[], object] | None = None,
) -> Iterator[Figure]:
    bodies = [event.body for event in batch]

    def times(work: Callable[[], object]) -> Callable[[], Callable[[], object]]:
        def run() -> None:
            for _ in range(repeat):
                work()

        return lambda: run

    def drain() -> None:
        for _ in ours():
            pass

    def decoded() -> None:
        for recorded in ours():
            recorded.event  # noqa: B018 - decoding is what is measured

    contenders = {
        "bare decode": times(lambda: [decode(body) for body in bodies]),
        "ledger, decoded": times(decoded),
        "ledger, not decoded": times(drain),
        "stock, not decoded": times(stock),
    }
    if raw is not None:
        contenders["raw select"] = times(raw)
    rounds = interleave(contenders, settings.rounds)
    events = len(bodies) * repeat
    yield rounds.plain(case, "bare decode", events)
    yield rounds.compare(case, "ledger, decoded", "bare decode", events, None, speed=False)
    yield rounds.compare(case, "ledger, not decoded", "stock, not decoded", events, None, speed=True)
    yield rounds.plain(case, "stock, not decoded", events)
    if raw is not None:
        yield rounds.plain(case, "raw select", events)
