"""How this project opens a SQLite file, and what SQLite's complaints mean in our words."""

import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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


class File:
    """One SQLite database file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = f"sqlite:///{path}"

    def writer(self) -> sqlite3.Connection:
        """A connection that writes: write-ahead log, every commit synced. The file must be there and be ours."""
        connection = self._connect("rw")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = FAST")
        return connection

    def reader(self) -> sqlite3.Connection:
        """A connection that only reads."""
        connection = self._connect("rw")
        connection.execute("PRAGMA query_only = ON")
        return connection

    def is_missing(self) -> bool:
        """Whether there is no file, or one that nobody has written to."""
        try:
            return self.path.stat().st_size == 0
        except OSError:
            return True

    def check(self) -> None:
        """Raises `NotALedger` when the file holds something else, `DatabaseError` when it cannot be read."""
        with self.errors():
            connection = self._connect("rw")
            try:
                (found,) = connection.execute("PRAGMA application_id").fetchone()
                (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            finally:
                connection.close()
        if tables and found != APPLICATION_ID:
            raise NotALedger(database=self.name, problem="a SQLite database of another program")

    def make(self) -> None:
        """Make the file ready for migrations: ours by its header, with a write-ahead log. Several may do so at once."""
        with self.errors():
            deadline = time.monotonic() + BUSY_SECONDS
            while True:
                connection = self._connect("rwc")
                try:
                    # The busy handler does not cover a change of journal mode: two makers retry by themselves.
                    connection.execute("PRAGMA journal_mode = WAL")
                    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    return
                except sqlite3.OperationalError as error:
                    if not _is_busy(error) or time.monotonic() > deadline:
                        raise
                    time.sleep(random.uniform(0.001, 0.02))  # noqa: S311 - two makers, out of step
                finally:
                    connection.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn SQLite's errors into ours. `sqlite3.IntegrityError` passes: it is a conflict that the caller settles."""
        try:
            yield
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            raise self.ours(error) from error

    def ours(self, error: sqlite3.Error) -> DatabaseError:
        """The error of ours that says the same."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return DatabaseBusy(database=self.name, problem=f"waited {BUSY_SECONDS:.0f} s")
        if code == sqlite3.SQLITE_FULL:
            return DatabaseFull(database=self.name, problem=str(error))
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            return DatabaseReadOnly(database=self.name, problem=str(error))
        if code == sqlite3.SQLITE_NOTADB:
            return NotALedger(database=self.name, problem=str(error))
        if code == sqlite3.SQLITE_CANTOPEN and self.path.parent.is_dir() and not self.path.exists():
            return DatabaseMissing(database=self.name)
        return DatabaseUnavailable(database=self.name, problem=str(error))

    def _connect(self, mode: str) -> sqlite3.Connection:
        return sqlite3.connect(
            f"file:{quote(str(self.path))}?mode={mode}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
