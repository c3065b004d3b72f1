"""An event as the store gives it back, and as it is handed to the store."""

import json
from typing import NamedTuple, cast

from eventsourcing.persistence import Notification

from ledger.events import SCHEMA, BaseEvent, Event, decode, encode

SALT_BYTES = 16
COMMITMENT_BYTES = 32
# How a header says that: inside a JSON string the quotes would be escaped. Parsing it costs as much as the
# body.
_CURRENT_SCHEMA = f',"schema":{SCHEMA},'.encode()
_HEADER_FIELDS = ("turn_id", "step_id", "actor", "schema", "recorded_at")


class EncodedEvent(NamedTuple):
    """An admitted event on its way into the store: its key columns and its JSON bytes."""

    id: str
    type: str
    turn_id: str | None
    step_id: str | None
    body: bytes


class RecordedEvent(Notification):
    """One stored event: the library's notification (originator, version, topic, state, id), with our fields.

    `id` is the library's name for `position`: the place in the event's book. `state` is what is stored, 16
    bytes of salt and then the JSON bytes; `header` is the chained header. `recorded_at` is integer microseconds
    UTC.
    """

    tenant: str
    conversation_id: str
    version: int
    event_id: str
    type: str
    turn_id: str | None
    step_id: str | None
    actor: str
    schema: int
    recorded_at: int
    book: int
    header: bytes
    erased: bool = False
    """Content was erased (DESIGN.md 4): `body` is the skeleton, and `header` is as it always was."""

    def __init__(  # plain attribute writes: the frozen dataclass's own cost several times as much
        self,
        conversation_id: str,
        version: int,
        event_id: str,
        type: str,  # noqa: A002 - the wire name
        turn_id: str | None,
        step_id: str | None,
        state: bytes,
        header: bytes,
        recorded_at: int,
        tenant: str,
        actor: str,
        schema: int,
        book: int,
        position: int,
    ) -> None:
        self.__dict__.update(
            originator_id=conversation_id,
            originator_version=version,
            topic=type,
            state=state,
            id=position,
            tenant=tenant,
            conversation_id=conversation_id,
            version=version,
            event_id=event_id,
            type=type,
            turn_id=turn_id,
            step_id=step_id,
            actor=actor,
            schema=schema,
            recorded_at=recorded_at,
            book=book,
            header=header,
        )

    @classmethod
    def stored(
        cls,
        tenant: str,
        conversation_id: str,
        version: int,
        event_id: str,
        kind: str,
        header: bytes,
        state: bytes | None,
        erased: bytes | None,
        book: int,
        position: int,
    ) -> "RecordedEvent":
        """An event from its stored columns. The header's fields are read when first asked for: most readers
        want the event alone. `erased`: the 32-byte commitment and the skeleton of an event without a `state`.
        """
        recorded = cls.__new__(cls)
        fields = recorded.__dict__
        fields["tenant"] = tenant
        fields["conversation_id"] = fields["originator_id"] = conversation_id
        fields["version"] = fields["originator_version"] = version
        fields["event_id"] = event_id
        fields["type"] = fields["topic"] = kind
        fields["header"] = header
        fields["book"] = book
        fields["id"] = position
        if state is None:
            fields["erased"] = True
            state = bytes(SALT_BYTES) + (erased or b"")[COMMITMENT_BYTES:]
        fields["state"] = state
        return recorded

    def __getattr__(self, name: str) -> object:
        # Only for what `stored` left out: the fields that stand in the header.
        if name in _HEADER_FIELDS and "header" in self.__dict__:
            told = json.loads(self.header)
            self.__dict__.update({field: told.get(field) for field in _HEADER_FIELDS})
            return self.__dict__[name]
        raise AttributeError(name)

    @property
    def position(self) -> int:
        """Place of the event in its book, from 1, gapless."""
        return self.id

    @property
    def body(self) -> bytes:
        """The event's JSON bytes, without the salt."""
        return self.state[SALT_BYTES:]

    @property
    def event(self) -> Event:
        """The decoded event; decoded once.

        Raises `ValueError` when the stored bytes are not an event (damage, or a newer schema).
        """
        kept = self.__dict__.get("_event")
        if kept is None:
            schema = SCHEMA if _CURRENT_SCHEMA in self.header else self.schema
            kept = self.__dict__["_event"] = decode(self.state[SALT_BYTES:], schema)
        return cast(Event, kept)

    @classmethod
    def of(
        cls,
        event: BaseEvent,
        version: int,
        *,
        tenant: str = "default",
        recorded_at: int = 0,
        book: int = 0,
        position: int | None = None,
    ) -> "RecordedEvent":
        """An event as if it had been stored at `version`; for tests and for reading straight from events."""
        recorded = cls(
            event.conversation_id,
            version,
            event.id or f"e{version}",
            event.type,
            event.turn_id,
            event.step_id,
            bytes(SALT_BYTES) + encode(event),
            b"",
            recorded_at,
            tenant,
            "local",
            SCHEMA,
            book,
            version if position is None else position,
        )
        recorded.__dict__["_event"] = event
        return recorded
