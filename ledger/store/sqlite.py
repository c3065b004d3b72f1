"""The ledger in one SQLite file: any number of readers, one writer at a time, several processes."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias, cast

from ledger.errors import BadFork, BadInput, Conflict, DatabaseFull, DatabaseUnavailable, TurnledgerError
from ledger.recorded import RecordedEvent
from ledger.store.draft import Draft, Sealed, Standing
from ledger.store.engine import PAGE_BYTES, PAGE_EVENTS, Answer, Ask, Connection, Engine, Row, Value
from ledger.store.group import Group, Request
from ledger.store.idempotency import KnownEvent
from ledger.store.pool import Pool
from ledger.store.receipts import Appended
from ledger.store.sqlite_file import SqliteFile, read_damaged
from ledger.store.statements import load_statements

_Stored: TypeAlias = "list[tuple[int, str, str, bytes, bytes | None, bytes | None, int]]"
_Followed: TypeAlias = "list[tuple[int, str, str, int, str, str, bytes, bytes | None, bytes | None]]"

READERS = 16
FETCHED_AT_ONCE = 50


class SqliteEngine(Engine):
    """One SQLite file."""

    name = "sqlite"

    def __init__(self, path: Path, books: int | None) -> None:
        super().__init__()
        self.file = SqliteFile(path)
        self.database = self.file.name
        files = (Path(__file__).with_name("sql") / name for name in ("sqlite.sql", "sqlite_leases.sql"))
        self.statements = load_statements(self.name, *files)
        self._first_books = 1 if books is None else books
        self._writer: sqlite3.Connection | None = None
        self._readers: Pool[sqlite3.Connection] = Pool(
            self.database, self.file.reader, sqlite3.Connection.close, lambda _: True, READERS
        )
        self._group = Group(self._commit)
        self._process = os.getpid()
        self._closed = False

    # -- appending

    def append(self, batch: Draft) -> Appended:
        """As `Engine.append`; appends of this process share commits."""
        standing = self.remembered(batch)
        if standing is None:
            with self._snapshot() as ask:
                settled, standing = self.settled(ask, batch)
            if isinstance(settled, Appended):
                return settled
            batch = settled
        # Sealed before the lock is held; where the conversation has moved meanwhile it is sealed again inside.
        return self._group.store(Request(batch, self.seal(batch, standing)))

    def _commit(self, requests: Sequence[Request]) -> None:
        """Store what several threads asked for in one transaction; each request alone can fail."""
        try:
            try:
                stored = self._transact(requests)
            except DatabaseFull:
                # The log may hold much that is in the file already: fold it in and try once more.
                self.file.fold_log(self._writer)
                stored = self._transact(requests)
        except Exception as error:
            # Nothing of the transaction is stored, so none of its requests is.
            for request in requests:
                request.outcome = _same_again(error)
            return
        for request, (outcome, standing) in zip(requests, stored, strict=True):
            if standing is not None:
                self.appended(standing)
            request.outcome = outcome

    def _transact(self, requests: Sequence[Request]) -> list[tuple[Appended | BaseException, Standing | None]]:
        shared = len(requests) > 1
        connection = self._writing()
        try:
            self.file.begin(connection)
            try:
                stored = [self._store(connection, request, shared) for request in requests]
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise self.file.ours(error) from error
        return stored

    def _store(
        self, connection: sqlite3.Connection, request: Request, shared: bool
    ) -> tuple[Appended | BaseException, Standing | None]:
        """Store one request inside the transaction; gives its outcome and how its conversation stands then."""
        if shared:
            connection.execute("SAVEPOINT request")
        try:
            try:
                if (stored := self._insert(connection, request.batch, request.sealed)) is not None:
                    return stored
            except sqlite3.IntegrityError:  # an id is known, or the conversation is not new any more
                self._undo(connection, shared)
            return self.append_in(cast(Connection, connection), request.batch)
        except (BadFork, BadInput, Conflict) as refused:
            self._undo(connection, shared)
            return refused, None

    def append_in(self, connection: Connection, batch: Draft) -> tuple[Appended, Standing]:
        """As `Engine.append_in`."""

        def ask(name: str, parameters: Mapping[str, Value]) -> list[Row]:
            return connection.execute(self.statements[name], parameters).fetchall()

        settled, standing = self.settled(ask, batch)
        if isinstance(settled, Appended):
            return settled, standing
        stored = self._insert(cast(sqlite3.Connection, connection), settled, self.seal(settled, standing))
        assert stored is not None, "the conversation was read in this transaction"
        return stored

    def _undo(self, connection: sqlite3.Connection, shared: bool) -> None:
        """Take back what was written for one request."""
        if shared:
            connection.execute("ROLLBACK TO request")
        else:
            connection.execute("ROLLBACK")
            self.file.begin(connection)

    def _insert(
        self, connection: sqlite3.Connection, batch: Draft, sealed: Sealed
    ) -> tuple[Appended, Standing] | None:
        """Write a sealed batch; None when its conversation does not stand where it was sealed.

        Raises `sqlite3.IntegrityError` when an id is known or the conversation is not new.
        """
        statements, execute = self.statements, connection.cursor().execute  # one cursor, not one a statement
        before, heads, count = sealed.before, sealed.heads, len(sealed.heads)
        version, head, at, cid = before.version, heads[-1], sealed.recorded_at, before.cid
        if cid is None:
            _, tenant, name, book, _, _, _, _, _, source_cid, source_version = before
            start = (tenant, name, book, version + count, head, at, at, source_cid, source_version)
            cid = cast(int, execute(statements["start_conversation"], start).lastrowid)
        else:
            moved = (version + count, head, at, cid, version, before.head, before.fence)
            if not execute(statements["move_conversation"], moved).rowcount:
                return None
        found = execute(statements["last_position"], (before.book,)).fetchone()
        first = (found[0] if found else 0) + 1
        place = (cid << 32) + version + 1
        if count == 1:
            ((event_id, kind, _, _, _),) = batch.events
            row = (place, event_id, kind, first, sealed.headers[0], head, sealed.states[0])
            execute(statements["add_event"], row)
        else:
            ids, kinds, _, _, _ = zip(*batch.events, strict=True)
            places, positions = range(place, place + count), range(first, first + count)
            rows = zip(places, ids, kinds, positions, sealed.headers, heads, sealed.states, strict=True)
            connection.executemany(statements["add_event"], rows)
        execute(statements["add_batch"], (before.book, first, cid, version + 1, count, time.time_ns() // 1000))
        return sealed.receipt(batch, first + count - 1), sealed.after(cid)

    def known(self, ask: Ask, standing: Standing, batch: Draft) -> list[KnownEvent]:
        """As `Engine.known`."""
        cid = standing.cid
        found = [row for event in batch.events for row in ask("known", {"cid": cid, "id": event.id})]
        return [KnownEvent(*row) for row in found]  # type: ignore[arg-type]

    # -- transactions and reading

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """As `Engine.transaction`."""
        with self._group.alone():
            connection = self._writing()
            try:
                self.file.begin(connection)
                try:
                    yield cast(Connection, connection)
                    connection.execute("COMMIT")
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
            except sqlite3.Error as error:
                raise self.file.ours(error) from error

    def transact(self, work: Callable[[Connection], Answer]) -> Answer:
        """As `Engine.transact`."""
        with self.transaction() as connection:
            return work(connection)

    def clock(self, connection: Connection) -> int:  # noqa: ARG002
        """As `Engine.clock`: all holders are on this machine."""
        return time.time_ns() // 1000

    def _writing(self) -> sqlite3.Connection:
        """The connection that writes; only for who holds the group's lock."""
        if self._closed or self._process != os.getpid():
            problem = "this ledger was closed" if self._closed else "this ledger belongs to the parent process"
            raise DatabaseUnavailable(database=self.database, problem=f"{problem}; open it again")
        if self._writer is None:
            with self.file.errors():
                self._writer = self.file.writer()
        return self._writer

    def fetch(self, statement: str, parameters: Mapping[str, Value] | Sequence[Value] = ()) -> list[Row]:
        """As `Engine.fetch`."""
        with self._readers.connection() as connection, self.file.errors():
            return read_damaged(connection, lambda: connection.execute(statement, parameters).fetchall())

    @contextmanager
    def _snapshot(self) -> Iterator[Ask]:
        """A way to run named statements that all see the same state."""
        with self._readers.connection() as connection, self.file.errors():
            connection.execute("BEGIN")
            try:
                yield lambda name, parameters: connection.execute(self.statements[name], parameters).fetchall()
            finally:
                connection.execute("ROLLBACK")

    def conversation_page(self, standing: Standing, after: int, upto: int) -> list[RecordedEvent]:
        """As `Engine.conversation_page`."""
        rows, _ = self._page("events_of_conversation", 4, {"cid": standing.cid, "after": after, "upto": upto})
        made, (_, tenant, name, book, *_) = RecordedEvent.stored, standing
        return [
            made(tenant, name, version, event_id, kind, header, body, erased, book, position)
            for version, event_id, kind, header, body, erased, position in cast(_Stored, rows)
        ]

    def book_page(
        self, book: int, after: int, upto: int, tenant: str | None
    ) -> tuple[list[RecordedEvent], int]:
        """As `Engine.book_page`."""
        # Positions are gapless: this bounds what a statement steps over where others' events are left out.
        upto = min(upto, after + PAGE_EVENTS)
        parameters = {"book": book, "after": after, "upto": upto, "tenant": tenant}
        rows, whole = self._page("events_of_book", 7, parameters)
        made = RecordedEvent.stored
        events = [
            made(of, name, version, event_id, kind, header, body, erased, book, position)
            for position, of, name, version, event_id, kind, header, body, erased in cast(_Followed, rows)
        ]
        return events, upto if whole else max(events[-1].position, after + 1)

    def _page(
        self, name: str, body: int, parameters: Mapping[str, Value]
    ) -> tuple[list[tuple[object, ...]], bool]:
        """Rows of a statement up to a page's size (`body`: the column with the bytes), and whether that was
        all."""
        with self._readers.connection() as connection, self.file.errors():
            return read_damaged(connection, lambda: self._page_of(connection, name, body, parameters))

    def _page_of(
        self, connection: sqlite3.Connection, name: str, body: int, parameters: Mapping[str, Value]
    ) -> tuple[list[tuple[object, ...]], bool]:
        rows: list[tuple[object, ...]] = []
        size = 0
        cursor = connection.execute(self.statements[name], parameters)
        try:
            while more := cursor.fetchmany(FETCHED_AT_ONCE):
                rows += more
                size += sum([len(row[body] or b"") for row in more])
                if size >= PAGE_BYTES or len(rows) >= PAGE_EVENTS:
                    return rows, False
            return rows, True
        finally:
            cursor.close()  # ends the read transaction, which would keep the log from being folded in

    def integrity(self) -> list[str]:
        """As `Engine.integrity`."""
        found = [str(row[0]) for row in self.select("integrity")]
        return [] if found == ["ok"] else found

    def close(self) -> None:
        """As `Engine.close`; the last one to close folds the log into the file."""
        with self._group.alone():
            self._closed = True
            if self._writer is not None and self._process == os.getpid():
                self._writer.close()
                self._writer = None
        self._readers.close()

    # -- schema

    def applied(self) -> dict[str, int]:
        """As `Engine.applied`."""
        if self.file.is_missing():
            return {}
        with self.file.errors():
            reader = self.file.reader()
            try:
                self.file.check(reader)
                made = reader.execute("SELECT 1 FROM sqlite_master WHERE name = 'migration'").fetchone()
                return {} if made is None else self.applied_in(cast(Connection, reader))
            finally:
                reader.close()

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """As `Engine.migrating`."""
        self.file.make()
        with self.transaction() as connection:
            self.file.mark(cast(sqlite3.Connection, connection))
            connection.execute(self.statements["make_migration_table"])
            yield connection

    def run_script(self, connection: Connection, script: str) -> None:
        """As `Engine.run_script`: one by one, since sqlite3's own executescript commits first."""
        statement = ""
        for line in script.splitlines(keepends=True):
            statement += line
            if sqlite3.complete_statement(statement):
                connection.execute(statement)
                statement = ""

    def own_books(self) -> int:
        """As `Engine.own_books`."""
        return self._first_books


def _same_again(error: Exception) -> BaseException:
    """An error for one more thread: raising one object in several would tangle their tracebacks."""
    if isinstance(error, TurnledgerError):
        again = type(error)(**error.attributes)
        again.__cause__ = error.__cause__
        return again
    return error
