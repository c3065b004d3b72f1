"""The assistant message under way in a stream of pi: deltas for live display, then the message itself.

`message_end` is authoritative (specs/pi.md 1.4): a delta only shows what is being written, a snapshot in an
update is of the moment at which it was serialised, and both count only where the message never comes.
"""

from __future__ import annotations

from typing import cast

from ledger.events import Json, JsonObject
from ledger.intake.mending import as_text
from ledger.intake.pi.assistant import FINISHED, MAPPED, stop_reason
from ledger.intake.pi.blocks import blocks_of, counts_of, mapped_block, name_of
from ledger.intake.pi.outcome import error_of
from ledger.intake.times import time_of
from ledger.turns import Step, Turn

_SCRATCH = frozenset({"partialJson", "partialArgs", "index", "streamIndex"})
"""Keys of blocks that are still being written (specs/pi.md 1.4)."""


class Answer:
    """One assistant message, a step. It is `done` once the message itself came, or once it is cut off."""

    def __init__(self, turn: Turn, message: JsonObject) -> None:
        self.done = False
        self.error: str | None = None
        """What went wrong, where the message failed: the step stays open until it is known whether it is tried
        again."""
        self._turn = turn
        self._api = name_of(message.get("api"))
        self._ended: set[int] = set()
        self._shown: dict[int, bool] = {}  # blocks that streamed: whether of text
        self._snapshot: Json = message.get("content")
        self.step: Step = turn.begin_step(
            provider=name_of(message.get("provider")),
            api=self._api,
            model=name_of(message.get("model")),
            at=time_of(message.get("timestamp")),
        )

    def update(self, record: JsonObject) -> bool:
        """A `message_update`. False when it says nothing that is understood."""
        event = record.get("assistantMessageEvent")
        if self.done or not isinstance(event, dict):
            return False
        message = record.get("message")
        if isinstance(message, dict):
            self._snapshot = message.get("content")
        kind, index = as_text(event.get("type")), event.get("contentIndex")
        if not isinstance(index, int):
            return False
        if kind == "text_delta":
            self.step.text(as_text(event.get("delta")), index)
        elif kind == "thinking_delta":
            self.step.thinking(as_text(event.get("delta")), index)
        elif kind in ("text_start", "thinking_start"):
            self.step.start_block(index, "text" if kind == "text_start" else "reasoning")
        elif kind in ("text_end", "thinking_end", "toolcall_end"):
            self._ended.add(index)
        else:
            return kind in ("toolcall_start", "toolcall_delta")
        if kind.startswith(("text_", "thinking_")):
            self._shown[index] = kind.startswith("text_")
        return True

    def whole(self, message: JsonObject) -> None:
        """The message: its blocks, and the step's end where the model's answer ended."""
        if self.done:
            return
        self.done = True
        reason = stop_reason(message)
        finished = reason in FINISHED
        self._blocks(message.get("content"), whole=True, ended=finished)
        for index, of_text in self._shown.items():  # what the message does not hold is nothing
            if of_text:
                self.step.end_text("", index)
            else:
                self.step.end_thinking("", index)
        usage = message.get("usage")
        counts: JsonObject | None = None
        if isinstance(usage, dict):
            counts = {**counts_of(usage), "reported": usage}
            self.step.usage(counts)
        rest = {name: item for name, item in message.items() if name not in MAPPED and name != "timestamp"}
        if finished:
            rest.pop("stopReason", None)
            self.step.finish(
                reason,
                counts,
                name_of(message.get("responseId")),
                provider_metadata={"pi": rest} if rest else None,
            )
            return
        if reason == "error":
            self.error = error_of(message)
        if set(rest) - {"stopReason", "errorMessage"}:
            self._turn.note("message", "What a message that did not finish says besides.", entry=rest)
        if reason != "error":
            self._turn.cut_step()

    def cut(self) -> None:
        """It will not go on: what was streamed of it is kept."""
        if not self.done:
            self.done = True
            self._blocks(self._snapshot, whole=False, ended=False)
        self._turn.cut_step()

    def fail(self, entry: Json = None) -> None:
        """The attempt failed and the run goes on: the next step retries this one."""
        if self.error is None:
            self.cut()
        else:
            self.step.fail(self.error, entry=entry)

    def _blocks(self, content: Json, *, whole: bool, ended: bool) -> None:
        """The blocks of the message, or of its last snapshot; those that did not end are partial."""
        for index, block in enumerate(blocks_of(content)):
            event_type, fields, pi = mapped_block(block, self._api)
            complete = ended or index in self._ended
            more: dict[str, Json] = {"block_index": index, "partial": None if complete else True}
            if not whole:
                pi = {name: item for name, item in pi.items() if name not in _SCRATCH}
            if event_type == "thinking_complete" and not whole and not complete:
                void = fields.pop("signature", None)  # it stands over a text that is not whole
                pi = pi if void is None else {**pi, "thinkingSignature": void}
            metadata: Json = {"pi": pi} if pi else None
            if event_type == "text_complete":
                self.step.end_text(as_text(fields["text"]), index, provider_metadata=metadata, **more)
            elif event_type == "thinking_complete":
                self.step.end_thinking(
                    as_text(fields["text"]),
                    index,
                    cast(str | None, fields.get("signature")),
                    cast(str | None, fields.get("redacted_data")),
                    provider_metadata=metadata,
                    **more,
                )
            elif event_type == "tool_start":
                call_id = as_text(fields["tool_call_id"])
                if self._turn.step_of(call_id) != self.step.step_id:  # else it was seen to run before this
                    name = as_text(fields["tool_name"])
                    self.step.call(
                        call_id, name, fields["args"], index, block_index=index, provider_metadata=metadata
                    )
            else:
                self.step.block("note", fields, index, **more)
