"""What became of calls: results, errors, approvals and denials. They may be of an earlier step, or come after
the turn's end."""

from __future__ import annotations

from ledger.events import Json, JsonObject
from ledger.intake.ai_sdk.ending import error_text
from ledger.intake.ai_sdk.metadata import merged
from ledger.intake.ai_sdk.parts import Parts, call_id_of
from ledger.intake.mending import as_text
from ledger.turns import Turn

_DENIED = "Tool execution denied."
"""What the SDK itself tells the model of a denied call that has no reason."""


class Results:
    """Results and approvals of one stream."""

    def __init__(self) -> None:
        self._asked: dict[str, str] = {}  # calls by the approval that was asked for
        self._denied: dict[str, str] = {}  # reasons of denied calls

    def take(self, turn: Turn, record: JsonObject, parts: Parts | None) -> bool:
        """Take one record; False when it names no call."""
        kind, call_id = record.get("type"), call_id_of(record)
        if kind == "tool-approval-response":
            return self._answered(turn, record)
        if not call_id:
            return False
        if kind == "tool-approval-request":
            approval = as_text(record.get("approvalId"))
            self._asked[approval] = call_id
            turn.tool_approval(call_id, "requested", approval_id=approval or None)
        elif kind == "tool-output-denied":
            if call_id not in self._denied:
                turn.tool_approval(call_id, "denied")
            said = as_text(record.get("reason")) or self._denied.get(call_id) or _DENIED
            turn.tool_result(call_id, said, is_error=True)
        elif kind in ("tool-output-error", "tool-error"):
            text, _ = error_text(record)
            structured = record.get("error")
            told = structured if isinstance(structured, dict) else None
            self._result(turn, record, call_id, text, parts, failed=True, structured=told)
        else:
            output = record.get("output", record.get("result"))
            self._result(turn, record, call_id, output, parts, failed=None)
        return True

    def _answered(self, turn: Turn, record: JsonObject) -> bool:
        call_id = call_id_of({key: value for key, value in record.items() if key != "id"})
        call_id = call_id or self._asked.get(as_text(record.get("approvalId")), "")
        if not call_id:
            return False
        approved = record.get("approved") is True
        reason = as_text(record.get("reason"))
        if not approved:
            self._denied[call_id] = reason
        turn.tool_approval(
            call_id,
            "approved" if approved else "denied",
            approval_id=record.get("approvalId"),
            reason=reason or None,
        )
        return True

    def _result(
        self,
        turn: Turn,
        record: JsonObject,
        call_id: str,
        content: Json,
        parts: Parts | None,
        *,
        failed: bool | None,
        structured: Json = None,
    ) -> None:
        metadata = merged({}, record) or None
        name = as_text(record.get("toolName")) or None
        hosted = record.get("providerExecuted") is True
        progress = record.get("preliminary") is True
        if hosted and not progress and parts is not None and parts.has_call(call_id):
            parts.step.provider_result(
                call_id,
                content,
                f"result {call_id}",
                is_error=failed,
                tool_name=name,
                structured=structured,
                provider_metadata=metadata,
            )
        else:
            turn.tool_result(
                call_id,
                content,
                is_error=failed,
                tool_name=name,
                final=False if progress else None,
                structured=structured,
                provider_executed=True if hosted else None,
                provider_metadata=metadata,
            )
