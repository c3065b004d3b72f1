"""What stands beside the messages of a Converse request: tools, inference settings, the model's own fields."""

from collections.abc import Iterable, Sequence
from typing import cast

from ledger.events import Json, JsonObject
from replay.providers.bedrock_blocks import holds
from replay.providers.bedrock_families import Family
from replay.providers.bedrock_thinking import is_reasoning
from replay.providers.content import Report, is_blank
from replay.providers.names import Renamed
from replay.providers.settings import Settings, counts, numbers
from replay.providers.tools import functions
from replay.providers.wire_text import is_clean


def tool_specs(tools: Json, names: Renamed, report: Report) -> list[JsonObject]:
    """The recorded tools as this format spells them."""
    return [_spec(one.name, one.description, one.parameters) for one in functions(tools, names, report)]


def stub_specs(used: Iterable[str]) -> list[JsonObject]:
    """Tools for a history whose calls have names that nothing defines (B3)."""
    return [_spec(name, None, {"type": "object"}) for name in dict.fromkeys(used)]


def _spec(name: str, description: str | None, schema: JsonObject) -> JsonObject:
    said: JsonObject = {} if description is None or is_blank(description) else {"description": description}
    return {"toolSpec": {"name": name, **said, "inputSchema": {"json": schema}}}


def tool_choice(
    recorded: Settings, specs: Sequence[JsonObject], names: Renamed, family: Family, *, free: bool
) -> JsonObject:
    """The recorded choice among these tools, where the family takes it; empty for none.

    `free`: nothing asks for thinking, beside which Claude takes no forced tool (A27).
    """
    choice = recorded.get("tool_choice")
    if isinstance(choice, str):
        choice = {"type": "any" if choice == "required" else choice}
    if not isinstance(choice, dict) or not specs:
        return {}
    kind, name = choice.get("type"), choice.get("name")
    if kind not in family.choices or (kind != "auto" and not free):
        return {}
    if kind != "tool":
        recorded.kept.add("tool_choice")
        return {"toolChoice": {str(kind): {}}}
    sent = names.known(name) if isinstance(name, str) else None
    if sent not in [cast(JsonObject, spec["toolSpec"])["name"] for spec in specs]:
        return {}
    recorded.kept.add("tool_choice")
    return {"toolChoice": {"tool": {"name": sent}}}


def inference(recorded: Settings, *, free: bool) -> JsonObject:
    """The recorded settings as `inferenceConfig`; empty for none. Claude models take a temperature or a top_p,
    not both, and neither beside thinking; the newest take none. `free`: nothing of that stands in the way."""
    found: JsonObject = {}
    if most := counts(recorded, "max_tokens"):
        found["maxTokens"] = most["max_tokens"]
    if free:
        found |= numbers(recorded, {"temperature": (0, 1)})
        if "temperature" not in found and (sampled := numbers(recorded, {"top_p": (0, 1)})):
            found["topP"] = sampled["top_p"]
    stops = recorded.get("stop_sequences")
    if isinstance(stops, list) and stops and is_clean(stops):
        kept = [stop for stop in stops if isinstance(stop, str) and stop]
        if kept:
            found["stopSequences"] = list(kept)
            recorded.kept.add("stop_sequences")
    return found


def thinking_in_force(config: JsonObject, messages: Sequence[JsonObject]) -> JsonObject:
    """Claude's thinking configuration for a request with these messages.

    Manual thinking goes off while a tool loop is open that did not start with thinking (A24).
    """
    if config.get("type") != "enabled" or not messages or not holds(messages[-1], "toolResult"):
        return config
    last = cast("list[JsonObject]", messages[-1]["content"])
    if any("toolResult" not in block for block in last):
        return config
    answered = cast("list[JsonObject]", messages[-2]["content"])
    return config if is_reasoning(answered[0]) else {"type": "disabled"}
