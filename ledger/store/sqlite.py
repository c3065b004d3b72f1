"""The ledger in one SQLite file: any number of readers, one writer at a time, several processes."""

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from ledger.errors import BadFork, BadInput, Conflict, DatabaseUnavailable
from ledger.store.draft import Draft, Sealed, Standing, seal
from ledger.store.engine import Connection, Engine, Row, Value
from ledger.store.group import Group, Request
from ledger.store.idempotency import KnownEvent, check_fork, check_version, nothing_stored, settle
from ledger.store.pool import Pool
from ledger.store.receipts import Appended
from ledger.store.sqlite_connection import File
from ledger.store.statements import load_statements

READERS = 16
MOST_STANDINGS = 100_000


class SqliteEngine(Engine):
    """One SQLite file."""

    name = "sqlite"

    def __init__(self, path: Path, books: int | None) -> None:
        super().__init__()
        self.file = File(path)
        self.database = self.file.name
        self.statements = load_statements(self.name, Path(__file__).with_name("sql") / "sqlite.sql")
        self._first_books = 1 if books is None else books
        self._books: int | None = None
        self._writer: sqlite3.Connection | None = None
        self._readers: Pool[sqlite3.Connection] = Pool(
            self.database,
            self.file.reader,
            sqlite3.Connection.close,
            lambda connection: not connection.in_transaction,
            READERS,
        )
        self._standings: dict[tuple[str, str], Standing] = {}
        self._group: Group[Request] = Group(self._commit)
        self._process = os.getpid()
        self._closed = False

    # -- appending

    def append(self, batch: Draft) -> Appended:
        """As `Engine.append`; appends of this process share commits."""
        standing = self._standings.get((batch.tenant, batch.conversation_id))
        if (
            standing is None
            or batch.known == "skip"
            or batch.fork is not None
            or batch.expected_version not in (None, standing.version)
        ):
            settled, standing = self._settled(None, batch)
            if isinstance(settled, Appended):
                return settled
            batch = settled
        return self._group.store(Request(batch, self._seal(batch, standing)))

    def _seal(self, batch: Draft, standing: Standing) -> Sealed:
        return seal(batch, standing, time.time_ns() // 1000, os.urandom(16 * len(batch.events)))

    def _settled(self, inside: sqlite3.Connection | None, batch: Draft) -> tuple[Draft | Appended, Standing]:
        """What is still to be stored, and where the conversation stands: as committed, or inside a transaction."""
        ask = self.fetch if inside is None else lambda text, values: inside.execute(text, values).fetchall()
        rows = ask(self.statements["conversation_by_id"], {"tenant": batch.tenant, "id": batch.conversation_id})
        if not rows:
            standing = self.beginning(batch, self._book_count())
            check_version(batch, standing)
            return batch, standing
        standing = Standing(*rows[0])
        known = [
            KnownEvent(*row)
            for key in batch.keys
            for row in ask(self.statements["known"], {"cid": standing.cid, "key": key})
        ]
        settled = settle(batch, standing.book, known)
        if isinstance(settled, Draft):
            check_fork(settled, standing)
            check_version(settled, standing)
        return settled, standing

    def _commit(self, requests: Sequence[Request]) -> None:
        """Store what several threads asked for in one transaction; each request alone can fail."""
        outcomes: list[Appended | BaseException] = []
        after: list[Standing] = []
        try:
            with self._begun() as connection:
                for request in requests:
                    outcome, standing = self._store(connection, request)
                    outcomes.append(outcome)
                    if standing is not None:
                        after.append(standing)
        except Exception as error:
            # Nothing of the transaction is stored, so none of its requests is.
            for request in requests:
                request.outcome = _same_again(error)
            return
        for standing in after:
            self._remember(standing)
        for request, outcome in zip(requests, outcomes, strict=True):
            request.outcome = outcome
        self.notify()

    def _store(
        self, connection: sqlite3.Connection, request: Request
    ) -> tuple[Appended | BaseException, Standing | None]:
        """Store one request inside the transaction; gives its outcome and how its conversation stands then."""
        connection.execute("SAVEPOINT request")
        try:
            if request.sealed is not None:
                try:
                    if (stored := self._insert(connection, request.batch, request.sealed)) is not None:
                        return stored
                except sqlite3.IntegrityError:
                    connection.execute("ROLLBACK TO request")
            settled, standing = self._settled(connection, request.batch)
            if isinstance(settled, Appended):
                return settled, None
            stored = self._insert(connection, settled, self._seal(settled, standing))
            assert stored is not None, "the conversation was read in this transaction"
            return stored
        except (BadFork, BadInput, Conflict) as refused:
            connection.execute("ROLLBACK TO request")
            return refused, None
        finally:
            connection.execute("RELEASE request")

    def _insert(
        self, connection: sqlite3.Connection, batch: Draft, sealed: Sealed
    ) -> tuple[Appended, Standing] | None:
        """Write a sealed batch; None when its conversation does not stand where it was sealed.

        Raises `sqlite3.IntegrityError` when an id is known or the conversation is not new.
        """
        statements, execute = self.statements, connection.execute
        before, after, count = sealed.before, sealed.after, len(sealed.heads)
        if before.cid is None:
            made = execute(
                statements["start_conversation"],
                (
                    after.tenant,
                    after.id,
                    after.book,
                    after.version,
                    after.head,
                    after.created_at,
                    after.recorded_at,
                    after.source_cid,
                    after.source_version,
                ),
            )
            after = after._replace(cid=made.lastrowid)
        else:
            moved = execute(
                statements["move_conversation"],
                (after.version, after.head, after.recorded_at, before.cid, before.version, before.head),
            )
            if not moved.rowcount:
                return None
        place = (after.stored << 32) + before.version + 1
        kinds = [event.type for event in batch.events]
        connection.executemany(
            statements["add_event"],
            zip(
                range(place, place + count),
                batch.keys,
                kinds,
                sealed.headers,
                sealed.heads,
                sealed.states,
                strict=True,
            ),
        )
        (last,) = execute(statements["move_book"], (count, after.book)).fetchone()
        size = sum(map(len, sealed.states))
        execute(
            statements["add_batch"],
            (after.book, last - count + 1, after.cid, before.version + 1, count, size, time.time_ns() // 1000),
        )
        answer = nothing_stored(batch)._replace(
            first_version=before.version + 1,
            last_version=after.version,
            book=after.book,
            first_position=last - count + 1,
            last_position=last,
        )
        return answer, after

    def _remember(self, standing: Standing) -> None:
        if len(self._standings) >= MOST_STANDINGS:
            self._standings.clear()
        self._standings[standing.tenant, standing.id] = standing

    def _book_count(self) -> int:
        if self._books is None:
            self._books = int(cast(int, self.select("own_row")[0][0]))
        return self._books

    # -- transactions and reading

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """As `Engine.transaction`. An append inside the block would wait for itself: append before or after."""
        with self._group.alone(), self._begun() as connection:
            yield cast(Connection, connection)

    @contextmanager
    def _begun(self) -> Iterator[sqlite3.Connection]:
        """The writing connection inside a transaction; only for who holds the group's lock."""
        if self._closed or self._process != os.getpid():
            problem = "this ledger was closed" if self._closed else "this ledger belongs to the parent process"
            raise DatabaseUnavailable(database=self.database, problem=f"{problem}; open it again")
        with self.file.errors():
            if self._writer is None:
                self._writer = self.file.writer()
            connection = self._writer
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def fetch(self, statement: str, parameters: Mapping[str, Value] | Sequence[Value] = ()) -> list[Row]:
        """As `Engine.fetch`."""
        with self.file.errors():
            connection = self._readers.take()
            try:
                return connection.execute(statement, parameters).fetchall()
            finally:
                self._readers.give_back(connection)

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
        self.file.check()
        with self.file.errors():
            reader = self.file.reader()
            try:
                return self.applied_in(cast(Connection, reader))
            finally:
                reader.close()

    def applied_in(self, connection: Connection) -> dict[str, int]:
        """As `Engine.applied_in`."""
        made = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'migration'").fetchone()
        if made is None:
            return {}
        return dict(cast("list[tuple[str, int]]", connection.execute(self.statements["migrations"]).fetchall()))

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """As `Engine.migrating`."""
        if self.file.is_missing():
            self.file.make()
        with self.transaction() as connection:
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

    def found(self, connection: Connection) -> None:
        """Write the ledger's own row and its books, in a new database."""
        if connection.execute(self.statements["own_row"]).fetchone() is None:
            values = {"books": self._first_books, "now": time.time_ns() // 1000}
            connection.execute(self.statements["make_own_row"], values)
            connection.execute(self.statements["make_books"], values)


def _same_again(error: Exception) -> BaseException:
    """An error for one more thread: raising one object in several would tangle their tracebacks."""
    attributes = getattr(error, "attributes", None)
    return error if attributes is None else type(error)(**attributes)
