"""What stands beside the messages of an Anthropic request, as far as it makes a history be refused: A27, S3."""

import re
from collections.abc import Iterator, Mapping

from ledger.events import Json
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


def thinking_fault(model: str | None, config: Json) -> str | None:
    """S3: what is wrong with the type of a thinking configuration for this model; None for nothing."""
    kind = config.get("type") if is_object(config) else None
    if kind == "enabled" and _ONLY_ADAPTIVE.search(model or ""):
        return 'thinking.type "enabled" is not taken by this model, "adaptive" is'
    if kind == "disabled" and _ALWAYS_ON.search(model or ""):
        return "thinking cannot be disabled on this model"
    return None


def judge_settings(model: str | None, request: Mapping[str, Json]) -> Iterator[Violation]:
    """S3; A27: a tool forced beside manual thinking or on a model that takes none, a choice of no such tool."""
    choice, thinking = request.get("tool_choice"), request.get("thinking")
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
