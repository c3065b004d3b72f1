"""Events of `Runner.run_streamed(...).stream_events()` as JSON Lines in, calls of a recording out (table in
docs/recording-streams.md).

The raw events are those of the Responses API; what the tools gave comes as run items, which tell everything
else once more.
"""

from __future__ import annotations

from ledger.events import JsonObject
from ledger.intake.lines import Line
from ledger.intake.mending import as_text
from ledger.intake.openai_agents.session import RUNTIME
from ledger.intake.openai_responses.stream import OpenAIResponsesStream
from ledger.intake.openai_responses.tools import output_of
from ledger.intake.payloads import DONE, Payloads
from ledger.intake.stream import End, StreamOptions
from ledger.turns import Recording

_TOLD = frozenset({"message_output_created", "tool_called", "reasoning_item_created", "tool_search_called"})
"""Run items that the raw events told."""


class RunStream:
    """One stream of one run or several."""

    def __init__(self, recording: Recording, options: StreamOptions) -> None:
        self._recording = recording
        self._payloads = Payloads(recording)
        self._responses = OpenAIResponsesStream(recording, options, RUNTIME)
        self._answered: set[tuple[str, str | None]] = set()

    def line(self, line: Line) -> None:
        """The next line."""
        for payload in self._payloads.of(line):
            if payload == DONE or not self._event(payload):
                self._recording.note("raw", f"Line {line.number}: not understood.", entry=payload)

    def end(self, end: End) -> None:
        """There is no more."""
        self._payloads.end()
        self._responses.end(end)

    def _event(self, event: JsonObject) -> bool:
        kind, name, data = as_text(event.get("type")), as_text(event.get("name")), event.get("data")
        if kind == "raw_response_event":
            return isinstance(data, dict) and self._responses.take(data)
        item = event.get("item")
        if kind == "agent_updated_stream_event":
            agent = as_text(event.get("agent") or event.get("new_agent"))
            self._recording.note("agent", f"agent: {agent}", entry=event)
        elif kind != "run_item_stream_event" or not isinstance(item, dict):
            return False
        elif name == "tool_output" or item.get("type") == "tool_call_output_item":
            return self._output(item)
        elif name not in _TOLD:
            self._recording.note(name or "item", f"A run item: {name}.", entry=event)
        return True

    def _output(self, item: JsonObject) -> bool:
        """What a tool gave; told twice it counts once."""
        turn, raw = self._recording.turn, item.get("raw_item")
        if turn is None or not isinstance(raw, dict):
            return False
        output = output_of(raw, "")
        step_id = turn.step_of(output.call_id)
        if (output.call_id, step_id) not in self._answered:
            self._answered.add((output.call_id, step_id))
            beside = {name: value for name, value in output.beside.items() if value != "function_call_output"}
            turn.tool_result(
                output.call_id,
                output.content,
                is_error=output.is_error,
                step_id=step_id,
                provider_metadata=beside or None,
            )
        return True


def make(recording: Recording, options: StreamOptions) -> RunStream:
    """The adapter of one stream."""
    return RunStream(recording, options)
