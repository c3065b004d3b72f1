"""SQLite: threads of one process share commits, so that eight pay for the disk about once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from ledger import Ledger
from scripts.benchmarks.contenders import RAW_SQLITE_TABLE, Batch, RawExecutemany, raw_sqlite
from scripts.benchmarks.corpus import Batches
from scripts.benchmarks.measure import Figure, interleave
from scripts.benchmarks.settings import Settings

THREADS = 8


def append_threads(settings: Settings) -> Iterator[Figure]:
    """One ledger in eight threads, beside one thread, and beside eight raw connections."""
    for size in settings.pick((1, 10), quick=(1,)):
        yield from _case(size, settings.size(400, quick=80), settings)


def _case(size: int, batches: int, settings: Settings) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="turnledger-bench-") as folder, ExitStack() as stack:
        ledger = stack.enter_context(Ledger.open(f"sqlite:///{Path(folder) / 'ledger.db'}"))
        raw_url = f"sqlite:///{Path(folder) / 'raw.db'}"
        connection = raw_sqlite(raw_url)
        connection.execute(RAW_SQLITE_TABLE)
        connection.close()
        pool = stack.enter_context(ThreadPoolExecutor(THREADS))
        makers = [Batches(f"t{number}") for number in range(THREADS)]

        def ledgers(number: int, work: list[Batch]) -> None:
            for batch in work:
                ledger.append_encoded(f"t{number}", batch)

        def raws(number: int, work: list[Batch]) -> None:
            # A connection belongs to its thread; its stream starts where the round before ended.
            writer = RawExecutemany(raw_url, f"t{number}-{work[0][0].id}")
            for batch in work:
                writer.append(batch)
            writer.close()

        def in_threads(
            count: int, append: Callable[[int, list[Batch]], None]
        ) -> Callable[[], Callable[[], object]]:
            def prepare() -> Callable[[], object]:
                shares = [makers[number].take(batches // count, size) for number in range(count)]
                return lambda: [
                    each.result()
                    for each in [pool.submit(append, number, shares[number]) for number in range(count)]
                ]

            return prepare

        contenders = {
            f"ledger, {THREADS} threads": in_threads(THREADS, ledgers),
            "ledger, 1 thread": in_threads(1, ledgers),
            f"raw, {THREADS} threads": in_threads(THREADS, raws),
        }
        rounds = interleave(contenders, settings.rounds)
    case = f"append sqlite, batch {size}, threads of one process"
    events = batches * size
    ours, alone, raw = contenders
    yield rounds.compare(case, ours, alone, events, None, speed=True)
    yield rounds.compare(case, ours, raw, events, None, speed=True)
    yield rounds.plain(case, alone, events)
    yield rounds.plain(case, raw, events)
