"""The ledger in a PostgreSQL database: writers to different books never wait for each other."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import psycopg
from psycopg import errors as pg

from ledger.errors import DatabaseUnavailable
from ledger.store.draft import Draft, Sealed, Standing, seal
from ledger.store.engine import Connection, Engine, Row, Value
from ledger.store.idempotency import KnownEvent, check_fork, check_version, nothing_stored, settle
from ledger.store.pool import Pool
from ledger.store.postgres_connection import MOVED, PgConnection, Server, is_usable
from ledger.store.receipts import Appended
from ledger.store.statements import load_statements

CONNECTIONS = 16
BOOKS = 64
MOST_STANDINGS = 100_000
OPTIMISTIC_TRIES = 2


class PostgresEngine(Engine):
    """One PostgreSQL database."""

    name = "postgres"

    def __init__(self, url: str, books: int | None) -> None:
        super().__init__()
        self.server = Server(url)
        self.database = self.server.name
        self.statements = load_statements(self.name, Path(__file__).with_name("sql") / "postgres.sql")
        self._first_books = BOOKS if books is None else books
        self._books: int | None = None
        self._pool: Pool[PgConnection] = Pool(
            self.database, self.server.connect, psycopg.Connection.close, is_usable, CONNECTIONS
        )
        self._standings: dict[tuple[str, str], Standing] = {}

    # -- appending

    def append(self, batch: Draft) -> Appended:
        """As `Engine.append`: two tries on what is remembered or read, then with the conversation locked."""
        standing = self._standings.get((batch.tenant, batch.conversation_id))
        look = (
            standing is None
            or batch.known == "skip"
            or batch.fork is not None
            or batch.expected_version not in (None, standing.version)
        )
        for _ in range(OPTIMISTIC_TRIES):
            if look or standing is None:
                settled, standing = self._settled(None, batch)
                if isinstance(settled, Appended):
                    return settled
                batch = settled
            try:
                with self._connection() as connection:
                    answer, after = self._call(connection, batch, self._seal(batch, standing))
            except pg.UniqueViolation:
                look = True  # an id is stored already: by us, or just now by somebody else
            except psycopg.Error as error:
                if error.sqlstate != MOVED:
                    raise
                look = True
            else:
                return self._done(answer, after)
        return self._append_locked(batch)

    def _append_locked(self, batch: Draft) -> Appended:
        with self.transaction() as connection:
            connection.execute(
                self.statements["lock_conversation"], {"tenant": batch.tenant, "id": batch.conversation_id}
            )
            settled, standing = self._settled(connection, batch)
            if isinstance(settled, Appended):
                return settled
            answer, after = self._call(connection, settled, self._seal(settled, standing))
        return self._done(answer, after)

    def _done(self, answer: Appended, after: Standing) -> Appended:
        if len(self._standings) >= MOST_STANDINGS:
            self._standings.clear()
        self._standings[after.tenant, after.id] = after
        self.notify()
        return answer

    def _seal(self, batch: Draft, standing: Standing) -> Sealed:
        return seal(batch, standing, time.time_ns() // 1000, os.urandom(16 * len(batch.events)))

    def _settled(self, inside: Connection | None, batch: Draft) -> tuple[Draft | Appended, Standing]:
        """What is still to be stored, and where the conversation stands: as committed, or inside a transaction."""
        ask = self.fetch if inside is None else lambda text, values: inside.execute(text, values).fetchall()
        rows = ask(
            self.statements["conversation_by_id"], {"tenant": batch.tenant, "id": batch.conversation_id}
        )
        if not rows:
            standing = self.beginning(batch, self._book_count())
            check_version(batch, standing)
            return batch, standing
        standing = Standing(*rows[0])
        found = ask(self.statements["known"], {"cid": standing.cid, "keys": list(batch.keys)})
        settled = settle(batch, standing.book, [KnownEvent(*row) for row in found])
        if isinstance(settled, Draft):
            check_fork(settled, standing)
            check_version(settled, standing)
        return settled, standing

    def _call(self, connection: Connection, batch: Draft, sealed: Sealed) -> tuple[Appended, Standing]:
        """Write a sealed batch. Raises `pg.UniqueViolation` for a known id, SQLSTATE TL001 when the conversation does
        not stand where it was sealed."""
        before, after = sealed.before, sealed.after
        row = connection.execute(
            self.statements["append"],
            (
                before.cid,
                after.tenant,
                after.id,
                after.book,
                after.source_cid,
                before.version,
                before.head,
                sealed.recorded_at,
                sum(map(len, sealed.states)),
                batch.keys,
                [event.type for event in batch.events],
                sealed.headers,
                sealed.heads,
                sealed.states,
            ),
        ).fetchone()
        assert row is not None, "append_v1 gives one row"
        cid, last = cast("tuple[int, int]", row)
        answer = nothing_stored(batch)._replace(
            first_version=before.version + 1,
            last_version=after.version,
            book=after.book,
            first_position=last - len(sealed.heads) + 1,
            last_position=last,
        )
        return answer, after._replace(cid=cid)

    def _book_count(self) -> int:
        if self._books is None:
            self._books = int(cast(int, self.select("own_row")[0][0]))
        return self._books

    # -- transactions and reading

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """As `Engine.transaction`."""
        with self._pool.connection() as connection, self.server.errors(), connection.transaction():
            yield cast(Connection, _Binary(connection))

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        with self.server.errors():
            connection = self._pool.take()
            try:
                yield cast(Connection, _Binary(connection))
            finally:
                self._pool.give_back(connection)

    def fetch(self, statement: str, parameters: Mapping[str, Value] | Sequence[Value] = ()) -> list[Row]:
        """As `Engine.fetch`."""
        with self._connection() as connection:
            return connection.execute(statement, parameters).fetchall()

    def close(self) -> None:
        """As `Engine.close`."""
        self._pool.close()

    # -- schema

    def applied(self) -> dict[str, int]:
        """As `Engine.applied`."""
        with self._connection() as connection:
            return self.applied_in(connection)

    def applied_in(self, connection: Connection) -> dict[str, int]:
        """As `Engine.applied_in`."""
        if connection.execute(self.statements["has_migration_table"], ()).fetchone() == (False,):
            return {}
        return dict(
            cast("list[tuple[str, int]]", connection.execute(self.statements["migrations"], ()).fetchall())
        )

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """As `Engine.migrating`."""
        with self.transaction() as connection:
            connection.execute(self.statements["lock_schema"], ())
            connection.execute(self.statements["make_schema"], ())
            connection.execute(self.statements["make_migration_table"], ())
            yield connection

    def run_script(self, connection: Connection, script: str) -> None:
        """As `Engine.run_script`."""
        cast(_Binary, connection).script(script)

    def found(self, connection: Connection) -> None:
        """As `Engine.found`."""
        if connection.execute(self.statements["own_row"], ()).fetchone() is None:
            values = {"books": self._first_books, "now": time.time_ns() // 1000}
            connection.execute(self.statements["make_own_row"], values)
            connection.execute(self.statements["make_books"], values)


class _Binary:
    """A psycopg connection that always asks for binary results: text ones cost twice the time to read."""

    __slots__ = ("connection",)

    def __init__(self, connection: PgConnection) -> None:
        self.connection = connection

    def execute(
        self, statement: str, parameters: Mapping[str, Value] | Sequence[Value] = ()
    ) -> psycopg.Cursor[tuple[object, ...]]:
        return self.connection.execute(statement.encode(), parameters, binary=True)

    def script(self, text: str) -> None:
        self.connection.execute(text.encode())
