"""The ledger in a PostgreSQL database: writers to different books never wait for each other."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias, cast

import psycopg

from ledger.errors import NotALedger
from ledger.recorded import RecordedEvent
from ledger.store.append_call import AppendCall
from ledger.store.draft import Draft, Sealed, Standing
from ledger.store.engine import PAGE_EVENTS, Answer, Ask, Connection, Engine, Row, Value
from ledger.store.idempotency import KnownEvent
from ledger.store.paging import Batch, counterparts, page_end
from ledger.store.pool import Pool
from ledger.store.postgres_server import PgConnection, PostgresServer, is_retried, is_usable
from ledger.store.receipts import Appended
from ledger.store.statements import load_statements

CONNECTIONS = 16
BOOKS = 64
_Stored: TypeAlias = "list[tuple[int, str, str, bytes, bytes | None, bytes | None]]"
_Followed: TypeAlias = "list[tuple[int, str, str, int, str, str, bytes, bytes | None, bytes | None]]"

OPTIMISTIC_TRIES = 2
LOCKED_TRIES = 5
CALL_BYTES = 64 * 1024 * 1024
"""Bodies in one call of append_v1: a message to the server must stay under 1 GB. Larger batches take
several calls."""


class PostgresEngine(Engine):
    """One PostgreSQL database."""

    name = "postgres"

    def __init__(self, url: str, books: int | None) -> None:
        super().__init__()
        self.server = PostgresServer(url)
        self.database = self.server.name
        files = (Path(__file__).with_name("sql") / name for name in ("postgres.sql", "postgres_leases.sql"))
        self.statements = load_statements(self.name, *files)
        self._call = AppendCall(self.statements["append"])
        self._first_books = BOOKS if books is None else books
        self._pool: Pool[PgConnection] = Pool(
            self.database, self.server.connect, psycopg.Connection.close, is_usable, CONNECTIONS
        )

    # -- appending

    def append(self, batch: Draft) -> Appended:
        """As `Engine.append`: two tries on what is remembered or read, then with the conversation locked."""
        standing = self.remembered(batch)
        lost = tries = 0
        while tries < OPTIMISTIC_TRIES:
            if standing is None:
                settled, standing = self.settled(self.ask, batch)
                if isinstance(settled, Appended):
                    return settled
                batch = settled
            try:
                return self._store(batch, self.seal(batch, standing))
            except psycopg.Error as error:
                if self._is_lost(error) and not lost:
                    lost = 1  # it may be stored or not: the ids tell
                elif is_retried(error):
                    tries += 1
                else:
                    raise self.server.ours(error) from error
                standing = None
        return self.append_together([batch])[0]

    def _store(self, batch: Draft, sealed: Sealed) -> Appended:
        """Write a sealed batch in one call, or where it is too large in several of one transaction."""
        connection = self._pool.take()
        try:
            if sum(map(len, sealed.states)) <= CALL_BYTES:
                cid, last = self._call(connection, batch, sealed, sealed.before.cid)
            else:
                with connection.transaction():
                    cid, last = self._call_all(connection, batch, sealed)
        finally:
            self._pool.give_back(connection)
        self.appended(sealed.after(cid))
        return sealed.receipt(batch, last)

    def append_in(self, connection: Connection, batch: Draft) -> tuple[Appended, Standing]:
        """As `Engine.append_in`."""

        def ask(name: str, parameters: Mapping[str, Value]) -> list[Row]:
            return connection.execute(self.statements[name], parameters).fetchall()

        ask("lock_conversation", {"tenant": batch.tenant, "id": batch.conversation_id})
        settled, standing = self.settled(ask, batch)
        if isinstance(settled, Appended):
            return settled, standing
        sealed = self.seal(settled, standing)
        cid, last = self._call_all(cast(Binary, connection).connection, settled, sealed)
        return sealed.receipt(settled, last), sealed.after(cid)

    def _call_all(self, connection: PgConnection, batch: Draft, sealed: Sealed) -> tuple[int, int]:
        """The same inside a transaction, in as many calls as the size needs."""
        cid, last = sealed.before.cid, 0
        for part, piece in _pieces(batch, sealed):
            cid, last = self._call(connection, part, piece, cid)
        assert cid is not None, "a batch has at least one event"
        return cid, last

    def known(self, ask: Ask, standing: Standing, batch: Draft) -> list[KnownEvent]:
        """As `Engine.known`."""
        rows = ask("known", {"cid": standing.cid, "ids": [event.id for event in batch.events]})
        return [KnownEvent(*row) for row in rows]  # type: ignore[arg-type]

    # -- transactions and reading

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """As `Engine.transaction`. Results are binary, parameters are named."""
        with self.server.errors(), self._pool.connection() as connection, connection.transaction():
            yield Binary(connection)

    def transact(self, work: Callable[[Connection], Answer]) -> Answer:
        """As `Engine.transact`."""
        for attempt in range(1, LOCKED_TRIES + 1):
            try:
                with self._pool.connection() as connection, connection.transaction():
                    return work(Binary(connection))
            except psycopg.Error as error:
                # A conversation that is made by several at once has no row to lock yet.
                if not is_retried(error) or attempt == LOCKED_TRIES:
                    self._is_lost(error)
                    raise self.server.ours(error) from error
        raise AssertionError("the last try returns or raises")

    def clock(self, connection: Connection) -> int:
        """As `Engine.clock`: the server's."""
        row = connection.execute(self.statements["clock"], ()).fetchone()
        return cast(int, (row or (0,))[0])

    def fetch(self, statement: str, parameters: Mapping[str, Value] | Sequence[Value] = ()) -> list[Row]:
        """As `Engine.fetch`; once more where the server had gone away."""
        for last in (False, True):
            connection = self._pool.take()
            try:
                return _run(connection, statement, parameters).fetchall()
            except psycopg.Error as error:
                if last or not self._is_lost(error):
                    raise self.server.ours(error) from error
            finally:
                self._pool.give_back(connection)
        raise AssertionError("the last try returns or raises")

    def _is_lost(self, error: psycopg.Error) -> bool:
        """Whether the server went away; idle connections are then dead as well."""
        lost = isinstance(error, psycopg.OperationalError) and (
            error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))
        )
        if lost:
            self._pool.discard_idle()
        return lost

    def conversation_page(self, standing: Standing, after: int, upto: int) -> list[RecordedEvent]:
        """As `Engine.conversation_page`."""
        cid, limit = standing.cid, min(upto, after + PAGE_EVENTS)
        batches = self._batches("batches_of_conversation", {"cid": cid, "after": after, "upto": limit})
        end = page_end(batches, after, upto)
        rows = self.ask("events_of_conversation", {"cid": cid, "after": after, "upto": end})
        made, (_, tenant, name, book, *_) = RecordedEvent.stored, standing
        position = counterparts(batches)
        return [
            made(tenant, name, version, event_id, kind, header, body, erased, book, position(version))
            for version, event_id, kind, header, body, erased in cast(_Stored, rows)
        ]

    def book_page(
        self, book: int, after: int, upto: int, tenant: str | None
    ) -> tuple[list[RecordedEvent], int]:
        """As `Engine.book_page`."""
        limit = min(upto, after + PAGE_EVENTS)
        end = page_end(
            self._batches("batches_of_book", {"book": book, "after": after, "upto": limit}), after, upto
        )
        rows = self.ask("events_of_book", {"book": book, "after": after, "upto": end, "tenant": tenant})
        made = RecordedEvent.stored
        events = [
            made(of, name, version, event_id, kind, header, body, erased, book, position)
            for position, of, name, version, event_id, kind, header, body, erased in cast(_Followed, rows)
        ]
        events.sort(key=lambda event: event.id)
        return events, end

    def _batches(self, name: str, parameters: Mapping[str, Value]) -> list[Batch]:
        return [Batch(*row) for row in self.ask(name, parameters)]  # type: ignore[arg-type]

    def integrity(self) -> list[str]:
        """As `Engine.integrity`: a server says so itself, while it reads."""
        return []

    def close(self) -> None:
        """As `Engine.close`."""
        self._pool.close()

    # -- schema

    def applied(self) -> dict[str, int]:
        """As `Engine.applied`."""
        with self.server.errors(), self._pool.connection() as connection:
            made, others = _run(connection, self.statements["has_migration_table"], ()).fetchone() or (0, 0)
            if made:
                return self.applied_in(Binary(connection))
            if others:
                problem = "its schema turnledger holds something else"
                raise NotALedger(database=self.database, problem=problem)
            return {}

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
        cast(Binary, connection).connection.execute(script.encode())

    def own_books(self) -> int:
        """As `Engine.own_books`."""
        return self._first_books


