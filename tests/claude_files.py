"""Session files as Claude Code writes them, record by record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.imports import Taken, take_bytes

SESSION = "5e551017-0000-4000-8000-000000000001"


class SessionLines:
    """Records of a session; each follows on the one before, where nothing else is said."""

    def __init__(self, session: str = SESSION, **common: Any) -> None:
        self.records: list[dict[str, Any]] = []
        self.last: str | None = None
        self._common = {"isSidechain": False, "sessionId": session, "version": "2.1.332", **common}

    def add(self, kind: str, uuid: str, parent: str | None = "", **more: Any) -> str:
        """Any record of the tree; `parent` None for one without, "" for the one before."""
        record = {"parentUuid": self.last if parent == "" else parent, **self._common, "type": kind, **more}
        self.records.append({**record, "uuid": uuid, "timestamp": "2026-11-30T12:00:00.000Z"})
        self.last = uuid
        return uuid

    def user(self, uuid: str, content: Any, parent: str | None = "", **more: Any) -> str:
        return self.add("user", uuid, parent, message={"role": "user", "content": content}, **more)

    def model(self, uuid: str, name: str, *blocks: Any, parent: str | None = "", **more: Any) -> str:
        """A line of the message `name`; a text is a block of text."""
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        message = {
            "id": name,
            "role": "assistant",
            "model": "claude-x",
            "content": content,
            "stop_reason": more.pop("stop", "end_turn"),
            "usage": {"input_tokens": 3, "output_tokens": more.pop("tokens", 7)},
        }
        return self.add("assistant", uuid, parent, message=message, **more)

    def result(self, uuid: str, call: str, content: Any, parent: str | None = "", **more: Any) -> str:
        block = {"type": "tool_result", "tool_use_id": call, "content": content}
        return self.user(uuid, [block], parent, **more)

    def plain(self, kind: str, **more: Any) -> None:
        """A record that is not in the tree."""
        self.records.append({"type": kind, "sessionId": self._common["sessionId"], **more})

    def data(self) -> bytes:
        return b"".join(json.dumps(record).encode() + b"\n" for record in self.records)

    def take(self) -> Taken:
        return take_bytes(self.data(), Path(f"{SESSION}.jsonl"), "claude-code")


def call(name: str, tool: str = "Bash", **arguments: Any) -> dict[str, Any]:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": name, "name": tool, "input": arguments}
