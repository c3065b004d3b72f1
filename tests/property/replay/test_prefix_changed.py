"""Where an earlier request is no prefix of the present one, `prefix_changed` says from which message on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from replay import Options, replay, targets
from replay.fingerprint import canonical_bytes
from tests.property.ledgers import ledgers, orderly_ledgers, recorded
from tests.property.replay.requests import is_open_ended
from tests.property.replay.sources import recorded_by

anything = recorded_by(ledgers()) | recorded_by(orderly_ledgers())


@pytest.mark.parametrize("provider", targets())
@settings(max_examples=30)
@given(events=anything)
def test_no_message_before_the_one_that_is_named_has_changed(
    provider: str, events: list[dict[str, Any]]
) -> None:
    records = recorded(events)
    target = {"provider": provider, "model": "claude-opus-4-5"}
    whole = replay(records, "c", target)
    told = whole.prefix_changed
    least = min((one.detail["message"] for one in told), default=None)
    begun: set[tuple[str | None, str]] = set()
    for place, record in enumerate(records):
        if record.step_id is None or record.event.visibility == "hidden" or record.event.agent_id is not None:
            continue
        if record.type == "tool_result" or (record.turn_id, record.step_id) in begun:
            continue
        begun.add((record.turn_id, record.step_id))
        found = replay(records[:place], "c", target, Options())
        if not found.sendable or is_open_ended(found):
            continue
        old, new = ([canonical_bytes(one) for one in each.messages] for each in (found, whole))
        same = next((at for at, one in enumerate(old) if at >= len(new) or one != new[at]), None)
        if same is not None and same < len(old) - 1:  # the last may grow: messages merge
            assert least is not None
            assert least <= same, (record.version, told)
