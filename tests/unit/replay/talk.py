"""Short spellings of events for tests: `user("q"), text("a", "m1"), call("c1", "m1"), result("c1")`."""

from __future__ import annotations

from typing import Any

from ledger.events import Json
from ledger.recorded import RecordedEvent
from tests.property.ledgers import recorded

EventDict = dict[str, Any]


def event(kind: str, turn: str | None = "t1", step: str | None = None, **fields: Any) -> EventDict:
    names = {"turn_id": turn, "step_id": step}
    return {"type": kind, **{name: value for name, value in names.items() if value is not None}, **fields}


def user(content: Any, turn: str = "t1", **fields: Any) -> EventDict:
    return event("user_message", turn, content=content, **fields)


def thinking(words: str, step: str | None, turn: str = "t1", **fields: Any) -> EventDict:
    return event("thinking_complete", turn, step, text=words, **fields)


def text(words: str, step: str | None, turn: str = "t1", **fields: Any) -> EventDict:
    return event("text_complete", turn, step, text=words, **fields)


def call(name: str, step: str | None, turn: str = "t1", **fields: Any) -> EventDict:
    return event("tool_start", turn, step, tool_call_id=name, tool_name="shell", args={}, **fields)


def result(name: str, content: Json = "out", turn: str = "t1", **fields: Any) -> EventDict:
    return event("tool_result", turn, tool_call_id=name, content=content, **fields)


def complete(turn: str = "t1", **fields: Any) -> EventDict:
    return event("complete", turn, **fields)


def talk(*events: EventDict) -> list[RecordedEvent]:
    """The events as reading them from the store gives them, versions from 1, ids `e1`, `e2` …"""
    return recorded(events)
