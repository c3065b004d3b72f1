"""Streams for tests: spelling them, and what an adapter makes of them, without a store."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ledger.admission import parse_line
from ledger.events import JsonObject, is_terminal
from ledger.intake.lines import split_lines
from ledger.intake.stream import End, Stream, StreamOptions
from ledger.intake.streams import STREAMS
from ledger.recorded import RecordedEvent
from ledger.turns.encoding import encoded
from replay import Result, replay
from replay.providers.violations import violations

CONVERSATION = "c1"


_PLACE = frozenset(
    [
        "id",
        "conversation_id",
        "at",
        "turn_id",
        "source",
        "step_id",
        "block_index",
        "normalized",
        "context",
        "digest",
    ]
)


@dataclass
class Taken:
    """What a stream gave, in order: as events were stored, and as they are read."""

    events: list[dict[str, Any]]
    records: list[RecordedEvent]
    faults: int

    @property
    def gist(self) -> list[dict[str, Any]]:
        """The events without what a stream's place gives them: ids, time, source, step and block."""
        return [{name: value for name, value in event.items() if name not in _PLACE} for event in self.events]

    def of(self, *types: str) -> list[dict[str, Any]]:
        """The events of some types."""
        return [event for event in self.events if event["type"] in types]

    def only(self, event_type: str) -> dict[str, Any]:
        """The one event of a type."""
        (event,) = self.of(event_type)
        return event

    @property
    def kinds(self) -> list[str]:
        """The types, in order."""
        return [event["type"] for event in self.events]

    @property
    def texts(self) -> list[str]:
        """Visible texts that are not empty, in order."""
        return [event["text"] for event in self.of("text_complete") if event["text"]]

    @property
    def thoughts(self) -> list[str]:
        """Texts of thinking, in order."""
        return [event["text"] for event in self.of("thinking_complete")]

    @property
    def calls(self) -> list[tuple[str, str, Any]]:
        """Id, name and arguments of each call."""
        return [(call["tool_call_id"], call["tool_name"], call["args"]) for call in self.of("tool_start")]

    @property
    def results(self) -> list[tuple[str, Any, Any]]:
        """Call, content and whether it is an error of each result."""
        return [
            (result["tool_call_id"], result["content"], result.get("is_error"))
            for result in self.of("tool_result")
        ]

    @property
    def steps(self) -> list[str]:
        """Step ids, in the order of their starts."""
        return list(dict.fromkeys(event["step_id"] for event in self.of("step_start")))

    @property
    def ends(self) -> list[tuple[str, str | None]]:
        """How each turn ended: type, and stop reason, reason or code."""
        ends = [record.event for record in self.records if is_terminal(record.event)]
        return [
            (
                end.type,
                getattr(end, "stop_reason", None) or getattr(end, "reason", None) or getattr(end, "code", None),
            )
            for end in ends
        ]

    def notes(self, kind: str | None = None) -> list[dict[str, Any]]:
        """The notes, of one kind or all."""
        return [note for note in self.of("note") if kind is None or note.get("kind") == kind]

    def replay(self, target: str | Mapping[str, Any] = "neutral") -> Result:
        """The request that continues what was recorded."""
        return replay(self.records, CONVERSATION, target)


def lines(records: Iterable[Any]) -> bytes:
    """Records as JSON Lines."""
    return b"".join(spelled(record) + b"\n" for record in records)


def sse(records: Iterable[Any], *, named: bool = False, done: bool = False) -> bytes:
    """Records as server-sent events, with or without `event:` lines and the closing `[DONE]`."""
    pieces = []
    for record in records:
        name = f"event: {record['type']}\n".encode() if named and "type" in record else b""
        pieces.append(name + b"data: " + spelled(record) + b"\n\n")
    return b"".join(pieces) + (b"data: [DONE]\n\n" if done else b"")


def spelled(record: Any) -> bytes:
    """A record's JSON; bytes as they are."""
    return record if isinstance(record, bytes) else json.dumps(record, ensure_ascii=False).encode()


def take(
    runtime: str,
    data: bytes | Sequence[bytes] | Sequence[Mapping[str, Any]],
    *,
    end: End = "eof",
    turn_id: str | None = None,
    provider: str | None = None,
    faults: int = 0,
) -> Taken:
    """All that a stream gives: bytes, chunks of bytes, or records to be spelled as lines.

    Every event has to pass the door as it is; so many faults of the adapter are expected, else it fails.
    """
    chunks: Iterable[bytes]
    if isinstance(data, bytes):
        chunks = [data]
    elif all(isinstance(piece, bytes) for piece in data):
        chunks = data  # type: ignore[assignment]
    else:
        chunks = [lines(data)]
    written: list[JsonObject] = []
    options = StreamOptions(turn_id, provider)
    stream = Stream(STREAMS[runtime], runtime, CONVERSATION, options, sink=written.append)
    for line in split_lines(chunks):
        stream.line(line)
    stream.end(end)
    assert stream.faults == faults, [event for event in written if event.get("kind") == "adapter fault"]
    bodies = [encoded(event).body for event in written]
    events = [parse_line(body) for body in bodies]
    records = [RecordedEvent.of(event, version) for version, event in enumerate(events, 1)]
    return Taken([json.loads(body) for body in bodies], records, stream.faults)


def check_sound(taken: Taken) -> None:
    """What holds of every stream, however damaged: ids are unique, each turn has one terminal, no block of a
    step has the place of another, and the request to Anthropic breaks no rule."""
    doubled = [name for name, count in Counter(event["id"] for event in taken.events).items() if count > 1]
    assert not doubled
    turns = [event["turn_id"] for event in taken.of("turn_start")]
    assert len(set(turns)) == len(turns)
    ends = Counter(record.turn_id for record in taken.records if is_terminal(record.event))
    assert ends == Counter(turns)
    places = Counter(
        (event["turn_id"], event["step_id"], event["block_index"])
        for event in taken.events
        if event.get("block_index") is not None
    )
    assert all(count == 1 for count in places.values()), places
    models = {event.get("model") for event in taken.of("step_start")} - {None}
    for model in [*sorted(models)[:2], "claude-opus-4-5"]:
        check_request(taken, model)


def check_request(taken: Taken, model: str) -> None:
    """The request to Anthropic, with a user's word after what was recorded, breaks no rule."""
    asked = parse_line(
        spelled(
            {
                "type": "user_message",
                "id": "asked",
                "conversation_id": CONVERSATION,
                "turn_id": "asked",
                "content": "Go on.",
            }
        )
    )
    records = [*taken.records, RecordedEvent.of(asked, len(taken.records) + 1)]
    target = {"provider": "anthropic", "model": model}
    result = replay(records, CONVERSATION, target)
    assert violations(target, result.request, sendable=result.sendable) == []
