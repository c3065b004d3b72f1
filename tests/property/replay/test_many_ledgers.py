"""A ledger to every target at once: how many random ledgers a long run tries (`--examples` says how many)."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from replay.options import RUNGS
from tests.property.ledgers import recorded
from tests.property.replay.test_plan import options
from tests.property.replay.test_targets import (
    APIS,
    KEEPING,
    MODELS,
    PROVIDERS,
    THINKING,
    VERSIONS,
    chaos,
    judged,
)
from tests.unit.replay.providers.oracles import ORACLES

PART = 5_000
"""Ledgers of one test: what Hypothesis remembers of them grows."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "part" in metafunc.fixturenames:
        config = metafunc.config
        examples = int(config.getoption("--examples")) if config.getoption("--long") else 100
        sizes = [PART] * (examples // PART) + ([examples % PART] if examples % PART else [])
        metafunc.parametrize(("part", "size"), list(enumerate(sizes)))


def a_target(provider: str, chance: random.Random) -> dict[str, Any]:
    """Any target of a provider, on any rung."""
    target: dict[str, Any] = {
        "provider": provider,
        "model": chance.choice(MODELS[provider]),
        "rung": chance.choice((RUNGS[0], *RUNGS)),
    }
    some: dict[str, list[Any]] = {
        "account": ["acme"],
        "stored": [True, False] if provider in KEEPING else [],
        "api": APIS.get(provider, []),
        "thinking": THINKING.get(provider, []),
        "dialect": VERSIONS.get(provider, []),
    }
    return target | {
        name: chance.choice(kinds) for name, kinds in some.items() if kinds and chance.random() < 0.5
    }


def test_no_ledger_breaks_a_rule_of_any_target(part: int, size: int) -> None:
    """0 violations on every rung, and nothing that the vendor's own types refuse (issue 4's target)."""

    @seed(part)
    @settings(
        max_examples=size,
        derandomize=False,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(chaos, options, st.integers(0, 2**32))
    def check(events: list[dict[str, Any]], chosen: Any, chance: int) -> None:
        records, random_ = recorded(events), random.Random(chance)
        for provider in PROVIDERS:
            found = judged(records, a_target(provider, random_), chosen)
            if found.sendable:
                assert ORACLES[provider](found.request) == []

    check()


def test_every_kind_of_target_is_drawn() -> None:
    drawn = [
        a_target(provider, random.Random(seed)) for provider, seed in itertools.product(PROVIDERS, range(200))
    ]
    assert {(one["provider"], one["rung"]) for one in drawn} == set(itertools.product(PROVIDERS, RUNGS))
    assert {one["model"] for one in drawn} == {model for models in MODELS.values() for model in models}
