"""A session's items as events, and events as items again. Pure.

Items are those of the Responses API, without response ids, counts or stop reasons (specs/formats.md 12). So
steps are concluded (what the model made up to the first output, or the end of a batch), and so is the end of a
turn: its terminal is marked as inferred and gives way when more arrives. Each event that begins an item carries
the item as it came in `session_item`; a session gives back exactly what it was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from ledger.events import Json, JsonObject, json_bytes
from ledger.intake.mending import as_text
from ledger.intake.openai_responses.items import Items
from ledger.intake.openai_responses.tools import is_call, output_of
from ledger.turns import Stamps, Turn
from ledger.turns.sheet import Sheet

RUNTIME = "openai-agents"
ITEM = "session_item"
_INFERRED: JsonObject = {"format": RUNTIME, "inferred": True}
_SAID = frozenset(
    {
        "user_message",
        "system_message",
        "thinking_complete",
        "text_complete",
        "tool_start",
        "tool_result",
        "tool_approval",
        "compaction",
        "note",
    }
)
_TOLD = frozenset({"user", "system", "developer"})
"""Roles of messages that the model did not make."""
_TERMINALS = frozenset({"complete", "abort", "error"})


class SessionState:
    """Where a session stands: its items, and the turn under way. Fed with the events as they are stored."""

    def __init__(self) -> None:
        self._items: list[tuple[str, str | None, JsonObject]] = []  # event id, turn, item
        self._turn_id: str | None = None
        self._ended = False
        self._spoke = False  # whether the model had the last word
        self._calls: dict[str, str | None] = {}  # calls of the turn and their steps
        self._open: set[str] = set()  # those without a result
        self._last_step: str | None = None
        self._contexts: dict[str | None, str] = {}

    # -- what is stored

    def take(self, event: JsonObject) -> None:
        """The next stored event."""
        kind = as_text(event.get("type"))
        if kind == "turn_start":
            self._turn_id, self._ended = as_text(event.get("turn_id")), False
            self._calls, self._open, self._last_step = {}, set(), None
        elif (
            kind in _TERMINALS and event.get("turn_id") == self._turn_id and event.get("retryable") is not True
        ):
            self._ended = True
        elif kind == "retraction":
            self._retract(event)
        elif kind == "tool_start":
            call = as_text(event.get("tool_call_id"))
            self._calls[call] = as_text(event.get("step_id")) or None
            if event.get("provider_executed") is not True:
                self._open.add(call)
        elif kind == "tool_result" and event.get("final") is not False:
            self._open.discard(as_text(event.get("tool_call_id")))
        if kind in _SAID and event.get("agent_id") is None:
            self._spoke = kind == "text_complete" and event.get("partial") is not True
        if kind == "step_start":
            self._last_step = as_text(event.get("step_id"))
        if (item := item_of(event)) is not None:
            turn_id = event.get("turn_id")
            self._items.append((as_text(event.get("id")), turn_id if isinstance(turn_id, str) else None, item))

    def items(self, limit: int | None = None) -> list[JsonObject]:
        """The items, oldest first; the last `limit` of them."""
        items = [item for _, _, item in self._items]
        if limit is None or limit < 0:
            return items
        return items[-limit:] if limit else []

    def last(self) -> tuple[str, JsonObject] | None:
        """The last item and the event that carries it."""
        if not self._items:
            return None
        event_id, _, item = self._items[-1]
        return event_id, item

    def event_ids(self) -> list[str]:
        """The events that carry the items, oldest first."""
        return [event_id for event_id, _, _ in self._items]

    def _retract(self, event: JsonObject) -> None:
        gone = {
            name: set(listed) if isinstance(listed := event.get(name), list) else set()
            for name in ("event_ids", "turn_ids")
        }
        self._items = [
            (event_id, turn_id, item)
            for event_id, turn_id, item in self._items
            if event_id not in gone["event_ids"] and turn_id not in gone["turn_ids"]
        ]

    # -- what is added

    def added(
        self,
        conversation_id: str,
        stamps: Stamps,
        items: Sequence[JsonObject],
        *,
        provider: str | None = None,
        model: str | None = None,
    ) -> list[JsonObject]:
        """The events of a batch of items. Does not change the state: `take` them once they are stored."""
        batch = SessionItems(conversation_id, stamps, provider, model, self)
        return [event for item in items for event in batch.take(item)] + batch.end()


class SessionItems:
    """Items on their way, one after the other; those of `state` came before."""

    def __init__(
        self,
        conversation_id: str,
        stamps: Stamps,
        provider: str | None,
        model: str | None,
        state: SessionState | None = None,
    ) -> None:
        state = state or SessionState()
        self._written: list[JsonObject] = []
        self._sheet = Sheet(conversation_id, stamps, self._written.append)
        self._provider = provider
        self._model = model
        self._open = set(state._open)
        self._ended = state._ended
        self._items: Items | None = None
        self._index = 0
        self._spoke = state._spoke and not state._ended  # whether the last item is the model's word
        self._turn: Turn | None = None
        if state._turn_id is not None:
            self._turn = Turn(self._sheet, state._turn_id, state._contexts)
            self._turn.last_step_id = state._last_step
            for call, step_id in state._calls.items():
                self._turn.called(call, step_id or "")

    def over(self, item: JsonObject) -> list[JsonObject]:
        """The events of what is over when this item comes: the step, the turn."""
        kind, role = _kind(item), as_text(item.get("role"))
        if kind.endswith("_output") or (kind == "message" and role in _TOLD):
            self._end_step()
        if kind == "message" and role == "user":
            self._close()
        return self._taken(None)

    def take(self, item: JsonObject) -> list[JsonObject]:
        """The events of the next item, and of what is over with it."""
        over = self.over(item)
        kind, role = _kind(item), as_text(item.get("role"))
        before = len(self._written)
        self._item(kind, role, item)
        told = next((event for event in self._written[before:] if event["type"] in _SAID), None)
        if told is None:  # nothing of it can be shown
            self._running().note("item", f"An item of type {as_text(item.get('type'))}.", **{ITEM: item})
        elif not _trivial(item):
            told[ITEM] = item
        return over + self._taken(told)

    def end(self) -> list[JsonObject]:
        """There are no more now: the model's last word ends its turn, as far as the items show."""
        self._end_step()
        if self._spoke:
            self._end()
        return self._taken(None)

    def _taken(self, told: JsonObject | None) -> list[JsonObject]:
        written = self._written[:]
        self._written.clear()
        for event in written:
            if event["type"] in _SAID and ITEM not in event and event is not told:
                event[ITEM] = False  # a part of an item that another event carries
        return written

    def _item(self, kind: str, role: str, item: JsonObject) -> None:
        self._spoke = False
        if kind == "message" and role == "user":
            self._begin()
            self._running().user_message(_content(item.get("content")))
        elif kind == "message" and role in _TOLD:
            self._running().system_message(_content(item.get("content")))
        elif kind.endswith("_output"):
            self._output(item)
        else:
            self._made(kind, item)

    def _made(self, kind: str, item: JsonObject) -> None:
        """Something that the model made."""
        turn = self._running()
        if self._items is None:
            step = turn.begin_step(provider=self._provider, model=self._model, source=_INFERRED)
            self._items, self._index = Items(turn, step), 0
        if isinstance(text := item.get("content"), str) and kind == "message":
            item = {**item, "type": "message", "content": [{"type": "output_text", "text": text}]}
        self._items.done(self._index, {"type": kind, **item})
        self._items.settle()
        self._index += 1
        self._spoke = kind == "message"
        if is_call(kind):
            call = as_text(item.get("call_id"))
            turn.start_call(call)
            if item.get("call_id") is not None:
                self._open.add(call)

    def _output(self, item: JsonObject) -> None:
        turn, output = self._running(), output_of(item, "")
        beside = {name: value for name, value in output.beside.items() if value != "function_call_output"}
        turn.tool_result(
            output.call_id,
            output.content,
            is_error=output.is_error,
            step_id=turn.step_of(output.call_id) or None,
            provider_metadata=beside or None,
        )
        self._open.discard(output.call_id)

    def _end_step(self) -> None:
        if self._items is not None:
            self._items = None
            self._running().end_step()

    def _running(self) -> Turn:
        if self._turn is None:
            self._begin()
        turn = self._turn
        assert turn is not None
        return turn

    def _end(self) -> None:
        """The model had the last word and nothing is open: the turn is over, as far as the items show."""
        if self._turn is not None and not self._open and not self._ended:
            self._turn.write("complete", {"source": _INFERRED})
            self._ended = True

    def _close(self) -> None:
        """Another turn comes; this one was stopped if it has no end."""
        if self._spoke:
            self._end()
        if self._turn is not None and not self._ended:
            self._turn.write("abort", {"source": _INFERRED})
            self._ended = True

    def _begin(self) -> None:
        written = self._sheet.write("turn_start", {"turn_id": self._sheet.stamps.turn_id(), "runtime": RUNTIME})
        self._turn = Turn(self._sheet, as_text(written["turn_id"]), {})
        self._ended = False
        self._open.clear()


