"""What holds of every request to every target on every rung, whatever the ledger holds (DESIGN.md 7.4, 10)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.recorded import RecordedEvent
from replay import Options, Result, replay, targets
from replay.options import RUNGS
from replay.providers.openai_dialects import DIALECTS
from replay.providers.violations import JUDGES, violations
from tests.property.ledgers import ledgers, orderly_ledgers, recorded
from tests.property.replay.requests import is_open_ended, opened
from tests.property.replay.sources import recorded_by
from tests.property.replay.test_plan import options
from tests.unit.replay.providers.oracles import ORACLES

Event = dict[str, Any]

MODELS: dict[str, list[str | None]] = {
    "ai-sdk": [
        "claude-opus-4-5",
        "gpt-5.4",
        "gemini-3-pro",
        "anthropic.claude-sonnet-4-5-v1:0",
        "kimi-k2",
        None,
    ],
    "anthropic": ["claude-opus-4-5", "claude-opus-5-5", "big", None],
    "bedrock": [
        "anthropic.claude-sonnet-4-5-v1:0",
        "us.anthropic.claude-opus-5-5-v1:0",
        "meta.llama4-maverick-17b-instruct-v1:0",
        "amazon.nova-pro-v1:0",
        "writer.palmyra-x5-v1:0",
        "big",
        None,
    ],
    "gemini": ["gemini-3-pro", "gemini-2.5-flash", None],
    "mistral": ["mistral-large-latest", None],
    "openai-chat": [
        "gpt-4.1",
        "gpt-5.4",
        "deepseek-flash",
        "kimi-k2-thinking",
        "glm-5",
        "minimax-m3",
        "gemini-3-pro",
        None,
    ],
    "openai-responses": ["gpt-5.4", "gpt-4.1", None],
    "pydantic-ai": ["claude-opus-4-5", "gpt-5.4", "gemini-3-pro", "deepseek-flash", "big", None],
}
PROVIDERS = [name for name in targets() if name != "neutral"]

chaos = recorded_by(ledgers())
orderly = recorded_by(orderly_ledgers())


APIS: dict[str, list[str]] = {
    "ai-sdk": ["anthropic.messages", "openai.responses", "google-generative-ai", "bedrock"],
    "gemini": ["vertex"],
    "pydantic-ai": ["anthropic-messages", "openai-responses", "openai-completions", "bedrock"],
}
_MANUAL: dict[str, Any] = {"type": "enabled", "budget_tokens": 9}
THINKING: dict[str, list[dict[str, Any]]] = {
    "ai-sdk": [_MANUAL],
    "anthropic": [_MANUAL, {"type": "adaptive"}],
    "bedrock": [_MANUAL, {"type": "adaptive"}],
}
VERSIONS = {"openai-chat": sorted(DIALECTS), "ai-sdk": ["v5", "v6", "v7"]}
KEEPING = ("openai-responses", "ai-sdk", "pydantic-ai")
"""The targets that know whether a provider keeps responses."""


def a_target(provider: str) -> st.SearchStrategy[dict[str, Any]]:
    optional: dict[str, st.SearchStrategy[Any]] = {"account": st.just("acme")}
    for name, kinds in (("api", APIS), ("thinking", THINKING), ("dialect", VERSIONS)):
        if provider in kinds:
            optional[name] = st.sampled_from(kinds[provider])
    if provider in KEEPING:
        optional["stored"] = st.booleans()
    return st.fixed_dictionaries(
        {
            "provider": st.just(provider),
            "model": st.sampled_from(MODELS[provider]),
            "rung": st.sampled_from((RUNGS[0], *RUNGS)),
        },
        optional=optional,
    )


def many(ordinary: int) -> settings:
    """More examples with --long; `test_many_ledgers` tries the most."""
    long = settings.default is not None and settings.default.max_examples > 1000
    return settings(max_examples=10 * ordinary if long else ordinary)


def judged(records: Sequence[RecordedEvent], target: Any, chosen: Options) -> Result:
    found = replay(records, "c", target, chosen)
    broken = violations(target, found.request, sendable=found.sendable)
    if found.plan.pending:
        # Not sendable: a call that may still run is left open. Where steps overlap it can be one of an earlier
        # message, which the judge, who sees no ledger, cannot know to be waited for.
        broken = [one for one in broken if one.rule not in PAIRING]
        assert not found.sendable
    assert broken == []
    return found


PAIRING = frozenset({"A1", "B1", "B8", "O1", "M2", "R1", "R4", "G1", "V1", "P1"})


def test_every_target_has_a_judge() -> None:
    assert set(PROVIDERS) == set(JUDGES) == set(ORACLES) == set(MODELS)


@pytest.mark.parametrize("provider", PROVIDERS)
@many(500)
@given(data=st.data())
def test_no_request_breaks_a_rule(provider: str, data: st.DataObject) -> None:
    """Nor has it a key or a value that the vendor's own types do not know."""
    events, chosen = data.draw(chaos, "events"), data.draw(options, "options")
    found = judged(recorded(events), data.draw(a_target(provider), "target"), chosen)
    json.dumps(found.request, ensure_ascii=False).encode()
    if found.sendable:
        assert ORACLES[provider](found.request) == []


