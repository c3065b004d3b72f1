"""OpenCode's database as OpenCode writes it: rows that are made and then changed in place."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

_TABLES = """
CREATE TABLE project (id text PRIMARY KEY);
CREATE TABLE credential (id text PRIMARY KEY, secret text);
CREATE TABLE session (
  id text PRIMARY KEY, parent_id text, directory text NOT NULL, version text NOT NULL, revert text,
  time_created integer NOT NULL, time_updated integer NOT NULL
);
CREATE TABLE message (
  id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
  data text NOT NULL
);
CREATE TABLE part (
  id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL,
  time_updated integer NOT NULL, data text NOT NULL
);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
"""
NAMES = ("id", "sessionID", "messageID")


class OpenCodeFile:
    """A database that grows. Ids and times are counted; what a method makes it gives the id of."""

    def __init__(self, path: Path, *, wal: bool = False) -> None:
        self.path = path
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute(f"PRAGMA journal_mode={'wal' if wal else 'memory'}")
        self.connection.execute("PRAGMA synchronous=off")
        self.connection.executescript(_TABLES)
        self._count = 0

    def next(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}_{self._count:06d}"

    def session(self, name: str | None = None, parent: str | None = None, revert: Any = None) -> str:
        name = name or self.next("ses")
        self._count += 1
        self.connection.execute(
            "INSERT INTO session VALUES (?, ?, '/home/dev/project', '1.18.33', ?, ?, ?) ON CONFLICT (id) "
            "DO UPDATE SET revert = excluded.revert, time_updated = excluded.time_updated",
            (name, parent, None if revert is None else json.dumps(revert), self._count, self._count),
        )
        return name

    def message(self, info: dict[str, Any]) -> str:
        """Make a message, or change it."""
        data = {name: value for name, value in info.items() if name not in NAMES}
        self.connection.execute(
            "INSERT INTO message VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data",
            (info["id"], info["sessionID"], info["time"]["created"], self._count, json.dumps(data)),
        )
        return str(info["id"])

    def part(self, part: dict[str, Any]) -> str:
        """Make a part, or change it."""
        data = {name: value for name, value in part.items() if name not in NAMES}
        self.connection.execute(
            "INSERT INTO part VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data",
            (part["id"], part["messageID"], part["sessionID"], self._count, self._count, json.dumps(data)),
        )
        return str(part["id"])

    def prompt(self, session: str, *parts: dict[str, Any] | str, **more: Any) -> str:
        """What a person typed; a part that is only text needs no more."""
        name = self.next("msg")
        self.message(
            {"id": name, "sessionID": session, "role": "user", "time": {"created": self._count}, **more}
        )
        for part in parts:
            self.put(session, name, **({"type": "text", "text": part} if isinstance(part, str) else part))
        return name

    def put(self, session: str, message: str, name: str | None = None, /, **part: Any) -> str:
        """A part; changed where `name` is that of one."""
        return self.part({"id": name or self.next("prt"), "sessionID": session, "messageID": message, **part})

    def answer(self, session: str, parent: str, name: str | None = None, /, **more: Any) -> str:
        """A message of the model; changed where `name` is that of one. Over with `completed`."""
        name = name or self.next("msg")
        time: dict[str, Any] = {"created": int(name[4:])}
        if more.pop("completed", False):
            time["completed"] = self._count
        info = {"id": name, "sessionID": session, "role": "assistant", "parentID": parent, "time": time}
        return self.message({**info, "providerID": "anthropic", "modelID": "claude-opus-4-5", **more})

    def said(self, session: str, parent: str, text: str, **more: Any) -> str:
        """A whole answer."""
        name = self.answer(session, parent)
        self.put(session, name, type="step-start")
        self.put(session, name, type="text", text=text, time={"start": 1, "end": 2})
        self.put(session, name, type="step-finish", reason="stop", tokens=tokens(), cost=0)
        return self.answer(session, parent, name, **{"completed": True, "finish": "stop", **more})

    def called(
        self, session: str, parent: str, tool: str, state: dict[str, Any], part: str | None = None, **more: Any
    ) -> tuple[str, str]:
        """An answer that calls a tool, not over yet: message and part."""
        name = self.answer(session, parent)
        self.put(session, name, type="step-start")
        return name, self.call(session, name, tool, state, part, **more)

    def call(
        self, session: str, message: str, tool: str, state: dict[str, Any], part: str | None = None, **more: Any
    ) -> str:
        """A call in an answer; changed where `part` is one."""
        part = part or self.next("prt")
        return self.put(
            session, message, part, type="tool", tool=tool, callID=f"call_{part}", state=state, **more
        )


def tokens(**counts: int) -> dict[str, Any]:
    return {"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 3, "write": 0}, **counts}


def completed(output: str, **more: Any) -> dict[str, Any]:
    return {"status": "completed", "input": {"n": 1}, "output": output, "time": {"start": 5, "end": 9}, **more}
