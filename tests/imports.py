"""What importers give, without a store: conversations of events, from a file or from changed bytes of it."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ledger.admission import parse_line
from ledger.events import MAX_EVENT_BYTES, Event, JsonObject, to_json
from ledger.intake.transcript import ConversationStream, Transcript
from ledger.recorded import EncodedEvent, RecordedEvent
from replay import neutral, plan
from tests.conformance import SHARED
from turnledger.importing.files import OpenFile, opened
from turnledger.importing.formats import AUTO, FORMATS, format_of

FIXTURES = SHARED / "fixtures"
PLACES = {
    "ai-sdk": ("ai-sdk/*-ui-messages-*.json",),
    "claude-code": ("claude-code/*.jsonl", "claude-code/v2.1.15-subagents/*.jsonl"),
    "codex": ("codex/*.jsonl",),
    "dsh": ("dsh/*/*/*.jsonl",),
    "openai-agents": ("openai-agents/*.db",),
    "openai-responses": ("openai-agents/*-to_input_list.json",),
    "opencode": ("opencode/*-export.json", "opencode/*.db"),
    "pi": ("pi/sessions/*.jsonl", "pi/skeleton/*.jsonl"),
    "pydantic-ai": ("pydantic-ai/*-messages-*.json",),
}
"""Where the samples of a format lie, below the fixtures."""

SAMPLES: list[tuple[str, str]] = [
    (name, str(path.relative_to(FIXTURES)))
    for name, patterns in PLACES.items()
    if name in FORMATS
    for pattern in patterns
    for path in sorted(FIXTURES.glob(pattern))
]
"""(format, path below the fixtures) of every sample that can be imported; empty where they are absent."""


@dataclass
class Taken:
    """What a file gave: its own events by conversation in order, the session, sources of branches."""

    session: Transcript
    own: dict[str, list[RecordedEvent]]
    sources: dict[str, tuple[str, int]]

    @property
    def codes(self) -> list[str]:
        """Codes of the problems."""
        return [problem.code for problem in self.session.problems]

    def events(self, conversation: str | None = None) -> list[Event]:
        """The conversation's own events."""
        return [record.event for record in self.own[conversation or next(iter(self.own))]]

    def whole(self, conversation: str | None = None) -> list[RecordedEvent]:
        """All that is read of a conversation, its sources up to the forks included."""
        name = conversation or self.session.current
        own = self.own[name]
        if name not in self.sources:
            return own
        source, version = self.sources[name]
        return [record for record in self.whole(source) if record.version <= version] + own

    def context(self, conversation: str | None = None) -> list[tuple[str, str]]:
        """Role and text of the messages that would be sent; of the leaf's conversation when none is named."""
        return [
            (message.role, " ".join(_words(part) for part in message.parts))
            for message in neutral(plan(self.whole(conversation)))
        ]

    def texts(self) -> list[str]:
        """The texts of the leaf's context."""
        return [text for _, text in self.context()]

    def ids(self) -> dict[str, list[str]]:
        """Event ids by conversation, in order."""
        return {name: [record.event_id for record in events] for name, events in self.own.items()}


def _words(part: JsonObject) -> str:
    if part["type"] == "tool_result":
        content = part["content"]
        return "".join(str(block["text"]) for block in content) if isinstance(content, list) else str(content)  # type: ignore[index, call-overload]
    if part["type"] == "tool_call":
        return f"<{part['tool_call_id']}>"
    return str(part.get("text", part["type"]))


def admitted(encoded: EncodedEvent) -> Event:
    """The event, which the door takes as it is: within the limits, nothing renamed, nothing dropped."""
    event = parse_line(encoded.body)
    assert to_json(event) == json.loads(encoded.body)
    assert len(encoded.body) <= MAX_EVENT_BYTES
    assert (encoded.id, encoded.type, encoded.turn_id, encoded.step_id) == (
        event.id,
        event.type,
        event.turn_id,
        event.step_id,
    )
    return event


def collected(session: Transcript, streams: Iterable[ConversationStream]) -> Taken:
    """All that a transcript's conversations give."""
    own: dict[str, list[RecordedEvent]] = {}
    sources: dict[str, tuple[str, int]] = {}
    for stream in streams:
        events = [admitted(encoded) for encoded in stream.events()]
        own[stream.conversation_id] = [
            RecordedEvent.of(event, version) for version, event in enumerate(events, stream.source_version + 1)
        ]
        if stream.source is not None:
            sources[stream.conversation_id] = (stream.source, stream.source_version)
    return Taken(session, own, sources)


def take_file(path: Path, source_format: str = AUTO) -> Taken:
    """Everything that a file gives. Raises `NotASession`."""
    with opened(path) as file:
        transcript = format_of(source_format, file).read(file, None)
        return collected(transcript, transcript.streams())


def take_bytes(data: bytes, like: Path, source_format: str) -> Taken:
    """Everything that these bytes would give in the place of a file. Raises `NotASession`."""
    file = OpenFile(like.name, io.BytesIO(data), len(data), like)
    transcript = FORMATS[source_format].read(file, None)
    return collected(transcript, transcript.streams())
