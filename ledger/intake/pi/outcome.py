"""When a prompt to pi is answered, and with what: the state table of specs/pi.md 2.3 over the records of its
stream.

A `turn_end` only records. `agent_end` decides when its last message stopped by itself or was aborted and no
retry follows; else it records too, because retries and overflow recovery go on after it. `agent_settled`
decides with what is recorded, and so does the end of the stream. Text of a step that ended in tool calls is
never an answer, unless the run ended there. Pure: no clock, so the timers of the table are the reader's.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from ledger.events import Json, JsonObject
from ledger.intake.mending import as_text

Kind = Literal["answer", "error", "aborted"]

_FOLLOWED_UP = frozenset({"auto_retry_start", "compaction_start", "auto_compaction_start"})
_BEFORE_THE_FENCE = frozenset({"compaction_start", "compaction_end"})
_ACTIVITY = ("agent_", "turn_", "message_", "tool_", "queue_", "compaction_", "auto_")
NO_ANSWER = "The stream ended without an answer."


class Outcome(NamedTuple):
    """How a prompt ended. `text` is the answer, what there was of it, or the error's message; `reason` is pi's
    stop reason, or None where the stream itself ended."""

    kind: Kind
    text: str
    reason: str | None


class Prompt:
    """One prompt: give it every record until it has an `outcome`.

    `prompt_id` is the id of the command that sent it (`--mode rpc`); records before the response to it belong
    to earlier prompts. Without one the first activity counts.
    """

    def __init__(self, prompt_id: str | None = None) -> None:
        self.outcome: Outcome | None = None
        self.running = False
        """Whether anything of it has come."""
        self.stray = False
        """Whether the last record given was a marker left over from before."""
        self.over = False
        """Whether its run is over without an outcome, and nothing since says that it goes on: another run would
        be another prompt's."""
        self._id = prompt_id
        self._fenced = prompt_id is None
        self._recorded: Outcome | None = None
        self._weak: str | None = None  # text of the last message that ended in tool calls

    def take(self, record: JsonObject) -> Outcome | None:
        """The next record; gives the outcome when this one decides."""
        self.stray = False
        kind = as_text(record.get("type"))
        if kind == "response":
            self._response(record)
        elif not self._fenced and kind not in _BEFORE_THE_FENCE:
            pass
        elif kind == "agent_settled":
            self._settled(record)
        else:
            self.running = self.running or kind.startswith(_ACTIVITY)
            if kind == "turn_end":
                self._record(record.get("message"))
            elif kind == "agent_end":
                self._run_ended(record)
            elif kind in _FOLLOWED_UP:
                self.over = False
        return self.outcome

    def end(self) -> Outcome:
        """The stream is over, or another prompt's run has begun: what is recorded decides."""
        if self.outcome is None:
            self.outcome = self._recorded or Outcome("error", NO_ANSWER, None)
        return self.outcome

    @property
    def recorded(self) -> Outcome | None:
        """What would decide if the stream ended now."""
        return self._recorded

    def _response(self, record: JsonObject) -> None:
        if self._id is None or record.get("id") != self._id or record.get("command") != "prompt":
            return
        if record.get("success") is True:
            self._fenced = True
        elif not self.running:
            self.outcome = Outcome("error", as_text(record.get("error")) or "The prompt was refused.", None)

    def _record(self, message: Json) -> None:
        if not isinstance(message, dict) or message.get("role", "assistant") != "assistant":
            return
        reason, text = message.get("stopReason"), text_of(message)
        if reason == "toolUse":
            self._weak = text
        elif reason in ("stop", "length"):
            self._recorded = Outcome("answer", text, str(reason))
        elif reason == "aborted":
            self._recorded = Outcome("aborted", text, str(reason))
        elif reason == "error":
            self._recorded = Outcome("error", error_of(message), str(reason))

    def _run_ended(self, record: JsonObject) -> None:
        messages = record.get("messages")
        said = [
            message
            for message in (messages if isinstance(messages, list) else ())
            if isinstance(message, dict) and message.get("role") == "assistant"
        ]
        if not said:
            return
        last, reason = said[-1], said[-1].get("stopReason")
        self._record(last)
        if record.get("willRetry") is True:
            return
        if reason in ("stop", "length", "aborted"):
            self.outcome = self._recorded
        elif reason == "toolUse":  # every tool of the batch said that the run ends with it
            self.outcome = Outcome("answer", text_of(last), str(reason))
        else:
            self.over = True

    def _settled(self, record: JsonObject) -> None:
        if not self.running:
            self.stray = True
        elif self._recorded is not None:
            self.outcome = self._recorded
        elif self._weak is not None:
            self.outcome = Outcome("answer", self._weak, "toolUse")
        elif record.get("aborted") is True:
            self.outcome = Outcome("aborted", "", "aborted")
        else:
            self.over = True  # skipped (DESIGN.md 5): its end is the stream's, or the next prompt's beginning


def text_of(message: JsonObject) -> str:
    """The visible text of a message: its text blocks, one after the other."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "".join(
        as_text(block.get("text"))
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "text"
    )


def error_of(message: JsonObject) -> str:
    """What a message that failed says of it."""
    return as_text(message.get("errorMessage")) or "The provider reported an error."
