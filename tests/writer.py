"""A process that appends and says what was acknowledged: for races, crashes and benchmarks.

`python -m tests.writer ORDER`, where ORDER is the JSON of `Order`. Prints `ready`, waits for a line on its
standard input, then appends; prints one JSON line before every append (what it is about to do) and one after
every append that returned, each written at once.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from ledger.events import BaseEvent

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Order:
    """What a writer is to do: in each thread `batches` appends of 1 to `largest` events, each to one of the
    `conversations`, chosen at random. Threads are told apart in the ids of their events."""

    url: str
    writer: str
    conversations: Sequence[str]
    batches: int
    largest: int = 1
    seed: int = 0
    text: int = 40  # characters an event
    threads: int = 1


@dataclass
class Intended:
    """One append that was begun."""

    conversation_id: str
    event_ids: list[str]


@dataclass
class Acknowledged(Intended):
    """One append that returned."""

    first_version: int
    last_version: int
    book: int
    first_position: int
    last_position: int


@dataclass
class Writer:
    """A running writer, seen from outside."""

    order: Order
    process: subprocess.Popen[str]
    intended: list[Intended] = field(default_factory=list)
    acknowledged: list[Acknowledged] = field(default_factory=list)

    @property
    def output(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def wait_ready(self) -> None:
        line = self.output.readline()
        assert line == "ready\n", f"the writer did not start: {line!r} {self.complaint()}"

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def collect(self) -> list[Acknowledged]:
        """Everything acknowledged until the writer ended; a line cut off by a kill was not acknowledged."""
        for line in self.output:
            if not line.endswith("\n"):
                continue
            told = json.loads(line)
            if "first_version" in told:
                self.acknowledged.append(Acknowledged(**told))
            else:
                self.intended.append(Intended(**told))
        self.process.wait()
        return self.acknowledged

    def complaint(self) -> str:
        self.process.wait(timeout=10)
        assert self.process.stderr is not None
        return self.process.stderr.read()[-2000:]


def start(order: Order) -> Writer:
    """Start a writer; who starts it ends it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.writer", json.dumps(asdict(order))],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return Writer(order, process)


@contextmanager
def running(orders: Sequence[Order]) -> Iterator[list[Writer]]:
    """Start writers, wait until all are ready, and leave none behind."""
    with ExitStack() as stack:
        writers = []
        for order in orders:
            writer = start(order)
            stack.enter_context(writer.process)
            stack.callback(writer.process.kill)
            writers.append(writer)
        for writer in writers:
            writer.wait_ready()
        yield writers


def events_of(conversation_id: str, event_ids: Sequence[str], text: int) -> list[BaseEvent]:
    """The events that a writer makes under these ids: the same each time, so that a batch can be sent again."""
    from ledger.events import UserMessage

    return [
        UserMessage(
            conversation_id=conversation_id, turn_id="t", id=name, content=(name + " ") * (text // 8 + 1)
        )
        for name in event_ids
    ]


def main(order: Order) -> None:
    from ledger import Ledger

    def tell(line: Intended) -> None:
        os.write(1, json.dumps(asdict(line)).encode() + b"\n")  # one write is not torn by other threads

    def work(thread: int) -> None:
        choose = random.Random(f"{order.seed}/{thread}")
        for number in range(order.batches):
            conversation_id = choose.choice(order.conversations)
            size = choose.randint(1, order.largest)
            names = [f"{order.writer}/{thread}/{number}/{n}-of-{size}" for n in range(1, size + 1)]
            tell(Intended(conversation_id, names))
            receipt = ledger.append(conversation_id, events_of(conversation_id, names, order.text))
            assert receipt.first_version is not None
            assert receipt.last_version is not None
            assert receipt.book is not None
            assert receipt.first_position is not None
            assert receipt.last_position is not None
            places = (receipt.first_version, receipt.last_version, receipt.book)
            tell(Acknowledged(conversation_id, names, *places, receipt.first_position, receipt.last_position))

    with Ledger.open(order.url) as ledger:
        os.write(1, b"ready\n")
        sys.stdin.readline()
        threads = [
            threading.Thread(target=work, args=(number,), daemon=True) for number in range(order.threads)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main(Order(**json.loads(sys.argv[1])))
