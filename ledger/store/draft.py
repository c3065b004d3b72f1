"""A batch on its way into the store: checked, then sealed into the chain. No I/O here."""

import json
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from ledger import chain
from ledger.admission import check_id
from ledger.errors import BatchTooLarge, IdConflict, InvalidEvent
from ledger.events import DELTA_TYPES, MAX_BATCH, MAX_ID_LENGTH, SCHEMA
from ledger.recorded import EncodedEvent
from ledger.store.leasing import Lease
from ledger.store.receipts import Appended

Known = Literal["conflict", "skip"]


class Standing(NamedTuple):
    """How a conversation stands: its row, or (without a `cid`) what the row of a new one starts from."""

    cid: int | None
    tenant: str
    id: str
    book: int
    version: int
    head: bytes
    created_at: int
    recorded_at: int
    fence: int
    source_cid: int | None
    source_version: int | None

    @property
    def stored(self) -> int:
        """The key of the stored row. Only for a conversation that is there."""
        assert self.cid is not None, "a conversation that is not stored yet has no key"
        return self.cid


class Draft(NamedTuple):
    """A batch for one conversation: its events, and on what terms they are appended."""

    tenant: str
    conversation_id: str
    actor: str
    events: Sequence[EncodedEvent]
    expected_version: int | None
    known: Known
    fork: tuple[str, int] | None = None
    """(source conversation, source version) when the batch starts a branch."""
    lease: Lease | None = None
    """The right by which a turn's recorder appends."""
    live: int = 0
    skipped: int = 0
    differing: int = 0

    def without(self, places: set[int], differing: int) -> "Draft":
        """The batch without the events at `places`, which are known; `differing` of them have another body."""
        keep = [at for at in range(len(self.events)) if at not in places]
        return self._replace(
            events=[self.events[at] for at in keep],
            fork=None if 0 in places else self.fork,
            skipped=self.skipped + len(places),
            differing=self.differing + differing,
        )

    def part(self, start: int, end: int) -> "Draft":
        """The events from place `start` to before `end`."""
        return self._replace(events=self.events[start:end])


class Sealed(NamedTuple):
    """A batch chained to where its conversation stood."""

    before: Standing
    headers: list[bytes]
    heads: list[bytes]
    states: list[bytes]
    recorded_at: int

    def after(self, cid: int) -> Standing:
        """How the conversation stands with the batch, its row's key being `cid`."""
        _, tenant, name, book, version, _, created_at, _, fence, source_cid, source_version = self.before
        return Standing(
            cid,
            tenant,
            name,
            book,
            version + len(self.heads),
            self.heads[-1],
            created_at or self.recorded_at,
            self.recorded_at,
            fence,
            source_cid,
            source_version,
        )

    def part(self, start: int, end: int) -> "Sealed":
        """The chain from place `start` to before `end`."""
        before = self.before
        if start:
            before = before._replace(version=before.version + start, head=self.heads[start - 1])
        return Sealed(
            before, self.headers[start:end], self.heads[start:end], self.states[start:end], self.recorded_at
        )

    def receipt(self, batch: Draft, last_position: int) -> Appended:
        """The answer once it is stored, at positions up to `last_position` of its book."""
        first, count = self.before.version + 1, len(self.heads)
        return Appended(
            first,
            first + count - 1,
            self.before.book,
            last_position - count + 1,
            last_position,
            False,
            batch.skipped,
            batch.differing,
            batch.live,
        )


def draft(
    tenant: str,
    conversation_id: str,
    actor: str,
    events: Sequence[EncodedEvent],
    expected_version: int | None,
    known: Known,
    lease: Lease | None = None,
) -> Draft:
    """Check a batch; deltas are left out and counted, with `known="skip"` repeated ids too.

    Raises `BatchTooLarge`, `InvalidEvent` (an id or a type that cannot be stored, a fork that is not the first
    event), `IdConflict` (an id twice), `ValueError` for another `known`.
    """
    if known not in ("conflict", "skip"):
        raise ValueError(f'known is "conflict" or "skip", not {known!r}')
    if len(events) > MAX_BATCH:
        raise BatchTooLarge(field="batch", limit=MAX_BATCH, actual=len(events))
    kept = events
    if not DELTA_TYPES.isdisjoint([event[1] for event in events]):
        kept = [event for event in events if event[1] not in DELTA_TYPES]
    ids, kinds, turns, steps, _ = zip(*kept, strict=True) if kept else ((),) * 5
    _check_ids("id", ids)
    _check_ids("type", set(kinds))
    _check_ids("turn_id", set(turns))
    _check_ids("step_id", set(steps))
    fork = _fork(kept) if "fork" in kinds else None
    repeated: set[int] = set()
    differing = 0
    if len(set(ids)) < len(kept):
        repeated, differing = _repeated(conversation_id, kept, known)
    made = Draft(
        tenant,
        conversation_id,
        actor,
        kept,
        expected_version,
        known,
        fork,
        lease,
        live=len(events) - len(kept),
    )
    return made.without(repeated, differing) if repeated else made


def _check_ids(field: str, names: Collection[str | None]) -> None:
    for name in names:
        # The common case first: checking in full would cost as much as hashing.
        if name is not None and not (name.isprintable() and 0 < len(name) <= MAX_ID_LENGTH):
            check_id(field, name)


def _repeated(conversation_id: str, events: Sequence[EncodedEvent], known: Known) -> tuple[set[int], int]:
    """The places of ids that came before in the batch, and how many of those have another body."""
    first: dict[str, int] = {}
    repeated: set[int] = set()
    differing = 0
    for at, event in enumerate(events):
        if (earlier := first.setdefault(event.id, at)) == at:
            continue
        if known == "conflict":
            problem = f"it is in this batch twice (events {earlier + 1} and {at + 1})"
            raise IdConflict(conversation_id=conversation_id, event_id=event.id, problem=problem)
        repeated.add(at)
        differing += not same_value(events[earlier].body, event.body)
    return repeated, differing


def _fork(events: Sequence[EncodedEvent]) -> tuple[str, int]:
    if any(event[1] == "fork" for event in events[1:]):
        raise InvalidEvent(field="type", problem="a fork is the first event of a branch, not a later one")
    body = json.loads(events[0].body)
    return body["source_conversation_id"], body["source_version"]


def seal(batch: Draft, before: Standing, now: int, salts: bytes) -> Sealed:
    """Chain a batch to where its conversation stands; `now` in microseconds UTC, `salts` 16 random bytes an
    event."""
    recorded_at = max(now, before.recorded_at)
    header = chain.header_writer(batch.tenant, batch.conversation_id, batch.actor, recorded_at, SCHEMA)
    headers = [
        header(event_id, step_id, turn_id, kind, version)
        for version, (event_id, kind, turn_id, step_id, _) in enumerate(batch.events, before.version + 1)
    ]
    size = chain.SALT_BYTES
    states = [salts[at * size : at * size + size] + event.body for at, event in enumerate(batch.events)]
    return Sealed(before, headers, chain.heads(before.head, headers, states), states, recorded_at)


def same_value(one: bytes, other: bytes) -> bool:
    """Whether two JSON texts have the same value: the order of keys does not matter, 1, 1.0 and true differ."""
    if one == other:
        return True
    try:
        return _same(json.loads(one), json.loads(other))
    except ValueError:  # bodies of the library's own kind need not be JSON
        return False


def _same(one: object, other: object) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other
