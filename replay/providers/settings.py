"""Recorded settings that a request may carry, where their values are what a provider takes."""

from ledger.events import Json, JsonObject

_OF_THE_TARGET = frozenset({"model", "provider", "api"})
"""What a runtime records among the settings and is the target's to say."""


class Settings(dict[str, Json]):
    """Recorded settings by name. `kept` are those that went into the request."""

    def __init__(self, given: JsonObject) -> None:
        super().__init__(given)
        self.kept: set[str] = set(_OF_THE_TARGET)

    @property
    def skipped(self) -> list[str]:
        """The names of the others, in their order."""
        return [name for name in self if name not in self.kept]


def settings_in(context: JsonObject | None) -> Settings:
    """The settings of the context in force; empty without any that can be read."""
    given = (context or {}).get("settings")
    return Settings(given if isinstance(given, dict) else {})


def numbers(settings: Settings, limits: dict[str, tuple[float, float]]) -> JsonObject:
    """The settings that are numbers within their limits, both included."""
    kept: JsonObject = {}
    for name, (least, most) in limits.items():
        value: Json = settings.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most:
            kept[name] = value
    settings.kept.update(kept)
    return kept


def counts(settings: Settings, *names: str) -> JsonObject:
    """The settings that are whole numbers from 1 on."""
    kept: JsonObject = {}
    for name in names:
        value: Json = settings.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            kept[name] = value
    settings.kept.update(kept)
    return kept


def count_among(settings: Settings, *names: str, least: int = 1, most: int | None = None) -> int | None:
    """The last of settings of one meaning that is a whole number within its limits, both included."""
    for name in reversed(names):
        value: Json = settings.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            continue
        if least <= value and (most is None or value <= most):
            settings.kept.add(name)
            return value
    return None


def choice_among(settings: Settings, *, tools: bool) -> JsonObject:
    """OpenAI's choice among tools by a word, for a request that declares `tools`; a tool by name stays out."""
    choice = settings.get("tool_choice")
    if tools and isinstance(choice, str) and choice in ("auto", "none", "required"):
        settings.kept.add("tool_choice")
        return {"tool_choice": choice}
    return {}
