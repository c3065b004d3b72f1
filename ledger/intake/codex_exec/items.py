"""Items of `codex exec --json` as calls and results (specs/formats.md 5)."""

from __future__ import annotations

from typing import NamedTuple

from ledger.events import Json, JsonObject
from ledger.intake.mending import as_text

TOOLS = frozenset({"command_execution", "mcp_tool_call", "collab_tool_call", "web_search", "file_change"})
_STATE = frozenset({"id", "type", "status"})
_OUTPUT = frozenset({"aggregated_output", "exit_code", "result", "error"})


class Call(NamedTuple):
    """What a tool item asks for."""

    tool_name: str
    args: Json


def call_of(item: JsonObject) -> Call:
    """The call: of a tool of an MCP server its own name and arguments, else the item's type and its fields."""
    kind = as_text(item.get("type"))
    if kind in ("mcp_tool_call", "collab_tool_call") and item.get("tool"):
        server = as_text(item.get("server"))
        name = f"{server}.{as_text(item['tool'])}" if server else as_text(item["tool"])
        if "arguments" in item:
            return Call(name, item["arguments"])
        return Call(name, _rest(item, "server", "tool"))
    return Call(kind, _rest(item))


def result_of(item: JsonObject) -> tuple[Json, bool]:
    """What the item gave, and whether it failed."""
    status, code = as_text(item.get("status")), item.get("exit_code")
    failed = status in ("failed", "declined") or (isinstance(code, int) and code != 0)
    error = item.get("error")
    if error is not None:
        return (error.get("message", error) if isinstance(error, dict) else error), True
    if "aggregated_output" in item:
        return as_text(item["aggregated_output"]), failed
    if item.get("result") is not None:
        result = item["result"]
        return (result.get("content", result) if isinstance(result, dict) else result), failed
    return status, failed


def _rest(item: JsonObject, *named: str) -> JsonObject:
    return {key: value for key, value in item.items() if key not in (*_STATE, *_OUTPUT, *named)}
