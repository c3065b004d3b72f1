"""From events to rows and to requests: a 100,000-event conversation beside the bare decode of its bytes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from ledger import RecordedEvent
from ledger.events import decode
from projections.conversation import apply, changes
from projections.state import State
from replay.options import Options
from replay.result import replay
from scripts.benchmarks.corpus import encoded, recorded
from scripts.benchmarks.measure import Figure, Target, interleave
from scripts.benchmarks.settings import Settings

LONG = 100_000


def fold(settings: Settings) -> Iterator[Figure]:
    """The fold and plan+render, decoding included, beside the decode alone."""
    count = settings.size(LONG, quick=5_000)
    bodies = encoded("c", count)

    def fresh(work: Callable[[list[RecordedEvent]], object]) -> Callable[[], Callable[[], object]]:
        """Events that nobody has decoded yet."""

        def prepare() -> Callable[[], object]:
            events = recorded(bodies, "c")
            return lambda: work(events)

        return prepare

    def fold_all(events: list[RecordedEvent]) -> object:
        state = State("c")
        for event in events:
            apply(state, event)
        return changes(state)

    def fold_in_batches(events: list[RecordedEvent]) -> object:
        state = State("c")
        for number, event in enumerate(events):
            apply(state, event)
            if number % 500 == 499:
                changes(state)
        return changes(state)

    plain = Options(fingerprints=False)
    anthropic = {"provider": "anthropic", "model": "claude-opus-4-5"}
    contenders = {
        "bare decode": fresh(lambda events: [decode(event.body) for event in events]),
        "fold": fresh(fold_all),
        "fold, changes every 500": fresh(fold_in_batches),
        "plan+render neutral": fresh(lambda events: replay(events, "c", "neutral", plain)),
        "plan+render anthropic": fresh(lambda events: replay(events, "c", anthropic, plain)),
        "the same with fingerprints": fresh(lambda events: replay(events, "c", anthropic)),
    }
    rounds = interleave(contenders, settings.rounds, time.process_time)
    case = f"{count:,} events, decode included, CPU time"
    bounds = {"fold": 2.5, "plan+render neutral": 2.5, "plan+render anthropic": 2.5}
    yield rounds.plain(case, "bare decode", count)
    for name in list(contenders)[1:]:
        bound = bounds.get(name)
        target = Target(bound, at_least=False) if bound else None
        yield rounds.compare(case, name, "bare decode", count, target, speed=False)
