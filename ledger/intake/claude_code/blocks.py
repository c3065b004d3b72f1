"""Whole blocks of Claude Code's messages as events, and the names of what is made from a record."""

from __future__ import annotations

from typing import NamedTuple

from ledger.events import Json, JsonObject
from ledger.intake.identity import made_id
from ledger.intake.mending import as_text

FORMAT = "claude-code"
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_CALL_FIELDS = frozenset({"type", "id", "name", "input"})
_RESULT_FIELDS = frozenset({"type", "tool_use_id", "content", "is_error"})


class Mapped(NamedTuple):
    """A block as an event: its type and its fields."""

    event_type: str
    fields: dict[str, Json]


def mapped_block(block: Json) -> Mapped:
    """One whole block; a `note` of kind `block` where it is of no known kind."""
    if not isinstance(block, dict):
        return Mapped("note", {"kind": "block", "text": "A block that is no object.", "entry": block})
    kind = as_text(block.get("type"))
    if kind == "text":
        citations = block.get("citations")
        told: Json = {"citations": citations} if citations else None
        return Mapped("text_complete", {"text": as_text(block.get("text")), "provider_metadata": told})
    if kind == "thinking":
        signature = as_text(block.get("signature")) or None
        return Mapped("thinking_complete", {"text": as_text(block.get("thinking")), "signature": signature})
    if kind == "redacted_thinking":
        return Mapped("thinking_complete", {"text": "", "redacted_data": as_text(block.get("data"))})
    if kind in _CALLS:
        more: JsonObject = {key: value for key, value in block.items() if key not in _CALL_FIELDS}
        if kind == "mcp_tool_use":
            more["type"] = kind
        call: dict[str, Json] = {
            "tool_call_id": as_text(block.get("id")),
            "tool_name": as_text(block.get("name")),
            "args": block.get("input"),
            "provider_executed": True if kind != "tool_use" else None,
            "provider_metadata": more or None,
        }
        return Mapped("tool_start", call)
    if kind.endswith("tool_result"):
        failed = block.get("is_error")
        beside: JsonObject = {key: value for key, value in block.items() if key not in _RESULT_FIELDS}
        if kind != "tool_result":
            beside["type"] = kind
        result: dict[str, Json] = {
            "tool_call_id": as_text(block.get("tool_use_id")),
            "content": block.get("content"),
            "is_error": failed if isinstance(failed, bool) else None,
            "provider_executed": True if kind != "tool_result" else None,
            "provider_metadata": beside or None,
        }
        return Mapped("tool_result", result)
    return Mapped("note", {"kind": "block", "text": f"A block of type {kind}.", "entry": block})


def record_id(record: JsonObject, block: str) -> str | None:
    """The id of an event made from a record that has one, as an importer of the same session makes it."""
    session, name = record.get("session_id"), record.get("uuid")
    if isinstance(session, str) and isinstance(name, str) and name:
        return made_id(FORMAT, session, name, block)
    return None
