"""What stands beside the messages of an Anthropic request, as far as it makes a history be refused: tools
(A41), the choice among them (A27), the type of thinking (S3)."""

import re
from collections.abc import Iterator, Mapping

from ledger.events import Json, JsonObject
from replay.providers.judges import Violation
from replay.providers.judges.anthropic_shape import found, is_object

_NEVER_FORCED = re.compile(
    r"claude-(?:(?:opus|sonnet|haiku)-(?:5-[5-9]|[6-9])|(?:fable|mythos)-(?:5-[1-9]|[6-9]))(?![0-9])"
)

_ONLY_ADAPTIVE = re.compile(
    r"claude-(?:(?:opus|sonnet|haiku)-(?:4-[7-9]|[5-9])|(?:fable|mythos)-[5-9]|mythos-preview)(?![0-9])"
)
_ALWAYS_ON = re.compile(
    r"claude-(?:(?:opus|sonnet)-(?:5-[5-9]|[6-9])|(?:fable|mythos)-[5-9]|mythos-preview)(?![0-9])"
)

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_DATED = re.compile(r"[a-z_0-9]+_[0-9]{8}")
"""The types of tools that are the provider's own."""


def judge_tools(tools: Json) -> Iterator[Violation]:
    """A41: tools are a list of objects of known types, each with a name of its own, and a schema where it is a
    client's."""
    if tools is None:
        return
    if not isinstance(tools, list):
        yield found("A41", "tools", "tools is a list")
        return
    names: list[Json] = []
    for at, tool in enumerate(tools):
        where = f"tools.{at}"
        kind = tool.get("type") if is_object(tool) else None
        if not is_object(tool):
            yield found("A41", where, "a tool is an object")
        elif kind is None or kind == "custom":
            yield from _judge_client_tool(tool, where)
        elif not isinstance(kind, str) or not (kind == "mcp_toolset" or _DATED.fullmatch(kind)):
            yield found("A41", f"{where}.type", f"there is no tool of type {kind!r}")
        if is_object(tool) and isinstance(name := tool.get("name"), str):
            if name in names:
                yield found("A41", f"{where}.name", "tool names must be unique")
            names.append(name)


def _judge_client_tool(tool: JsonObject, where: str) -> Iterator[Violation]:
    name, schema = tool.get("name"), tool.get("input_schema")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        yield found("A41", f"{where}.name", f"String should match pattern '^{_NAME.pattern}$'")
    if not is_object(schema) or schema.get("type") != "object":
        yield found("A41", f"{where}.input_schema.type", "a schema is of type object")


def thinking_fault(model: str | None, config: Json) -> str | None:
    """S3: what is wrong with the type of a thinking configuration for this model; None for nothing."""
    kind = config.get("type") if is_object(config) else None
    if kind == "enabled" and _ONLY_ADAPTIVE.search(model or ""):
        return 'thinking.type "enabled" is not taken by this model, "adaptive" is'
    if kind == "disabled" and _ALWAYS_ON.search(model or ""):
        return "thinking cannot be disabled on this model"
    return None


def judge_settings(model: str | None, request: Mapping[str, Json]) -> Iterator[Violation]:
    """A41 of tools; S3; A27: a tool forced beside manual thinking or on a model that takes none, a choice of no
    such tool."""
    choice, thinking = request.get("tool_choice"), request.get("thinking")
    yield from judge_tools(request.get("tools"))
    fault = thinking_fault(model, thinking)
    if fault is not None:
        yield found("S3", "thinking.type", fault)
    if choice is None:
        return
    kind = choice.get("type") if is_object(choice) else None
    if not is_object(choice) or kind not in ("auto", "none", "any", "tool"):
        yield found("A27", "tool_choice", "tool_choice is of type auto, none, any or tool")
        return
    tools = request.get("tools")
    names = [tool.get("name") for tool in tools if is_object(tool)] if isinstance(tools, list) else []
    if kind in ("any", "tool"):
        if is_object(thinking) and thinking.get("type") == "enabled":
            yield found("A27", "tool_choice", "thinking may not be enabled when tool_choice forces tool use")
        elif _NEVER_FORCED.match(model or ""):
            yield found("A27", "tool_choice", "tool_choice forces tool use, which this model does not take")
    if not names:
        yield found("A27", "tool_choice", "tool_choice may only be specified while providing tools")
    elif kind == "tool" and choice.get("name") not in names:
        yield found("A27", "tool_choice.name", "the tool is not among tools")
