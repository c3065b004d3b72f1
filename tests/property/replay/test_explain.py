"""Every recorded event has a fate in every request: it is sent, or something says why not (DESIGN.md 7.5)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay import explain_message, explain_versions, replay, targets
from replay.explain import Fate
from replay.options import RUNGS
from tests.property.ledgers import ledgers, recorded
from tests.property.replay.sources import recorded_by
from tests.property.replay.test_plan import options
from tests.property.replay.test_targets import MODELS

CONTENT = {"user_message", "system_message", "thinking_complete", "text_complete", "tool_start", "tool_result"}


def is_explained(fate: Fate) -> bool:
    """Sent, given apart, of another lane, summed up, or left out for a reason that is given."""
    if fate.outcome == "sent":
        return bool(fate.places)
    if fate.outcome == "left_out":
        return bool(fate.diagnostics)
    if fate.outcome == "control":
        return fate.record.type not in CONTENT
    return fate.outcome in ("beside", "other_lane", "compacted")


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("provider", targets())
@settings(max_examples=60)
@given(data=st.data())
def test_every_event_has_a_fate(provider: str, rung: str, data: st.DataObject) -> None:
    records = recorded(data.draw(recorded_by(ledgers()), "events"))
    chosen = data.draw(options, "options")
    model = data.draw(st.sampled_from(MODELS.get(provider, [None])), "model")
    target: dict[str, Any] = {"provider": provider, "model": model, "rung": rung}
    found = replay(records, "c", target, chosen)
    if not records:
        return
    fates = explain_versions(found, records, 1, found.version).fates
    assert [fate.record.version for fate in fates] == [record.version for record in records]
    assert [fate.text() for fate in fates if not is_explained(fate)] == []
    for number in range(len(found.messages)):
        for fate in explain_message(found, records, number).fates:
            assert number in {message for message, _ in fate.places}


def test_an_empty_text_behind_a_compaction_of_its_step_is_said() -> None:
    records = recorded(
        [
            {"type": "user_message", "turn_id": "t1", "content": "q"},
            {"type": "step_start", "turn_id": "t1", "step_id": "m1"},
            {"type": "compaction", "summary": "s", "through_version": 2},
            {"type": "text_complete", "turn_id": "t1", "step_id": "m1", "text": ""},
        ]
    )
    found = replay(records, "c")
    assert [(one.code, one.version) for one in found.diagnostics] == [("empty_text_skipped", 4)]
    assert [fate.outcome for fate in explain_versions(found, records, 1, 4).fates] == [
        "compacted",
        "control",
        "sent",
        "left_out",
    ]
