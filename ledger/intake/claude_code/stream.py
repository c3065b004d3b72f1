"""Records of `claude -p --output-format stream-json` in, calls of a recording out (specs/formats.md 3; table in
docs/recording-streams.md).

A turn goes from `system`/`init` to `result`. The prompt itself is in the stream only with
`--replay-user-messages`.
"""

from __future__ import annotations

from ledger.events import Json, JsonObject
from ledger.intake.claude_code.blocks import FORMAT
from ledger.intake.claude_code.turn import ClaudeTurn
from ledger.intake.lines import Line
from ledger.intake.mending import as_text
from ledger.intake.payloads import DONE, Payloads
from ledger.intake.stream import End, StreamOptions
from ledger.turns import Recording

_SHOWN_ONLY = frozenset({"thinking_tokens"})
"""Progress for the eye: what it counts comes whole."""
_SETTINGS = frozenset({"type", "subtype"})


class ClaudeStream:
    """One stream: turn after turn, with the lanes of sub-agents in them."""

    def __init__(self, recording: Recording, options: StreamOptions) -> None:
        self._recording = recording
        self._payloads = Payloads(recording)
        self._turn_id = options.turn_id  # of the first turn only
        self._turn: ClaudeTurn | None = None  # the one that runs, or the last one
        self._version = ""
        self._seen: set[str] = set()  # records that came, by uuid

    def line(self, line: Line) -> None:
        """The next line."""
        for payload in self._payloads.of(line):
            if payload == DONE or not self._record(payload):
                self._recording.note("raw", f"Line {line.number}: not understood.", entry=payload)

    def end(self, end: End) -> None:
        """There is no more. A turn without a `result` failed: of what the stream said last, or without one."""
        self._payloads.end()
        if self._turn is not None:
            self._turn.close(end)

    def _record(self, record: JsonObject) -> bool:
        kind = as_text(record.get("type"))
        if kind == "system":
            return self._system(record)
        if kind == "keep_alive":
            return True
        if kind == "stream_event":
            event = record.get("event")
            return isinstance(event, dict) and self._for(record).event(event, record)
        if kind in ("assistant", "user"):
            message = record.get("message")
            if not isinstance(message, dict):
                return False
            if kind == "assistant":
                self._for(record).assistant(record, message)
            else:
                self._for(record).user(record, message)
            return True
        if kind == "result":
            self._result(record)
            return True
        self._recording.note(kind or "raw", f"A record of type {kind or 'no type'}.", entry=record)
        return True

    def _system(self, record: JsonObject) -> bool:
        subtype = as_text(record.get("subtype"))
        if subtype in _SHOWN_ONLY or (subtype == "status" and record.get("status") == "requesting"):
            return True
        if subtype == "init":
            self._version = as_text(record.get("claude_code_version"))
            self._begin()
        elif subtype == "compact_boundary":
            self._running().compacts(record)
            return True
        turn = self._turn
        if turn is not None:
            if subtype == "task_started":
                turn.task(record)
            elif subtype == "model_refusal_fallback":
                turn.retract(record.get("retracted_message_uuids"), record)
        self._recording.note(subtype or "system", _headline(record), entry=record)
        return True

    def _result(self, record: JsonObject) -> None:
        turn = self._turn
        if turn is None:
            turn = self._begin()
        turn.result(record)

    # -- turns

    def _running(self) -> ClaudeTurn:
        return self._turn if self._turn is not None and not self._turn.turn.ended else self._begin()

    def _for(self, record: JsonObject) -> ClaudeTurn:
        """The turn that a record belongs to. A sub-agent may go on when the turn that began it has ended."""
        turn = self._turn
        parent = record.get("parent_tool_use_id")
        if turn is not None and isinstance(parent, str) and turn.knows(parent):
            return turn
        return self._running()

    def _begin(self) -> ClaudeTurn:
        if self._turn is not None and not self._turn.turn.ended:
            return self._turn  # a background task goes on in a request of its own, before the turn's result
        if self._turn is not None:
            self._turn.close("eof")
        runtime = f"{FORMAT} {self._version}" if self._version else FORMAT
        turn = self._recording.begin_turn(self._turn_id, runtime=runtime)
        self._turn_id = None
        self._turn = ClaudeTurn(turn, self._seen)
        return self._turn


def _headline(record: JsonObject) -> str:
    """One line for people."""
    subtype = as_text(record.get("subtype"))
    for name in ("error", "summary", "description", "status", "model"):
        told: Json = record.get(name)
        if isinstance(told, str) and told:
            return f"{subtype}: {told}"
    return subtype


def make(recording: Recording, options: StreamOptions) -> ClaudeStream:
    """The adapter of one stream."""
    return ClaudeStream(recording, options)
