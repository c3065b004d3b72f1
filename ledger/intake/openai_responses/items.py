"""Output items of one response: each is one block of the step, or two where the provider ran a tool
(specs/formats.md 10).

An item counts as its `output_item.done` gives it, else as the response's end restates it. Pieces are found by
`output_index`: proxies give a new id in every event. What belongs to the provider (item id, encrypted content,
phase, annotations) goes into the block's `provider_metadata` under the provider's own names, the id as
`item_id`.
"""

from __future__ import annotations

from collections.abc import Collection

from ledger.events import Json, JsonObject
from ledger.intake.mending import as_text
from ledger.intake.openai_responses.tools import (
    MAYBE_HOSTED,
    OUTPUTS,
    call_of,
    is_call,
    is_hosted,
    output_of,
    result_of,
)
from ledger.turns import Step, Turn
from ledger.turns.lane import ALL_BEFORE


class Items:
    """The items of one response."""

    def __init__(self, turn: Turn, step: Step) -> None:
        self.calls = 0  # calls that the client has to answer
        self._turn = turn
        self._step = step
        self._done: set[int] = set()
        self._parts: dict[int, int] = {}  # the reasoning part that streams, by item
        self._waiting: dict[str, tuple[int, JsonObject]] = {}  # complete calls: who runs them, is not known yet

    def added(self, index: int, item: JsonObject) -> None:
        """An item begins: its place is fixed."""
        kind = as_text(item.get("type"))
        if index in self._done:
            return
        if kind == "reasoning":
            self._step.start_block(index, "reasoning")
        elif is_call(kind):
            call = call_of(item, index)
            self._step.arguments(index, "", call.id, call.name)
            if is_hosted(item):
                self._step.start_block(f"{index}.result", "tool-result")
        elif kind == "message":
            self._step.start_block(f"{index}.0", "text")
        else:
            self._step.start_block(index, kind or "item")

    def text(self, index: int, part: int, piece: str) -> None:
        """A piece of a message's part."""
        if index not in self._done:
            self._step.text(piece, f"{index}.{part}")

    def thinking(self, index: int, part: int, piece: str) -> None:
        """A piece of a reasoning item's summary or content."""
        if index not in self._done:
            before = self._parts.setdefault(index, part)
            self._parts[index] = part
            self._step.thinking(f"\n\n{piece}" if part != before else piece, index)

    def arguments(self, index: int, piece: str) -> None:
        """A piece of what a tool is called with."""
        if index not in self._done:
            self._step.arguments(index, piece)

    def done(self, index: int, item: JsonObject) -> None:
        """An item is complete; the first time counts."""
        if index in self._done:
            return
        self._done.add(index)
        kind = as_text(item.get("type"))
        if kind == "message":
            self._message(index, item)
        elif kind == "reasoning":
            self._reasoning(index, item)
        elif is_call(kind):
            self._call(index, item)
        elif kind in OUTPUTS:
            self._output(index, item)
        elif kind == "compaction":
            fields: dict[str, Json] = {"summary": "", "through_version": ALL_BEFORE}
            self._step.block("compaction", fields, index, provider_metadata={"openai": item})
        elif kind == "mcp_approval_request":
            told = call_of(item, index)
            asked: dict[str, Json] = {"tool_call_id": told.id, "decision": "requested", "args": told.args}
            self._step.block("tool_approval", asked, index, provider_metadata=told.beside)
        else:
            note: dict[str, Json] = {"kind": "block", "text": f"An item of type {kind}.", "entry": item}
            self._step.block("note", note, index)

    def restated(self, output: Json) -> None:
        """The response's end lists all items: those that were missed on the way are taken from there."""
        for index, item in enumerate(output if isinstance(output, list) else ()):
            if isinstance(item, dict) and index not in self._done:
                self.done(index, item)

    def settle(self) -> None:
        """No more items: calls whose output did not come are the client's."""
        waiting, self._waiting = self._waiting, {}
        for index, item in waiting.values():
            self._ask(index, item, hosted=False)

    def _message(self, index: int, item: JsonObject) -> None:
        content = item.get("content")
        given = content if isinstance(content, list) else [] if content is None else [content]
        parts: list[JsonObject] = [
            part if isinstance(part, dict) else {"type": "output_text", "text": part} for part in given
        ]
        beside = _beside(item, ("content", "role"))
        for number, part in enumerate(parts):
            refusal = part.get("type") == "refusal"
            told = {**beside, **_beside(part, ("type", "text", "refusal"))}
            if refusal or part.get("type") != "output_text":
                told["type"] = part.get("type")
            text = as_text(part.get("refusal" if refusal else "text"))
            self._step.end_text(text, f"{index}.{number}", provider_metadata=told or None)
        if not parts:
            self._step.end_text("", f"{index}.0", provider_metadata=beside or None)

    def _reasoning(self, index: int, item: JsonObject) -> None:
        summary, content = _texts(item.get("summary")), _texts(item.get("content"))
        shown = summary or content
        told = _beside(item, ("summary", "content"))
        # What the joined text cannot give back is kept as it came.
        if len(shown) != 1 or not summary:
            told.update({name: item[name] for name in ("summary", "content") if item.get(name)})
        elif content:
            told["content"] = item.get("content")
        self._step.end_thinking("\n\n".join(shown), index, provider_metadata=told or None)

    def _call(self, index: int, item: JsonObject) -> None:
        kind = as_text(item.get("type"))
        if kind in MAYBE_HOSTED:
            self._waiting[call_of(item, index).id] = (index, item)
            return
        hosted = is_hosted(item)
        self._ask(index, item, hosted=hosted)
        if hosted:
            call, result = call_of(item, index), result_of(item)
            self._turn.start_call(call.id)
            self._step.provider_result(
                call.id,
                result.content,
                f"{index}.result",
                is_error=result.is_error,
                tool_name=call.name,
                provider_metadata=result.beside or None,
            )

    def _ask(self, index: int, item: JsonObject, *, hosted: bool) -> None:
        call = call_of(item, index)
        self._step.call(
            call.id,
            call.name,
            call.args,
            index,
            provider_executed=hosted or None,
            provider_metadata=call.beside,
        )
        if not hosted:
            self.calls += 1

    def _output(self, index: int, item: JsonObject) -> None:
        """What a tool gave that the provider ran: its call is one of the provider's as well."""
        output = output_of(item, self._only_waiting(as_text(item.get("type"))))
        waiting = self._waiting.pop(output.call_id, None)
        if waiting is not None:
            self._ask(*waiting, hosted=True)
        self._step.provider_result(
            output.call_id,
            output.content,
            index,
            is_error=output.is_error,
            provider_metadata=output.beside,
        )

    def _only_waiting(self, kind: str) -> str:
        """The call that an output without an id can only belong to: the first of its type that waits."""
        wanted = OUTPUTS[kind]
        return next((call for call, (_, item) in self._waiting.items() if item.get("type") == wanted), "")


def _beside(item: JsonObject, known: Collection[str]) -> JsonObject:
    """The fields of an item that its event does not hold; its id as `item_id`; nothing that says nothing."""
    told: JsonObject = {}
    for name, value in item.items():
        if name == "id":
            told["item_id"] = value
        elif (
            name != "type" and name not in known and value is not None and value != [] and value != "completed"
        ):
            told[name] = value
    return told


def _texts(parts: Json) -> list[str]:
    if not isinstance(parts, list):
        return []
    return [text for part in parts if isinstance(part, dict) and (text := as_text(part.get("text")))]
