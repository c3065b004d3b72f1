"""What a runtime hands on to Anthropic is held to Anthropic's rules, as if it went there directly."""

from __future__ import annotations

import json
from typing import Any

import pytest

from replay import replay
from tests.unit.replay.providers.rendering import BOUND, MODEL, codes, records, start, text, thinking, user


def context(system: str) -> dict[str, Any]:
    return {"type": "context", "digest": system, "system": system}


@pytest.mark.parametrize("provider", ["ai-sdk", "anthropic", "pydantic-ai"])
@pytest.mark.parametrize(("model", "kept"), [(MODEL, True), (BOUND, False)])
def test_bound_thinking_of_another_context_stays_out(provider: str, model: str, kept: bool) -> None:
    events = [
        context("one"), user("q"), start("s1", model=model), thinking("s1", signature="s-1"), text("s1"),
        context("two"), user("r", "t2"),
    ]  # fmt: skip
    found = replay(records(events), "c", {"provider": provider, "model": model})
    assert ("s-1" in json.dumps(found.messages)) == kept
    assert ("thinking_context_skipped" in codes(found)) == (not kept)
