"""Settings of the context in a request to Anthropic."""

from ledger.events import Json, JsonObject
from replay.providers.anthropic_settings import settings as sent

TOOLS = frozenset({"search"})
ADAPTIVE: JsonObject = {"type": "adaptive"}


def settings(recorded: Json, thinking: Json, names: frozenset[str]) -> JsonObject:
    return sent(recorded, thinking, names, newest=False)


def test_known_settings_go_into_the_request_and_others_do_not() -> None:
    recorded: Json = {"max_tokens": 64, "temperature": 0.5, "tool_choice": {"type": "any"}, "x": 1}
    assert settings(recorded, None, TOOLS) == {
        "max_tokens": 64,
        "temperature": 0.5,
        "tool_choice": {"type": "any"},
    }


def test_thinking_allows_neither_a_forced_tool_nor_a_temperature() -> None:
    recorded: Json = {"temperature": 0.5, "tool_choice": {"type": "tool", "name": "search"}}
    assert settings(recorded, ADAPTIVE, TOOLS) == {}
    assert "tool_choice" in settings(recorded, {"type": "disabled"}, TOOLS)


def test_a_choice_needs_its_tool() -> None:
    assert settings({"tool_choice": {"type": "tool", "name": "gone"}}, None, TOOLS) == {}
    assert settings({"tool_choice": {"type": "auto"}}, None, frozenset()) == {}


def test_settings_of_the_wrong_type_are_left_out() -> None:
    assert settings({"max_tokens": True, "temperature": "hot", "tool_choice": "any"}, None, TOOLS) == {}
    assert settings("all", None, TOOLS) == {}


def test_the_newest_models_take_no_forced_tool() -> None:
    assert sent({"tool_choice": {"type": "any"}}, None, TOOLS, newest=True) == {}
