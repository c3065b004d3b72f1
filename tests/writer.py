"""A process that appends and says what was acknowledged: for races, crashes and benchmarks.

`python -m tests.writer ORDER`, where ORDER is the JSON of `Order`. Prints `ready`, waits for a line on its
standard input, then prints one JSON line for every append that returned, flushed before the next one starts.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Order:
    """What a writer is to do: `batches` appends to its conversations in turn, of 1 to `largest` events each."""

    url: str
    writer: str
    conversations: Sequence[str]
    batches: int
    largest: int = 1
    seed: int = 0
    text: int = 40  # characters an event


@dataclass
class Acknowledged:
    """One append that returned."""

    conversation_id: str
    event_ids: list[str]
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
            if line.endswith("\n"):
                self.acknowledged.append(Acknowledged(**json.loads(line)))
        self.process.wait()
        return self.acknowledged

    def complaint(self) -> str:
        self.process.wait(timeout=10)
        assert self.process.stderr is not None
        return self.process.stderr.read()[-2000:]


@contextmanager
def running(orders: Sequence[Order]) -> Iterator[list[Writer]]:
    """Start writers, wait until all are ready, and leave none behind."""
    with ExitStack() as stack:
        writers = []
        for order in orders:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.writer", json.dumps(asdict(order))],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            writers.append(Writer(order, process))
        for writer in writers:
            writer.wait_ready()
        yield writers


def main(order: Order) -> None:
    from ledger import Ledger
    from ledger.events import UserMessage

    choose = random.Random(order.seed)
    with Ledger.open(order.url) as ledger:
        print("ready", flush=True)
        sys.stdin.readline()
        made = 0
        for number in range(order.batches):
            conversation_id = order.conversations[number % len(order.conversations)]
            names = [f"{order.writer}-{made + n}" for n in range(choose.randint(1, order.largest))]
            made += len(names)
            receipt = ledger.append(
                conversation_id,
                [
                    UserMessage(conversation_id=conversation_id, turn_id="t", id=name, content="x" * order.text)
                    for name in names
                ],
            )
            answer = Acknowledged(
                conversation_id,
                names,
                receipt.first_version,
                receipt.last_version,
                receipt.book,
                receipt.first_position,
                receipt.last_position,
            )
            print(json.dumps(asdict(answer)), flush=True)


if __name__ == "__main__":
    main(Order(**json.loads(sys.argv[1])))
