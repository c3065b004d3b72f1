"""What a recorder writes, on its way into the ledger: in order, batched, retried, from a thread of its own.

The runtime's thread only puts events here. They are appended at a step boundary, before a tool starts, when
somebody waits for them, and at the latest after `BEAT_SECONDS`; with the same ids again when an append
fails, so that none is ever doubled. The thread also keeps the turn's lease and the checkpoints of what
streams.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from ledger.checkpoints import Checkpoints
from ledger.errors import (
    DatabaseBusy,
    DatabaseError,
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseUnavailable,
    LeaseLost,
    RecordingStopped,
    TurnBusy,
    TurnledgerError,
)
from ledger.events import MAX_BATCH
from ledger.receipt import Receipt, again
from ledger.recorded import EncodedEvent
from ledger.store.draft import Known
from ledger.store.leasing import BESIDE, MAIN, Lease
from ledger.store.ledger import LEASE_SECONDS, Ledger
from ledger.store.receipts import Appended
from ledger.turns import OpenBlock
from ledger.turns.encoding import as_note

BEAT_SECONDS = 0.25
"""How long an event, or text that streams, waits at most."""
GATHER_SECONDS = 0.005
"""How long an append waits at a step boundary for what comes right after it."""
MEMORY_BYTES = 64 * 1024 * 1024
"""What is kept while the database does not answer."""
AHEAD_BYTES = 8 * 1024 * 1024
"""What is kept while it does: a runtime that is faster waits."""
STALLED_SECONDS = 1.0
PATIENCE_SECONDS = 60.0
"""How long the database may be away while somebody waits for it."""
LONGEST_PAUSE = 2.0
BATCH_BYTES = 8 * 1024 * 1024
OVERHEAD_BYTES = 400
"""Of an event in memory, beside its body."""

RETRIED = (DatabaseBusy, DatabaseFull, DatabaseReadOnly, DatabaseUnavailable)
T = TypeVar("T")


class Entry(NamedTuple):
    """One event that waits; `begins` and `ends` say that it is the first or the last of its turn."""

    event: EncodedEvent
    begins: bool
    ends: bool


class Outbox:
    """The way of one conversation's recorder into the ledger. `close` it; what was put before is stored by
    then."""

    def __init__(
        self,
        ledger: Ledger,
        conversation_id: str,
        open_blocks: Callable[[], list[OpenBlock]],
        *,
        lane: str = MAIN,
        known: Known = "conflict",
        lease_seconds: float = LEASE_SECONDS,
        holder: str | None = None,
        memory: int = MEMORY_BYTES,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self.stored = 0
        """How many of the events that were put are stored."""
        self.version: int | None = None
        """The conversation's version after the last append."""
        self.added = self.known = self.differing = 0
        """Events that are new in the ledger, that were known, and those of them that differ from what is
        stored."""
        self._ledger = ledger
        self._conversation_id = conversation_id
        self._open_blocks = open_blocks
        self._lane = lane
        self._known = known
        self._lease_seconds = lease_seconds
        self._holder = holder
        self._memory = memory
        self._patience = patience
        self._changed = threading.Condition()
        self._waiting: deque[Entry] = deque()
        self._put = 0
        self._bytes = 0
        self._due = float("inf")
        self._waiters = 0
        self._calls: list[tuple[int, Callable[[BaseException | None], None]]] = []
        self._failure: TurnledgerError | None = None
        self._trouble_since: float | None = None
        self._closed = False
        self._stop = threading.Event()
        self._lease: Lease | None = None
        self._checkpoints = Checkpoints()
        self._checkpointed = self._renewed = self._progress = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"recording {conversation_id}", daemon=True)
        self._thread.start()

    # -- for the runtime's threads

    def put(self, event: EncodedEvent, begins: bool = False, ends: bool = False) -> None:
        """Take an event. Waits while too much is in memory; raises when it could never be stored."""
        size = len(event.body) + OVERHEAD_BYTES
        with self._changed:
            while self._failure is None and self._bytes and self._bytes + size > self._room():
                if self._trouble_since is not None:
                    self._fail(self._stopped(f"{self._bytes:,} bytes wait in memory, which is the limit"))
                else:
                    self._due = 0.0
                    self._changed.notify_all()
                    self._changed.wait(BEAT_SECONDS)
            if self._failure is not None:
                raise again(self._failure)
            if not self._waiting:
                self._progress = time.monotonic()
            self._waiting.append(Entry(event, begins, ends))
            self._put += 1
            self._bytes += size

    def _room(self) -> int:
        """How many bytes may wait: few while the database keeps up, all that is allowed while it does not
        answer."""
        stalled = self._trouble_since is not None or time.monotonic() - self._progress > STALLED_SECONDS
        return self._memory if stalled else min(self._memory, AHEAD_BYTES)

    def hurry(self, seconds: float = GATHER_SECONDS) -> None:
        """Have what was put stored soon."""
        due = time.monotonic() + seconds
        if due < self._due:
            with self._changed:
                self._due = min(self._due, due)
                self._changed.notify_all()

    def flush(self) -> Receipt:
        """Have what was put stored now; the receipt tells when it is."""
        self.hurry(0.0)
        return Receipt(self, self._put)

    def wait(self, upto: int) -> None:
        """Return when so many events are stored. Raises as `Receipt.wait`."""
        with self._changed:
            self._waiters += 1
            try:
                self._changed.wait_for(lambda: self.stored >= upto or self._failure is not None)
            finally:
                self._waiters -= 1
            if self.stored < upto and self._failure is not None:
                raise again(self._failure)

    def when(self, upto: int, call: Callable[[BaseException | None], None]) -> None:
        """Have `call` called, from some thread, when so many events are stored, or with the error when they
        cannot be."""
        with self._changed:
            if self.stored < upto and self._failure is None:
                self._calls.append((upto, call))
                return
            error = None if self.stored >= upto else again(self._failure or TurnledgerError())
        call(error)

    def close(self) -> None:
        """Store what is left, and end the thread. Raises as `Receipt.wait`."""
        with self._changed:
            self._closed = True
            self._due = 0.0
            self._changed.notify_all()
        try:
            self.wait(self._put)
        finally:
            self._thread.join()

    def abandon(self) -> None:
        """End the thread without waiting for what is left; nothing is put any more."""
        with self._changed:
            self._closed = True
            self._due = 0.0
            self._changed.notify_all()

    # -- the thread

    def _run(self) -> None:
        try:
            while self._work():
                pass
        except TurnledgerError as error:
            with self._changed:
                self._fail(self._stopped(str(error)) if isinstance(error, DatabaseError) else error)
        except Exception as error:  # a fault of ours: whoever waits must hear of it
            with self._changed:
                self._fail(self._stopped(f"{type(error).__name__}: {error}"))
        finally:
            self._give_back()

    def _work(self) -> bool:
        """Wait until something is to be done, and do it. False when there is nothing left to do."""
        with self._changed:
            beat = time.monotonic() + BEAT_SECONDS
            while (now := time.monotonic()) < min(self._due, beat) and self._failure is None:
                self._changed.wait(min(self._due, beat) - now)
            self._due = float("inf")
            if self._failure is not None:
                return False
            upto = self._put
        while self.stored < upto:
            self._store(self._take())
        with self._changed:
            if self._closed and not self._waiting:
                return False
        self._tend()
        return True

    def _take(self) -> list[Entry]:
        """The next entries that can be stored together: of one turn, and not too many."""
        taken: list[Entry] = []
        size = 0
        with self._changed:
            for entry in self._waiting:
                if taken and (entry.begins or size + len(entry.event.body) > BATCH_BYTES):
                    break
                taken.append(entry)
                size += len(entry.event.body)
                if entry.ends or len(taken) == MAX_BATCH:
                    break
        return taken

    def _store(self, entries: list[Entry]) -> None:
        """Store entries; they leave the memory only when they are stored."""
        events = [entry.event for entry in entries]
        if entries[0].begins:
            self._give_back()
            self._lease = self._kept_at(self._beginning(events))
            if self._lease.opening is not None:
                self._count(self._lease.opening)
            self._checkpoints = Checkpoints()
            self._renewed = time.monotonic()
        else:
            self._kept_at(lambda: self._append(events))
        if entries[-1].ends:
            self._give_back()
        self._done(entries)

    def _beginning(self, events: list[EncodedEvent]) -> Callable[[], Lease]:
        """Take the lane together with a turn's opening; with a token, so that it can be tried again."""
        turn_id, token = events[0].turn_id or "", secrets.token_hex(16)
        begin, seconds = self._ledger.leases.begin, self._lease_seconds
        return lambda: begin(
            self._conversation_id, self._lane, turn_id, events, seconds, self._known, self._holder, token
        )

    def _append(self, events: list[EncodedEvent]) -> None:
        try:
            done = self._ledger.append_encoded(
                self._conversation_id, events, known=self._known, lease=self._lease
            )
        except TurnBusy:
            if self._lease is not None:
                raise
            # Late events of a turn that ended, while somebody else's runs: kept as notes, which may stand
            # beside it.
            name = self._conversation_id
            beside = [event if event.type in BESIDE else as_note(event, name) for event in events]
            done = self._ledger.append_encoded(self._conversation_id, beside, known=self._known)
        self._count(done)

    def _count(self, done: Appended) -> None:
        if done.last_version is not None:
            self.version = done.last_version
        if done.first_version is not None and done.last_version is not None and not done.replayed:
            self.added += done.last_version - done.first_version + 1
        self.known += done.known
        self.differing += done.differing

    def _kept_at(self, work: Callable[[], T], renewing: bool = False) -> T:
        """What `work` gives; tried again while the database is away, as long as there is room and
        patience."""
        pause = 0.05
        while True:
            try:
                result = work()
            except LeaseLost:
                if self._lease is None or not self._lease.lapsed or renewing:
                    raise
                self._kept_at(self._renew, renewing=True)  # late, but nobody else wanted the lane
            except RETRIED as error:
                self._wait_out(error, pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            else:
                self._trouble_since = None
                return result

    def _wait_out(self, error: DatabaseError, pause: float) -> None:
        now = time.monotonic()
        with self._changed:
            if self._trouble_since is None:
                self._trouble_since = now
            waited = self._waiters or self._calls or self._closed
            if waited and now - self._trouble_since > self._patience:
                raise self._stopped(str(error))
        self._stop.wait(pause)
        if self._failure is not None:
            raise self._failure

    def _done(self, entries: list[Entry]) -> None:
        with self._changed:
            for entry in entries:
                self._waiting.popleft()
                self._bytes -= len(entry.event.body) + OVERHEAD_BYTES
            self.stored += len(entries)
            self._progress = time.monotonic()
            ready = [call for upto, call in self._calls if upto <= self.stored]
            self._calls = [(upto, call) for upto, call in self._calls if upto > self.stored]
            self._changed.notify_all()
        for call in ready:
            call(None)

    def _tend(self) -> None:
        """Renew the lease and checkpoint what streams, where it is time."""
        lease, now = self._lease, time.monotonic()
        if lease is None:
            return
        try:
            if now - self._renewed > lease.seconds / 3:
                self._renew()
            if now - self._checkpointed >= BEAT_SECONDS:
                self._checkpointed = now
                put = self._put
                part = self._checkpoints.next(self._open_blocks(), put, self.stored)
                if not part.is_empty:
                    self._ledger.leases.checkpoint(lease, part.pieces, part.done)
                self._checkpoints.written(part)
        except RETRIED:
            pass  # the next beat tries again

    def _renew(self) -> None:
        assert self._lease is not None, "only a lease is renewed"
        self._ledger.leases.renew(self._lease)
        self._renewed = time.monotonic()

    def _give_back(self) -> None:
        lease, self._lease = self._lease, None
        for pause in (0.05, 0.2, 0.0):
            if lease is None:
                return
            try:
                self._ledger.leases.end(lease)
            except RETRIED:
                self._stop.wait(pause)
            except TurnledgerError:
                return  # it lapses by itself
            else:
                return

    def _stopped(self, problem: str) -> RecordingStopped:
        left = self._put - self.stored
        return RecordingStopped(
            conversation_id=self._conversation_id,
            problem=problem,
            stored=self.stored,
            lost=left,
            size=self._bytes,
            version=self.version or 0,
        )

    def _fail(self, error: TurnledgerError) -> None:
        """Nothing is stored any more; whoever waits is told. Holds the lock."""
        if self._failure is None:
            self._failure = error
        self._stop.set()
        calls, self._calls = self._calls, []
        self._changed.notify_all()
        for _, call in calls:
            call(again(self._failure))
