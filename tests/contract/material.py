"""Events and questions that the contract tests share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ledger import Ledger, RecordedEvent
from ledger.events import BaseEvent, Fork, Json, ToolResult, UserMessage


def said(conversation_id: str, event_id: str | None, text: str = "hello", **fields: Json) -> UserMessage:
    """A user's message; the simplest event that carries content."""
    return UserMessage(
        conversation_id=conversation_id,
        turn_id="t1",
        id=event_id,
        content=text,
        **fields,
    )


def several(conversation_id: str, *event_ids: str) -> list[BaseEvent]:
    """A batch, one message an id, each text naming its id."""
    return [said(conversation_id, event_id, f"text of {event_id}") for event_id in event_ids]


def result(conversation_id: str, event_id: str, content: Json) -> ToolResult:
    """A tool result: the place where any JSON may stand."""
    return ToolResult(
        conversation_id=conversation_id,
        turn_id="t1",
        step_id="s1",
        id=event_id,
        tool_call_id="c1",
        content=content,
    )


def fork(conversation_id: str, source: str, version: int, event_id: str = "fork") -> Fork:
    """The first event of a branch."""
    return Fork(
        conversation_id=conversation_id, id=event_id, source_conversation_id=source, source_version=version
    )


def ids(recorded: Iterable[RecordedEvent]) -> list[str]:
    return [each.event_id for each in recorded]


def stored(ledger: Ledger, conversation_id: str) -> list[tuple[int, str]]:
    """(version, event id) of everything that a conversation shows."""
    return [(each.version, each.event_id) for each in ledger.read(conversation_id)]


def assert_gapless(followed: Sequence[RecordedEvent]) -> None:
    """Positions are 1, 2, 3 … in each book, in the order met; own versions go up by one in a conversation."""
    positions: dict[int, list[int]] = defaultdict(list)
    versions: dict[tuple[str, str], list[int]] = defaultdict(list)
    for each in followed:
        positions[each.book].append(each.position)
        versions[each.tenant, each.conversation_id].append(each.version)
    for book, met in positions.items():
        assert met == list(range(1, len(met) + 1)), f"book {book}"
    for conversation, met in versions.items():
        assert met == list(range(met[0], met[0] + len(met))), f"conversation {conversation}"
