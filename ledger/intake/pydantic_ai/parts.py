"""Parts of pydantic-ai's messages as events hold them (specs/formats.md 11)."""

from __future__ import annotations

from typing import cast

from ledger.events import Json, JsonObject
from ledger.intake.mending import as_text
from ledger.turns import Step
from ledger.turns.lane import ALL_BEFORE

_TEXT = frozenset({"content", "part_kind", "signature", "citations"})
_CALL = frozenset({"tool_name", "args", "tool_call_id", "part_kind"})
_RESULT = frozenset({"tool_name", "content", "tool_call_id", "part_kind", "timestamp", "outcome", "metadata"})
_HOSTED = frozenset({"builtin-tool-call", "native-tool-call"})
_HOSTED_RESULT = frozenset({"builtin-tool-return", "native-tool-return"})
_FAILED = frozenset({"retried", "failed", "denied", "error"})


def write_part(step: Step, index: int, part: JsonObject) -> None:
    """One whole part of a response; the first time counts."""
    kind = as_text(part.get("part_kind"))
    if kind == "text":
        citations = part.get("citations")
        told = beside(part, _TEXT)
        if citations:
            told = {**(told or {}), "citations": citations}
        step.end_text(as_text(part.get("content")), index, provider_metadata=_ours(told))
    elif kind == "thinking":
        signature = as_text(part.get("signature")) or None
        told = beside(part, _TEXT)
        if part.get("id") == "redacted_thinking":
            step.end_thinking("", index, redacted_data=signature, provider_metadata=_ours(told))
        else:
            step.end_thinking(as_text(part.get("content")), index, signature, provider_metadata=_ours(told))
    elif kind == "tool-call" or kind in _HOSTED:
        step.call(
            as_text(part.get("tool_call_id")),
            as_text(part.get("tool_name")),
            part.get("args"),
            index,
            provider_executed=True if kind in _HOSTED else None,
            provider_metadata=_ours(beside(part, _CALL)),
        )
    elif kind in _HOSTED_RESULT:
        step.provider_result(
            as_text(part.get("tool_call_id")),
            part.get("content"),
            index,
            is_error=failed(part),
            tool_name=as_text(part.get("tool_name")) or None,
            provider_metadata=_ours(beside(part, _RESULT)),
        )
    elif kind == "compaction":
        fields: dict[str, Json] = {
            "summary": as_text(part.get("content")),
            "through_version": ALL_BEFORE,
            "provider_metadata": _ours(beside(part, frozenset({"content", "part_kind"}))),
        }
        step.block("compaction", fields, index)
    else:
        note: dict[str, Json] = {"kind": "block", "text": f"A part of kind {kind}.", "entry": part}
        step.block("note", note, index)


def failed(part: JsonObject) -> bool | None:
    """Whether a tool's answer says that it failed; None where it says nothing."""
    if part.get("part_kind") == "retry-prompt":
        return True
    outcome = part.get("outcome")
    return outcome in _FAILED if isinstance(outcome, str) else None


def result_fields(part: JsonObject) -> tuple[Json, JsonObject | None]:
    """The content of a tool's answer and what stands beside it."""
    told = beside(part, _RESULT) or {}
    outcome = part.get("outcome")
    if isinstance(outcome, str) and outcome not in ("success", "failed"):
        told["outcome"] = outcome
    return part.get("content"), _ours(told or None)


def usage_of(usage: Json) -> JsonObject | None:
    """Token counts: the library's input counts cached tokens too, ours does not."""
    if not isinstance(usage, dict):
        return None
    counts: dict[str, int] = {}
    for theirs, ours in (
        ("input_tokens", "input"),
        ("cache_read_tokens", "cache_read"),
        ("cache_write_tokens", "cache_write"),
        ("output_tokens", "output"),
        ("output_reasoning_tokens", "reasoning"),
    ):
        count = usage.get(theirs)
        if isinstance(count, int) and not isinstance(count, bool):
            counts[ours] = count
    if not counts:
        return None
    if "input" in counts:
        cached = counts.get("cache_read", 0) + counts.get("cache_write", 0)
        counts["input"] = max(0, counts["input"] - cached)
    return {**cast(JsonObject, counts), "reported": usage}


def said(content: Json) -> str | list[JsonObject]:
    """What a user prompt holds: text, or blocks of text, images and files."""
    if not isinstance(content, list):
        return as_text(content)
    blocks: list[JsonObject] = []
    for item in content:
        if isinstance(item, dict):
            media = as_text(item.get("media_type")) or as_text(item.get("kind"))
            blocks.append({"type": "image" if media.startswith("image") else "file", **item})
        else:
            blocks.append({"type": "text", "text": as_text(item)})
    return blocks


def beside(part: JsonObject, known: frozenset[str]) -> JsonObject | None:
    """What a part says besides, without what says nothing."""
    told: JsonObject = {
        name: value for name, value in part.items() if name not in known and value is not None and value != []
    }
    return told or None


def _ours(told: JsonObject | None) -> JsonObject | None:
    return {"pydantic-ai": told} if told else None
