"""Records of the AI SDK in, calls of a recording out (specs/formats.md 8; table in
docs/recording-streams.md)."""

from __future__ import annotations

from collections.abc import Callable

from ledger.events import Json, JsonObject
from ledger.intake.ai_sdk.ending import Ending, error_text
from ledger.intake.ai_sdk.metadata import app_model, app_usage
from ledger.intake.ai_sdk.parts import REASONING, TEXT, Parts, call_id_of
from ledger.intake.ai_sdk.results import Results
from ledger.intake.lines import Line
from ledger.intake.mending import as_text
from ledger.intake.payloads import DONE, Payloads
from ledger.intake.stream import End, StreamOptions
from ledger.turns import Recording, Turn

_OLDER = {  # names of older versions
    "step-start": "start-step",
    "step-finish": "finish-step",
    "reasoning": "reasoning-delta",
    "tool-call-streaming-start": "tool-input-start",
    "tool-call-delta": "tool-input-delta",
}
_SAID_AGAIN = frozenset({"raw", "tool-input-end", "reasoning-part-finish"})


class AISDKStream:
    """One stream; every `start` begins a turn."""

    def __init__(self, recording: Recording, options: StreamOptions) -> None:
        self._recording = recording
        self._payloads = Payloads(recording)
        self._options = options
        self._first = True
        self._message = ""
        self._steps = 0
        self._model: str | None = None
        self._parts: Parts | None = None
        self._ending = Ending()
        self._results = Results()

    def line(self, line: Line) -> None:
        """The next line."""
        for payload in self._payloads.of(line):
            if payload == DONE:
                self._done()
            elif not self._record(payload):
                self._recording.note("raw", f"Line {line.number}: not understood.", entry=payload)

    def end(self, _end: End) -> None:
        """There is no more."""
        self._payloads.end()
        running = self._recording.running
        if running is not None:
            self._leave_step(running, at_end=True)
            self._ending.give_up(running)

    def _record(self, record: JsonObject) -> bool:
        """Take one record; False when it is of no known type or does not belong here."""
        told = as_text(record.get("type"))
        kind = _OLDER.get(told, told)
        if kind != "finish" and kind != "message-metadata" and self._ending.waits:
            self._finish_step(None)  # nothing came that would call the step's end into question
        if (take := _TAKES.get(kind)) is not None:
            return take(self, record)
        if kind.startswith("data-"):
            return self._beside("data", record)
        return kind in _SAID_AGAIN

    # -- turns and steps

    def _turn(self) -> Turn:
        running = self._recording.running
        return running if running is not None else self._begin({})

    def _begin(self, record: JsonObject) -> Turn:
        turn_id = self._options.turn_id if self._first else None
        self._first = False
        self._message = as_text(record.get("messageId"))
        self._steps = 0
        self._parts = self._model = None
        self._ending.clear()
        return self._recording.begin_turn(turn_id, runtime="ai-sdk", message_id=self._message or None)

    def _start(self, record: JsonObject) -> bool:
        running = self._recording.running
        if running is not None:  # the stream before this one was cut
            self._leave_step(running)
            if not self._ending.give_up(running):
                running.error("Another answer began before this one ended.", "missing_terminal_event")
        self._begin(record)
        return self._metadata(record)

    def _done(self) -> None:
        """`[DONE]` closes every stream, whatever became of the answer. An answer without a `finish` is whole
        where nothing of it is open: it was written by hand."""
        running = self._recording.running
        if running is None:
            return
        parts = self._parts
        whole = parts is None or self._ending.waits or not (parts.announced or parts.streaming)
        if not whole:
            self._leave_step(running)
        if not self._ending.give_up(running):
            if whole:
                self._finish_step(None)
                running.complete()
            else:
                running.error("The stream ended without a finish.", "missing_terminal_event")

    def _step(self, *, announced: bool = False) -> Parts:
        """The open step's parts; begun now where the stream does not say where steps begin."""
        turn = self._turn()
        if self._parts is None:
            self._steps += 1
            name = f"{self._message}:{self._steps}" if self._message else None
            provider, model = self._options.provider, self._model
            step = turn.begin_step(name, provider=provider, model=model)
            self._parts = Parts(turn, step, provider, model, announced=announced)
        return self._parts

    def _start_step(self, record: JsonObject) -> bool:
        if self._parts is not None:
            self._close(cut=False)
            self._finish_step(None)
        self._step(announced=True)
        return not record.get("warnings") or self._beside("warning", record)

    def _reset_step(self, _record: JsonObject) -> bool:
        """The step is tried again: what it had so far is taken back."""
        if self._parts is None:
            return False
        turn, step_id = self._turn(), self._parts.step.step_id
        self._leave_step(turn)
        turn.retraction(step_ids=[step_id])
        return True

    def _leave_step(self, turn: Turn, *, at_end: bool = False) -> None:
        """The open step goes no further; one whose end was said has ended."""
        if self._ending.waits:
            self._finish_step(None, at_end=at_end)
        elif self._parts is not None:
            self._close(cut=True)
            self._ending.cut_step(turn, self._parts)
            self._parts = None

    def _close(self, *, cut: bool) -> None:
        if self._parts is not None:
            self._parts.settle(self._payloads.broken, cut=cut)

    def _end_step(self, record: JsonObject) -> bool:
        """A step's end; believed when the next record does not say that the stream was cut."""
        if self._parts is None:
            return False
        self._close(cut=False)
        self._ending.step_ends(record)
        if record.get("finishReason") is not None:
            self._finish_step(None)
        return True

    def _finish_step(self, turn_ends: JsonObject | None, *, at_end: bool = False) -> None:
        if self._parts is not None:
            self._ending.finish_step(self._turn(), self._parts, turn_ends, at_end=at_end)
            self._parts = None

    # -- the turn's end

    def _finish(self, record: JsonObject) -> bool:
        running = self._recording.running
        if running is None:
            return False
        if self._parts is not None:
            self._close(cut=False)
            self._finish_step(record)
        self._ending.finish(running, record)
        return True

    def _abort(self, record: JsonObject) -> bool:
        turn = self._turn()
        self._leave_step(turn)
        turn.abort(as_text(record.get("reason")) or None)
        return True

    def _error(self, record: JsonObject) -> bool:
        self._turn()
        self._ending.failed(*error_text(record), record)
        return True

    # -- the rest

    def _metadata(self, record: JsonObject) -> bool:
        metadata = record.get("messageMetadata")
        if not isinstance(metadata, dict) or not metadata:
            return metadata is None or not metadata or self._beside("metadata", record)
        usage, model = app_usage(metadata), app_model(metadata)
        self._ending.counted(usage)
        self._answered_by(model)
        return usage is not None or model is not None or self._beside("metadata", record)

    def _response(self, record: JsonObject) -> bool:
        self._answered_by(as_text(record.get("modelId")) or None)
        return True

    def _answered_by(self, model: str | None) -> None:
        if self._parts is not None:
            self._parts.answered_by(None, model)
        else:
            self._model = model or self._model  # of the steps that follow

    def _file(self, record: JsonObject) -> bool:
        """A file that the model made: a block of its answer."""
        fields: dict[str, Json] = {"kind": "file", "text": "A file that the model made.", "entry": record}
        self._step().step.block("note", fields)
        return True

    def _beside(self, kind: str, record: JsonObject) -> bool:
        turn = self._recording.running or self._recording.turn
        step = self._parts.step.step_id if self._parts is not None else None
        if turn is not None:
            turn.note(kind, None, step_id=step, entry=record)
        else:
            self._recording.note(kind, None, entry=record)
        return True

    def _result(self, record: JsonObject) -> bool:
        turn = self._recording.running or self._recording.turn or self._begin({})
        return self._results.take(turn, record, self._parts)

    def _bad_input(self, record: JsonObject) -> bool:
        """A call whose input was refused: it is answered by the error."""
        self._step().call(record)
        answer: JsonObject = {**record, "type": "tool-output-error"}
        return self._results.take(self._turn(), answer, self._parts)

    def _signature(self, record: JsonObject) -> bool:
        told: JsonObject = {"anthropic": {"signature": record.get("signature")}}
        self._step().piece(REASONING, {"providerMetadata": told}, self._payloads.broken)
        return True

    def _redacted(self, record: JsonObject) -> bool:
        self._step().step.end_thinking("", None, redacted_data=as_text(record.get("data")))
        return True


