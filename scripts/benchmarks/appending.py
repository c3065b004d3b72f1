"""Appending: batches of 1 to 1,000 events, 1 to 8 writers, beside raw inserts and stock recorders."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ledger.admission import admit, parse_line
from ledger.events import encode
from scripts.benchmarks.contenders import CONTENDERS, RAW, make_tables
from scripts.benchmarks.corpus import Corpus
from scripts.benchmarks.measure import Figure, Rounds, Target, interleave
from scripts.benchmarks.settings import Settings
from scripts.benchmarks.writers import GivenUp, Writers

SIZES = (1, 10, 100, 1000)
WRITERS = (1, 4, 8)
# Batches of one round, all writers together: long enough to time, short enough for many rounds.
BATCHES = {1: 800, 10: 320, 100: 120, 1000: 24}

AGAINST_RAW = {
    "postgres": {1: 0.65, 10: 0.65, 100: 0.55, 1000: 0.5},
    "sqlite": {1: 0.75, 10: 0.5, 100: 0.5, 1000: 0.5},
}


def raw_target(engine: str, size: int, writers: int) -> Target | None:
    """The bound: on PostgreSQL for 1 and 8 writers, on SQLite for one (one writes at a time there)."""
    if writers in ((1, 8) if engine == "postgres" else (1,)):
        return Target(AGAINST_RAW[engine][size])
    return None


def stock_target(engine: str, size: int, writers: int) -> Target | None:
    if engine != "postgres":
        return None
    return Target(2 if (size, writers) == (1, 1) else 3)


def append_engine(engine: str, settings: Settings) -> Iterator[Figure]:
    """All batch sizes and numbers of writers on one engine."""
    for writers in settings.pick(WRITERS, quick=(1, 8)):
        for size in settings.pick(SIZES, quick=(1, 100)):
            yield from _case(engine, size, writers, settings)


def _case(engine: str, size: int, writers: int, settings: Settings) -> Iterator[Figure]:
    name = f"append {engine}, batch {size}, {writers} writer{'s' if writers > 1 else ''}"
    each = max(2, BATCHES[size] // writers // (4 if settings.quick else 1))
    rounds, given_up = Rounds(), {}
    contenders = list(CONTENDERS[engine])
    with ExitStack() as stack:
        urls = _fresh(engine, settings, stack)
        make_tables(engine, urls)
        pool = stack.enter_context(Writers(engine, urls, writers))
        for number in range(settings.rounds + 1):  # the first one warms up
            at = number % len(contenders)
            for contender in contenders[at:] + contenders[:at]:
                if contender in given_up:
                    continue
                try:
                    seconds = pool.run(contender, each, size)
                except GivenUp as problem:
                    given_up[contender] = str(problem)
                    pool.__exit__(None, None, None)
                    pool = stack.enter_context(Writers(engine, urls, writers))
                    continue
                if number:
                    rounds.add(contender, seconds)
    events = each * size * writers
    raw = RAW[engine]
    for contender in contenders:
        if contender in given_up:
            yield Figure(name, contender, 0, "events/s", note=f"given up: {given_up[contender]}")
        elif contender == "ledger":
            for peer, target in (
                (raw, raw_target(engine, size, writers)),
                ("stock", stock_target(engine, size, writers)),
            ):
                if peer not in given_up:
                    yield rounds.compare(name, contender, peer, events, target, speed=True)
        else:
            yield rounds.plain(name, contender, events)


def _fresh(engine: str, settings: Settings, stack: ExitStack) -> dict[str, str]:
    """A database for every contender; they share a server or a folder, never tables."""
    if engine == "postgres":
        url = stack.enter_context(settings.server.database())
        return dict.fromkeys(CONTENDERS[engine], url)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="turnledger-bench-")))
    return {name: f"sqlite:///{folder / name.replace(' ', '-')}.db" for name in CONTENDERS[engine]}


def append_postgres(settings: Settings) -> Iterator[Figure]:
    """Append on PostgreSQL."""
    return append_engine("postgres", settings)


def append_sqlite(settings: Settings) -> Iterator[Figure]:
    """Append on SQLite; writers are processes."""
    return append_engine("sqlite", settings)


def encoding(settings: Settings) -> Iterator[Figure]:
    """What comes before an append from outside: checking the limits, validating, encoding."""
    count = settings.size(4000, quick=500)
    events = list(Corpus().conversation("c", count))
    size = sum(len(admit(event, "c", "x").body) for event in events) / count
    bodies = [encode(event) for event in events]
    contenders = {
        "bare encode": lambda: lambda: [encode(event) for event in events],
        "admit events": lambda: lambda: [admit(event, "c", "x") for event in events],
        "parse and admit lines": lambda: lambda: [admit(parse_line(body), "c", "x") for body in bodies],
    }
    rounds = interleave(contenders, settings.rounds, time.process_time)
    case = "encode and validate, CPU time"
    yield rounds.plain(case, "bare encode", count, note=f"{size:.0f} bytes an event")
    for name in list(contenders)[1:]:
        yield rounds.compare(case, name, "bare encode", count, None, speed=False)
