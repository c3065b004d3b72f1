"""OpenAI's own request types as an oracle for Chat Completions, closed and walked (see `anthropic_shapes`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import openai.types.chat as vendor

from tests.unit.replay.providers.anthropic_shapes import check

_ROLES = {
    "system": vendor.ChatCompletionSystemMessageParam,
    "user": vendor.ChatCompletionUserMessageParam,
    "assistant": vendor.ChatCompletionAssistantMessageParam,
    "tool": vendor.ChatCompletionToolMessageParam,
}
_BESIDE = (
    "reasoning_content",
    "reasoning",
    "reasoning_details",
)  # fields of dialects, which the vendor does not have


def openai_chat_faults(request: Mapping[str, Any]) -> list[str]:
    """What the vendor's types say against a request; empty when they take it."""
    return list(_faults(request))


def _faults(request: Mapping[str, Any]) -> Iterator[str]:
    for at, message in enumerate(request["messages"]):
        plain = {name: value for name, value in message.items() if name not in _BESIDE}
        if "tool_calls" in plain:
            plain["tool_calls"] = [_unsigned(call) for call in plain["tool_calls"]]
        yield from check(_ROLES[message["role"]], plain, f"messages.{at}")
    for at, tool in enumerate(request.get("tools") or []):
        yield from check(vendor.ChatCompletionFunctionToolParam, tool, f"tools.{at}")


def _unsigned(call: Any) -> Any:
    """A call without what Gemini's layer of this format adds, if it is what that says."""
    if not isinstance(call, dict) or set(call.get("extra_content") or {}) != {"google"}:
        return call
    signed = set(call["extra_content"]["google"]) == {"thought_signature"}
    return {name: value for name, value in call.items() if name != "extra_content" or not signed}
