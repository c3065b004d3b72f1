"""Recorded settings that a request may carry, where their values are what a provider takes."""

from ledger.events import Json, JsonObject


def settings_in(context: JsonObject | None) -> JsonObject:
    """The settings of the context in force; empty without any that can be read."""
    given = (context or {}).get("settings")
    return given if isinstance(given, dict) else {}


def numbers(settings: JsonObject, limits: dict[str, tuple[float, float]]) -> JsonObject:
    """The settings that are numbers within their limits, both included."""
    kept: JsonObject = {}
    for name, (least, most) in limits.items():
        value: Json = settings.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most:
            kept[name] = value
    return kept


def counts(settings: JsonObject, *names: str) -> JsonObject:
    """The settings that are whole numbers from 1 on."""
    kept: JsonObject = {}
    for name in names:
        value: Json = settings.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            kept[name] = value
    return kept


def choice_among(settings: JsonObject, *, tools: bool) -> JsonObject:
    """OpenAI's choice among tools by a word, for a request that declares `tools`; a tool by name stays out."""
    choice = settings.get("tool_choice")
    if tools and isinstance(choice, str) and choice in ("auto", "none", "required"):
        return {"tool_choice": choice}
    return {}
