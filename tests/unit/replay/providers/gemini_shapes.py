"""google-genai's own types as an oracle for Gemini: they refuse unknown keys; names stand in camel case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from google.genai import types as vendor
from pydantic import ValidationError

_BESIDE = frozenset({"contents", "systemInstruction", "tools", "toolConfig", "generationConfig"})
_FREE = frozenset({"args", "response", "parametersJsonSchema"})  # what they hold is the tool's


def gemini_faults(request: Mapping[str, Any]) -> list[str]:
    """What the vendor's types say against a request; empty when they take it."""
    return list(_faults(request))


def _faults(request: Mapping[str, Any]) -> Iterator[str]:
    if unknown := set(request) - _BESIDE:
        yield f"unknown keys {sorted(unknown)}"
    for key in _snakes(request):
        yield f"{key} is no name of the API"
    for at, content in enumerate(request["contents"]):
        yield from _check(vendor.Content, content, f"contents.{at}")
    if "systemInstruction" in request:
        yield from _check(vendor.Content, request["systemInstruction"], "systemInstruction")
    for at, tool in enumerate(request.get("tools") or []):
        yield from _check(vendor.Tool, tool, f"tools.{at}")
    if "toolConfig" in request:
        yield from _check(vendor.ToolConfig, request["toolConfig"], "toolConfig")
    if "generationConfig" in request:
        yield from _check(vendor.GenerationConfig, request["generationConfig"], "generationConfig")


def _check(kind: Any, value: Any, where: str) -> Iterator[str]:
    try:
        kind.model_validate(value)
    except ValidationError as error:
        yield f"{where}: {error}"


def _snakes(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if "_" in key:
                yield key
            if key not in _FREE:
                yield from _snakes(item)
    elif isinstance(value, list):
        for item in value:
            yield from _snakes(item)
