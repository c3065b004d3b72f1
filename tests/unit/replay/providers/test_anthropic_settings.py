"""Settings of the context in a request to Anthropic."""

from __future__ import annotations

import json
from typing import Any

import pytest

from replay import replay
from replay.providers import anthropic, anthropic_tools
from replay.providers.violations import violations
from tests.unit.replay.providers.rendering import (
    BOUND,
    MODEL,
    call,
    records,
    result,
    start,
    text,
    thinking,
    user,
)

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


ENABLED, DISABLED, BETWEEN = MANUAL, {"type": "disabled"}, {"type": "between_tools"}
MODES = [
    ("claude-opus-4-5", ENABLED, ENABLED),
    ("claude-opus-4-6", ENABLED, ENABLED),
    ("claude-sonnet-4-20250514", ENABLED, ENABLED),
    ("claude-opus-4-7", ENABLED, ADAPTIVE),
    ("claude-sonnet-5", {**ENABLED, "display": "omitted"}, {**ADAPTIVE, "display": "omitted"}),
    ("claude-haiku-5-5", DISABLED, DISABLED),
    ("claude-opus-5", DISABLED, DISABLED),
    ("claude-opus-5-5", DISABLED, ADAPTIVE),
    ("claude-fable-5", DISABLED, ADAPTIVE),
    ("claude-mythos-5-1", ENABLED, ADAPTIVE),
    ("claude-mythos-preview", DISABLED, ADAPTIVE),
    ("claude-sonnet-5-5", DISABLED, BETWEEN),
    ("big", ENABLED, ENABLED),
]


@pytest.mark.parametrize(("model", "asked", "sent"), MODES)
def test_thinking_is_of_a_type_that_the_model_takes(
    model: str, asked: Any, sent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = {"provider": "anthropic", "model": model, "thinking": asked}
    found = replay(records([user("q")]), "c", target)
    assert found.request["thinking"] == sent
    assert violations(target, found.request) == []
    told = [(one.code, one.detail) for one in found.diagnostics]
    changed = {"asked": asked["type"], "sent": sent["type"]}
    assert told == ([] if asked == sent else [("thinking_mode_changed", changed)])
    monkeypatch.setattr(anthropic, "asked_thinking", lambda config, *_: config)
    broken = violations(target, replay(records([user("q")]), "c", target).request)
    assert [one.rule for one in broken] == ([] if asked == sent else ["S3"])
    for below, name in (("bedrock", f"us.anthropic.{model}-v1:0"), ("ai-sdk", model), ("pydantic-ai", model)):
        assert kept_below(below, name, asked) == sent, below


def kept_below(provider: str, model: str, thinking: Any) -> Any:
    """The thinking that a request has which reaches Claude by another way, in Anthropic's spelling."""
    if "claude" not in model:
        return thinking
    target = {"provider": provider, "model": model, "thinking": thinking}
    extra = replay(records([user("q")]), "c", target).extra
    if provider == "bedrock":
        return extra["additionalModelRequestFields"]["thinking"]
    if provider == "ai-sdk":
        told = extra["providerOptions"]["anthropic"]["thinking"]
        return {"budget_tokens" if key == "budgetTokens" else key: value for key, value in told.items()}
    return extra["model_settings"]["anthropic_thinking"]


def test_an_open_loop_without_thinking_leaves_adaptive_thinking_on() -> None:
    """Manual thinking would go off (A24): these models have none, and some cannot be switched off."""
    target = {"provider": "anthropic", "model": BOUND, "thinking": MANUAL}
    events = [user("q"), start("s1", model=BOUND), call("s1"), result()]
    assert replay(records(events), "c", target).request["thinking"] == ADAPTIVE


def test_interleaved_thinking_stays_where_manual_is_asked_of_a_model_that_has_none() -> None:
    target = {"provider": "anthropic", "model": BOUND, "thinking": MANUAL}
    events = [user("q"), start("s1", model=BOUND), text("s1"), thinking("s1"), call("s1"), result()]
    blocks = [{**event, "block_index": at} for at, event in enumerate(events[2:5])]
    found = replay(records([*events[:2], *blocks, events[5]]), "c", target)
    assert [block["type"] for block in found.messages[1]["content"]] == ["text", "thinking", "tool_use"]


def test_the_newest_models_get_no_temperature() -> None:
    assert sent({"temperature": 0.5}, model="claude-opus-4-7") == {}
    assert sent({"temperature": 0.5}, model="claude-opus-4-6") == {"temperature": 0.5}


@pytest.mark.parametrize(("model", "thinking"), [(MODEL, MANUAL), (BOUND, None)])
def test_without_the_mend_the_judge_finds_the_fault(
    model: str, thinking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anthropic, "settings", lambda recorded, *_, **__: recorded)
    context = {"type": "context", "digest": "d", "tools": [SEARCH], "settings": FORCED}
    target = {"provider": "anthropic", "model": model, "thinking": thinking}
    found = violations(target, replay(records([context, user("q")]), "c", target).request)
    assert [one.rule for one in found] == ["A27"]


SECOND = {"name": "search", "parameters": {"type": "object", "title": "second"}}
LISTED = {"name": "odd", "input_schema": {"type": ["object", "null"]}}
OTHERS = {"type": "provider", "id": "openai.web_search", "name": "web"}
OWN = {"type": "bash_20250124", "name": "bash"}


@pytest.mark.parametrize("below", ["anthropic", "openai-chat", "bedrock", "ai-sdk", "pydantic-ai"])
def test_tools_have_names_of_their_own_and_schemas_of_objects(below: str) -> None:
    context = {"type": "context", "digest": "d", "tools": [SEARCH, SECOND, LISTED, OTHERS]}
    target = {"provider": below, "model": "anthropic.claude-opus-4-5" if below == "bedrock" else MODEL}
    found = replay(records([context, user("q")]), "c", target)
    assert violations(target, found.request) == []
    told = json.dumps([found.extra.get(name) for name in ("tools", "toolConfig", "model_request_parameters")])
    assert (told.count("search"), told.count("odd"), "second" in told, '"null"' in told) == (1, 1, False, False)
    skipped = [one.detail["tool"] for one in found.diagnostics if one.code == "tool_definition_skipped"]
    assert skipped == ["search", "web"]


def test_tools_of_the_providers_own_stay_as_they_are() -> None:
    context = {"type": "context", "digest": "d", "tools": [OWN, SEARCH]}
    assert replay(records([context, user("q")]), "c", {"provider": "anthropic"}).extra["tools"] == [OWN, SEARCH]


def test_without_the_choice_of_tools_the_judge_finds_the_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    context = {"type": "context", "digest": "d", "tools": [OTHERS]}
    monkeypatch.setattr(anthropic_tools, "_is_own", lambda _: True)
    target = {"provider": "anthropic", "model": MODEL}
    broken = violations(target, replay(records([context, user("q")]), "c", target).request)
    assert [one.rule for one in broken] == ["A41"]
