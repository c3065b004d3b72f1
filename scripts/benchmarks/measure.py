"""How things are measured: contenders in turn within a round, many rounds, medians of the rounds' ratios."""

from __future__ import annotations

import gc
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Target:
    """What a ratio should be: at least, or at most, a bound of the issue."""

    bound: float
    at_least: bool = True

    def met(self, ratio: float) -> bool:
        return ratio >= self.bound if self.at_least else ratio <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}"


@dataclass
class Figure:
    """One line of the report. `ratio`: the median over the rounds, of this contender beside its peer. `growth`:
    how much more than in the small case, in `unit`; it is what the target is of where there is no ratio."""

    case: str
    contender: str
    value: float
    unit: str
    peer: str | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    target: Target | None = None
    note: str = ""
    growth: float | None = None

    @property
    def met(self) -> bool | None:
        judged = self.growth if self.ratio is None else self.ratio
        return None if self.target is None or judged is None else self.target.met(judged)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "target": str(self.target) if self.target else None, "met": self.met}


@dataclass
class Rounds:
    """The seconds that each contender took in each round."""

    seconds: dict[str, list[float]] = field(default_factory=dict)

    def add(self, contender: str, seconds: float) -> None:
        self.seconds.setdefault(contender, []).append(seconds)

    def median(self, contender: str) -> float:
        return statistics.median(self.seconds[contender])

    def ratios(self, numerator: str, denominator: str) -> list[float]:
        """Of seconds, round by round."""
        return [
            one / other for one, other in zip(self.seconds[numerator], self.seconds[denominator], strict=True)
        ]

    def compare(
        self,
        case: str,
        contender: str,
        peer: str,
        events: int,
        target: Target | None,
        *,
        speed: bool,
        note: str = "",
    ) -> Figure:
        """A figure in events a second; the ratio is of speeds (more is better) or of times (less is better)."""
        pairs = (peer, contender) if speed else (contender, peer)
        ratios = self.ratios(*pairs)
        return Figure(
            case,
            contender,
            events / self.median(contender),
            "events/s",
            peer,
            statistics.median(ratios),
            min(ratios),
            max(ratios),
            target,
            note,
        )

    def plain(self, case: str, contender: str, events: int, note: str = "") -> Figure:
        return Figure(case, contender, events / self.median(contender), "events/s", note=note)


def interleave(
    contenders: Mapping[str, Callable[[], Callable[[], object]]],
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> Rounds:
    """Time each contender once a round, the order turning by one each time. A contender is a function that
    prepares (untimed) and returns what is timed. One round before the first warms everything up. `clock` is
    `time.process_time` for pure computing: what else runs on the machine does not count then."""
    found = Rounds()
    names = list(contenders)
    for number in range(rounds + 1):
        at = number % len(names)
        for name in names[at:] + names[:at]:
            run = contenders[name]()
            gc.collect()
            started = clock()
            run()
            seconds = clock() - started
            if number:
                found.add(name, seconds)
    return found


def peak_rss_mb() -> float:
    """The most memory that this process ever held, in MB."""
    try:
        # On Linux a new process inherits its parent's ru_maxrss; the high-water mark is its own.
        status = Path("/proc/self/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024
    except (OSError, StopIteration):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / (1024 * 1024 if sys.platform == "darwin" else 1024)


def in_process(module: str, arguments: Sequence[object], timeout: float = 600) -> dict[str, Any]:
    """Run `python -m MODULE ARGUMENTS` and read its JSON: a peak of memory needs a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{module} failed: {done.stderr[-1000:]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
