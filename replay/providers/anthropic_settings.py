"""The settings of the context in force as keys of a Messages request: an allow-list, checked by type."""

from collections.abc import Sequence

from ledger.events import Json, JsonObject
from replay.providers.content import Report
from replay.providers.names import Names
from replay.providers.settings import Settings, counts, numbers

MAX_MESSAGES = 100_000
"""What one request may hold (A44)."""
_BEHAVIORS = ("error", "drop_block")


def bound(thinking: JsonObject | None, recorded: JsonObject, report: Report) -> JsonObject | None:
    """The thinking configuration with the block binding that it may have (A16): beside adaptive thinking only.

    One that the session's recorded `settings` hold stays with it: the provider keeps none.
    """
    if thinking is None:
        return None
    asked = thinking.get("block_binding")
    config = {key: value for key, value in thinking.items() if key != "block_binding"}
    if asked is None and thinking.get("type") == "adaptive":
        kept = recorded.get("thinking")
        asked = kept.get("block_binding") if isinstance(kept, dict) else None
    if asked is None:
        return config
    behavior = asked.get("prefix_mismatch_behavior") if isinstance(asked, dict) else None
    if thinking.get("type") != "adaptive" or behavior not in _BEHAVIORS:
        report("block_binding_skipped")
        return config
    return {**config, "block_binding": {"prefix_mismatch_behavior": behavior}}


def settings(
    recorded: Settings,
    thinking: Json,
    tools: Sequence[JsonObject],
    names: Names,
    *,
    newest: bool,
    sampled: bool,
) -> JsonObject:
    """The keys to add to a request with this thinking configuration and these tools, whose names `names` sent.

    A forced `tool_choice` is left out with thinking on, and always on the newest models (A27); any choice
    without tools, or of one that is absent, too. `temperature` goes only where no thinking is asked for, to
    models that are `sampled`.
    """
    thinks = isinstance(thinking, dict) and thinking.get("type") != "disabled"
    found = counts(recorded, "max_tokens")
    if sampled and not thinks:
        found |= numbers(recorded, {"temperature": (0, 1)})
    choice = recorded.get("tool_choice")
    if not isinstance(choice, dict) or not tools:
        return found
    kind, name = choice.get("type"), choice.get("name")
    sent: JsonObject = {}
    if kind in ("auto", "none"):
        sent = {"type": kind}
    elif thinks or newest:
        return found
    elif kind == "any":
        sent = {"type": "any"}
    elif kind == "tool" and isinstance(name, str):
        known = names.known(name)
        if any(tool.get("name") == known for tool in tools):
            sent = {"type": "tool", "name": known}
    if sent:
        found["tool_choice"] = sent
        recorded.kept.add("tool_choice")
    return found
