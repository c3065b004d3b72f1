"""Small pi session files for tests, and the conversations that they give, without a store."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ledger.admission import parse_line
from ledger.events import MAX_EVENT_BYTES, Event, JsonObject, to_json
from ledger.intake.lines import split_lines
from ledger.intake.pi import Session
from ledger.recorded import EncodedEvent, RecordedEvent
from replay import neutral, plan

SESSION = "0190aaaa-0000-7000-8000-000000000001"
START = 1_790_000_000_000  # milliseconds since 1970


def iso(ms: int) -> str:
    """An entry's time: `START` plus so many milliseconds."""
    moment = datetime.fromtimestamp((START + ms) / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class SessionFile:
    """Lines of a session file, written one after the other as pi would; each entry follows the last one."""

    def __init__(self, version: int | None = 3, **header: Any) -> None:
        self.version = version
        self.lines: list[bytes] = []
        self.last: str | None = None
        self._clock = 0
        head: dict[str, Any] = {
            "type": "session",
            "id": SESSION,
            "timestamp": iso(0),
            "cwd": "/home/dev/project",
        }
        if version is not None:
            head["version"] = version
        self.raw(_spelled({**head, **header}))

    def raw(self, line: bytes) -> None:
        """A line as it is."""
        self.lines.append(line)

    def entry(
        self, kind: str, entry_id: str | None = None, parent: str | None = "", **fields: Any
    ) -> str | None:
        """An entry; `parent` "" is the last entry, None the root."""
        self._clock += 1000
        entry: dict[str, Any] = {"type": kind}
        if self.version is not None and self.version >= 2:
            entry_id = entry_id or f"{len(self.lines):08x}"
            entry |= {"id": entry_id, "parentId": self.last if parent == "" else parent}
            self.last = entry_id
        self.raw(_spelled({**entry, "timestamp": iso(self._clock), **fields}))
        return entry_id

    def message(self, entry_id: str | None = None, parent: str | None = "", **message: Any) -> str | None:
        """A message entry."""
        return self.entry("message", entry_id, parent, message=message)

    def user(self, text: Any, entry_id: str | None = None, parent: str | None = "", **more: Any) -> str | None:
        """A user's message."""
        return self.message(entry_id, parent, role="user", content=text, **more)

    def assistant(
        self,
        *content: Any,
        stop: str = "stop",
        entry_id: str | None = None,
        parent: str | None = "",
        **more: Any,
    ) -> str | None:
        """An assistant's message; a string is a text block."""
        blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]
        usage = {"input": 10, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 19}
        made = {
            "api": "anthropic-messages",
            "provider": "anthropic",
            "model": "m",
            "usage": usage,
            "stopReason": stop,
        }
        return self.message(entry_id, parent, role="assistant", content=blocks, **{**made, **more})

    def result(
        self, call: str, text: str = "ok", entry_id: str | None = None, parent: str | None = ""
    ) -> str | None:
        """A tool's result."""
        content = [{"type": "text", "text": text}]
        return self.message(
            entry_id,
            parent,
            role="toolResult",
            toolCallId=call,
            toolName="bash",
            content=content,
            isError=False,
        )

    def data(self, *, ended: bool = True) -> bytes:
        """The bytes of the file; without the last newline when not `ended`."""
        return b"\n".join(self.lines) + (b"\n" if ended else b"")


def _spelled(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()


def call(call_id: str, **args: Any) -> dict[str, Any]:
    """A tool call block."""
    return {"type": "toolCall", "id": call_id, "name": "bash", "arguments": args}


@dataclass
class Taken:
    """What a file gave: its own events by conversation in order, the session, sources of branches."""

    session: Session
    own: dict[str, list[RecordedEvent]]
    sources: dict[str, tuple[str, int]]

    @property
    def codes(self) -> list[str]:
        """Codes of the problems."""
        return [problem.code for problem in self.session.problems]

    def events(self, conversation: str | None = None) -> list[Event]:
        """The conversation's own events."""
        return [record.event for record in self.own[conversation or self.session.conversation_id]]

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


def take(data: bytes, name: str | None = None, file: str = "session.jsonl") -> Taken:
    """Everything that a file's bytes give. Raises `NotASession`."""
    session = Session.read(split_lines([data]), file, name)
    own: dict[str, list[RecordedEvent]] = {}
    sources: dict[str, tuple[str, int]] = {}
    for stream in session.streams(lambda offset, length: data[offset : offset + length]):
        events = [admitted(encoded) for encoded in stream.events()]
        own[stream.conversation_id] = [
            RecordedEvent.of(event, version) for version, event in enumerate(events, stream.source_version + 1)
        ]
        if stream.source is not None:
            sources[stream.conversation_id] = (stream.source, stream.source_version)
    return Taken(session, own, sources)