def item_of(event: Mapping[str, Json]) -> JsonObject | None:
    """The item that an event carries, or, of an event that no session wrote, what it comes to as one."""
    kind, item = event.get("type"), event.get(ITEM)
    if isinstance(item, dict):
        return item
    if item is False or event.get("visibility") == "hidden" or event.get("agent_id") is not None:
        return None
    if kind == "user_message":
        return {"content": _input(event.get("content")), "role": "user"}
    if kind == "text_complete" and event.get("text"):
        return {"content": event["text"], "role": "assistant"}
    if kind == "tool_start" and event.get("provider_executed") is not True:
        return {
            "type": "function_call",
            "call_id": event.get("tool_call_id"),
            "name": event.get("tool_name"),
            "arguments": _spelled(event.get("args")),
        }
    if kind == "tool_result" and event.get("final") is not False and event.get("provider_executed") is not True:
        content = event.get("content")
        return {
            "type": "function_call_output",
            "call_id": event.get("tool_call_id"),
            "output": content if isinstance(content, str) else _spelled(content),
        }
    return None


def _kind(item: JsonObject) -> str:
    return as_text(item.get("type")) or "message"


def _trivial(item: JsonObject) -> bool:
    """Whether the event says all that the item says."""
    return set(item) == {"role", "content"} and item["role"] == "user" and isinstance(item["content"], str)


