"""Stored UIMessages as events: `step-start` parts are the borders of steps, a tool part is its call and what
became of it."""

from __future__ import annotations

from ledger.events import Json, JsonObject
from ledger.intake.ai_sdk.metadata import app_model, app_usage, merged, provider_of, redacted_of, signature_of
from ledger.intake.ai_sdk.parts import Parts
from ledger.intake.ai_sdk.results import Results
from ledger.intake.contents import content_of
from ledger.intake.found import Found
from ledger.intake.mending import as_text
from ledger.intake.scribe import Scribe
from ledger.turns import Turn

FORMAT = "ai-sdk"
_INFERRED: JsonObject = {"inferred": True}
_WAITING = ("input-streaming", "streaming")
"""States of what may still grow: it waits for a later version of the file, with all that comes after it."""


class UiMessages:
    """The messages of one chat, in order."""

    def __init__(self, scribe: Scribe) -> None:
        self._scribe = scribe
        self._turn: Turn | None = None
        self._parts: Parts | None = None
        self._results = Results()
        self._steps = 0  # of the message
        self._open: set[str] = set()  # calls without an answer
        self._said = False  # the last that was said is text
        self._model: str | None = None
        self._usage: JsonObject | None = None

    def record(self, found: Found) -> None:
        """The next message."""
        message = found.value or {}
        name, role = as_text(message.get("id")), as_text(message.get("role"))
        metadata = message.get("metadata")
        self._scribe.take(found, name or None, message.get("createdAt"))
        self._model = app_model(metadata)
        listed = message.get("parts")
        parts = [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
        if role == "assistant":
            self._finish()
            self._steps, self._usage = 0, app_usage(metadata)
            turn = self._turn or self._begin()
            for place, part in enumerate(parts):
                if part.get("state") in _WAITING:
                    return
                self._part(turn, name, part, parts[place:])
        elif role == "user":
            turn = self._begin()
            turn.user_message(content_of([_given(part) for part in parts]), name or None)
        elif role == "system":
            text = "\n\n".join(as_text(part.get("text")) for part in parts)
            (self._turn or self._begin()).system_message(text)
        else:
            self._scribe.note("raw", "A message of no known role.", message)

    def end(self) -> None:
        """Nothing is proved by the end of the list: it may still grow."""

    def _begin(self) -> Turn:
        self._finish()
        turn = self._turn
        if turn is not None and not turn.ended:
            if self._said and not self._open:
                turn.complete(None, source=_INFERRED)
            else:
                turn.abort("unknown", source=_INFERRED)
        self._open.clear()
        self._said = False
        self._turn = self._scribe.recording.begin_turn(runtime=FORMAT)
        return self._turn

    def _finish(self, *, last: bool = True) -> None:
        """The step under way is over; what an app says of token counts is of a message's `last`."""
        parts, self._parts = self._parts, None
        if parts is not None and not parts.step.ended:
            parts.step.finish(None, self._usage if last else None)
            if self._turn is not None:
                self._turn.end_step()

    def _under_way(self, turn: Turn, message: str, rest: list[JsonObject]) -> Parts:
        if self._parts is None:
            self._steps += 1
            name = f"{message}/{self._steps}" if message else None
            step = turn.begin_step(name, provider=_provider(rest), model=self._model)
            self._parts = Parts(turn, step, _provider(rest), self._model, announced=True)
        return self._parts

    def _part(self, turn: Turn, message: str, part: JsonObject, rest: list[JsonObject]) -> None:
        """A part; `rest` are it and those behind it."""
        kind = as_text(part.get("type"))
        if kind == "step-start":
            self._finish(last=False)
            return
        own = self._under_way(turn, message, rest)
        metadata = merged({}, part)
        if kind == "text":
            own.step.end_text(as_text(part.get("text")), provider_metadata=metadata or None)
            self._said = True
        elif kind == "reasoning":
            own.step.end_thinking(
                as_text(part.get("text")),
                None,
                signature_of(metadata),
                redacted_of(metadata),
                provider_metadata=metadata or None,
            )
        elif kind.startswith("tool-") or kind == "dynamic-tool":
            self._said = False
            tool = as_text(part.get("toolName")) or kind.removeprefix("tool-")
            self._tool(turn, own, {**part, "toolName": tool, "dynamic": kind == "dynamic-tool" or None})
        else:
            turn.note(kind or "part", f"A part of type {kind or 'no type'}.", entry=part)

    def _tool(self, turn: Turn, own: Parts, part: JsonObject) -> None:
        call, state = as_text(part.get("toolCallId")), as_text(part.get("state"))
        given = part.get("callProviderMetadata", part.get("providerMetadata"))
        own.call({**part, "providerMetadata": given})
        self._open.add(call)
        answered: JsonObject = {**part, "providerMetadata": part.get("resultProviderMetadata")}
        approval = part.get("approval")
        if isinstance(approval, dict):
            asked: JsonObject = {"toolCallId": call, "approvalId": approval.get("id")}
            self._results.take(turn, {**asked, "type": "tool-approval-request"}, own)
            if "approved" in approval:
                told: JsonObject = {**asked, **approval, "type": "tool-approval-response"}
                self._results.take(turn, told, own)
        if state in ("output-available", "output-error", "output-denied"):
            self._results.take(turn, {**answered, "type": f"tool-{state}"}, own)
            self._open.discard(call)


def _provider(parts: list[JsonObject]) -> str | None:
    """Who answered in the step that begins with the first of these parts: named by what is opaque in it."""
    for number, part in enumerate(parts):
        if number and part.get("type") == "step-start":
            return None
        for key in ("providerMetadata", "callProviderMetadata"):
            told = part.get(key)
            if isinstance(told, dict) and (found := provider_of(told)):
                return found
    return None


def _given(part: JsonObject) -> Json:
    """A part of the user's message as a block."""
    if part.get("type") != "file":
        return part
    url, media = as_text(part.get("url")), as_text(part.get("mediaType"))
    block: JsonObject = {"type": "image" if media.startswith("image") else "file", "media_type": media or None}
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return {**block, "data": data, "filename": part.get("filename")}
    return {**block, "url": url, "filename": part.get("filename")}
