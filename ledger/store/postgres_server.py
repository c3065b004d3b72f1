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

BUSY_SECONDS = 60.0
"""How long a statement waits for others' locks before it gives up."""

MOVED = "TL001"
"""The SQLSTATE of `append_v1` for a conversation that does not stand where the writer thought."""

# What a server's own settings must not change: commits wait for the disk (one that waits for replicas as
# well stays so), races are settled by row locks, text is UTF-8.
_SETTINGS = """
SELECT set_config('client_encoding', 'UTF8', false),
       set_config('default_transaction_isolation', 'read committed', false),
       set_config('standard_conforming_strings', 'on', false),
       set_config('lock_timeout', %s, false),
       CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
            THEN set_config('synchronous_commit', 'on', false) END
"""


class PostgresServer:
    """One database of a PostgreSQL server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = _without_password(url)

    def connect(self) -> PgConnection:
        """A connection in autocommit mode whose commits wait for the disk. Raises `DatabaseError` classes."""
        with self.errors():
            # The second append already is a prepared statement: the call of a hot path is the same every time.
            connection = psycopg.connect(self.url, autocommit=True, prepare_threshold=1)
            connection.execute(_SETTINGS, (f"{int(BUSY_SECONDS * 1000)}ms",))
        return connection

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn psycopg's errors into ours."""
        try:
            yield
        except psycopg.Error as error:
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


def is_usable(connection: PgConnection) -> bool:
    """Whether a connection can serve again: alive and in no transaction."""
    return not connection.closed and connection.info.transaction_status == TransactionStatus.IDLE


def is_retried(error: psycopg.Error) -> bool:
    """Whether an append that met this error is settled anew: others were quicker, or an id is stored
    already."""
    return error.sqlstate == MOVED or isinstance(
        error, pg.UniqueViolation | pg.SerializationFailure | pg.DeadlockDetected
    )


def _without_password(url: str) -> str:
    """The address without password and query; libpq allows several hosts, each with its port."""
    parts = urlsplit(url)
    account, at, hosts = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=account.partition(":")[0] + at + hosts, query=""))
