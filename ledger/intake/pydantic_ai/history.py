"""A list of pydantic-ai's messages as turns: one a run, as `run_id` tells, or from prompt to prompt."""

from __future__ import annotations

from ledger.events import Json, JsonObject
from ledger.intake.found import Found
from ledger.intake.mending import as_text
from ledger.intake.pydantic_ai.run import Run
from ledger.intake.scribe import Scribe
from ledger.turns import Turn

FORMAT = "pydantic-ai"
_WHOLE = frozenset({"stop", "length", "content_filter"})
_INFERRED: JsonObject = {"inferred": True}


class History:
    """The messages of one conversation, in order."""

    def __init__(self, scribe: Scribe) -> None:
        self._scribe = scribe
        self._turn: Turn | None = None
        self._run: Run | None = None
        self._name: str | None = None
        self._stop: str | None = None
        self._open: set[str] = set()  # calls without a return

    def record(self, found: Found) -> None:
        """The next message."""
        message = found.value or {}
        self._scribe.take(found, None, message.get("timestamp"))
        name = as_text(message.get("run_id")) or None
        if self._run is None or name != self._name or (name is None and self._asks(message)):
            self._begin(name)
        assert self._run is not None
        self._run.message(message)
        for part in _parts(message):
            call = as_text(part.get("tool_call_id"))
            if part.get("part_kind") == "tool-call":
                self._open.add(call)
            else:
                self._open.discard(call)
        if message.get("kind") == "response":
            self._stop = as_text(message.get("finish_reason")) or None

    def end(self) -> None:
        """Nothing is proved by the end of the list: it may still grow."""

    def _asks(self, message: JsonObject) -> bool:
        """Whether a prompt comes after an answer that was whole."""
        prompt = any(part.get("part_kind") == "user-prompt" for part in _parts(message))
        return prompt and not self._open and self._turn is not None and self._turn.last_step_id is not None

    def _begin(self, name: str | None) -> None:
        turn = self._turn
        if turn is not None and not turn.ended:
            if self._stop in _WHOLE and not self._open:
                turn.complete(self._stop, source=_INFERRED)
            else:
                turn.abort("unknown", source=_INFERRED)
        self._turn = self._scribe.recording.begin_turn(runtime=FORMAT)
        self._run, self._name, self._stop = Run(self._turn), name, None
        self._open.clear()


def _parts(message: JsonObject) -> list[JsonObject]:
    parts: Json = message.get("parts")
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
