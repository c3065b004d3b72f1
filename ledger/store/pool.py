"""Connections that are kept open, for threads to take turns with."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from ledger.errors import DatabaseUnavailable

C = TypeVar("C")


class Pool(Generic[C]):
    """At most `size` connections, opened as needed; the one used last is used next.

    `usable(connection)` says whether one may be kept after an error. Threads beyond `size` wait.
    Connections do not survive a fork: a child process that uses its parent's pool gets
    `DatabaseUnavailable` and opens its own ledger.
    """

    def __init__(
        self,
        database: str,
        connect: Callable[[], C],
        disconnect: Callable[[C], None],
        usable: Callable[[C], bool],
        size: int,
    ) -> None:
        self._database = database
        self._connect = connect
        self._disconnect = disconnect
        self._usable = usable
        self._idle: list[C] = []
        self._room = threading.Semaphore(size)
        self._process = os.getpid()
        self._closed = False

    @contextmanager
    def connection(self) -> Iterator[C]:
        """One connection, for this thread alone until the block ends.

        Raises `DatabaseUnavailable` when the pool is closed or belongs to the parent process, and what
        `connect` raises.
        """
        connection = self.take()
        try:
            yield connection
        finally:
            self.give_back(connection)

    def take(self) -> C:
        """Take a connection; each must be given back. For hot paths, where a context manager costs too much."""
        if self._closed or self._process != os.getpid():
            problem = "this ledger was closed" if self._closed else "this ledger belongs to the parent process"
            raise DatabaseUnavailable(database=self._database, problem=f"{problem}; open it again")
        self._room.acquire()
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            return self._connect()
        except BaseException:
            self._room.release()
            raise

    def give_back(self, connection: C) -> None:
        """Give a connection back; one that is not usable any more is closed."""
        if self._closed or not self._usable(connection):
            self._disconnect(connection)
        else:
            self._idle.append(connection)
        self._room.release()

    def discard_idle(self) -> None:
        """Close the connections that nobody uses: after the server went away they are all dead."""
        while self._idle:
            self._disconnect(self._idle.pop())

    def close(self) -> None:
        """Close all idle connections now, and those in use when they are given back."""
        self._closed = True
        if self._process == os.getpid():
            self.discard_idle()
