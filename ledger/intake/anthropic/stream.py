"""Events of the Messages API in, calls of a recording out (specs/formats.md 9; table in
docs/recording-streams.md)."""

from __future__ import annotations

from ledger.events import Json, JsonObject
from ledger.intake.anthropic.blocks import Blocks
from ledger.intake.lines import Line
from ledger.intake.mending import as_text
from ledger.intake.model_turns import ModelTurns, worth_another_try
from ledger.intake.payloads import DONE, Payloads
from ledger.intake.stream import End, StreamOptions
from ledger.intake.token_counts import anthropic_usage
from ledger.turns import Recording, Step

PROVIDER, API = "anthropic", "anthropic-messages"
_GOES_ON = frozenset({"tool_use", "pause_turn", "compaction"})
_OUT_OF_TOKENS = frozenset({"max_tokens", "model_context_window_exceeded"})
_BESIDE = ("context_management", "input_transformations")


class AnthropicStream:
    """One stream: message after message, each a step."""

    def __init__(self, recording: Recording, options: StreamOptions) -> None:
        self._recording = recording
        self._payloads = Payloads(recording)
        self._turns = ModelTurns(recording, options, "anthropic")
        self._message: _Message | None = None

    def line(self, line: Line) -> None:
        """The next line."""
        for payload in self._payloads.of(line):
            if payload != DONE and not self._record(payload):
                self._recording.note("raw", f"Line {line.number}: not understood.", entry=payload)

    def end(self, end: End) -> None:
        """There is no more."""
        self._payloads.end()
        message = self._message
        if message is not None:
            if message.step.ended and not self._turns.failed:  # all of it came but the last event
                if end == "eof":
                    said = "The stream ended before message_stop."
                    self._turns.fail(said, "missing_terminal_event", again=False)
                return
            message.cut(self._payloads.broken)
        self._turns.end(end)

    def _record(self, record: JsonObject) -> bool:
        """Take one event; False when it is of no known type or does not belong here."""
        kind = record.get("type")
        if kind == "ping":
            return True
        if kind == "message_start":
            return self._start(record)
        if kind == "error" or (kind is None and isinstance(record.get("error"), dict)):
            return self._error(record)
        if kind == "content_block_delta" or kind == "content_block_start" or kind == "content_block_stop":
            return self._block(str(kind), record)
        if kind == "message_delta" or kind == "message_stop":
            message = self._message
            if message is None or self._turns.failed:
                return False
            if kind == "message_delta":
                message.delta(record)
                if message.stop_reason is not None:
                    self._finish(message)
                return True
            self._message = None
            self._end_message(message)
            return True
        return False

    def _start(self, record: JsonObject) -> bool:
        told = record.get("message")
        if not isinstance(told, dict):
            return False
        name = as_text(told.get("id"))
        before = self._message
        if before is not None:
            if name and name == before.name and not self._turns.failed:
                before.count(told.get("usage"))  # repeated in mid-stream: it says nothing new
                return True
            if before.step.ended and not self._turns.failed:
                self._end_message(before)  # its last event was lost on the way
            else:
                before.cut(self._payloads.broken)
        model = as_text(told.get("model")) or None
        step = self._turns.begin(name, provider=PROVIDER, api=API, model=model)
        self._message = message = _Message(name, step, Blocks(self._turns.turn(), step))
        message.count(told.get("usage"))
        if told.get("content"):  # a whole message where its blocks should follow
            self._recording.note("raw", "A message_start that has content.", entry=record)
        return True

    def _block(self, kind: str, record: JsonObject) -> bool:
        index = record.get("index")
        if not isinstance(index, int) or self._turns.failed:
            return False
        broken = self._payloads.broken
        message = self._message
        if message is None:
            if kind == "content_block_stop":
                return False
            step = self._turns.begin(None, provider=PROVIDER, api=API, model=None)  # its start was lost
            message = self._message = _Message("", step, Blocks(self._turns.turn(), step))
        if kind == "content_block_stop":
            return message.blocks.stop(index, broken)
        piece = record.get("delta" if kind == "content_block_delta" else "content_block")
        if not isinstance(piece, dict):
            return False
        if kind == "content_block_delta":
            return message.blocks.delta(index, piece)
        return message.blocks.start(index, piece, broken)

    def _end_message(self, message: _Message) -> None:
        self._finish(message)
        reason = message.stop_reason
        goes_on = reason in _GOES_ON or (reason is None and message.blocks.calls > 0)
        self._turns.finished(reason, goes_on=goes_on)

    def _finish(self, message: _Message) -> None:
        """The message says why it stopped, or that it did: everything of it is there."""
        reason = message.stop_reason
        message.blocks.stop_all(self._payloads.broken)
        message.step.finish(
            reason,
            anthropic_usage(message.usage),
            message.name or None,
            out_of_tokens=reason in _OUT_OF_TOKENS,
            drop_calls="the model refused" if reason == "refusal" else None,
            provider_metadata=message.beside or None,
        )

    def _error(self, record: JsonObject) -> bool:
        error = record.get("error")
        told: JsonObject = error if isinstance(error, dict) else {"message": error}
        code = as_text(told.get("type")) or None
        if self._message is not None:
            self._message.cut(self._payloads.broken)
            self._message = None
        said = as_text(told.get("message")) or "The provider reported an error."
        self._turns.fail(said, code, again=worth_another_try(code), entry=record)
        return True


class _Message:
    """One message as it comes."""

    def __init__(self, name: str, step: Step, blocks: Blocks) -> None:
        self.name = name
        self.step = step
        self.blocks = blocks
        self.usage: JsonObject = {}
        self.stop_reason: str | None = None
        self.beside: JsonObject = {}
        """What the message's end says besides its reason and its usage."""

    def count(self, usage: Json) -> None:
        """Later numbers count, field by field."""
        if isinstance(usage, dict):
            self.usage.update({key: value for key, value in usage.items() if value is not None})
            counted = anthropic_usage(self.usage)
            if counted is not None:
                self.step.usage(counted)

    def delta(self, record: JsonObject) -> None:
        """What `message_delta` says of the message."""
        delta = record.get("delta")
        for key, value in delta.items() if isinstance(delta, dict) else ():
            if key == "stop_reason":
                self.stop_reason = as_text(value) or self.stop_reason
            elif value is not None:
                self.beside[key] = value
        self.beside.update({key: record[key] for key in _BESIDE if record.get(key) is not None})
        self.count(record.get("usage"))

    def cut(self, broken: int) -> None:
        """It will not go on."""
        self.blocks.cut(broken)


def make(recording: Recording, options: StreamOptions) -> AnthropicStream:
    """The adapter of one stream."""
    return AnthropicStream(recording, options)
