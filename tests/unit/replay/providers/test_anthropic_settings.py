"""Settings of the context in a request to Anthropic."""

from __future__ import annotations

from typing import Any

import pytest

from replay import replay
from replay.providers import anthropic
from replay.providers.violations import violations
from tests.unit.replay.providers.rendering import BOUND, MODEL, records, user

SEARCH = {"name": "search", "input_schema": {"type": "object"}}
DOTTED = {"name": "a.b", "input_schema": {"type": "object"}}
ADAPTIVE = {"type": "adaptive"}
MANUAL = {"type": "enabled", "budget_tokens": 2000}
FORCED = {"tool_choice": {"type": "any"}}


def sent(
    settings: Any, model: str = MODEL, thinking: Any = None, tools: Any = (SEARCH, DOTTED)
) -> dict[str, Any]:
    """The keys that settings add to a request, which breaks no rule."""
    context = {"type": "context", "digest": "d", "tools": list(tools), "settings": settings}
    target = {"provider": "anthropic", "model": model, "thinking": thinking}
    request = replay(records([context, user("q")]), "c", target).request
    assert violations(target, request) == []
    return {name: request[name] for name in request if name not in ("model", "tools", "thinking", "messages")}


def test_known_settings_go_into_the_request_and_others_do_not() -> None:
    recorded = {"max_tokens": 64, "temperature": 0.5, **FORCED, "x": 1}
    assert sent(recorded) == {"max_tokens": 64, "temperature": 0.5, "tool_choice": {"type": "any"}}


def test_thinking_allows_neither_a_forced_tool_nor_a_temperature() -> None:
    recorded = {"temperature": 0.5, "tool_choice": {"type": "tool", "name": "search"}}
    assert sent(recorded, thinking=ADAPTIVE) == {}
    assert sent(recorded, thinking=MANUAL) == {}
    assert sent(recorded, thinking={"type": "disabled"}) == recorded


def test_a_choice_needs_its_tool() -> None:
    assert sent({"tool_choice": {"type": "tool", "name": "gone"}}) == {}
    assert sent({"tool_choice": {"type": "auto"}}, tools=()) == {}


def test_a_chosen_tool_has_the_name_that_defines_it() -> None:
    choice = sent({"tool_choice": {"type": "tool", "name": "a.b"}})["tool_choice"]
    assert choice["name"].startswith("a_b-tl")


def test_settings_of_the_wrong_type_are_left_out() -> None:
    assert sent({"max_tokens": True, "temperature": "hot", "tool_choice": "any"}) == {}
    assert sent({"max_tokens": 0, "temperature": 2, "tool_choice": {"type": ["any"]}}) == {}
    assert sent("all") == {}


def test_a_forced_tool_goes_only_where_it_is_taken() -> None:
    assert sent(FORCED) == FORCED
    assert sent(FORCED, model=BOUND) == {}


@pytest.mark.parametrize(("model", "thinking"), [(MODEL, MANUAL), (BOUND, None)])
def test_without_the_mend_the_judge_finds_the_fault(
    model: str, thinking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anthropic, "settings", lambda recorded, *_: recorded)
    context = {"type": "context", "digest": "d", "tools": [SEARCH], "settings": FORCED}
    target = {"provider": "anthropic", "model": model, "thinking": thinking}
    found = violations(target, replay(records([context, user("q")]), "c", target).request)
    assert [one.rule for one in found] == ["A27"]
