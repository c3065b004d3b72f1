"""Events of `run_stream_events` as JSON Lines in, calls of a recording out (table in
docs/recording-streams.md).

A turn is a run: from its first event to `agent_run_result`, whose history gives the token counts. The prompt
is known only then, so it is kept as a note: whoever sends it records it before.
"""

from __future__ import annotations

from ledger.events import Json, JsonObject
from ledger.intake.lines import Line
from ledger.intake.mending import as_text
from ledger.intake.payloads import DONE, Payloads
from ledger.intake.pydantic_ai.run import Run
from ledger.intake.stream import End, StreamOptions
from ledger.turns import Recording

RUNTIME = "pydantic-ai"


class RunStream:
    """One stream: run after run, each a turn."""

    def __init__(self, recording: Recording, options: StreamOptions) -> None:
        self._recording = recording
        self._payloads = Payloads(recording)
        self._turn_id = options.turn_id  # of the first turn only
        self._provider = options.provider
        self._run: Run | None = None

    def line(self, line: Line) -> None:
        """The next line."""
        for payload in self._payloads.of(line):
            if payload == DONE or not self._event(payload):
                self._recording.note("raw", f"Line {line.number}: not understood.", entry=payload)

    def end(self, end: End) -> None:  # noqa: ARG002
        """There is no more: a run without its result is left to the recorder."""
        self._payloads.end()

    def _event(self, event: JsonObject) -> bool:
        if event.get("event_kind") == "agent_run_result":
            self._result(event.get("result"))
            return True
        kind = as_text(event.get("event_kind"))
        if not kind.startswith("part_") and not kind.endswith(("tool_call", "tool_result", "final_result")):
            return False
        return self._running().event(event)

    def _running(self) -> Run:
        if self._run is None:
            turn = self._recording.begin_turn(self._turn_id, runtime=RUNTIME)
            self._turn_id = None
            self._run = Run(turn, asked=True, provider=self._provider)
        return self._run

    def _result(self, result: Json) -> None:
        run, turn = self._running(), self._recording.running
        told = result if isinstance(result, dict) else {}
        state = told.get("_state") or told.get("state")
        history = state.get("message_history") if isinstance(state, dict) else told.get("messages")
        messages = (
            [message for message in history if isinstance(message, dict)] if isinstance(history, list) else []
        )
        names = [message["run_id"] for message in messages if message.get("run_id") is not None]
        if names:  # earlier runs are in the history too
            messages = [message for message in messages if message.get("run_id") == names[-1]]
        if messages:
            self._recording.note("prompt", "What the run was asked.", entry=messages[0])
        run.messages(messages)
        if turn is not None:
            turn.complete(run.stop_reason)
        self._run = None


def make(recording: Recording, options: StreamOptions) -> RunStream:
    """The adapter of one stream."""
    return RunStream(recording, options)
