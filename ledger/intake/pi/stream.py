"""Records of `pi --mode json` and `--mode rpc` in, calls of a recording out (specs/pi.md 1 and 2; table in
docs/recording-streams.md).

A turn of the ledger is a prompt to pi: all runs that it causes, up to the outcome (`ledger.intake.pi.outcome`).
pi's own "turn" is a step. A run that nobody is known to have prompted (an extension queued a message) is a turn
of its own, so that its answer is never taken for that of another prompt.
"""

from __future__ import annotations

from ledger.events import Json, JsonObject
from ledger.intake.lines import Line
from ledger.intake.mending import as_text
from ledger.intake.payloads import DONE, Payloads
from ledger.intake.pi.messages import Messages
from ledger.intake.pi.outcome import Outcome, Prompt
from ledger.intake.stream import End, StreamOptions
from ledger.turns import Recording, Turn
from ledger.turns.lane import ALL_BEFORE

_KNOWN = frozenset({"turn_start", "compaction_start", "auto_compaction_start"})
_OF_TURNS = ("agent_start", "turn_", "message_", "tool_execution_", "agent_end")


class PiStream:
    """One stream: prompt after prompt, each a turn."""

    def __init__(self, recording: Recording, options: StreamOptions) -> None:
        self._recording = recording
        self._payloads = Payloads(recording)
        self._turn_id = options.turn_id  # of the first turn only
        self._prompt = Prompt()
        self._messages: Messages | None = None  # of the running turn
        self._settings: JsonObject = {}
        self._tail = False  # agent_end decided: the marker that follows is the tail of that turn
        self._started = False  # whether a run has begun that has no turn yet
        self._begun = self._header = False

    def line(self, line: Line) -> None:
        """The next line."""
        for payload in self._payloads.of(line):
            if payload == DONE:
                self._recording.note("raw", f"Line {line.number}: not understood.", entry=payload)
            else:
                self._record(payload, line.number)

    def end(self, end: End) -> None:
        """There is no more. What was stopped from outside is left to the recorder, unless it had ended."""
        self._payloads.end()
        if self._messages is not None:
            if self._messages.only_injected and end == "eof":
                self._finish(Outcome("answer", "", "handled"))
            elif end == "eof" or self._prompt.recorded is not None:
                self._finish(self._prompt.end())
            elif (answer := self._messages.answer) is not None:
                answer.cut()
        elif end == "eof" and (self._started or (self._header and not self._begun)):
            self._finish(self._prompt.end())  # a prompt was given, and nothing came of it

    # -- records

    def _record(self, record: JsonObject, number: int) -> None:
        kind = as_text(record.get("type"))
        if kind == "response":
            self._response(record)
            return
        if kind == "agent_start" and self._prompt.over:
            self._finish(self._prompt.end())
        if self._messages is None and kind in ("agent_start", "turn_start"):
            self._started = True  # the turn is named by its first message, which bears a time
        elif self._begins(kind, record):
            self._take(kind, record, self._messages or self._begin())
        elif kind == "agent_settled":
            self._settled(record)
        elif kind in ("compaction_end", "auto_compaction_end"):
            self._compaction(record)
        elif kind == "thinking_level_changed":
            self._set("thinking_level", record.get("level"))
        elif kind == "session":
            self._header = True
            self._recording.note("session", f"session: {as_text(record.get('cwd'))}", entry=record)
        elif kind == "auto_retry_start" and self._messages is not None:
            self._messages.failed(record)
            self._recording.note(kind, as_text(record.get("errorMessage")) or None, entry=record)
        elif kind not in _KNOWN:
            named = kind if kind in _CONTROL else "raw"
            self._recording.note(named, f"Line {number}: {kind or 'no type'}.", entry=record)
        if self._messages is None and not self._started:
            return
        if (outcome := self._prompt.take(record)) is not None:
            self._tail = kind == "agent_end"
            self._finish(outcome)

    def _begins(self, kind: str, record: JsonObject) -> bool:
        """Whether a record belongs to a turn, and begins one where none runs."""
        if kind == "agent_end" and self._messages is None:
            return bool(record.get("messages"))
        return kind.startswith(_OF_TURNS)

    def _take(self, kind: str, record: JsonObject, messages: Messages) -> None:
        if kind == "agent_start":
            messages.run_started()
        elif kind == "message_start":
            messages.begun(record.get("message"))
        elif kind == "message_end":
            messages.ended(record.get("message"))
        elif kind == "message_update":
            if not messages.update(record):
                self._recording.note("raw", "An update of no message.", entry=record)
        elif kind == "turn_start":
            messages.step_started()
        elif kind == "turn_end":
            messages.step_ended(record)
        elif kind == "agent_end":
            messages.run_ended(record)
        elif not messages.tools.take(kind, record):
            self._recording.note("raw", f"A record of type {kind}.", entry=record)

    def _response(self, record: JsonObject) -> None:
        command, succeeded = as_text(record.get("command")), record.get("success") is True
        if command == "prompt" and succeeded:
            if self._prompt.over:  # what ran before will not go on
                self._finish(self._prompt.end())
        elif command == "prompt" and self._messages is None:
            said = as_text(record.get("error")) or "The prompt was refused."
            self._recording.begin_turn(runtime="pi").error(said, "prompt_refused", entry=record)
        elif not succeeded or (record.get("data") and not command.startswith(("get_", "compact", "prompt"))):
            what = "done" if succeeded else as_text(record.get("error")) or "failed"
            self._recording.note("response", f"{command}: {what}", entry=record)

    def _settled(self, record: JsonObject) -> None:
        if self._messages is None and not self._started:
            if not self._tail:
                self._recording.note("stray_settled_skipped", "A marker left over from before.", entry=record)
            self._tail = False

    def _compaction(self, record: JsonObject) -> None:
        result = record.get("result")
        beside: JsonObject = {name: value for name, value in record.items() if name not in ("type", "result")}
        if not isinstance(result, dict) or not isinstance(result.get("summary"), str):
            said = as_text(record.get("errorMessage")) or "Nothing was compacted."
            self._recording.note("compaction", said, entry=record)
            return
        beside.update({name: value for name, value in result.items() if name != "summary"})
        if self._messages is not None:
            self._messages.compacted(as_text(result["summary"]), beside)
        else:
            fields: dict[str, Json] = {
                "summary": as_text(result["summary"]),
                "through_version": ALL_BEFORE,
                "provider_metadata": {"pi": beside},
            }
            self._recording.sheet.write("compaction", fields)  # between turns: it belongs to none

    def _set(self, name: str, value: Json) -> None:
        self._settings[name] = value
        if self._messages is not None:
            self._messages.configure(self._settings)

    # -- turns

    def _begin(self) -> Messages:
        self._tail, self._begun = False, True
        turn: Turn = self._recording.begin_turn(self._turn_id, runtime="pi")
        self._turn_id = None
        self._messages = Messages(turn)
        if self._started:
            self._messages.run_started()
        if self._settings:
            self._messages.configure(self._settings)
        return self._messages

    def _finish(self, outcome: Outcome) -> None:
        """The turn's one end."""
        messages = self._messages or self._begin()
        messages.close()
        turn = messages.turn
        if outcome.kind == "answer":
            turn.complete(outcome.reason)
        elif outcome.kind == "aborted":
            turn.abort("user_stop")
        else:
            turn.error(outcome.text, None if outcome.reason else "missing_terminal_event")
        self._prompt, self._messages, self._started = Prompt(), None, False


_CONTROL = frozenset(
    {
        "queue_update",
        "auto_retry_start",
        "auto_retry_end",
        "entry_appended",
        "session_info_changed",
        "extension_error",
        "extension_ui_request",
        "bash_execution_update",
        "summarization_retry_scheduled",
        "summarization_retry_attempt_start",
        "summarization_retry_finished",
    }
)


def make(recording: Recording, options: StreamOptions) -> PiStream:
    """The adapter of one stream."""
    return PiStream(recording, options)
