"""No change told, no change made: the pass over the events against rendering every earlier request."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from replay import Options, replay, targets
from replay.prefix import prefix_changes
from tests.property.ledgers import ledgers, orderly_ledgers, recorded
from tests.property.replay.requests import is_open_ended, opened
from tests.property.replay.sources import recorded_by
from tests.property.replay.test_plan import options

anything = recorded_by(ledgers()) | recorded_by(orderly_ledgers())


@pytest.mark.parametrize("provider", targets())
@settings(max_examples=400)
@given(events=anything, chosen=options)
def test_without_a_change_every_sent_request_is_a_prefix(
    provider: str, events: list[dict[str, Any]], chosen: Options
) -> None:
    records = recorded(events)
    if prefix_changes(records, chosen):
        return
    target = {"provider": provider, "model": "claude-opus-4-5"}
    whole = opened(replay(records, "c", target, chosen))
    begun: set[tuple[str | None, str]] = set()
    for place, record in enumerate(records):
        if (
            record.step_id is None
            or record.event.visibility == "hidden"
            or record.event.agent_id != chosen.agent_id
        ):
            continue
        if record.type == "tool_result" or (record.turn_id, record.step_id) in begun:
            continue
        begun.add((record.turn_id, record.step_id))
        found = replay(records[:place], "c", target, chosen)
        if found.sendable and not is_open_ended(found):
            assert whole.startswith(opened(found)), (record.version, prefix_changes(records, chosen))


@settings(max_examples=300)
@given(orderly_ledgers())
def test_an_orderly_ledger_changes_nothing(events: list[dict[str, Any]]) -> None:
    plain = [event for event in events if not event.get("provider_executed")]
    assert prefix_changes(recorded(plain)) == []
