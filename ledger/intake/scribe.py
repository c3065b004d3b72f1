"""Events of an imported file, written as a runtime in this process would write them, with ids and sources of
their records."""

import hashlib
from collections.abc import Callable, Iterator

from ledger.events import MAX_EVENT_BYTES, Json, JsonObject, json_bytes
from ledger.intake.found import Found
from ledger.intake.identity import made_id
from ledger.intake.mending import collect, collected, within_size
from ledger.intake.times import time_of
from ledger.recorded import EncodedEvent
from ledger.turns import Recording


class RecordStamps:
    """Ids that the same record gives again (DESIGN.md 4): made from the format, the session, the record's key
    and the event's type, with a number from the second of that type on."""

    def __init__(self, source_format: str, session: str) -> None:
        self._format = source_format
        self._session = session
        self._key = ""
        self._at: str | None = None
        self._made: dict[str, int] = {}

    def take(self, key: str, at: str | None) -> None:
        """Go on to the record of that key, written at that time."""
        self._key, self._at = key, at
        self._made.clear()

    def event_id(self, event_type: str) -> str:
        return self._make(event_type)

    def turn_id(self) -> str:
        return self._make("turn")

    def step_id(self) -> str:
        return self._make("step")

    def at(self) -> str | None:
        return self._at

    def _make(self, what: str) -> str:
        again = self._made[what] = self._made.get(what, 0) + 1
        return made_id(self._format, self._session, self._key, what if again == 1 else f"{what}~{again}")


class Scribe:
    """Writes one conversation, record by record.

        scribe.take(found, key="msg_1", at=value.get("timestamp"))
        scribe.recording.begin_turn(...)
        yield from scribe.encoded()

    A key that comes twice gets a number, so that no two records share ids. Every event says in `source` where
    it came from; `within` are further names of that place (`{"agent_file": …}`).
    """

    def __init__(self, source_format: str, session: str, file: str, conversation_id: str) -> None:
        self._stamps = RecordStamps(source_format, session)
        self.recording = Recording(conversation_id, self._stamps, sink=self._sink)
        self._origin: JsonObject = {"format": source_format, "file": file, "session": session}
        self._source: JsonObject = self._origin
        self._found: Found | None = None
        self._keys: dict[str, int] = {}
        self._events: list[JsonObject] = []

    def take(self, found: Found, key: str | None = None, at: Json = None, **within: Json) -> None:
        """Go on to a record; `key` names it in its session, its digest does where it has no name."""
        digest = found.digest.hex()
        key = key or digest[:16]
        again = self._keys[key] = self._keys.get(key, 0) + 1
        self._stamps.take(key if again == 1 else f"{key}#{again}", time_of(at))
        self._found = found
        source: JsonObject = {**self._origin, **within, "line": found.line}
        if found.offset is not None:
            source["offset"] = found.offset
        source["sha256"] = digest
        self._source = source

    def note(self, kind: str, text: str, entry: Json, **more: Json) -> None:
        """A note that keeps what was found whole, in `entry`."""
        self.recording.note(kind, text, entry=entry, **more)

    def damaged(self, found: Found) -> None:
        """The note that keeps bytes which are no record."""
        self.take(found)
        if found.raw is None:
            gone: JsonObject = {"omitted_bytes": found.length, "sha256": found.digest.hex()}
            self.note("damaged", "a line too long to be read", gone, normalized=["entry"])
            return
        text = found.raw.decode(errors="replace")
        changed: Json = ["entry"] if "\ufffd" in text else None
        self.note("damaged", "a line that is not a record", text, normalized=changed)

    def write(self, event_type: str, **fields: Json) -> JsonObject:
        """An event of no turn, or of one that `fields` name."""
        return self.recording.sheet.write(event_type, fields)

    @property
    def pending(self) -> list[str]:
        """The ids of what was written since `encoded` was asked last."""
        return [str(event["id"]) for event in self._events]

    def put(self, event: JsonObject) -> None:
        """An event that was made elsewhere with these `stamps`, and has no source yet."""
        self._sink(event)

    @property
    def stamps(self) -> RecordStamps:
        """Ids and times of the record."""
        return self._stamps

    def encoded(self) -> Iterator[EncodedEvent]:
        """What was written since the last time, as it is stored."""
        events, self._events = self._events, []
        length = 0 if self._found is None else self._found.length
        for event in events:
            yield encoded_event(event, length, oversize)

    def _sink(self, event: JsonObject) -> None:
        said = event.get("source")
        event["source"] = {**self._source, **said} if isinstance(said, dict) else self._source
        self._events.append(event)


def encoded_event(event: JsonObject, length: int, oversize: Callable[[JsonObject], JsonObject]) -> EncodedEvent:
    """An event as it is stored, its marks of mended values taken off.

    `length` are the bytes of the record that it was made from: one of a large record loses what does not fit.
    Where that was not enough `oversize` gives the event to keep instead.
    """
    plain, body = collected(event)
    if length > MAX_EVENT_BYTES // 4:  # what is smaller stays within the limit
        plain = within_size(plain)
        if len(json_bytes(plain)) > MAX_EVENT_BYTES:  # in fields that are never that large
            plain = within_size(collect(oversize(plain)))
        body = json_bytes(plain)
    turn, step = plain.get("turn_id"), plain.get("step_id")
    return EncodedEvent(
        str(plain["id"]),
        str(plain["type"]),
        turn if isinstance(turn, str) else None,
        step if isinstance(step, str) else None,
        body,
    )


def oversize(event: JsonObject) -> JsonObject:
    """The note that stands for an event which is too large in fields that never are."""
    body = json_bytes(event)
    kept: JsonObject = {
        name: event[name] for name in ("id", "conversation_id", "turn_id", "at", "source") if name in event
    }
    gone: JsonObject = {"omitted_bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    text = f"{event['type']}: over {MAX_EVENT_BYTES:,} bytes"
    return {"type": "note", **kept, "kind": "oversize", "text": text, "entry": gone, "normalized": ["entry"]}
