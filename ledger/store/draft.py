"""A batch on its way into the store: checked, keyed, and sealed into the chain. No I/O here."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal, NamedTuple

from ledger import chain
from ledger.admission import check_id
from ledger.errors import BatchTooLarge, IdConflict, InvalidEvent
from ledger.events import DELTA_TYPES, MAX_BATCH, SCHEMA
from ledger.recorded import EncodedEvent

KEY_BYTES = 16
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


@dataclass(frozen=True, slots=True)
class Draft:
    """A batch for one conversation: its events with their keys, and on what terms they are appended."""

    tenant: str
    conversation_id: str
    actor: str
    events: Sequence[EncodedEvent]
    keys: Sequence[bytes]
    expected_version: int | None
    known: Known
    fork: tuple[str, int] | None = None
    """(source conversation, source version) when the batch starts a branch."""
    live: int = 0
    skipped: int = 0
    differing: int = 0

    def without(self, places: set[int], differing: int) -> "Draft":
        """The batch without the events at `places`, which are known; `differing` of them have another body."""
        keep = [at for at in range(len(self.events)) if at not in places]
        return replace(
            self,
            events=[self.events[at] for at in keep],
            keys=[self.keys[at] for at in keep],
            fork=None if 0 in places else self.fork,
            skipped=self.skipped + len(places),
            differing=self.differing + differing,
        )


class Sealed(NamedTuple):
    """A batch chained to where its conversation stood."""

    before: Standing
    headers: list[bytes]
    heads: list[bytes]
    states: list[bytes]
    recorded_at: int

    @property
    def after(self) -> Standing:
        """How the conversation stands with the batch; the key of a new one is filled in by the engine."""
        return self.before._replace(
            version=self.before.version + len(self.heads),
            head=self.heads[-1],
            created_at=self.before.created_at or self.recorded_at,
            recorded_at=self.recorded_at,
        )


def draft(
    tenant: str,
    conversation_id: str,
    actor: str,
    events: Sequence[EncodedEvent],
    expected_version: int | None,
    known: Known,
) -> Draft:
    """Check a batch and key its events; deltas are left out and counted, with `known="skip"` repeated ids too.

    Raises `BatchTooLarge`, `InvalidEvent` (an id or a type that cannot be stored), `IdConflict` (an id twice).
    """
    if len(events) > MAX_BATCH:
        raise BatchTooLarge(field="batch", limit=MAX_BATCH, actual=len(events))
    kept = [event for event in events if event.type not in DELTA_TYPES]
    names: set[str | None] = {None}
    first: dict[str, int] = {}
    repeated: set[int] = set()
    differing = 0
    for at, (event_id, kind, turn_id, step_id, body) in enumerate(kept):
        if not (event_id.isprintable() and 0 < len(event_id) <= 200):
            check_id("id", event_id)
        for field, name in (("type", kind), ("turn_id", turn_id), ("step_id", step_id)):
            if name not in names:
                check_id(field, name)
                names.add(name)
        if (earlier := first.setdefault(event_id, at)) != at:
            if known == "conflict":
                problem = f"it is in this batch twice (events {earlier + 1} and {at + 1})"
                raise IdConflict(conversation_id=conversation_id, event_id=event_id, problem=problem)
            repeated.add(at)
            differing += not same_value(kept[earlier].body, body)
    made = Draft(
        tenant,
        conversation_id,
        actor,
        kept,
        [sha256(event.id.encode()).digest()[:KEY_BYTES] for event in kept],
        expected_version,
        known,
        _fork(kept) if "fork" in names else None,
        live=len(events) - len(kept),
    )
    return made.without(repeated, differing) if repeated else made


def _fork(events: Sequence[EncodedEvent]) -> tuple[str, int] | None:
    for at, event in enumerate(events):
        if event.type == "fork":
            if at:
                problem = "a fork is the first event of a branch, not a later one"
                raise InvalidEvent(field="type", problem=problem)
            body = json.loads(event.body)
            return body["source_conversation_id"], body["source_version"]
    return None


def seal(batch: Draft, before: Standing, now: int, salts: bytes) -> Sealed:
    """Chain a batch to where its conversation stands; `now` in microseconds UTC, `salts` 16 random bytes an event."""
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
