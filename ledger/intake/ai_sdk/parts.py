"""The parts of one step: texts, reasoning, calls of tools.

Part ids repeat between steps, and may repeat inside one: the key of a part is its kind, its id and how often
that id came.
"""

from __future__ import annotations

from ledger.events import Json, JsonObject
from ledger.intake.ai_sdk.metadata import merged, provider_of, redacted_of, signature_of
from ledger.intake.mending import Mended, as_text
from ledger.turns import Step, Turn

TEXT, REASONING = "text", "reasoning"
_PIECES = ("delta", "text", "textDelta", "inputTextDelta", "argsTextDelta")


def piece_of(record: JsonObject) -> str:
    """The piece that a delta brings, under any of its names in the SDK's versions."""
    return next((as_text(record[name]) for name in _PIECES if record.get(name) is not None), "")


class Parts:
    """The parts of one step. `broken` counts the lines so far that could not be read: text around one may
    have a hole, and no signature over it can hold."""

    def __init__(
        self, turn: Turn, step: Step, provider: str | None, model: str | None, *, announced: bool
    ) -> None:
        self.step = step
        self.announced = announced  # the stream says where this step begins, so it will say where it ends
        self._provider = provider
        self._model = model
        self._turn = turn
        self._open: dict[str, _Part] = {}
        self._ended: dict[str, int] = {}  # parts that ended, and how often
        self._called: set[str] = set()

    def answered_by(self, provider: str | None, model: str | None = None) -> None:
        """Who answers: the SDK says it only with or after the answer, and `step_start` is completed then."""
        news: JsonObject = {}
        if provider and self._provider is None:
            self._provider = news["provider"] = provider
        if model and self._model is None:
            self._model = news["model"] = model
        if news:
            self._turn.write("step_start", {"step_id": self.step.step_id, **news})

    def start(self, kind: str, record: JsonObject, broken: int) -> None:
        """A text or reasoning part begins. One that is open under this id goes on."""
        self._part(kind, record, broken)

    def piece(self, kind: str, record: JsonObject, broken: int) -> None:
        """A piece of it; begun now where its start was not seen."""
        part = self._part(kind, record, broken)
        text = piece_of(record)
        part.mended = part.mended or isinstance(text, Mended)
        (self.step.text if kind == TEXT else self.step.thinking)(text, part.key)

    def end(self, kind: str, record: JsonObject, broken: int) -> bool:
        """It is complete. False when none is open under this id."""
        name = _name(kind, record)
        part = self._open.get(name)
        if part is None:
            return False
        self._learn(part, record)
        self._close(name, part, broken, cut=False)
        return True

    def settle(self, broken: int, *, cut: bool) -> None:
        """The step is over: parts whose end did not come are closed with what they have."""
        for name, part in list(self._open.items()):
            if not cut or part.metadata:
                self._close(name, part, broken, cut=cut)
        self._open.clear()

    def call_starts(self, record: JsonObject) -> None:
        """A call's input begins to stream."""
        call_id = call_id_of(record)
        self.step.arguments(f"call {call_id}", "", call_id, as_text(record.get("toolName")))

    def call_piece(self, record: JsonObject) -> None:
        """A piece of a call's input."""
        call_id = call_id_of(record)
        self.step.arguments(f"call {call_id}", piece_of(record), call_id)

    def call(self, record: JsonObject) -> None:
        """A call is complete. The SDK runs its tool at once, so it is written at once."""
        call_id = call_id_of(record)
        key = f"call {call_id}"
        if key in self._called:
            return
        self._called.add(key)
        metadata = merged({}, record)
        self.answered_by(provider_of(metadata))
        known = record.get("input", record.get("args"))
        self.step.call(
            call_id,
            as_text(record.get("toolName")) or None,
            known if known is not None else record.get("rawInput"),
            key,
            provider_executed=_true(record.get("providerExecuted")),
            provider_metadata=metadata or None,
            dynamic=_true(record.get("dynamic")),
            title=record.get("title"),
            invalid=_true(record.get("invalid")),
        )
        self._turn.start_call(call_id)

    @property
    def streaming(self) -> bool:
        """Whether a text or reasoning part is open."""
        return bool(self._open)

    def has_call(self, call_id: str) -> bool:
        """Whether a call of this step is complete."""
        return f"call {call_id}" in self._called

    def _part(self, kind: str, record: JsonObject, broken: int) -> _Part:
        name = _name(kind, record)
        part = self._open.get(name)
        if part is None:
            before = self._ended.get(name, 0)
            part = self._open[name] = _Part(kind, f"{name}~{before}" if before else name, broken)
            self.step.start_block(part.key, kind)
        self._learn(part, record)
        return part

    def _learn(self, part: _Part, record: JsonObject) -> None:
        part.metadata = merged(part.metadata, record)
        self.answered_by(provider_of(part.metadata))

    def _close(self, name: str, part: _Part, broken: int, *, cut: bool) -> None:
        del self._open[name]
        self._ended[name] = self._ended.get(name, 0) + 1
        hole = part.broken != broken or part.mended
        partial = True if cut or hole else None
        # A signature over text that is not whole is refused for ever: kept, but not as one.
        metadata: JsonObject = {"damaged": part.metadata} if hole and part.metadata else part.metadata
        if part.kind == TEXT:
            self.step.end_text(None, part.key, provider_metadata=metadata or None, partial=partial)
        else:
            self.step.end_thinking(
                None,
                part.key,
                signature_of(metadata),
                redacted_of(metadata),
                provider_metadata=metadata or None,
                partial=partial,
            )


class _Part:
    def __init__(self, kind: str, key: str, broken: int) -> None:
        self.kind = kind
        self.key = key
        self.broken = broken
        self.mended = False
        self.metadata: JsonObject = {}


def call_id_of(record: JsonObject) -> str:
    """The call that a record is about."""
    inner = record.get("toolCall")
    if "toolCallId" not in record and isinstance(inner, dict):
        return as_text(inner.get("toolCallId"))
    return as_text(record.get("toolCallId", record.get("id")))


def _name(kind: str, record: JsonObject) -> str:
    return f"{kind} {as_text(record.get('id'))}"


def _true(value: Json) -> bool | None:
    return True if value is True else None