@pytest.mark.parametrize("provider", PROVIDERS)
@many(60)
@given(data=st.data())
def test_no_request_breaks_a_rule_wherever_the_ledger_is_cut(provider: str, data: st.DataObject) -> None:
    records = recorded(data.draw(chaos, "events"))
    target, chosen = data.draw(a_target(provider), "target"), data.draw(options, "options")
    ends = [judged(records[:cut], target, chosen).version for cut in range(len(records))]
    assert ends == list(range(len(records)))


@pytest.mark.parametrize("provider", PROVIDERS)
@many(100)
@given(data=st.data())
def test_the_same_events_give_the_same_bytes(provider: str, data: st.DataObject) -> None:
    events, chosen = data.draw(chaos, "events"), data.draw(options, "options")
    target = data.draw(a_target(provider), "target")
    first, second = (replay(recorded(events), "c", target, chosen) for _ in range(2))
    assert json.dumps(first.as_json()) == json.dumps(second.as_json())


@pytest.mark.parametrize("provider", PROVIDERS)
@many(200)
@given(data=st.data())
def test_every_part_is_accounted_for(provider: str, data: st.DataObject) -> None:
    """Each message tells where it comes from, and what is in no message is said."""
    events, chosen = data.draw(chaos, "events"), data.draw(options, "options")
    found = replay(recorded(events), "c", data.draw(a_target(provider), "target"), chosen)
    assert len(found.provenance) == len(found.messages)
    versions = {version for parts in found.provenance for part in parts for version in part}
    assert versions <= set(range(1, len(events) + 1))
    neutral = {
        version
        for message in replay(recorded(events), "c", "neutral", chosen).neutral
        for at in range(len(message.parts))
        for version in message.versions(at)
    }
    told = versions | {one.version for one in found.diagnostics}
    assert neutral <= told, "what is not sent is said"


@pytest.mark.parametrize("provider", PROVIDERS)
@many(200)
@given(data=st.data())
def test_what_was_sent_stays_as_it_was(provider: str, data: st.DataObject) -> None:
    """The request just before a step's first event is the beginning of every later one (X7, DESIGN.md 7.4)."""
    records = recorded(data.draw(orderly, "events"))
    target = data.draw(a_target(provider), "target")
    if target["model"] is None:
        target["model"] = MODELS[provider][0]
    whole = opened(replay(records, "c", target))
    begun: set[tuple[str | None, str]] = set()
    for place, record in enumerate(records):
        if record.step_id is None or record.event.hidden or (record.turn_id, record.step_id) in begun:
            continue
        begun.add((record.turn_id, record.step_id))
        found = replay(records[:place], "c", target)
        if found.sendable and not is_open_ended(found):
            assert whole.startswith(opened(found))
