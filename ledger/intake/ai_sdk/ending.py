"""How steps and turns of the AI SDK end, and whether that can be believed.

A connection that was cut still gives `finish-step` and `finish`: with the reason `other` and nothing counted.
In a UI stream a step's end says no reason at all, so it waits for the record after it.
"""

from __future__ import annotations

from typing import NamedTuple

from ledger.events import Json, JsonObject
from ledger.intake.ai_sdk.metadata import merged, provider_of, total_usage
from ledger.intake.ai_sdk.parts import Parts
from ledger.intake.mending import as_text
from ledger.intake.token_counts import ai_sdk_usage
from ledger.turns import Turn

_COMPLETE = frozenset({"stop", "tool-calls", "length", "content-filter"})
_DROPS = {"content-filter": "content filter"}


class _Failure(NamedTuple):
    message: str
    code: str | None
    entry: JsonObject


class Ending:
    """The end of the open step and of the running turn. `waits` is True between a step's end and what comes
    after it."""

    def __init__(self) -> None:
        self._step: JsonObject | None = None
        self._failure: _Failure | None = None
        self._usage: JsonObject | None = None
        self._counted = False

    @property
    def waits(self) -> bool:
        """Whether a step's end still has to be written."""
        return self._step is not None

    def clear(self) -> None:
        """Another turn begins."""
        self._step = self._failure = self._usage = None
        self._counted = False

    def counted(self, usage: JsonObject | None) -> None:
        """What an app says of the step under way."""
        self._usage = usage or self._usage

    def failed(self, message: str, code: str | None, record: JsonObject) -> None:
        """An error was reported; the turn's end says whether the answer ends with it."""
        self._failure = self._failure or _Failure(message, code, record)

    def step_ends(self, record: JsonObject) -> None:
        """The open step has ended, or so the stream says."""
        self._step = record

    def finish_step(
        self, turn: Turn, parts: Parts, turn_ends: JsonObject | None, *, at_end: bool = False
    ) -> None:
        """Write the step's end; `turn_ends` is the `finish` that came right after it. `at_end`: nothing came
        after it."""
        record: JsonObject = self._step or {}
        ends = turn_ends or {}
        together = {**ends, **record}
        failed = self._failure is not None and as_text(together.get("finishReason")) not in _COMPLETE
        if failed or not _whole(together):
            self.cut_step(turn, parts)
            return
        response = record.get("response")
        told: JsonObject = response if isinstance(response, dict) else {}
        metadata = merged({}, record)
        parts.answered_by(provider_of(metadata), as_text(told.get("modelId")))
        reason = as_text(record.get("finishReason") or ends.get("finishReason")) or None
        if (raw := record.get("rawFinishReason")) is not None:
            metadata["rawFinishReason"] = raw
        parts.step.finish(
            reason,
            self._counts(record),
            as_text(told.get("id")) or None,
            out_of_tokens=reason == "length",
            drop_calls=_DROPS.get(reason or ""),
            provider_metadata=metadata or None,
            at_stream_end=at_end or None,
        )
        self._leave(turn)

    def cut_step(self, turn: Turn, parts: Parts) -> None:
        """The step will not go on: it has no end."""
        record: JsonObject = self._step or {}
        response = record.get("response")
        if isinstance(response, dict):
            parts.answered_by(provider_of(merged({}, record)), as_text(response.get("modelId")))
        if (usage := self._counts(record)) is not None:
            parts.step.usage(usage)
        parts.step.cut()
        self._leave(turn)

    def _counts(self, record: JsonObject) -> JsonObject | None:
        reported = record.get("usage")
        usage = (ai_sdk_usage(reported) if isinstance(reported, dict) else None) or self._usage
        self._counted = self._counted or usage is not None
        return usage

    def _leave(self, turn: Turn) -> None:
        self._step = self._usage = None
        turn.end_step()

    def finish(self, turn: Turn, record: JsonObject) -> None:
        """`finish`: the turn's end."""
        reason = as_text(record.get("finishReason")) or None
        total = total_usage(record)
        if total is not None and not self._counted:
            turn.token_usage(total)
        failure, self._failure = self._failure, None
        if failure is not None and reason not in _COMPLETE:
            turn.error(failure.message, failure.code, entry=failure.entry)
        elif reason == "error":
            turn.error("The answer ended in an error.", reason="incomplete")
        elif not _whole(record):
            turn.error("The answer ended before it was complete.", reason="incomplete")
        else:
            if failure is not None:
                turn.note("error", failure.message, entry=failure.entry)
            turn.complete(reason, provider_metadata={"totalUsage": total["reported"]} if total else None)

    def give_up(self, turn: Turn) -> bool:
        """An error that was reported is the end of a turn that has no other. False when none was."""
        failure, self._failure = self._failure, None
        return failure is not None and turn.error(failure.message, failure.code, entry=failure.entry)


def error_text(record: JsonObject) -> tuple[str, str | None]:
    """The message and the code of an error, as the SDK prints it."""
    error: Json = record.get("errorText", record.get("error"))
    if isinstance(error, dict):
        name, message = as_text(error.get("name")), as_text(error.get("message"))
        return (f"{name}: {message}" if name and message else message or name or as_text(error)), name or None
    return as_text(error) or "The SDK reported an error.", None


def _whole(record: JsonObject) -> bool:
    """False for the end of a stream that was cut: a reason that is none, and none of the provider's either."""
    reason = record.get("finishReason")
    if reason is None:
        return True
    return as_text(reason) in _COMPLETE or isinstance(record.get("rawFinishReason"), str)
