"""Leases and checkpoints in the database: turns begin, go on, end, and are closed when their recorder
died."""

import secrets
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from ledger.chain import SALT_BYTES
from ledger.errors import LeaseLost
from ledger.events import JsonObject
from ledger.intake.mending import read_record
from ledger.recorded import EncodedEvent
from ledger.store.draft import Known, Standing, draft
from ledger.store.engine import Connection, Engine, Row, Value
from ledger.store.holders import holder_name, is_dead, this_process
from ledger.store.leasing import Held, Lease, OpenText, busy, closing
from ledger.store.receipts import Appended

MICROSECONDS = 1_000_000


class Piece(NamedTuple):
    """More text of a block that streams: piece `part` (from 0) of block `block` (the recorder's own number).

    `event` are the JSON bytes of the event that it will be, without its text, with part 0; `text` is a JSON
    string.
    """

    block: int
    part: int
    event: bytes | None
    text: bytes


class Recovered(NamedTuple):
    """A turn that was closed because its recorder is gone, and the versions of what closed it (None: it had
    ended)."""

    conversation_id: str
    turn_id: str
    lane: str
    holder: str
    first_version: int | None
    last_version: int | None


class Leases:
    """The turns in progress of one tenant."""

    def __init__(self, engine: Engine, tenant: str, actor: str) -> None:
        self._engine = engine
        self._tenant = tenant
        self._actor = actor

    def begin(
        self,
        conversation_id: str,
        lane: str,
        turn_id: str,
        opening: Sequence[EncodedEvent],
        seconds: float,
        known: Known,
        holder: str | None = None,
        token: str | None = None,
    ) -> Lease:
        """Take a lane and store the turn's opening, at once or not at all; a dead turn of the lane is closed
        first. With the same `token` it may be tried again when the answer was lost.

        Raises `TurnBusy`, and what an append raises.
        """
        secret = token or secrets.token_hex(16)
        named = holder or holder_name()
        began = time.monotonic()

        def work(connection: Connection) -> tuple[Held, Standing, list[Held], Appended | None]:
            now = self._engine.clock(connection)
            first: list[EncodedEvent] = []
            standing = self._locked(connection, conversation_id)
            others = self._held(connection, standing)
            for held in others:
                if standing is None or held.lane != lane:
                    continue
                if held.token == secret:
                    return held, standing, others, None
                alive = held.deadline > now and not is_dead(held.process)
                if alive and not self._have(connection, standing, held, set())[1]:
                    raise busy(conversation_id, held)
                # Gone, or its turn has ended: then it only could not give the lane back.
                first = self._close(connection, standing, held, None)
            batch = draft(self._tenant, conversation_id, self._actor, [*first, *opening], None, known)
            answer, standing = self._engine.append_in(connection, batch)
            own = Held(
                lane,
                standing.fence + 1,
                turn_id,
                named,
                this_process(),
                secret,
                now,
                now + int(seconds * MICROSECONDS),
                standing.version - len(batch.events) + 1,
            )
            self._run(connection, "raise_fence", cid=standing.cid, fence=own.fence)
            self._run(connection, "take_lease", cid=standing.cid, **own._asdict())
            standing = standing._replace(fence=own.fence)
            return own, standing, self._held(connection, standing), answer

        own, standing, held, answer = self._engine.transact(work)
        self._engine.remember(standing, held)
        return Lease(
            self._tenant,
            conversation_id,
            standing.stored,
            lane,
            own.fence,
            turn_id,
            named,
            secret,
            seconds,
            began + seconds,
            answer,
        )

    def renew(self, lease: Lease) -> None:
        """Move the deadline on, also of a lease that lapsed while nobody else wanted it. Raises
        `LeaseLost`."""
        began = time.monotonic()

        def work(connection: Connection) -> bool:
            deadline = self._engine.clock(connection) + int(lease.seconds * MICROSECONDS)
            return self._run(connection, "renew_lease", deadline=deadline, token=lease.token, **_key(lease)) > 0

        if not self._engine.transact(work):
            raise lease.lost("somebody else closed the turn, because it was not renewed in time")
        lease.lapses_at = began + lease.seconds

    def end(self, lease: Lease) -> None:
        """Give a lane back. Nothing happens when it is somebody else's by now."""

        def work(connection: Connection) -> tuple[Standing, list[Held]] | None:
            standing = self._locked(connection, lease.conversation_id)
            if standing is None or not self._run(connection, "end_lease", deadline=None, **_key(lease)):
                return None
            self._run(connection, "drop_checkpoints", cid=lease.cid, fence=lease.fence)
            standing = standing._replace(fence=standing.fence + 1)
            self._run(connection, "raise_fence", cid=standing.cid, fence=standing.fence)
            return standing, self._held(connection, standing)

        if (ended := self._engine.transact(work)) is not None:
            self._engine.remember(*ended)
        lease.lapses_at = 0.0

    def checkpoint(self, lease: Lease, pieces: Sequence[Piece], done: Sequence[int]) -> None:
        """Keep more text of open blocks, and let go of blocks that are `done`. Text of a lost lease is not
        kept."""

        def work(connection: Connection) -> None:
            now = time.time_ns() // 1000
            for piece in pieces:
                values: dict[str, Value] = {
                    "block": piece.block,
                    "part": piece.part,
                    "event": piece.event,
                    "piece": piece.text,
                    "now": now,
                }
                self._run(connection, "add_checkpoint", **values, **_key(lease))
            for block in done:
                self._run(connection, "drop_checkpoint", cid=lease.cid, fence=lease.fence, block=block)

        self._engine.transact(work)

    def open_texts(self, conversation_id: str) -> list[OpenText]:
        """What streams in a conversation now, as far as it was checkpointed."""
        standing = self._engine.standing(self._tenant, conversation_id)
        if standing is None:
            return []
        fences = [cast(int, row[1]) for row in self._engine.select("leases", cid=standing.cid)]
        rows = [self._engine.select("checkpoints", cid=standing.cid, fence=fence) for fence in fences]
        return [text for own in rows for text in _texts(own)]

    def running(self, conversation_id: str | None = None) -> list[tuple[str, Held]]:
        """The leases that are held or left behind, each with its conversation, the oldest first."""
        rows = self._engine.select("all_leases", tenant=self._tenant, id=conversation_id)
        return [(cast(str, row[0]), Held(*row[1:])) for row in rows]  # type: ignore[arg-type]

    def recover(self, conversation_id: str | None = None, force: bool = False) -> list[Recovered]:
        """Close the turns whose recorders are gone: lapsed, or known to be dead; with `force` all of them."""
        recovered = []
        for name, held in self.running(conversation_id):
            if (done := self._recover(name, held, force)) is not None:
                recovered.append(done)
        return recovered

    def _recover(self, conversation_id: str, seen: Held, force: bool) -> Recovered | None:
        def work(connection: Connection) -> tuple[Recovered, Standing, list[Held]] | None:
            standing = self._locked(connection, conversation_id)
            held = {(one.lane, one.fence): one for one in self._held(connection, standing)}
            current = held.get((seen.lane, seen.fence))
            if standing is None or current is None:
                return None
            now = self._engine.clock(connection)
            if not force and current.deadline > now and not is_dead(current.process):
                return None
            deadline = None if force else current.deadline
            events = self._close(connection, standing, current, deadline)
            first = last = None
            if events:
                batch = draft(self._tenant, conversation_id, self._actor, events, None, "skip")
                answer, standing = self._engine.append_in(connection, batch)
                first, last = answer.first_version, answer.last_version
            standing = standing._replace(fence=standing.fence + 1)
            self._run(connection, "raise_fence", cid=standing.cid, fence=standing.fence)
            done = Recovered(conversation_id, current.turn_id, current.lane, current.holder, first, last)
            return done, standing, self._held(connection, standing)

        done = self._engine.transact(work)
        if done is None:
            return None
        self._engine.remember(done[1], done[2])
        return done[0]

    # -- inside a transaction

    def _locked(self, connection: Connection, conversation_id: str) -> Standing | None:
        rows = self._ask(connection, "lock_conversation", {"tenant": self._tenant, "id": conversation_id})
        return Standing(*rows[0]) if rows else None  # type: ignore[arg-type]

    def _held(self, connection: Connection, standing: Standing | None) -> list[Held]:
        if standing is None or not standing.fence:
            return []
        rows = self._ask(connection, "leases", {"cid": standing.cid})
        return [Held(*row) for row in rows]  # type: ignore[arg-type]

    def _close(
        self, connection: Connection, standing: Standing, held: Held, deadline: int | None
    ) -> list[EncodedEvent]:
        """What closes the turn of a lease that is gone; the lease and its checkpoints are taken away.

        Raises `LeaseLost` when its holder went on meanwhile.
        """
        cid, fence = standing.cid, held.fence
        texts = _texts(self._ask(connection, "checkpoints", {"cid": cid, "fence": fence}))
        stored, ended = self._have(connection, standing, held, {text.event.get("step_id") for text in texts})
        if not self._run(connection, "end_lease", cid=cid, lane=held.lane, fence=fence, deadline=deadline):
            raise LeaseLost(
                conversation_id=standing.id, lane=held.lane, turn_id=held.turn_id, problem="its holder goes on"
            )
        self._run(connection, "drop_checkpoints", cid=cid, fence=fence)
        return closing(standing.id, held, texts, stored, ended)

    def _have(
        self, connection: Connection, standing: Standing, held: Held, steps: set[object]
    ) -> tuple[list[JsonObject], bool]:
        """The text and thinking events that `steps` of a turn have, and whether it has a terminal."""
        stored: list[JsonObject] = []
        ended = False
        parameters: dict[str, Value] = {"cid": standing.cid, "first": held.first_version}
        for version, kind, header in self._ask(connection, "block_events", parameters):
            told = _object(header)
            if told.get("turn_id") != held.turn_id:
                continue
            if kind in ("complete", "abort"):
                ended = True
            elif kind == "error" or told.get("step_id") in steps:
                where = {"cid": standing.cid, "version": version}
                body = _object(self._ask(connection, "event_body", where)[0][0], SALT_BYTES)
                if kind == "error":
                    ended = ended or not body.get("retryable")
                else:
                    stored.append(body)
        return stored, ended

    def _ask(self, connection: Connection, name: str, parameters: Mapping[str, Value]) -> list[Row]:
        return connection.execute(self._engine.statements[name], parameters).fetchall()

    def _run(self, connection: Connection, name: str, **parameters: Value) -> int:
        """Run a statement; how many rows it changed."""
        return connection.execute(self._engine.statements[name], parameters).rowcount


def _key(lease: Lease) -> dict[str, Value]:
    return {"cid": lease.cid, "lane": lease.lane, "fence": lease.fence}


def _texts(rows: Sequence[Row]) -> list[OpenText]:
    """Blocks from their pieces, in order; one whose first piece is missing says nothing and is left out."""
    found: dict[int, OpenText] = {}
    for block, part, event, piece, written_at in cast("list[tuple[int, int, bytes | None, bytes, int]]", rows):
        text, _ = read_record(bytes(piece))
        if part == 0:
            found[block] = OpenText(block, _object(event), "", written_at)
        if (before := found.get(block)) is not None and isinstance(text, str):
            found[block] = before._replace(text=before.text + text, written_at=written_at)
    return list(found.values())


def _object(stored: Value, skip: int = 0) -> JsonObject:
    """The JSON object of stored bytes; an erased or damaged one is empty here."""
    if not isinstance(stored, bytes | bytearray | memoryview):
        return {}
    try:
        value, _ = read_record(bytes(stored)[skip:])
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
