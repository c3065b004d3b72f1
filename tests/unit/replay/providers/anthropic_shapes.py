"""The vendor's own request types as an oracle: every block against the `*Param` type that its `type` names.

Block by block, because the unions of the vendor also take response models; closed, because open ones drop
unknown keys; and walked, because iterables are checked only when they are read (specs/providers.md 10).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, cast

import anthropic.types as vendor
import anthropic.types.beta as vendor_beta
from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import get_type_hints, is_typeddict

_PARAMS = {
    "text": vendor.TextBlockParam,
    "image": vendor.ImageBlockParam,
    "document": vendor.DocumentBlockParam,
    "thinking": vendor.ThinkingBlockParam,
    "redacted_thinking": vendor.RedactedThinkingBlockParam,
    "tool_use": vendor.ToolUseBlockParam,
    "tool_result": vendor.ToolResultBlockParam,
    "server_tool_use": vendor.ServerToolUseBlockParam,
    "web_search_tool_result": vendor.WebSearchToolResultBlockParam,
    "web_fetch_tool_result": vendor.WebFetchToolResultBlockParam,
    "web_search_result": vendor.WebSearchResultBlockParam,
    "compaction": vendor_beta.BetaCompactionBlockParam,
}
_ROLES = {
    "user": frozenset({"text", "image", "document", "tool_result"}),
    "assistant": frozenset(_PARAMS) - {"tool_result", "image", "document", "web_search_result"},
}


def shape_faults(request: dict[str, Any]) -> list[str]:
    """What the vendor's types say against a request; empty when they take it."""
    return list(_faults(request))


def _faults(request: dict[str, Any]) -> Iterator[str]:
    for at, block in enumerate(request.get("system") or []):
        yield from _block_faults(block, f"system.{at}", frozenset({"text"}))
    for at, tool in enumerate(request.get("tools") or []):
        if "input_schema" in tool:
            yield from check(vendor.ToolParam, tool, f"tools.{at}")
    for number, message in enumerate(request["messages"]):
        if set(message) != {"role", "content"} or message["role"] not in _ROLES:
            yield f"messages.{number}: {sorted(message)}"
            continue
        for at, block in enumerate(message["content"]):
            yield from _block_faults(block, f"messages.{number}.content.{at}", _ROLES[message["role"]])


def _block_faults(block: Any, where: str, allowed: frozenset[str]) -> Iterator[str]:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind not in allowed:
        yield f"{where}: no {kind} block here"
        return
    yield from check(_PARAMS[kind], block, where)
    content = block.get("content")
    if kind == "tool_result" and isinstance(content, list):
        for at, inner in enumerate(content):
            yield from _block_faults(inner, f"{where}.content.{at}", frozenset({"text", "image", "document"}))
    if kind == "web_search_tool_result" and isinstance(content, list):
        for at, inner in enumerate(content):
            yield from _block_faults(inner, f"{where}.content.{at}", frozenset({"web_search_result"}))


def check(param: Any, value: Any, where: str) -> Iterator[str]:
    """What a vendor's typed dict says against a value, unknown keys included."""
    try:
        read = _adapter(param).validate_python(value, strict=True)
        _walk(read)
    except ValidationError as error:
        yield f"{where}: {error}"


def _walk(value: Any) -> None:
    """Reads what is checked lazily."""
    if isinstance(value, dict):
        for item in value.values():
            _walk(item)
    elif not isinstance(value, str | bytes | int | float | bool | None):
        for item in value:
            _walk(item)


@functools.cache
def _adapter(param: Any) -> TypeAdapter[Any]:
    _close(param, set())
    return TypeAdapter(param)


def _close(param: Any, seen: set[int]) -> None:
    """Refuse unknown keys in a typed dict and in those that its annotations name."""
    if id(param) in seen:
        return
    seen.add(id(param))
    if is_typeddict(param):
        cast(Any, param).__pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
        for inner in get_type_hints(param).values():
            _close(inner, seen)
    for inner in getattr(param, "__args__", ()):
        _close(inner, seen)
