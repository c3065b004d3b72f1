"""What the installed pydantic-ai says of a message history: faults as texts; fields that it would drop too."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

_KEYS = {"messages", "model", "model_settings", "model_request_parameters"}


def pydantic_ai_faults(request: Mapping[str, Any]) -> list[str]:
    """Read by the library and written again, a request keeps every field and value that it has."""
    faults = [f"unknown key {name}" for name in request if name not in _KEYS]
    try:
        read = ModelMessagesTypeAdapter.validate_python(request["messages"])
        tools = request.get("model_request_parameters", {}).get("function_tools", [])
        ModelRequestParameters(function_tools=[ToolDefinition(**tool) for tool in tools])
    except (ValidationError, TypeError) as error:
        return [*faults, str(error)]
    again = ModelMessagesTypeAdapter.dump_python(read, mode="json")
    return faults + _lost(request["messages"], again, "messages")


@functools.singledispatch
def _lost(given: Any, again: Any, where: str) -> list[str]:
    if isinstance(given, str) and where.endswith(".data"):  # base64, which the library writes for URLs
        given = given.replace("+", "-").replace("/", "_")
    return [] if given == again else [f"{where}: {given!r:.80} became {again!r:.80}"]


@_lost.register
def _(given: dict, again: Any, where: str) -> list[str]:  # type: ignore[type-arg]
    if not isinstance(again, dict):
        return [f"{where}: an object became {again!r:.80}"]
    found = [f"{where}.{name} was dropped" for name in given if name not in again and name != "kind"]
    return found + [
        one for name in given if name in again for one in _lost(given[name], again[name], f"{where}.{name}")
    ]


@_lost.register
def _(given: list, again: Any, where: str) -> list[str]:  # type: ignore[type-arg]
    if not isinstance(again, list) or len(again) != len(given):
        return [f"{where}: a list became {again!r:.80}"]
    return [
        one
        for at, (left, right) in enumerate(zip(given, again, strict=True))
        for one in _lost(left, right, f"{where}.{at}")
    ]
