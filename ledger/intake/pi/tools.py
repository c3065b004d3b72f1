"""Tools of one turn in a stream of pi: calls that run, snapshots of output, results told more than once."""

from __future__ import annotations

from ledger.events import Json, JsonObject
from ledger.intake.mending import as_text
from ledger.intake.pi.maker import call_id
from ledger.intake.times import time_of
from ledger.turns import Turn

_MAPPED = frozenset(
    {"type", "role", "toolCallId", "toolName", "args", "isError", "result", "content", "details"}
)


class Tools:
    """The first telling of a result counts; a call that is made again may be answered again."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._running: dict[str, JsonObject] = {}  # the last update of calls without a result
        self._answered: dict[str, str | None] = {}  # call -> the step of the call that has its result

    def take(self, kind: str, record: JsonObject) -> bool:
        """A `tool_execution_*` record. False when it is of no known kind."""
        pi: JsonObject = {}
        call = call_id(record.get("toolCallId"), pi)
        if kind == "tool_execution_start":
            if not self._turn.start_call(call) and self._turn.step_of(call) is None:
                metadata: Json = {"pi": pi} if pi else None
                name = as_text(record.get("toolName"))
                self._turn.tool_call(call, name, record.get("args"), provider_metadata=metadata)
        elif kind == "tool_execution_update":
            if _holds(record.get("partialResult")):
                self._running[call] = record
        elif kind == "tool_execution_end":
            told = record.get("result")
            self._result(call, record, told if isinstance(told, dict) else {"content": told}, pi)
        else:
            return False
        return True

    def message(self, message: JsonObject) -> None:
        """A message of role `toolResult`."""
        pi: JsonObject = {}
        call = call_id(message.get("toolCallId"), pi)
        self._result(call, message, message, pi)

    def cut_off(self) -> None:
        """The turn is over: of tools that still ran, the output so far is kept, as progress."""
        for call, record in self._running.items():
            told = record.get("partialResult")
            content = told.get("content") if isinstance(told, dict) else told
            step_id = self._turn.step_of(call)
            name = record.get("toolName")
            self._turn.tool_result(
                call,
                content,
                tool_name=name if isinstance(name, str) else None,
                final=False,
                step_id=step_id,
            )
        self._running.clear()

    def _result(self, call: str, record: JsonObject, told: JsonObject, pi: JsonObject) -> None:
        self._running.pop(call, None)
        self._turn.start_call(call)
        step_id = self._turn.step_of(call)
        if call in self._answered and self._answered[call] == step_id:
            return
        self._answered[call] = step_id
        for holder in (record, told) if record is not told else (told,):
            pi |= {
                name: value
                for name, value in holder.items()
                if name not in _MAPPED and name not in ("timestamp", "durationMs")
            }
        name, failed = record.get("toolName"), record.get("isError")
        took = record.get("durationMs")
        content = told.get("content")
        self._turn.tool_result(
            call,
            [] if content is None else content,
            is_error=failed if isinstance(failed, bool) else None,
            tool_name=name if isinstance(name, str) else None,
            duration_ms=took if isinstance(took, int | float) and not isinstance(took, bool) else None,
            structured=told.get("details") or None,
            step_id=step_id,
            at=time_of(record.get("timestamp")),
            provider_metadata={"pi": pi} if pi else None,
        )


def _holds(partial: Json) -> bool:
    """False for the first snapshot of many tools, which is empty."""
    return not isinstance(partial, dict) or bool(partial.get("content") or partial.get("details"))
