"""An event as the store gives it back, and as it is handed to the store."""

from typing import NamedTuple, cast

from eventsourcing.persistence import Notification

from ledger.events import SCHEMA, BaseEvent, Event, decode, encode

SALT_BYTES = 16


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
            kept = self.__dict__["_event"] = decode(self.state[SALT_BYTES:], self.schema)
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