def _part(kind: str, what: str) -> Callable[[AISDKStream, JsonObject], bool]:
    def take(stream: AISDKStream, record: JsonObject) -> bool:
        parts, broken = stream._step(), stream._payloads.broken
        if what == "start":
            parts.start(kind, record, broken)
        elif what == "delta":
            parts.piece(kind, record, broken)
        else:
            return parts.end(kind, record, broken)
        return True

    return take


def _call(take_call: Callable[[Parts, JsonObject], None]) -> Callable[[AISDKStream, JsonObject], bool]:
    def take(stream: AISDKStream, record: JsonObject) -> bool:
        if not call_id_of(record):
            return False
        take_call(stream._step(), record)
        return True

    return take


def _aside(kind: str) -> Callable[[AISDKStream, JsonObject], bool]:
    return lambda stream, record: stream._beside(kind, record)


_TAKES: dict[str, Callable[[AISDKStream, JsonObject], bool]] = {
    "start": AISDKStream._start,
    "start-step": AISDKStream._start_step,
    "reset-step": AISDKStream._reset_step,
    "finish-step": AISDKStream._end_step,
    "finish": AISDKStream._finish,
    "abort": AISDKStream._abort,
    "error": AISDKStream._error,
    **{f"{kind}-{what}": _part(kind, what) for kind in (TEXT, REASONING) for what in ("start", "delta", "end")},
    "reasoning-signature": AISDKStream._signature,
    "redacted-reasoning": AISDKStream._redacted,
    "tool-input-start": _call(Parts.call_starts),
    "tool-input-delta": _call(Parts.call_piece),
    "tool-input-available": _call(Parts.call),
    "tool-call": _call(Parts.call),
    "tool-input-error": AISDKStream._bad_input,
    "tool-output-available": AISDKStream._result,
    "tool-result": AISDKStream._result,
    "tool-output-error": AISDKStream._result,
    "tool-error": AISDKStream._result,
    "tool-output-denied": AISDKStream._result,
    "tool-approval-request": AISDKStream._result,
    "tool-approval-response": AISDKStream._result,
    "message-metadata": AISDKStream._metadata,
    "response-metadata": AISDKStream._response,
    "file": AISDKStream._file,
    "reasoning-file": AISDKStream._file,
    "source": _aside("source"),
    "source-url": _aside("source"),
    "source-document": _aside("source"),
    "custom": _aside("custom"),
    "stream-start": lambda stream, record: not record.get("warnings") or stream._beside("warning", record),
}


def make(recording: Recording, options: StreamOptions) -> AISDKStream:
    """The adapter of one stream."""
    return AISDKStream(recording, options)
