"""A request in progress can be rendered at any message, and goes on as if it had not been."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay import Options, Target, neutral, plan
from replay.ladder import lowered
from replay.render import Rendered
from tests.property.ledgers import recorded
from tests.property.replay.test_plan import options
from tests.property.replay.test_targets import PROVIDERS, a_target, chaos, many, orderly


def told(rendered: Rendered) -> str:
    """Everything that a renderer answers, as bytes that can be kept."""
    provenance = rendered.provenance() if callable(rendered.provenance) else rendered.provenance
    noted = [one.as_json() for one in rendered.diagnostics]
    return json.dumps(
        [[*rendered.messages], rendered.system, provenance, noted, rendered.sendable, rendered.extra]
    )


@pytest.mark.parametrize("provider", PROVIDERS)
@many(40)
@given(data=st.data())
def test_a_fork_renders_what_was_written_and_leaves_the_original_alone(
    provider: str, data: st.DataObject
) -> None:
    events: list[dict[str, Any]] = data.draw(st.one_of(chaos, orderly), "events")
    chosen: Options = data.draw(options, "options")
    target = Target.of(data.draw(a_target(provider), "target"))
    module = importlib.import_module(f"replay.providers.{provider.replace('-', '_')}")
    planned = plan(recorded(events), chosen)
    messages, _ = lowered(neutral(planned), target.rung)
    live = module.writing(planned, target)
    kept = []
    for count in range(len(messages) + 1):
        found = told(live.fork().rendered())
        assert found == told(module.render(planned, messages[:count], target))
        kept.append(live.fork())
        if count < len(messages):
            live.write(messages[count])
    for count, fork in enumerate(kept):
        assert told(fork.rendered()) == told(module.render(planned, messages[:count], target))
