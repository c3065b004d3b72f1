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


@pytest.mark.parametrize("provider", [name for name in targets() if name != "neutral"])
@settings(max_examples=40)
@given(data=st.data())
def test_every_setting_is_in_the_request_or_said_to_be_left_out(provider: str, data: st.DataObject) -> None:
    given = data.draw(st.dictionaries(st.sampled_from(SETTINGS), VALUES, max_size=5), "settings")
    tools = data.draw(st.booleans(), "tools")
    context = {"type": "context", "digest": "d", "settings": given, **({"tools": [TOOL]} if tools else {})}
    model = data.draw(st.sampled_from(MODELS[provider]), "model")
    found = replay(recorded([context, USER]), "c", {"provider": provider, "model": model})
    said = [one for one in found.diagnostics if one.code == "setting_skipped"]
    skipped = {one.detail["setting"] for one in said}
    assert {one.version for one in said} <= {1}
    assert len(said) == len(skipped)
    for name, value in given.items():
        if name not in skipped:
            assert value in WORDS or is_within(value, found.extra), "what is not said to be left out is there"
        else:
            least = {**{key: one for key, one in given.items() if key != name}}
            without = {**context, "settings": least}
            other = replay(recorded([without, USER]), "c", {"provider": provider, "model": model})
            assert other.extra == found.extra, "what is said to be left out makes no difference"


USER = {"type": "user_message", "turn_id": "t", "content": "q"}
TOOL = {"name": "shell", "input_schema": {"type": "object"}}
SETTINGS = [
    "temperature", "top_p", "topP", "max_tokens", "max_output_tokens", "max_completion_tokens", "tool_choice",
    "parallel_tool_calls", "reasoning", "thinking", "stop_sequences", "seed",
]  # fmt: skip
WORDS: list[Any] = [
    "auto",
    "none",
    "required",
    {"type": "auto"},
    {"type": "any"},
    {"type": "tool", "name": "shell"},
]
VALUES: Any = st.one_of(
    st.sampled_from([0, 1, 0.25, 7, 99, -1, True, "low", {"effort": "low"}, ["stop"]]), st.sampled_from(WORDS)
)


def is_within(value: Any, where: Any) -> bool:
    """Whether a value stands anywhere in a request's keys."""
    if where == value and type(where) is type(value):
        return True
    inner = where.values() if isinstance(where, dict) else where if isinstance(where, list) else ()
    return any(is_within(value, one) for one in inner)


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
