"""The records in the lines of a stream: server-sent events, or one JSON object a line.

A line that is no record becomes a note with its number and its bytes, and the stream goes on. Understood
besides: JSON spread over several lines (an error body printed for people, an event in several `data:` lines),
and records that were spliced into one line.
"""

from __future__ import annotations

import base64
import json
from typing import Literal, TypeAlias

from ledger.events import Json, JsonObject
from ledger.intake.lines import Line
from ledger.intake.mending import Mended, NotARecord, read_record
from ledger.turns import Recording

DONE: Literal["[DONE]"] = "[DONE]"
"""What closes the streams of some providers."""

Payload: TypeAlias = JsonObject | Literal["[DONE]"]

_FIELDS = (b"event", b"id", b"retry")
_HELD_LINES = 256
_HELD_BYTES = 64 * 1024


class Payloads:
    """Turns lines into records. `broken` counts the lines so far that were none: what streamed around one may
    have a hole."""

    def __init__(self, recording: Recording) -> None:
        self.broken = 0
        self._recording = recording
        self._event = ""  # the name that an `event:` line gave to the record after it
        self._held: list[tuple[Line, bytes]] = []  # the beginning, perhaps, of JSON over several lines
        self._held_data = False
        self._held_size = 0

    def of(self, line: Line) -> list[Payload]:
        """The records that this line holds or completes, in order."""
        raw = line.raw
        if raw is None:
            self._give_up()
            self._too_long(line)
            return []
        data, payload = _data_of(raw)
        if payload is None:
            if data is None:  # a comment, an id, a delay: nothing to keep
                return []
            self._give_up()
            self._event = data.decode(errors="replace")
            return []
        if payload == b"[DONE]":
            self._give_up()
            return [DONE]
        return self._records(line, payload, data is not None)

    def end(self) -> None:
        """There are no more lines: what was held is no record."""
        self._give_up()

    def _records(self, line: Line, payload: bytes, data: bool) -> list[Payload]:
        try:
            value, _ = read_record(payload)
        except NotARecord as error:
            return self._not_one(line, payload, data, str(error))
        if isinstance(value, dict):
            self._give_up()
            return [self._named(value)]
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            self._give_up()
            return [item for item in value if isinstance(item, dict)]
        return self._not_one(line, payload, data, "not a JSON object")

    def _named(self, record: JsonObject) -> JsonObject:
        name, self._event = self._event, ""
        return {"type": name, **record} if name and "type" not in record else record

    def _not_one(self, line: Line, payload: bytes, data: bool, why: str) -> list[Payload]:
        """A line that is not one record: several spliced together, a part of one, or broken."""
        if self._held and (data != self._held_data or (data and line.number != self._held[-1][0].number + 1)):
            self._give_up()
        if self._held:
            return self._held_on(line, payload)
        spliced, rest = _spliced(payload)
        if spliced:
            if rest:
                self._note(line, rest, why)
            return list(spliced)
        if payload[:1] in b"{[" and len(payload) < _HELD_BYTES:
            self._held, self._held_data, self._held_size = [(line, payload)], data, len(payload)
            return []
        self._note(line, payload, why)
        return []

    def _held_on(self, line: Line, payload: bytes) -> list[Payload]:
        self._held.append((line, payload))
        self._held_size += len(payload)
        if payload[-1:] in b"}]":
            try:
                value, _ = read_record(b"\n".join(piece for _, piece in self._held))
            except NotARecord:
                value = None
            if isinstance(value, dict):
                self._held = []
                return [self._named(value)]
        if len(self._held) >= _HELD_LINES or self._held_size >= _HELD_BYTES:
            self._give_up()
        return []

    def _give_up(self) -> None:
        held, self._held = self._held, []
        for line, payload in held:
            self._note(line, payload, "not a JSON object")

    def _note(self, line: Line, payload: bytes, why: str) -> None:
        self.broken += 1
        try:
            fields: dict[str, Json] = {"bytes": payload.decode()}
        except UnicodeDecodeError:
            fields = {
                "bytes": Mended(payload.decode(errors="replace")),
                "base64": base64.b64encode(payload).decode(),
            }
        said = f"Line {line.number} is no record: {why}."
        self._recording.note("broken line", said, line=line.number, offset=line.offset, **fields)

    def _too_long(self, line: Line) -> None:
        self.broken += 1
        gone: JsonObject = {"omitted_bytes": line.length, "sha256": (line.digest or b"").hex()}
        said = f"Line {line.number} is too long to be read: {line.length:,} bytes."
        self._recording.note("broken line", said, line=line.number, offset=line.offset, bytes=gone)


def _data_of(raw: bytes) -> tuple[bytes | None, bytes | None]:
    """(field, payload): (None, payload) of a bare line, (b"", payload) of a `data:` line, (name, None) of an
    `event:` line, (None, None) of any other line of a server-sent event."""
    first = raw[:1]
    if first in b"{[":
        return None, raw
    if raw.startswith(b"data:"):
        payload = raw[5:].strip()
        return (b"", payload) if payload else (None, None)
    if first == b":" or raw == b"data":
        return None, None
    name, colon, value = raw.partition(b":")
    if colon and name in _FIELDS:
        return (value.strip(), None) if name == b"event" else (None, None)
    return None, raw


def _spliced(payload: bytes) -> tuple[list[JsonObject], bytes]:
    """The records that begin a line in which several were spliced together, and the bytes after them."""
    if payload.count(b"{") < 2 or not payload.startswith(b"{"):
        return [], payload
    text = payload.decode(errors="surrogateescape")
    decoder = json.JSONDecoder()
    found: list[JsonObject] = []
    at = 0
    while at < len(text):
        try:
            _, end = decoder.raw_decode(text, at)
            value, _ = read_record(text[at:end].encode(errors="surrogateescape"))
        except (ValueError, RecursionError):
            break
        if not isinstance(value, dict):
            break
        found.append(value)
        at = end + len(text[end:]) - len(text[end:].lstrip(" \t,"))
    return found, text[at:].encode(errors="surrogateescape")
