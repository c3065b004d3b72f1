"""One lane of Claude Code's stream: the messages of the main agent, or of one sub-agent.

A message comes a block a line, each line whole and with the message's id. With partial messages the raw events
of the provider come too; they show what is being written and tell how the message ended, while the whole
blocks still count (specs/formats.md 3).
"""

from __future__ import annotations

from typing import cast

from ledger.events import Json, JsonObject
from ledger.intake.claude_code.blocks import Mapped, mapped_block, record_id
from ledger.intake.mending import as_text
from ledger.intake.times import time_of
from ledger.intake.token_counts import anthropic_usage
from ledger.turns import Lane, Step

PROVIDER, API = "anthropic", "anthropic-messages"
_BLOCKS = {"text": "text", "thinking": "reasoning", "redacted_thinking": "reasoning"}


class Messages:
    """The messages of one lane; at most one is under way."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.spoken = ""
        """The last text of the model."""
        self.counted = False
        """Whether a message said its final token counts."""
        self.prompt: str | None = None
        """What the sub-agent was asked, while its lane has no message yet."""
        self._name: str | None = None
        self._shown: str | None = None  # the message whose raw events come
        self._step: Step | None = None
        self._places: dict[str, int] = {}  # blocks so far, by message
        self._open: int | None = None  # the block that streams, with partial messages
        self._streamed: dict[int, str] = {}  # kinds of blocks that streamed and are not whole yet
        self._done: set[int] = set()  # blocks of the message that are whole
        self._calls: dict[int, tuple[str, str, list[str]]] = {}  # calls that stream: id, name, arguments
        self._signatures: dict[int, str] = {}
        self._usage: JsonObject = {}
        self._final = False  # whether these are its last counts
        self._stop: str | None = None

    # -- whole messages

    def assistant(self, record: JsonObject, message: JsonObject) -> list[str]:
        """A line of the model's message. Gives the ids of the events of its blocks."""
        name = as_text(message.get("id"))
        step = self._under_way(name, message, record)
        usage = message.get("usage")
        if isinstance(usage, dict) and not self._usage and step is not None:
            self._usage = dict(usage)
        content = message.get("content")
        blocks = content if isinstance(content, list) else _text_block(content)
        ids: list[str] = []
        for number, block in enumerate(blocks):
            place = self._place(name)
            event_id = record_id(record, str(number))
            more: dict[str, Json] = {"id": event_id, "at": time_of(record.get("timestamp"))}
            self._write(step, name, place, mapped_block(block), more)
            ids += [event_id] if event_id else []
        if record.get("aborted") is True:
            self.cut()
        return ids

    def _under_way(self, name: str, message: JsonObject, record: JsonObject) -> Step | None:
        """The step of a message; None for one that ended before: it goes on all the same."""
        if name == self._name and self._step is not None:
            return None if self._step.ended else self._step
        if name and name in self._places:
            return None
        return self._begin(name, message, record)

    def _begin(self, name: str, message: JsonObject, record: JsonObject) -> Step:
        self.finish()
        self._ask()
        model = as_text(message.get("model")) or None
        at = time_of(record.get("timestamp"))
        self._step = self.lane.begin_step(name or None, provider=PROVIDER, api=API, model=model, at=at)
        self._name, self._usage, self._stop, self._final = name, {}, None, False
        for held in (self._streamed, self._done, self._calls, self._signatures):
            held.clear()
        self._open = None
        self._places[name] = 0
        return self._step

    def _place(self, name: str) -> int:
        place = self._places.get(name, 0)
        if name == self._name and self._open is not None and self._open not in self._done:
            place = self._open
        self._places[name] = max(place + 1, self._places.get(name, 0))
        if name == self._name:
            self._done.add(place)
        return place

    def _write(self, step: Step | None, name: str, place: int, mapped: Mapped, more: dict[str, Json]) -> None:
        event_type, fields = mapped
        self._streamed.pop(place, None)
        if event_type == "text_complete":
            self.spoken = as_text(fields["text"])
        if step is None:
            self.lane.write(event_type, {"step_id": name or None, "block_index": place, **fields, **more})
            if event_type == "tool_start":
                self.lane.called(as_text(fields["tool_call_id"]), name)
            return
        metadata = fields.get("provider_metadata")
        if event_type == "text_complete":
            step.end_text(as_text(fields["text"]), place, provider_metadata=metadata, **more)
        elif event_type == "thinking_complete":
            signature, hidden = (cast(str | None, fields.get(key)) for key in ("signature", "redacted_data"))
            if not (fields["text"] or signature or hidden):  # hollow: a step leaves it out, a file keeps it
                self.lane.write(event_type, {"step_id": name or None, "block_index": place, **fields, **more})
                return
            step.end_thinking(as_text(fields["text"]), place, signature, hidden, **more)
        elif event_type == "tool_start":
            call_id = as_text(fields["tool_call_id"])
            hosted = cast(bool | None, fields["provider_executed"])
            step.call(
                call_id,
                as_text(fields["tool_name"]),
                fields["args"],
                place,
                provider_executed=hosted,
                id=more["id"],
                at=more["at"],
                provider_metadata=metadata,
            )
            self.lane.start_call(call_id)  # it runs, or is about to
        else:
            step.block(event_type, fields, place, **more)

    # -- partial messages

    def event(self, event: JsonObject, record: JsonObject) -> bool:
        """A raw event of the provider. False when it is not understood."""
        kind = as_text(event.get("type"))
        if kind == "message_start" and isinstance(message := event.get("message"), dict):
            self._shown = name = as_text(message.get("id"))
            if name not in self._places:
                self._begin(name, message, record)
            if name == self._name:
                self._count(message.get("usage"))
            return True
        if kind == "ping":
            return True
        if self._step is None or self._step.ended or self._shown != self._name:
            return kind.startswith(("content_block_", "message_"))  # its message is over: nothing to show
        if kind == "content_block_start":
            return self._start(event.get("index"), event.get("content_block"))
        if kind == "content_block_delta":
            return self._delta(event.get("index"), event.get("delta"))
        if kind == "content_block_stop":
            self._stopped(event.get("index"))
            return True
        if kind == "message_delta":
            delta = event.get("delta")
            if isinstance(delta, dict):
                self._stop = as_text(delta.get("stop_reason")) or self._stop
            self._count(event.get("usage"))
            self.counted = self._final = True
            return True
        if kind == "message_stop":
            self.finish(ended=True)
            return True
        return False

    def _start(self, index: Json, block: Json) -> bool:
        if not isinstance(index, int) or not isinstance(block, dict) or self._step is None:
            return False
        self._open = index
        self._places[self._name or ""] = max(index + 1, self._places.get(self._name or "", 0))
        kind = as_text(block.get("type"))
        shown = _BLOCKS.get(kind, "tool-call" if kind.endswith("tool_use") else kind)
        self._streamed[index] = shown
        if shown == "tool-call":
            self._calls[index] = (as_text(block.get("id")), as_text(block.get("name")), [])
        self._step.start_block(
            index, "text" if shown == "text" else "reasoning" if shown == "reasoning" else ""
        )
        return True

    def _delta(self, index: Json, delta: Json) -> bool:
        if not isinstance(index, int) or not isinstance(delta, dict) or self._step is None:
            return False
        kind = as_text(delta.get("type"))
        if kind == "text_delta":
            self._step.text(as_text(delta.get("text")), index)
        elif kind == "thinking_delta":
            self._step.thinking(as_text(delta.get("thinking")), index)
        elif kind == "input_json_delta":
            if index in self._calls:
                self._calls[index][2].append(as_text(delta.get("partial_json")))
        elif kind == "signature_delta":
            self._signatures[index] = as_text(delta.get("signature"))
        else:
            return kind == "citations_delta"
        return True

    def _stopped(self, index: Json) -> None:
        """A block ended. Its whole form came before; where that line was lost, what streamed is taken."""
        self._open = None
        part = self._streamed.pop(index, None) if isinstance(index, int) else None
        if part is None or not isinstance(index, int) or self._step is None:
            return
        if part == "text":
            self._step.end_text(None, index)
        elif part == "reasoning":
            signature = self._signatures.get(index)
            told: Json = {"signature": signature} if signature else None  # a line of it may have been lost
            self._step.end_thinking(None, index, provider_metadata=told)
        elif part == "tool-call" and index in self._calls:
            call_id, name, pieces = self._calls.pop(index)
            if self.lane.step_of(call_id) != self._step.step_id:
                self._step.call(call_id, name, "".join(pieces) or {}, index)
                self.lane.start_call(call_id)
        self._done.add(index)

    def _count(self, usage: Json) -> None:
        if isinstance(usage, dict):
            self._usage.update({key: value for key, value in usage.items() if value is not None})

    # -- ends

    def finish(self, stop: str | None = None, *, ended: bool = False) -> None:
        """The message is complete, as far as the stream shows it. `ended`: the provider said so."""
        step, self._open = self._step, None
        if step is None or step.ended:
            return
        reason = self._stop or stop
        if self._streamed and not ended:
            self.cut()  # another message began while a block of this one streamed
            return
        usage = anthropic_usage(self._usage) if self._final else None
        metadata: Json = None
        if not self._final and self._usage:
            metadata = {"claude-code": {"usage_at_start": self._usage}}
        step.finish(reason, usage, self._name or None, provider_metadata=metadata)
        self.lane.end_step()
        self._places[self._name or ""] += 1  # the place of what closed it

    def cut(self) -> None:
        """The message will not go on: what came of it is kept."""
        self._open = None
        self._streamed.clear()
        if self._step is not None and not self._step.ended:
            self.lane.cut_step()
            self._places[self._name or ""] += 1

    def _ask(self) -> None:
        prompt, self.prompt = self.prompt, None
        if prompt is not None:
            self.lane.user_message(prompt, origin="runtime")


def _text_block(content: Json) -> list[Json]:
    return [{"type": "text", "text": as_text(content)}]
