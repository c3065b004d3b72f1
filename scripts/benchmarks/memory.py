"""Peak memory, each case in its own process: what grows with the events, what only with the rows kept."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from ledger import Ledger, RecordedEvent
from projections.conversation import apply, changes
from projections.state import State
from scripts.benchmarks.corpus import encoded
from scripts.benchmarks.measure import Figure, in_process, peak_rss_mb
from scripts.benchmarks.settings import Settings

SIZES = (10_000, 100_000)


def _read(events: Iterator[RecordedEvent]) -> None:
    for event in events:
        event.event  # noqa: B018


def _fold(events: Iterator[RecordedEvent]) -> None:
    state = State("c")
    for number, event in enumerate(events):
        apply(state, event)
        if number % 500 == 499:
            changes(state)
    changes(state)


def _plan(events: Iterator[RecordedEvent]) -> None:
    from replay.options import Options
    from replay.result import replay

    replay(events, "c", {"provider": "anthropic"}, Options(fingerprints=False))


def _one_row(events: Iterator[RecordedEvent]) -> None:
    """One turn of one step whose tool reports progress for ever: many events, few rows."""
    state = State("progress")
    for number, event in enumerate(events):
        apply(state, event)
        if number % 500 == 499:
            changes(state)
    assert len(changes(state).rows) < 5


WORK: dict[str, Callable[[Iterator[RecordedEvent]], None]] = {
    "read, decoded": _read,
    "follow, decoded": _read,
    "fold": _fold,
    "fold into few rows": _one_row,
    "plan+render anthropic": _plan,
}


def memory(settings: Settings) -> Iterator[Figure]:
    """Growth of the peak over what the process holds with the ledger open, for 10,000 and 100,000 events."""
    sizes = settings.pick(SIZES, quick=(2_000, 10_000))
    with tempfile.TemporaryDirectory(prefix="turnledger-bench-") as folder:
        urls = {}
        for count in sizes:
            url = urls[count] = f"sqlite:///{Path(folder) / f'{count}.db'}"
            in_process(__name__, ["fill", url, count])
        for name in WORK:
            for count in sizes:
                answer = in_process(__name__, [name, urls[count], count])
                yield Figure(
                    f"peak memory, {name}",
                    f"{count:,} events",
                    answer["growth"],
                    "MB",
                    note=f"of {answer['peak']:.0f} MB in all; {answer['stored']:.0f} MB are stored",
                )


def _progress(count: int) -> Iterator[dict[str, object]]:
    place = {"conversation_id": "progress", "turn_id": "t", "step_id": "s"}
    yield {**place, "type": "step_start"}
    yield {**place, "type": "tool_start", "tool_call_id": "x", "tool_name": "build", "args": {}}
    for number in range(count - 2):
        text = f"line {number} " + "compiling " * 80
        yield {**place, "type": "tool_result", "tool_call_id": "x", "content": text, "final": False}


def main(name: str, url: str, count: int) -> dict[str, float]:
    """Run one case in this process."""
    with Ledger.open(url) as ledger:
        if name == "fill":
            batch = encoded("c", count)
            for at in range(0, count, 5_000):
                ledger.append_encoded("c", batch[at : at + 5_000])
            progress = list(_progress(count))
            for at in range(0, count, 5_000):
                ledger.append("progress", progress[at : at + 5_000])
            return {}
        conversation = "progress" if name == "fold into few rows" else "c"
        for _ in zip(range(10), ledger.read(conversation), strict=False):
            pass
        before = peak_rss_mb()
        WORK[name](ledger.follow() if name.startswith("follow") else ledger.read(conversation))
        peak = peak_rss_mb()
    stored = Path(url.removeprefix("sqlite:///")).stat().st_size / 2**20
    return {"growth": peak - before, "peak": peak, "stored": stored}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