def _spelled(value: Json) -> str:
    return value if isinstance(value, str) else json_bytes(value).decode()


def _content(content: Json) -> str | list[JsonObject]:
    """A message's content as the ledger has it: text, or blocks of text, images and files."""
    if not isinstance(content, list):
        return as_text(content)
    return [_block(part) for part in content if isinstance(part, dict)]


def _block(part: JsonObject) -> JsonObject:
    kind = as_text(part.get("type"))
    if kind in ("input_text", "output_text", "text"):
        return {"type": "text", "text": as_text(part.get("text"))}
    rest: JsonObject = {name: value for name, value in part.items() if name != "type"}
    if kind == "input_image":
        return {"type": "image", **_data(as_text(part.get("image_url"))), **rest}
    return {"type": "file" if kind == "input_file" else kind or "part", **rest}


def _data(url: str) -> JsonObject:
    """The media type and data of a data URL; nothing for any other."""
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return {}
    return {"media_type": head[5:-7], "data": data}


def _input(content: Json) -> Json:
    """The ledger's blocks as a message's content."""
    if not isinstance(content, list):
        return content
    texts: Iterable[JsonObject] = (block for block in content if isinstance(block, dict))
    return cast(
        Json,
        [
            {"type": "input_text", "text": as_text(block.get("text"))}
            if block.get("type") == "text"
            else {**block, "type": f"input_{as_text(block.get('type'))}"}
            for block in texts
        ],
    )
