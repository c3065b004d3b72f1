"""Small pi session files for tests, and the conversations that they give, without a store."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from ledger.intake.lines import split_lines
from ledger.intake.pi import Session
from tests.imports import Taken, collected

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


def take(data: bytes, name: str | None = None, file: str = "session.jsonl") -> Taken:
    """Everything that a file's bytes give. Raises `NotASession`."""
    session = Session.read(split_lines([data]), file, name)
    return collected(session, session.streams(lambda offset, length: data[offset : offset + length]))
