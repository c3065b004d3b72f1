"""OpenAI's own request types as an oracle for the Responses API, closed and walked (see `anthropic_shapes`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import openai.types.responses as vendor
from openai.types.responses import response_input_item_param as items
from openai.types.shared_params import Reasoning

from tests.unit.replay.providers.anthropic_shapes import check

_ITEMS = {
    "reasoning": vendor.ResponseReasoningItemParam,
    "function_call": vendor.ResponseFunctionToolCallParam,
    "custom_tool_call": vendor.ResponseCustomToolCallParam,
    "function_call_output": items.FunctionCallOutput,
    "custom_tool_call_output": vendor.ResponseCustomToolCallOutputParam,
    "item_reference": items.ItemReference,
    "compaction": items.ResponseCompactionItemParamParam,
}
_TOOLS = {"function": vendor.FunctionToolParam, "custom": vendor.CustomToolParam}
_BESIDE = frozenset(
    [
        "model",
        "store",
        "include",
        "tools",
        "reasoning",
        "text",
        "parallel_tool_calls",
        "temperature",
        "top_p",
        "max_output_tokens",
        "tool_choice",
        "input",
        "instructions",
    ]
)


def openai_responses_faults(request: Mapping[str, Any]) -> list[str]:
    """What the vendor's types say against a request; empty when they take it."""
    return list(_faults(request))


def _faults(request: Mapping[str, Any]) -> Iterator[str]:
    if unknown := set(request) - _BESIDE:
        yield f"unknown keys {sorted(unknown)}"
    if not isinstance(request.get("instructions", ""), str):
        yield "instructions is no string"
    if "reasoning" in request:
        yield from check(Reasoning, request["reasoning"], "reasoning")
    if "text" in request:
        yield from check(vendor.ResponseTextConfigParam, request["text"], "text")
    for at, item in enumerate(request["input"]):
        yield from check(_param(item), _named(item), f"input.{at}")
    for at, tool in enumerate(request.get("tools") or []):
        yield from check(_TOOLS[tool["type"]], tool, f"tools.{at}")


def _param(item: Mapping[str, Any]) -> Any:
    if item["type"] != "message":
        return _ITEMS[item["type"]]
    if item["role"] == "assistant":
        return (
            vendor.EasyInputMessageParam
            if isinstance(item["content"], str)
            else vendor.ResponseOutputMessageParam
        )
    return items.Message


def _named(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """The types demand an id of reasoning; the API takes sealed one without (specs/providers.md R10)."""
    if item["type"] == "reasoning" and item.get("encrypted_content"):
        return {"id": "rs_0", **item}
    return item
