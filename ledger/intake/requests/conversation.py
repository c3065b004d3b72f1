"""What requests to all APIs have in common: the context first, then turns from prompt to prompt."""

from __future__ import annotations

from ledger.events import Json, JsonObject
from ledger.intake.found import Found
from ledger.intake.mending import as_text
from ledger.intake.scribe import Scribe
from ledger.turns import Step, Turn

_INFERRED: JsonObject = {"inferred": True}
_NO_SETTINGS = frozenset({"model", "system", "tools", "instructions", "stream", "metadata", "user", "store"})


class Conversation:
    """The messages of one request. `calls` are those that have no result yet."""

    provider: str | None = None
    api = ""
    system_key: str | None = "system"

    def __init__(self, scribe: Scribe, beside: JsonObject) -> None:
        self.scribe = scribe
        self.model = as_text(beside.get("model")) or None
        self.calls: set[str] = set()
        self.step: Step | None = None
        self._beside = beside
        self._turn: Turn | None = None

    def record(self, found: Found) -> None:
        """The next message."""
        message = found.value or {}
        self.scribe.take(found, f"message:{found.line}")
        self.message(message)

    def message(self, message: JsonObject) -> None:
        """Map one message."""
        raise NotImplementedError

    def end(self) -> None:
        """A request ends where the model is asked: nothing ends with it."""

    @property
    def turn(self) -> Turn:
        """The turn under way."""
        return self._turn or self.begin_turn()

    def begin_turn(self) -> Turn:
        """A prompt came: the turn before is over, as far as can be told."""
        self.end_step()
        turn, first = self._turn, self._turn is None
        if turn is not None:
            if self.calls or turn.last_step_id is None:
                turn.abort("unknown", source=_INFERRED)
            else:
                turn.complete(None, source=_INFERRED)
        self.calls.clear()
        self._turn = self.scribe.recording.begin_turn(runtime=self.api)
        if first:
            self._context(self._turn)
        return self._turn

    def for_prompt(self) -> Turn:
        """The turn that a prompt belongs to: a new one after an answer that asked for nothing."""
        turn = self._turn
        answered = turn is not None and turn.last_step_id is not None and not self.calls
        return self.begin_turn() if turn is None or answered else turn

    def begin_step(self, model: str | None = None) -> Step:
        """A message of the model's is a step."""
        self.end_step()
        self.step = self.turn.begin_step(None, provider=self.provider, api=self.api, model=model or self.model)
        return self.step

    def end_step(self, reason: str | None = None) -> None:
        """The message of the model's is over."""
        step, self.step = self.step, None
        if step is not None and not step.ended:
            step.finish(reason)
            if self._turn is not None:
                self._turn.end_step()

    @property
    def context(self) -> tuple[Json, Json, Json]:
        """System prompt, tools and settings of the request; None for each that it has not."""
        system = self._beside.get(self.system_key) if self.system_key else None
        settings: JsonObject = {name: it for name, it in self._beside.items() if name not in _NO_SETTINGS}
        return system or None, self._beside.get("tools") or None, settings or None

    def _context(self, turn: Turn) -> None:
        if any(self.context):
            turn.context(*self.context)
