"""How this project connects to PostgreSQL, and what PostgreSQL's complaints mean in our words."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import errors as pg
from psycopg.pq import TransactionStatus

from ledger.errors import (
    DatabaseBusy,
    DatabaseError,
    DatabaseFull,
    DatabaseMissing,
    DatabaseReadOnly,
    DatabaseUnavailable,
    NotALedger,
)

PgConnection = psycopg.Connection[tuple[object, ...]]


class Server:
    """One database of a PostgreSQL server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = _without_password(url)

    def connect(self) -> PgConnection:
        """A connection in autocommit mode whose commits wait for the disk. Raises `DatabaseError` classes."""
        with self.errors():
            # The second append already is a prepared statement: the call of a hot path is the same every time.
            connection = psycopg.connect(self.url, autocommit=True, prepare_threshold=1)
            if connection.info.parameter_status("synchronous_commit") != "on":
                # Durable when it returns: a server set to lose the last commits is told otherwise; one that waits for
                # replicas as well stays as it is.
                connection.execute(
                    "SELECT set_config('synchronous_commit', 'on', false)"
                    " WHERE current_setting('synchronous_commit') IN ('off', 'local')"
                )
        return connection

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn psycopg's errors into ours. Conflicts (unique violations, TL001) pass: the caller settles them."""
        try:
            yield
        except (pg.UniqueViolation, pg.SerializationFailure, pg.DeadlockDetected):
            raise
        except psycopg.Error as error:
            if error.sqlstate == MOVED:
                raise
            raise self.ours(error) from error

    def ours(self, error: psycopg.Error) -> DatabaseError:
        """The error of ours that says the same."""
        problem = " ".join(str(error.diag.message_primary or error).split())
        if isinstance(error, pg.InvalidCatalogName) or (
            error.sqlstate is None and 'database "' in problem and "does not exist" in problem
        ):
            return DatabaseMissing(database=self.name)
        if isinstance(error, pg.DiskFull):
            return DatabaseFull(database=self.name, problem=problem)
        if isinstance(error, pg.LockNotAvailable | pg.DeadlockDetected | pg.SerializationFailure):
            return DatabaseBusy(database=self.name, problem=problem)
        if isinstance(error, pg.ReadOnlySqlTransaction | pg.InsufficientPrivilege):
            return DatabaseReadOnly(database=self.name, problem=problem)
        if isinstance(error, pg.UndefinedTable | pg.UndefinedColumn | pg.UndefinedFunction):
            return NotALedger(database=self.name, problem=problem)
        return DatabaseUnavailable(database=self.name, problem=problem)


MOVED = "TL001"
"""The SQLSTATE of `append_v1` for a conversation that does not stand where the writer thought."""


def is_usable(connection: PgConnection) -> bool:
    """Whether a connection can serve again: alive and in no transaction."""
    return not connection.closed and connection.info.transaction_status == TransactionStatus.IDLE


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    if parts.password is None:
        return url
    user = f"{parts.username}@" if parts.username else ""
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit(parts._replace(netloc=f"{user}{parts.hostname or ''}{port}", query=""))
