"""One model call of a turn: blocks as they stream, then events (DESIGN.md 5).

A text or thinking block becomes an event when it ends; what is still open at the step's end follows, thinking
first, then text. Calls wait for the step's end, because a response that ran out of tokens drops them, unless
they are started or answered before. Each has its place in the response as `block_index`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, cast

from ledger.assembler import CALL, REASONING, TEXT, Assembler, Index, Part, StepOutput
from ledger.events import Json, JsonObject
from ledger.turns.blocks import replay_state_of
from ledger.turns.writing import BlockWriter

if TYPE_CHECKING:
    from ledger.turns.lane import Lane

RESULT = "tool-result"


class OpenBlock(NamedTuple):
    """A text or thinking block that still grows: what a checkpoint keeps of it."""

    part: Part
    event_type: str
    fields: JsonObject
    """turn_id, step_id, lane and block_index of the event that it will be."""


class Step:
    """One model call. `step_id` names it; `ended` is True once it is finished, failed or cut off."""

    def __init__(self, lane: Lane, step_id: str) -> None:
        self.step_id = step_id
        self.ended = False
        self._lane = lane
        self._assembler = Assembler()
        self._blocks = BlockWriter(lane, step_id, self._assembler)
        self._current: Part | None = None  # the block that pieces without an index go to

    # -- as it streams

    def push(self, chunk: Mapping[str, Json]) -> None:
        """One chunk of specs/dsh.md 1.1. A `block-end` of type text or reasoning writes its event."""
        if not self.ended:
            self._assembler.push(chunk)
            index = chunk.get("index")
            if (
                chunk.get("type") == "block-end"
                and isinstance(index, int | str)
                and index in self._assembler.parts
            ):
                self._blocks.complete(self._assembler.parts[index])

    def text(self, piece: str, index: Index | None = None) -> None:
        """A piece of visible text: for the block `index`, or for the last one, or a new one where that was no
        text."""
        self._piece(TEXT, piece, index)

    def thinking(self, piece: str, index: Index | None = None) -> None:
        """A piece of thinking, likewise."""
        self._piece(REASONING, piece, index)

    def arguments(
        self, index: Index, piece: str, tool_call_id: str | None = None, tool_name: str | None = None
    ) -> None:
        """A piece of a call's JSON arguments."""
        if not self.ended:
            self._assembler.add_arguments(index, piece, tool_call_id, tool_name)

    def start_block(self, index: Index, kind: str) -> None:
        """A block begins: `text`, `reasoning` or `tool-call`. Needed only to fix its place before its first
        piece."""
        if not self.ended:
            self._assembler.start(index, kind)

    def end_text(self, text: str | None = None, index: Index | None = None, **more: Json) -> None:
        """A text block is complete; `text` None = what was accumulated. Writes `text_complete`.

        `more` are further fields of the event: `id`, `at`, `provider_metadata`, `source`, `visibility`.
        """
        self._end(TEXT, index, {} if text is None else {"text": text}, more)

    def end_thinking(
        self,
        text: str | None = None,
        index: Index | None = None,
        signature: str | None = None,
        redacted_data: str | None = None,
        **more: Json,
    ) -> None:
        """A thinking block is complete; likewise. Writes `thinking_complete`."""
        block: JsonObject = {} if text is None else {"text": text}
        if signature is not None:
            block["signature"] = signature
        if redacted_data is not None:
            block["redacted_data"] = redacted_data
        self._end(REASONING, index, block, more)

    def call(
        self,
        tool_call_id: str | None = None,
        tool_name: str | None = None,
        args: Json = None,
        index: Index | None = None,
        *,
        provider_executed: bool | None = None,
        accumulated: bool = False,
        **more: Json,
    ) -> None:
        """A call is complete. Its event is written at the end of the step, or by `start_call`, or with its
        result.

        `accumulated` takes the arguments (and an id or name that is None) from the pieces that came; a text
        of arguments is parsed where it is JSON and kept as it is where it is not.
        """
        if self.ended:
            return
        part = self._part(CALL, index)
        if part.block is not None:
            return
        if accumulated and part.kind == CALL:
            args = part.text
            tool_call_id = part.call_id if tool_call_id is None else tool_call_id
            tool_name = part.name if tool_name is None else tool_name
        block: JsonObject = {
            "type": CALL,
            "id": f"call-{part.index}" if tool_call_id is None else tool_call_id,
            "name": tool_name or "",
            "arguments": args,
        }
        if provider_executed is not None:
            block["provider_executed"] = provider_executed
        self._blocks.more[part.place] = more
        self._assembler.end(part.index, block)

    def start_call(self, tool_call_id: str, **more: Json) -> bool:
        """The tool of a call begins to run: its `tool_start` is written now, and urgent. False when none
        waits."""
        for part in self._assembler.parts.values():
            block = part.assembled() if part.kind == CALL and part.place not in self._blocks.written else None
            if block is not None and block.get("id") == tool_call_id:
                self._blocks.write(part.place, block, more)
                self._lane.sheet.urgent()
                return True
        return False

    def provider_result(
        self,
        tool_call_id: str,
        content: Json,
        index: Index | None = None,
        *,
        is_error: bool | None = None,
        tool_name: str | None = None,
        **more: Json,
    ) -> None:
        """The result of a provider-executed call: a block of this response, at its own place."""
        self.start_call(tool_call_id)
        fields: dict[str, Json] = {
            "tool_call_id": tool_call_id,
            "content": content,
            "is_error": is_error,
            "tool_name": tool_name,
            "provider_executed": True,
        }
        self.block("tool_result", fields, index, **more)

    def block(
        self, event_type: str, fields: Mapping[str, Json], index: Index | None = None, **more: Json
    ) -> None:
        """A block that is whole and neither text, thinking nor call: its event is written now, at its own
        place. Only the first for an index counts."""
        part = self._part(RESULT, index)
        if self.ended or part.block is not None:
            return
        self._assembler.end(part.index, {"type": RESULT})
        self._blocks.written.add(part.place)
        self._blocks.event(event_type, fields, more, part.place)

    def usage(self, usage: JsonObject) -> None:
        """The token counts so far (DESIGN.md 3.2's names); the last ones count."""
        self._assembler.usage = usage

    # -- its end

    def finish(
        self,
        finish_reason: str | None = None,
        usage: JsonObject | None = None,
        response_id: str | None = None,
        replay_state: Json = None,
        *,
        out_of_tokens: bool = False,
        drop_calls: str | None = None,
        **more: Json,
    ) -> StepOutput | None:
        """The response is complete: writes what is left of it, and `step_finish`. Only the first end counts.

        What was pushed as chunks has its own finish. `out_of_tokens` drops calls that did not start, and so
        does any other reason given as `drop_calls` (`refused` …).
        """
        if self.ended:
            return None
        assembler = self._assembler
        if usage is not None:
            assembler.usage = usage
        if out_of_tokens:
            assembler.finished("max-tokens", None, replay_state)
        elif replay_state is not None:
            assembler.finished(finish_reason or "stop", None, replay_state)
        assembler.drop_calls = drop_calls
        output = assembler.output("finished", frozenset(self._blocks.written))
        self._blocks.flush(output.kept)
        self.ended = True
        fields: dict[str, Json] = {
            "finish_reason": finish_reason if finish_reason is not None else self._chunk_reason(output),
            "usage": output.usage,
            "response_id": response_id,
            "replay_state": replay_state_of(output),
            "dropped": cast(Json, output.dropped) if output.dropped else None,
        }
        self._blocks.event("step_finish", fields, more)
        self._lane.sheet.urgent()
        return output

    def fail(self, message: str, code: str | None = None, *, reason: str | None = None, **more: Json) -> None:
        """The attempt failed and the turn goes on: writes what was streamed, then a retryable `error` that
        names it.

        The next step of the lane says `retry_of` this one.
        """
        if self.ended:
            return
        self.cut()
        self._lane.failed = self.step_id
        error: dict[str, Json] = {"message": message, "code": code, "reason": reason, "retryable": True}
        self._blocks.event("error", error, more)

    def cut(self) -> None:
        """The response was cut off: writes what a person could have read of it, marked `partial` where it was
        open.

        There is no `step_finish` then; usage that is known goes into a `token_usage`, calls that never
        started into a note.
        """
        if self.ended:
            return
        output = self._assembler.output("cancelled", frozenset(self._blocks.written))
        open_places = frozenset(part.place for part in self._assembler.parts.values() if part.block is None)
        self._blocks.flush(output.kept, open_places)
        self.ended = True
        if output.usage is not None:
            self._blocks.event("token_usage", {"usage": output.usage})
        gone = [*self.calls, *(entry for entry in output.dropped if entry["what"] == "chunk")]
        if gone:
            text = "The response was cut off before these came to anything."
            self._blocks.event("note", {"kind": "dropped", "text": text, "dropped": cast(Json, gone)})

    def __enter__(self) -> Step:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The response is complete when its block is left, and cut off when the block raises: a step that is
        begun after that retries it."""
        if error is None:
            self.finish()
        elif not self.ended:
            self.cut()
            self._lane.failed = self.step_id

    # -- for the shell

    def open_blocks(self) -> list[OpenBlock]:
        """The text and thinking blocks that are no event yet and hold something."""
        if self.ended:
            return []
        return [
            OpenBlock(
                part,
                "thinking_complete" if part.kind == REASONING else "text_complete",
                {
                    "turn_id": self._lane.turn_id,
                    "step_id": self.step_id,
                    **self._lane.tags,
                    "block_index": part.place,
                },
            )
            for part in list(self._assembler.parts.values())
            if part.growing.size and part.kind in (TEXT, REASONING)
        ]

    @property
    def calls(self) -> list[JsonObject]:
        """The calls so far that have no event yet, as blocks (`id`, `name`, `arguments`)."""
        parts = (part for part in self._assembler.parts.values() if part.place not in self._blocks.written)
        return [block for part in parts if part.kind == CALL and (block := part.assembled()) is not None]

    # -- inside

    def _piece(self, kind: str, piece: str, index: Index | None) -> None:
        if self.ended:
            return
        if index is not None:
            self._assembler.add(index, kind, piece)
            return
        part = self._current
        if part is None or part.kind != kind or part.block is not None:
            if part is not None and part.block is None:
                self._end(part.kind, part.index, {}, {})
            part = self._current = self._part(kind, None)
        part.add(piece)

    def _part(self, kind: str, index: Index | None) -> Part:
        """The block `index`; without one, a new block."""
        return self._assembler.start(f"#{len(self._assembler.parts)}" if index is None else index, kind)

    def _end(self, kind: str, index: Index | None, block: JsonObject, more: Mapping[str, Json]) -> None:
        if self.ended:
            return
        current = self._current
        if index is None and current is not None and current.kind == kind and current.block is None:
            part = current
        else:
            part = self._part(kind, index)
        if part.block is not None:
            return
        whole: JsonObject = {"type": kind if "text" in block else part.kind or kind, "text": part.text, **block}
        self._blocks.more[part.place] = more
        self._assembler.end(part.index, whole)
        self._blocks.complete(part)

    def _chunk_reason(self, output: StepOutput) -> str | None:
        return output.finish if self._assembler.has_finish else None
