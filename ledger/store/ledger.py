"""The ledger: append, read, follow. The face of the store; engines stand behind it."""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import cast
from uuid import UUID

from ledger.admission import admit, check_id
from ledger.chain import SALT_BYTES
from ledger.errors import BatchTooLarge, UnknownConversation
from ledger.events import MAX_BATCH, BaseEvent, Json
from ledger.recorded import EncodedEvent, RecordedEvent
from ledger.store.address import connect
from ledger.store.cursor import Cursor
from ledger.store.draft import Known, draft
from ledger.store.engine import Engine, Row
from ledger.store.idempotency import nothing_stored
from ledger.store.leases import Leases, Recovered
from ledger.store.leasing import MAIN, Lease
from ledger.store.migrations import LEDGER, Component, ensure
from ledger.store.reading import Page, follow_pages, read_spans
from ledger.store.receipts import Appended, Conversation, Head

PAGE_CONVERSATIONS = 500
FAR_FUTURE = 2**62
LEASE_SECONDS = 30.0
MOST_CONTEXTS = 100


class Ledger:
    """The conversations of one tenant in one database. Thread-safe; not for use across a fork.

    `engine` is the door for read models (`ledger.store.engine.Engine`).
    """

    def __init__(self, engine: Engine, tenant: str, actor: str) -> None:
        self.engine = engine
        self.tenant = tenant
        self.actor = actor

    @classmethod
    def open(
        cls,
        url: str,
        tenant: str = "default",
        actor: str = "local",
        *,
        create: bool = True,
        books: int | None = None,
        components: Sequence[Component] = (),
    ) -> "Ledger":
        """Open the ledger at `sqlite:///path` or `postgresql://…`, bringing its tables (and those of further
        `components`) up to date.

        `create=False` is for readers: an empty or absent database is `DatabaseMissing` then. `books` counts
        only when the ledger is made (64 on PostgreSQL, 1 on SQLite). Raises `DatabaseError` classes,
        `InvalidEvent` for a tenant or actor that is not an id.
        """
        check_id("tenant", tenant)
        check_id("actor", actor)
        engine = connect(url, books)
        try:
            ensure(engine, (LEDGER, *components), create)
        except BaseException:
            engine.close()
            raise
        return cls(engine, tenant, actor)

    def scoped(self, tenant: str | None = None, actor: str | None = None) -> "Ledger":
        """The same database as another tenant or actor sees it, on the same connections; close only the first
        one.

        Raises `InvalidEvent` for a tenant or actor that is not an id.
        """
        if tenant is not None:
            check_id("tenant", tenant)
        if actor is not None:
            check_id("actor", actor)
        return Ledger(self.engine, tenant or self.tenant, actor or self.actor)

    def append(
        self,
        conversation_id: str,
        events: Sequence[BaseEvent | Mapping[str, Json]],
        expected_version: int | None = None,
        known: Known = "conflict",
        lease: Lease | None = None,
    ) -> Appended:
        """Append a batch, whole or not at all; durable when it returns (DESIGN.md 4).

        An event without an id is given one (a UUIDv7), so it is new every time. Deltas are dropped and
        counted in `live`. An empty batch stores nothing, makes no conversation and is answered by an empty
        receipt. A batch that starts with a `fork` makes a branch. `lease` is the right of the turn's recorder
        (`begin_turn`).

        Raises `BadInput` classes for events that cannot be taken, `VersionConflict`, `IdConflict`, `BadFork`,
        `TurnBusy`, `LeaseLost`, `DatabaseError` classes.
        """
        if len(events) > MAX_BATCH:
            raise BatchTooLarge(field="batch", limit=MAX_BATCH, actual=len(events))
        encoded = [admit(event, conversation_id, made_id()) for event in events]
        return self.append_encoded(conversation_id, encoded, expected_version, known, lease)

    def append_encoded(
        self,
        conversation_id: str,
        encoded: Sequence[EncodedEvent],
        expected_version: int | None = None,
        known: Known = "conflict",
        lease: Lease | None = None,
    ) -> Appended:
        """The same for events that `ledger.admission.admit` (or who vouches for as much) has made."""
        check_id("conversation_id", conversation_id)
        if lease is not None and lease.lapsed:
            raise lease.lost("it lapsed; renew it, or begin a new turn")
        batch = draft(self.tenant, conversation_id, self.actor, encoded, expected_version, known, lease)
        return self.engine.append(batch) if batch.events else nothing_stored(batch)

    def read(self, conversation_id: str, after: int = 0, upto: int | None = None) -> Iterator[RecordedEvent]:
        """The events of a conversation in order, versions `after` < v <= `upto` (None: as it stands now).

        A branch begins with the events of its source, which keep their own `conversation_id`. Raises
        `UnknownConversation` at once; a generator, so memory holds one page.
        """
        standing = self.engine.standing(self.tenant, conversation_id)
        if standing is None:
            raise UnknownConversation(conversation_id=conversation_id, hint="")
        spans = self.engine.lineage(standing, after, FAR_FUTURE if upto is None else upto)
        return read_spans(self.engine, spans)

    def head(self, conversation_id: str) -> Head | None:
        """How a conversation stands; None when there is none."""
        standing = self.engine.standing(self.tenant, conversation_id)
        if standing is None:
            return None
        source = self.engine.source(standing)
        return Head(
            standing.id,
            standing.version,
            standing.head,
            standing.book,
            standing.created_at,
            standing.recorded_at,
            None if source is None else source.id,
            standing.source_version,
        )

    def conversations(
        self, prefix: str = "", newest_first: bool = False, limit: int | None = None
    ) -> Iterator[Conversation]:
        """The tenant's conversations whose ids start with `prefix`, by id, or the last written first."""
        found = self._newest(prefix) if newest_first else self._by_id(prefix)
        return found if limit is None else islice(found, limit)

    def _by_id(self, prefix: str) -> Iterator[Conversation]:
        after = ""
        while True:
            rows = self.engine.select(
                "conversations_by_id", tenant=self.tenant, prefix=prefix, after=after, limit=PAGE_CONVERSATIONS
            )
            for row in rows:
                yield _conversation(row)
            if len(rows) < PAGE_CONVERSATIONS:
                return
            after = cast(str, rows[-1][2])

    def _newest(self, prefix: str) -> Iterator[Conversation]:
        recorded_at, cid = FAR_FUTURE, FAR_FUTURE
        while True:
            rows = self.engine.select(
                "conversations_by_time",
                tenant=self.tenant,
                prefix=prefix,
                recorded_at=recorded_at,
                cid=cid,
                limit=PAGE_CONVERSATIONS,
            )
            for row in rows:
                yield _conversation(row)
            if len(rows) < PAGE_CONVERSATIONS:
                return
            cid, recorded_at = cast(int, rows[-1][0]), cast(int, rows[-1][7])

    def cursor(self) -> Cursor:
        """The end of the ledger now: a follower that starts here sees what comes later."""
        return Cursor(self.engine.positions())

    def follow(
        self, after: Cursor | None = None, live: bool = False, all_tenants: bool = False
    ) -> Iterator[RecordedEvent]:
        """Every event after a cursor (None: from the beginning), once, in order within each book.

        Ends where the ledger stood when it began, or with `live` never: it waits for more.
        `cursor.after(event)` is the place to resume. Of this tenant, unless `all_tenants` (for projections,
        which serve all).
        """
        return (event for page in self.follow_pages(after, live, all_tenants) for event in page.events)

    def follow_pages(
        self,
        after: Cursor | None = None,
        live: bool = False,
        all_tenants: bool = False,
        idle: float | None = None,
    ) -> Iterator[Page]:
        """The same in pages, each with the cursor that a reader has once it took the page: commit that with
        what was made of the events. A page may be empty. With `live` and `idle`, an empty page comes when
        nothing happened for `idle` seconds."""
        tenant = None if all_tenants else self.tenant
        return follow_pages(self.engine, after or Cursor(), tenant, live, idle)

    def contexts(self, conversation_id: str) -> dict[str | None, str]:
        """The digest of the context in force in each lane (None: the main one), as far as the newest steps and
        contexts of the conversation tell."""
        standing = self.engine.standing(self.tenant, conversation_id)
        if standing is None:
            return {}
        found: dict[str | None, str] = {}
        for (body,) in self.engine.select("last_contexts", cid=standing.cid, limit=MOST_CONTEXTS):
            told = json.loads(bytes(cast(bytes, body))[SALT_BYTES:]) if body is not None else {}
            digest = told.get("digest") or told.get("context")
            if isinstance(digest, str):
                found.setdefault(told.get("agent_id"), digest)
        return found

    def stored_versions(self, conversation_id: str, event_ids: Sequence[str]) -> dict[str, int]:
        """The versions of those of the event ids that a conversation has."""
        standing = self.engine.standing(self.tenant, conversation_id)
        if standing is None or not event_ids:
            return {}
        asked = [EncodedEvent(event_id, "note", None, None, b"") for event_id in event_ids]
        batch = draft(self.tenant, conversation_id, self.actor, asked, None, "skip")
        return {known.id: known.version for known in self.engine.known(self.engine.ask, standing, batch)}

    @property
    def leases(self) -> Leases:
        """Turns in progress: `begin`, `renew`, `end`, `checkpoint`, `recover` (DESIGN.md 4, 5)."""
        return Leases(self.engine, self.tenant, self.actor)

    def begin_turn(
        self,
        conversation_id: str,
        lane: str | None = None,
        *,
        turn_id: str | None = None,
        events: Sequence[BaseEvent | Mapping[str, Json]] | None = None,
        seconds: float = LEASE_SECONDS,
        known: Known = "conflict",
        holder: str | None = None,
    ) -> Lease:
        """Take a fenced lease on a lane (None: the main agent's; else an `agent_id`) and store the turn's
        opening.

        `events` are the opening, by default one `turn_start`; both happen, or neither. The lease is good for
        `seconds`, renewed by `leases.renew`, given back by `leases.end` after the turn's terminal. A turn
        that a dead recorder left on the lane is closed first. Raises `TurnBusy` when somebody else holds the
        lane, and what `append` raises.
        """
        check_id("conversation_id", conversation_id)
        turn = made_id() if turn_id is None else turn_id
        check_id("turn_id", turn)
        if lane is not None:
            check_id("lane", lane)
        opening: Sequence[BaseEvent | Mapping[str, Json]] = events or [
            {"type": "turn_start", "turn_id": turn, **({} if lane is None else {"agent_id": lane})}
        ]
        encoded = [admit(event, conversation_id, made_id()) for event in opening]
        return self.leases.begin(conversation_id, lane or MAIN, turn, encoded, seconds, known, holder)

    def recover(self, conversation_id: str | None = None, force: bool = False) -> list[Recovered]:
        """Close the turns whose recorders are gone: text that was checkpointed is kept, then `abort` with
        reason `crash`. Gone means: the lease lapsed, or its process ended on this machine; with `force`, any.
        """
        return self.leases.recover(conversation_id, force)

    def close(self) -> None:
        """Close the connections; what was appended is stored already."""
        self.engine.close()

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def made_id() -> str:
    """A new event id: a UUIDv7 (RFC 9562 5.7), so that ids sort by time."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF << 76) | 0x7 << 76
    return str(UUID(int=value & ~(0x3 << 62) | 0x2 << 62))


def _conversation(row: Row) -> Conversation:
    _, _, name, book, version, head, created_at, recorded_at, _, _, source_version, source = row
    # The columns of the named statements, in their order.
    return Conversation(name, version, head, book, created_at, recorded_at, source, source_version)  # type: ignore[arg-type]
