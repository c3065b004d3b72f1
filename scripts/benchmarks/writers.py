"""Writers as processes of their own, each with one stream, all starting at the same moment."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from types import TracebackType

from scripts.benchmarks.contenders import CONTENDERS, Contender
from scripts.benchmarks.corpus import Batches

SLOWEST_SECONDS = 120.0
"""A contender that takes longer in one round is given up: the stock recorder can hang on large batches."""


class GivenUp(Exception):
    """A contender took too long, or failed."""


class Writers:
    """`count` writer processes, each with a connection a contender; a round runs one contender in all."""

    def __init__(self, engine: str, urls: Mapping[str, str], count: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipes: list[Connection] = []
        self._processes = []
        for number in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(engine, dict(urls), number, theirs), daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)

    def run(self, contender: str, batches: int, size: int) -> float:
        """Every writer appends `batches` batches of `size`; the seconds from the common start to the last end.

        Raises GivenUp.
        """
        for pipe in self._pipes:
            pipe.send((contender, batches, size))
        self._hear()  # all have prepared
        started = time.perf_counter()
        for pipe in self._pipes:
            pipe.send("go")
        self._hear()
        return time.perf_counter() - started

    def _hear(self) -> None:
        deadline = time.monotonic() + SLOWEST_SECONDS
        for pipe in self._pipes:
            if not pipe.poll(max(0.0, deadline - time.monotonic())):
                raise GivenUp(f"no answer within {SLOWEST_SECONDS:.0f} s")
            try:
                answer = pipe.recv()
            except EOFError:
                raise GivenUp("a writer died") from None
            if answer is not None:
                raise GivenUp(answer)

    def __enter__(self) -> Writers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()


def _work(engine: str, urls: dict[str, str], number: int, pipe: Connection) -> None:
    stream = f"writer-{number}-{os.getpid()}"  # a writer that replaces another starts afresh
    made: dict[str, tuple[Contender, Batches]] = {}
    while True:
        name, count, size = pipe.recv()
        try:
            if name not in made:
                made[name] = CONTENDERS[engine][name](urls[name], stream), Batches(stream)
            contender, batches = made[name]
            prepared = batches.take(count, size)
            pipe.send(None)
            pipe.recv()
            append = contender.append
            for batch in prepared:
                append(batch)
            pipe.send(None)
        except Exception as problem:
            pipe.send(f"{type(problem).__name__}: {problem}")
