"""How a ledger's SQLite file is opened and made, and what SQLite's complaints mean in our words."""

import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from ledger.errors import (
    DatabaseBusy,
    DatabaseError,
    DatabaseFull,
    DatabaseMissing,
    DatabaseReadOnly,
    DatabaseUnavailable,
    NotALedger,
)

APPLICATION_ID = 0x544C4752
"""`TLGR` in the file's header: how `file(1)` and we know a ledger."""

BUSY_SECONDS = 60.0
"""How long an append waits for other processes before it gives up."""

BUSY_SLEEP = (0.0005, 0.004)
"""Between two looks, at least and at most, in seconds."""

Answer = TypeVar("Answer")

_MAGIC = b"SQLite format 3\0"


class SqliteFile:
    """One SQLite database file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = f"sqlite:///{path}"

    def writer(self) -> sqlite3.Connection:
        """A connection that writes; every commit is synced."""
        connection = self._connect("mode=rw")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA busy_timeout = 0")  # `begin` waits
        return connection

    def begin(self, connection: sqlite3.Connection) -> None:
        """Begin a write transaction, waiting for other processes. Raises `sqlite3.Error`.

        SQLite's own waiting sleeps longer each time, up to 100 ms: among several busy writers the one that came
        first would starve. Short random sleeps give all the same chance.
        """
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise
            time.sleep(random.uniform(*BUSY_SLEEP))  # noqa: S311 - to be out of step

    def reader(self) -> sqlite3.Connection:
        """A connection that only reads; also where the file and its folder may not be written."""
        options = "mode=rw"
        if not os.access(self.path, os.W_OK) or not os.access(self.path.parent, os.W_OK):
            # A log beside it is shared with a writer. Without one nobody writes, and none can be made to share.
            options = "mode=ro" if self._log().exists() else "mode=ro&immutable=1"
        connection = self._connect(options)
        connection.execute("PRAGMA query_only = ON")
        return connection

    def is_missing(self) -> bool:
        """Whether there is no file, or one that nobody has written to."""
        try:
            return self.path.stat().st_size == 0
        except OSError:
            return True

    def check(self, connection: sqlite3.Connection) -> None:
        """Raises `NotALedger` when the file holds something else."""
        if self.path.is_file():
            with self.path.open("rb") as file:
                if file.read(len(_MAGIC)) != _MAGIC:  # SQLite takes some of those for empty databases
                    raise NotALedger(database=self.name, problem="not a SQLite database")
        # The tables first: whoever makes them between the two looks marks the file in the same transaction.
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (found,) = connection.execute("PRAGMA application_id").fetchone()
        if tables and found != APPLICATION_ID:
            raise NotALedger(database=self.name, problem="a SQLite database of another program")

    def make(self) -> None:
        """Make the file if need be, with a write-ahead log. Several may do so at once."""
        deadline = time.monotonic() + BUSY_SECONDS
        with self.errors():
            while True:
                connection = self._connect("mode=rwc")
                try:
                    connection.execute("PRAGMA journal_mode = WAL")
                    return
                except sqlite3.OperationalError as error:
                    # The busy handler does not cover a change of journal mode: two makers retry by themselves.
                    if not _is_busy(error) or time.monotonic() > deadline:
                        raise
                    time.sleep(random.uniform(0.001, 0.02))  # noqa: S311 - two makers, out of step
                finally:
                    connection.close()

    def mark(self, connection: sqlite3.Connection) -> None:
        """Write that the file is ours, in the transaction that makes its tables."""
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def fold_log(self, connection: sqlite3.Connection | None) -> None:
        """Bring the log's content into the file and give its space back, as far as readers let it."""
        if connection is not None:
            with self.errors():
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        try:
            yield
        except sqlite3.Error as error:
            raise self.ours(error) from error
        except UnicodeDecodeError as error:  # sqlite3, quoting a damaged schema in its own message
            raise DatabaseUnavailable(database=self.name, problem=f"its schema is damaged ({error})") from error

    def ours(self, error: sqlite3.Error) -> DatabaseError:
        """The error of ours that says the same."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return DatabaseBusy(database=self.name, problem=f"waited {BUSY_SECONDS:g} s")
        if code == sqlite3.SQLITE_FULL:
            return DatabaseFull(database=self.name, problem=str(error))
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            return DatabaseReadOnly(database=self.name, problem=str(error))
        if code == sqlite3.SQLITE_NOTADB:
            return NotALedger(database=self.name, problem=str(error))
        if code == sqlite3.SQLITE_CANTOPEN and self.path.parent.is_dir():
            if not self.path.exists():
                return DatabaseMissing(database=self.name)
            if not os.access(self.path, os.W_OK) or not os.access(self.path.parent, os.W_OK):
                return DatabaseReadOnly(database=self.name, problem=str(error))
        return DatabaseUnavailable(database=self.name, problem=str(error))

    def _log(self) -> Path:
        return self.path.with_name(self.path.name + "-wal")

    def _connect(self, options: str) -> sqlite3.Connection:
        return sqlite3.connect(
            f"file:{quote(str(self.path))}?{options}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )


def read_damaged(connection: sqlite3.Connection, read: Callable[[], Answer]) -> Answer:
    """What `read` gives; where text is no UTF-8 any more, once more with U+FFFD in its place: one damaged value
    must not hide a whole page."""
    try:
        return read()
    except sqlite3.OperationalError as error:
        if "decode to UTF-8" not in str(error):
            raise
    connection.text_factory = lambda value: value.decode("utf-8", "replace")
    try:
        return read()
    finally:
        connection.text_factory = str


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
