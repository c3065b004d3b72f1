"""The settings of the context in force as keys of a Messages request: an allow-list, checked by type."""

from collections.abc import Sequence

from ledger.events import Json, JsonObject
from replay.providers.names import Names
from replay.providers.settings import counts, numbers


def settings(
    recorded: JsonObject, thinking: Json, tools: Sequence[JsonObject], names: Names, newest: bool
) -> JsonObject:
    """The keys to add to a request with this thinking configuration and these tools, whose names `names` sent.

    A forced `tool_choice` is left out with thinking on, and always on the newest models (A27); any choice
    without tools, or of one that is absent, too. `temperature` goes only where no thinking is asked for.
    """
    thinks = isinstance(thinking, dict) and thinking.get("type") != "disabled"
    found = counts(recorded, "max_tokens")
    if not thinks:
        found |= numbers(recorded, {"temperature": (0, 1)})
    choice = recorded.get("tool_choice")
    if not isinstance(choice, dict) or not tools:
        return found
    kind, name = choice.get("type"), choice.get("name")
    if kind in ("auto", "none"):
        found["tool_choice"] = {"type": kind}
    elif thinks or newest:
        return found
    elif kind == "any":
        found["tool_choice"] = {"type": "any"}
    elif kind == "tool" and isinstance(name, str):
        sent = names.known(name)
        if any(tool.get("name") == sent for tool in tools):
            found["tool_choice"] = {"type": "tool", "name": sent}
    return found
