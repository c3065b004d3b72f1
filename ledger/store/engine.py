"""What an engine does for the ledger, and what both do alike: looking up, paging, the roots of a branch."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from threading import Condition
from typing import NamedTuple, Protocol, TypeAlias

from ledger import chain
from ledger.errors import BadFork, DatabaseUnavailable
from ledger.store.draft import Draft, Standing
from ledger.store.receipts import Appended

Value: TypeAlias = int | float | str | bytes | None
Row: TypeAlias = tuple[Value, ...]


class Rows(Protocol):
    """What a statement gives: the part of a DB-API cursor that both drivers share."""

    rowcount: int

    def fetchone(self) -> Row | None: ...

    def fetchall(self) -> list[Row]: ...


class Connection(Protocol):
    """The part of a DB-API connection that both drivers share: `sqlite3.Connection`, `psycopg.Connection`."""

    def execute(self, statement: str, parameters: Mapping[str, Value] | Sequence[Value] = ..., /) -> Rows: ...


class Span(NamedTuple):
    """The versions after `after`, up to `upto`, of one conversation."""

    standing: Standing
    after: int
    upto: int


class Engine(ABC):
    """One database. Thread-safe; what it holds of other threads' work is what is committed.

    The door for read models: `transaction()` gives a connection inside a write transaction of this database, so that
    a projection's rows and its tracking are committed together; `fetch` reads. Statements come from `.sql` files
    (`ledger.store.statements.load_statements(engine.name, file)`), tables from migrations of their own
    (`ledger.store.migrations.Component`).
    """

    name: str
    """"sqlite" or "postgres"."""
    database: str
    """How the database is called in messages: its address without a password."""
    statements: Mapping[str, str]

    def __init__(self) -> None:
        self.committed = Condition()
        """Notified after every append of this process; followers wait on it. Others' appends are found by polling."""

    @abstractmethod
    def append(self, batch: Draft) -> Appended:
        """Store a batch that has at least one event, whole or not at all; durable when it returns.

        Raises `Conflict`, `BadFork`, `DatabaseError`.
        """

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Connection]:
        """A write transaction: committed when the block ends, rolled back when it raises. Keep it short: on SQLite
        nobody else writes meanwhile. Raises `DatabaseError` classes for what the database cannot do."""

    @abstractmethod
    def fetch(self, statement: str, parameters: Mapping[str, Value] | Sequence[Value] = ()) -> list[Row]:
        """All rows of a reading statement (the text), from what is committed now. Raises `DatabaseError` classes."""

    @abstractmethod
    def close(self) -> None:
        """Close the connections. What was appended is stored already."""

    @abstractmethod
    def applied(self) -> dict[str, int]:
        """The number of the last migration of each component; nothing for a database without tables.

        Raises `NotALedger` when it holds something else.
        """

    @abstractmethod
    def applied_in(self, connection: Connection) -> dict[str, int]:
        """The same, inside `migrating()`."""

    @abstractmethod
    def migrating(self) -> AbstractContextManager[Connection]:
        """A transaction that changes the schema: one at a time in the whole database, with the migration table made."""

    @abstractmethod
    def run_script(self, connection: Connection, script: str) -> None:
        """Run the statements of a migration inside `migrating()`."""

    @abstractmethod
    def found(self, connection: Connection) -> None:
        """Write the ledger's own row and its books inside `migrating()`, where they are not there yet."""

    def select(self, name: str, **parameters: Value) -> list[Row]:
        """All rows of one of the ledger's own named statements."""
        return self.fetch(self.statements[name], parameters)

    def notify(self) -> None:
        """Wake the followers of this process."""
        with self.committed:
            self.committed.notify_all()

    def standing(self, tenant: str, conversation_id: str) -> Standing | None:
        """How a conversation stands; None when there is none."""
        rows = self.select("conversation_by_id", tenant=tenant, id=conversation_id)
        return Standing(*rows[0]) if rows else None  # type: ignore[arg-type]

    def lineage(self, standing: Standing, after: int, upto: int) -> list[Span]:
        """The spans that versions `after` < v <= `upto` are read from, oldest first: a branch starts in its source."""
        spans = []
        current, last = standing, min(upto, standing.version)
        while True:
            start = current.source_version or 0
            if last > max(start, after):
                spans.append(Span(current, max(start, after), last))
            last = min(last, start)
            if current.source_cid is None or last <= after:
                return spans[::-1]
            rows = self.select("conversation_by_cid", cid=current.source_cid)
            if not rows:
                raise DatabaseUnavailable(
                    database=self.database,
                    problem=f"the source of branch {current.id} is gone; run audit verify",
                )
            current = Standing(*rows[0])  # type: ignore[arg-type]

    def beginning(self, batch: Draft, books: int) -> Standing:
        """What the row of a new conversation starts from: for a batch that begins with a fork, at its source.

        Raises `BadFork` when the source is missing or does not reach the version.
        """
        tenant, conversation_id = batch.tenant, batch.conversation_id
        book = book_of(tenant, conversation_id, books)
        fork = batch.fork
        if fork is None:
            head = chain.genesis(tenant, conversation_id)
            return Standing(None, tenant, conversation_id, book, 0, head, 0, 0, 0, None, None)
        source_id, version = fork
        source = self.standing(tenant, source_id) if source_id != conversation_id else None
        if source is None or version > source.version:
            problem = "there is no such conversation" if source is None else f"it ends at {source.version}"
            raise BadFork(
                conversation_id=conversation_id,
                source_conversation_id=source_id,
                source_version=version,
                problem=problem,
            )
        head = chain.genesis(tenant, conversation_id, self.head_at(source, version))
        return Standing(None, tenant, conversation_id, book, version, head, 0, 0, 0, source.cid, version)

    def head_at(self, standing: Standing, version: int) -> bytes:
        """The chain's head after `version` as a reader of the conversation counts it: in a branch, versions up to
        the fork are those of the source and have the source's heads; before the first event it is head[0]."""
        spans = self.lineage(standing, version - 1, version)
        if spans:
            rows = self.select("head_at", cid=spans[0].standing.cid, version=version)
            return bytes(rows[0][0])  # type: ignore[arg-type]
        root = standing
        while root.source_cid is not None:
            root = Standing(*self.select("conversation_by_cid", cid=root.source_cid)[0])  # type: ignore[arg-type]
        return chain.genesis(root.tenant, root.id)


def book_of(tenant: str, conversation_id: str, books: int) -> int:
    """The book of a new conversation (DESIGN.md 4), of `books`."""
    digest = sha256(tenant.encode() + b"\0" + conversation_id.encode()).digest()
    return int.from_bytes(digest[:8]) % books
