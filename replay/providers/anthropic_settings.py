"""The settings of the context in force as keys of a Messages request: an allow-list, checked by type."""

from ledger.events import Json, JsonObject

_CHOICES = ("auto", "none", "any", "tool")


def settings(recorded: Json, thinking: Json, tool_names: frozenset[str], newest: bool) -> JsonObject:
    """The keys to add to a request whose thinking configuration and tool names are these.

    A forced `tool_choice` is left out with thinking on, and always on the newest models (A27); any choice
    without tools, or naming one that is absent, too.
    `temperature` goes only where no thinking is asked for.
    """
    if not isinstance(recorded, dict):
        return {}
    found: JsonObject = {}
    limit = recorded.get("max_tokens")
    if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0:
        found["max_tokens"] = limit
    thinks = isinstance(thinking, dict) and thinking.get("type") != "disabled"
    warmth = recorded.get("temperature")
    if isinstance(warmth, int | float) and not isinstance(warmth, bool) and 0 <= warmth <= 1 and not thinks:
        found["temperature"] = warmth
    choice = recorded.get("tool_choice")
    if not isinstance(choice, dict) or choice.get("type") not in _CHOICES or not tool_names:
        return found
    kind, name = choice["type"], choice.get("name")
    if kind in ("any", "tool") and (thinks or newest):
        return found
    if kind != "tool":
        found["tool_choice"] = {"type": kind}
    elif isinstance(name, str) and name in tool_names:
        found["tool_choice"] = {"type": kind, "name": name}
    return found
