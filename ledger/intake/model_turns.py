"""Turns made of a model's own responses: what the streams of providers have in common.

Such a stream knows responses, not turns. The rule for all of them: a turn begins with the first response, goes
on while responses end in a call of a tool (or a pause), and is complete with the response that does not. Where
the stream ends after a response that wanted to go on, the turn is complete with that response's stop reason:
nothing of it is missing, its calls are answered elsewhere. Only a stream cut inside a response is an error.
"""

from __future__ import annotations

from typing import NamedTuple

from ledger.events import Json
from ledger.intake.stream import End, StreamOptions
from ledger.turns import Recording, Step, Turn


class Context(NamedTuple):
    """What a model was given beside the messages; None where the stream does not say."""

    system: Json = None
    tools: Json = None
    settings: Json = None


class _Failure(NamedTuple):
    message: str
    code: str | None
    entry: Json


class ModelTurns:
    """The turns of one stream of responses. `step` is the response under way, or the last one."""

    def __init__(self, recording: Recording, options: StreamOptions, runtime: str) -> None:
        self.step: Step | None = None
        self._recording = recording
        self._turn_id = options.turn_id  # of the first turn only
        self._runtime = runtime
        self._failure: _Failure | None = None
        self._stop: str | None = None
        self._names: dict[str, int] = {}  # step ids of the turn, and how often each came

    @property
    def responding(self) -> bool:
        """Whether a response is under way (one that failed, and may be tried again, included)."""
        return self.step is not None and not self.step.ended

    @property
    def failed(self) -> bool:
        """Whether the response under way has failed: what else belongs to it comes too late."""
        return self._failure is not None

    def turn(self) -> Turn:
        """The running turn; begun now where there is none."""
        running = self._recording.running
        if running is None:
            running = self._recording.begin_turn(self._turn_id, runtime=self._runtime)
            self._turn_id = self._stop = self.step = None
            self._names.clear()
        return running

    def begin(
        self,
        name: str | None,
        *,
        provider: str | None,
        api: str,
        model: str | None,
        context: Context | None = None,
    ) -> Step:
        """A response begins. `name` becomes the step's id; a name that the turn has already gets a number.
        `context` is what the response says the model was given.

        A response that did not end is an attempt that this one replaces.
        """
        turn = self.turn()
        failure, self._failure = self._failure, None
        if self.step is not None and not self.step.ended:
            if failure is None:
                said = "The stream went on with another response before this one ended."
                failure = _Failure(said, "response_replaced", None)
            self.step.fail(failure.message, failure.code, entry=failure.entry)
        elif failure is not None:
            turn.write("error", {**failure._asdict(), "retryable": True})
        self._stop = None
        if context is not None and any(context):
            turn.context(context.system, context.tools, context.settings)
        if name:
            again = self._names[name] = self._names.get(name, 0) + 1
            name = name if again == 1 else f"{name}~{again}"
        self.step = turn.begin_step(name or None, provider=provider, api=api, model=model)
        return self.step

    def finished(self, stop: str | None, *, goes_on: bool, at_end: bool = False) -> None:
        """The response has ended; with it the turn, unless it goes on. `at_end`: only the stream's end says
        so."""
        self._stop = stop
        if not goes_on:
            self.turn().complete(stop, at_stream_end=at_end or None)

    def fail(self, message: str, code: str | None, *, again: bool, entry: Json = None) -> None:
        """The provider reported an error (its record is `entry`). `again`: one that is worth another try, which
        the stream may hold; the turn's end waits until that is known."""
        self.turn()
        self._failure = _Failure(message, code, entry)
        if not again:
            self._fail()

    def end(self, end: End) -> None:
        """The stream is over. What was stopped from outside is left open: the recorder ends it."""
        turn = self._recording.running
        if self._failure is not None:
            self._fail()
        elif turn is not None and end == "eof":
            if self.responding:
                turn.error("The stream ended in the middle of a response.", "missing_terminal_event")
            elif self.step is not None:
                turn.complete(self._stop, at_stream_end=True)

    def _fail(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            self.turn().error(failure.message, failure.code, entry=failure.entry)


def worth_another_try(code: object) -> bool:
    """Whether an error of this type or code may go away by itself (overload, limits, timeouts, faults)."""
    return isinstance(code, str) and any(word in code for word in _PASSING)


_PASSING = ("overload", "rate_limit", "timeout", "timed_out", "server_error", "api_error", "unavailable")
