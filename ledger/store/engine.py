"""What an engine does for the ledger, and what both engines do alike: what a batch meets, and the roots of a
branch."""

import itertools
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from typing import NamedTuple, Protocol, TypeAlias, TypeVar, cast

from ledger import chain
from ledger.errors import BadFork, Conflict, DatabaseUnavailable
from ledger.recorded import RecordedEvent
from ledger.store.draft import Draft, Sealed, Standing, seal
from ledger.store.idempotency import KnownEvent, check_fork, check_version, settle
from ledger.store.leasing import Held, check_leases
from ledger.store.receipts import Appended

Value: TypeAlias = int | float | str | bytes | Sequence[str] | None
Row: TypeAlias = tuple[Value, ...]
Ask: TypeAlias = Callable[[str, Mapping[str, Value]], list[Row]]
"""Runs one of the ledger's named statements with parameters: on what is committed, or inside a
transaction."""

Answer = TypeVar("Answer")

MOST_STANDINGS = 100_000
PAGE_EVENTS = 1_000
PAGE_BYTES = 4 * 1024 * 1024


class Rows(Protocol):
    """What a statement gives: the part of a DB-API cursor that both drivers share."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Row | None: ...

    def fetchall(self) -> list[Row]: ...


class Connection(Protocol):
    """The part of a connection that both drivers share. Named parameters are written as
    `ledger.store.statements.load_statements` spells them for the engine."""

    def execute(self, statement: str, parameters: Mapping[str, Value] | Sequence[Value] = ..., /) -> Rows: ...

    def executemany(self, statement: str, parameters: Sequence[Mapping[str, Value]], /) -> object: ...


class Span(NamedTuple):
    """The versions after `after`, up to `upto`, of one conversation."""

    standing: Standing
    after: int
    upto: int


class Evidence(NamedTuple):
    """A stored event as the audit wants it: all columns, as they lie there. `position` None: no batch holds
    it."""

    version: int
    id: str
    type: str
    header: bytes
    head: bytes
    state: bytes | None
    erased: bytes | None
    position: int | None


class Engine(ABC):
    """One database. Thread-safe; what it holds of other threads' work is what is committed.

    The door for read models: `transaction()` gives a connection inside a write transaction of this database,
    so that a projection's rows and its tracking are committed together; `fetch` reads. Statements come from
    `.sql` files (`ledger.store.statements.load_statements(engine.name, file)`), tables from migrations of
    their own (`ledger.store.migrations.Component`). On PostgreSQL our tables lie in the schema `turnledger`.
    """

    name: str
    """"sqlite" or "postgres"."""
    database: str
    """How the database is called in messages: its address without a password."""
    statements: Mapping[str, str]

    def __init__(self) -> None:
        self.appends = 0
        """Changes with every append of this process; with `wait_for_append` a follower misses none."""
        self._count = itertools.count(1)
        self._followers = 0
        self._appended = threading.Condition()
        self._standings: dict[tuple[str, str], Standing] = {}
        self._leases: dict[
            tuple[str, str], tuple[int, list[Held]]
        ] = {}  # with the fence that they were seen at
        self._books: int | None = None

    # -- what each engine does in its own way

    @abstractmethod
    def append(self, batch: Draft) -> Appended:
        """Store a batch that has at least one event, whole or not at all; durable when it returns.

        Raises `Conflict`, `BadFork`, `DatabaseError`.
        """

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Connection]:
        """A write transaction: committed when the block ends, rolled back when it raises. Keep it short: on
        SQLite nobody else writes meanwhile, and an append inside the block would wait for itself. Raises
        `DatabaseError` classes for what the database cannot do."""

    @abstractmethod
    def transact(self, work: Callable[[Connection], Answer]) -> Answer:
        """What `work` gives, done in a write transaction of its own; from the beginning again where others
        were quicker. Raises as `transaction` does, and what `work` raises."""

    @abstractmethod
    def append_in(self, connection: Connection, batch: Draft) -> tuple[Appended, Standing]:
        """Store a batch inside a transaction; gives the answer and where its conversation stands then.

        Raises `Conflict`, `BadFork`.
        """

    @abstractmethod
    def clock(self, connection: Connection) -> int:
        """Microseconds UTC by the clock that all holders of leases share."""

    @abstractmethod
    def fetch(self, statement: str, parameters: Mapping[str, Value] | Sequence[Value] = ()) -> list[Row]:
        """All rows of a reading statement (its text), from what is committed now. Raises `DatabaseError`
        classes."""

    @abstractmethod
    def conversation_page(self, standing: Standing, after: int, upto: int) -> list[RecordedEvent]:
        """Own events of a conversation, versions after `after`, in order: one page of those up to `upto`."""

    @abstractmethod
    def book_page(
        self, book: int, after: int, upto: int, tenant: str | None
    ) -> tuple[list[RecordedEvent], int]:
        """Events of a book, positions after `after`, in order: one page of those up to `upto`, and the
        position that the page reaches. Only those of `tenant`, if given."""

    @abstractmethod
    def known(self, ask: Ask, standing: Standing, batch: Draft) -> list[KnownEvent]:
        """Which ids of a batch are stored already."""

    @abstractmethod
    def close(self) -> None:
        """Close the connections. What was appended is stored already."""

    @abstractmethod
    def integrity(self) -> list[str]:
        """What the database itself finds wrong with its files, as far as it can tell."""

    @abstractmethod
    def applied(self) -> dict[str, int]:
        """The number of the last migration of each component; nothing for a database without tables.

        Raises `NotALedger` when it holds something else.
        """

    @abstractmethod
    def migrating(self) -> AbstractContextManager[Connection]:
        """A transaction that changes the schema: one at a time in the whole database; the migration table is
        there."""

    @abstractmethod
    def run_script(self, connection: Connection, script: str) -> None:
        """Run the statements of a migration inside `migrating()`."""

    @abstractmethod
    def own_books(self) -> int:
        """How many books a ledger that is made now gets."""

    # -- what both do alike

    def append_together(self, batches: Sequence[Draft]) -> list[Appended]:
        """Store batches of different conversations in one transaction, all or none. Raises as `append` does."""
        stored = self.transact(lambda connection: [self.append_in(connection, batch) for batch in batches])
        for _, standing in stored:
            self.appended(standing)
        return [answer for answer, _ in stored]

    def ask(self, name: str, parameters: Mapping[str, Value]) -> list[Row]:
        """All rows of one of the ledger's own named statements, from what is committed now."""
        return self.fetch(self.statements[name], parameters)

    def select(self, name: str, **parameters: Value) -> list[Row]:
        """All rows of one of the ledger's own named statements."""
        return self.fetch(self.statements[name], parameters)

    def applied_in(self, connection: Connection) -> dict[str, int]:
        """As `applied`, inside `migrating()`."""
        rows = connection.execute(self.statements["migrations"], ()).fetchall()
        return dict(cast("list[tuple[str, int]]", rows))

    def found(self, connection: Connection) -> None:
        """Write the ledger's own row and its books inside `migrating()`, where they are not there yet."""
        if connection.execute(self.statements["own_row"], ()).fetchone() is None:
            values: dict[str, Value] = {"books": self.own_books(), "now": time.time_ns() // 1000}
            connection.execute(self.statements["make_own_row"], values)
            connection.execute(self.statements["make_books"], values)

    def positions(self) -> dict[int, int]:
        """The last position of each book."""
        return dict(cast("list[tuple[int, int]]", self.select("books")))

    def appended(self, standing: Standing) -> None:
        """Remember how a conversation stands after an append, and wake the followers of this process."""
        if len(self._standings) >= MOST_STANDINGS:
            self._standings.clear()
        self._standings[standing.tenant, standing.id] = standing
        self.appends = next(self._count)
        if self._followers:
            with self._appended:
                self._appended.notify_all()

    def remember(self, standing: Standing, held: list[Held]) -> None:
        """Remember a conversation after its leases changed."""
        self._leases[standing.tenant, standing.id] = (standing.fence, held)
        self.appended(standing)

    def wait_for_append(self, seen: int, seconds: float) -> bool:
        """Wait until this process appends again since `appends` was `seen`, at most so long; whether it
        has."""
        with self._appended:
            # First to be counted, then to look: who appends now either sees the follower or is seen by it.
            self._followers += 1
            try:
                return self.appends != seen or (self._appended.wait(seconds) and self.appends != seen)
            finally:
                self._followers -= 1

    def remembered(self, batch: Draft) -> Standing | None:
        """Where a conversation stood last, when a batch may be sealed on that alone."""
        standing = self._standings.get((batch.tenant, batch.conversation_id))
        if (
            standing is None
            or batch.known == "skip"
            or batch.fork is not None
            or batch.expected_version not in (None, standing.version)
        ):
            return None
        if (standing.fence or batch.lease is not None) and not self._is_allowed(batch, standing):
            return None
        return standing

    def _is_allowed(self, batch: Draft, standing: Standing) -> bool:
        """Whether the leases allow a batch, as far as this process knows them: the fence tells when they
        changed."""
        fence, held = self._leases.get((standing.tenant, standing.id), (0, []))
        if fence != standing.fence:
            return False
        try:
            check_leases(standing.id, batch.events, batch.lease, held, time.time_ns() // 1000)
        except Conflict:
            return False  # they may have changed: looked at again before it is refused
        return True

    def leases_in(self, ask: Ask, standing: Standing) -> list[Held]:
        """The leases of a conversation."""
        if not standing.fence:
            return []
        held = [Held(*row) for row in ask("leases", {"cid": standing.cid})]  # type: ignore[arg-type]
        if len(self._leases) >= MOST_STANDINGS:
            self._leases.clear()
        self._leases[standing.tenant, standing.id] = (standing.fence, held)
        return held

    def seal(self, batch: Draft, standing: Standing) -> Sealed:
        """Chain a batch with this machine's clock and randomness."""
        return seal(batch, standing, time.time_ns() // 1000, os.urandom(chain.SALT_BYTES * len(batch.events)))

    def settled(self, ask: Ask, batch: Draft) -> tuple[Draft | Appended, Standing]:
        """What is still to be stored of a batch (or the answer when nothing is), and where its conversation
        stands.

        Raises `IdConflict`, `VersionConflict`, `BadFork`, `TurnBusy`, `LeaseLost`.
        """
        rows = ask("conversation_by_id", {"tenant": batch.tenant, "id": batch.conversation_id})
        if not rows:
            if batch.lease is not None:
                raise batch.lease.lost("the conversation is gone")
            standing = self._beginning(ask, batch)
            check_version(batch, standing)
            return batch, standing
        standing = _standing(rows[0])
        settled = settle(batch, standing.book, self.known(ask, standing, batch))
        if isinstance(settled, Draft):
            check_fork(settled, standing)
            check_version(settled, standing)
            if standing.fence or batch.lease is not None:
                held = self.leases_in(ask, standing)
                check_leases(standing.id, settled.events, batch.lease, held, time.time_ns() // 1000)
        return settled, standing

    def standing(self, tenant: str, conversation_id: str, ask: Ask | None = None) -> Standing | None:
        """How a conversation stands; None when there is none."""
        rows = (ask or self.ask)("conversation_by_id", {"tenant": tenant, "id": conversation_id})
        return _standing(rows[0]) if rows else None

    def source(self, standing: Standing, ask: Ask | None = None) -> Standing | None:
        """The conversation that a branch left; None for one that is no branch.

        Raises `DatabaseUnavailable` when its row is gone.
        """
        if standing.source_cid is None:
            return None
        rows = (ask or self.ask)("conversation_by_cid", {"cid": standing.source_cid})
        if not rows:
            problem = f"the source of branch {standing.id} is gone; run audit verify"
            raise DatabaseUnavailable(database=self.database, problem=problem)
        return _standing(rows[0])

    def lineage(self, standing: Standing, after: int, upto: int, ask: Ask | None = None) -> list[Span]:
        """The spans that versions `after` < v <= `upto` are read from, oldest first: a branch starts in its
        source."""
        spans: list[Span] = []
        current: Standing | None = standing
        last = min(upto, standing.version)
        while current is not None and last > after:
            start = current.source_version or 0
            if last > start:
                spans.append(Span(current, max(start, after), last))
            last = min(last, start)
            current = self.source(current, ask)
        return spans[::-1]

    def head_at(self, standing: Standing, version: int, ask: Ask | None = None) -> bytes | None:
        """The chain's head after `version` as a reader of the conversation counts: in a branch, versions up
        to the fork are those of the source and have the source's heads; before the first event it is head[0].
        None when the event is not there."""
        for span in self.lineage(standing, version - 1, version, ask):
            rows = (ask or self.ask)("head_at", {"cid": span.standing.cid, "version": version})
            return cast(bytes, rows[0][0]) if rows else None
        root = standing
        while (source := self.source(root, ask)) is not None:
            root = source
        return chain.genesis(root.tenant, root.id)

    def _beginning(self, ask: Ask, batch: Draft) -> Standing:
        """What the row of a new conversation starts from: for a batch that begins with a fork, at its source.

        Raises `BadFork` when the source is missing or does not reach the version.
        """
        tenant, conversation_id = batch.tenant, batch.conversation_id
        if self._books is None:
            self._books = int(cast(int, ask("own_row", {})[0][0]))
        book = book_of(tenant, conversation_id, self._books)
        if batch.fork is None:
            head = chain.genesis(tenant, conversation_id)
            return Standing(None, tenant, conversation_id, book, 0, head, 0, 0, 0, None, None)
        source_id, version = batch.fork
        source = self.standing(tenant, source_id, ask) if source_id != conversation_id else None
        reached = None
        if source is not None and version <= source.version:
            reached = self.head_at(source, version, ask)
        if source is None or reached is None:
            problem = "there is no such conversation" if source is None else f"it ends at {source.version}"
            raise BadFork(
                conversation_id=conversation_id,
                source_conversation_id=source_id,
                source_version=version,
                problem=problem,
            )
        head = chain.genesis(tenant, conversation_id, reached)
        return Standing(None, tenant, conversation_id, book, version, head, 0, 0, 0, source.cid, version)


def book_of(tenant: str, conversation_id: str, books: int) -> int:
    """The book of a new conversation (DESIGN.md 4), of `books`."""
    digest = sha256(tenant.encode() + b"\0" + conversation_id.encode()).digest()
    return int.from_bytes(digest[:8]) % books


def _standing(row: Row) -> Standing:
    return Standing(*row)  # type: ignore[arg-type] # the columns of the named statements, in their order