class Binary:
    """A psycopg connection that always asks for binary results: text ones cost twice the time to read."""

    __slots__ = ("connection",)

    def __init__(self, connection: PgConnection) -> None:
        self.connection = connection

    def execute(
        self, statement: str, parameters: Mapping[str, Value] | Sequence[Value] = (), /
    ) -> psycopg.Cursor[Row]:
        """Run a statement; its cursor."""
        return _run(self.connection, statement, parameters)

    def executemany(self, statement: str, parameters: Sequence[Mapping[str, Value]], /) -> None:
        """Run a statement once for each of several sets of parameters."""
        with self.connection.cursor() as cursor:
            cursor.executemany(statement.encode(), parameters)


def _run(
    connection: PgConnection, statement: str, parameters: Mapping[str, Value] | Sequence[object]
) -> psycopg.Cursor[Row]:
    return cast("psycopg.Cursor[Row]", connection.execute(statement.encode(), parameters, binary=True))


def _pieces(batch: Draft, sealed: Sealed) -> Iterator[tuple[Draft, Sealed]]:
    """A sealed batch cut into parts of at most CALL_BYTES, or one event."""
    start = size = 0
    for at, state in enumerate([*sealed.states, None]):
        if state is None or (at > start and size + len(state) > CALL_BYTES):
            yield batch.part(start, at), sealed.part(start, at)
            start, size = at, 0
        size += len(state or b"")
