"""Whatever a runtime hands on, what is stored can be read back: a field of the wrong type stops nobody."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import Ledger, Recorder
from ledger.events import EVENT_TYPES, BaseEvent, decode
from ledger.turns.encoding import encoded
from replay import replay

VALUES: list[Any] = [7, 0.5, True, ["x"], {"x": [1]}, [{"type": "text", "text": "x"}], "x", None]
ENVELOPE = {"id": "e1", "conversation_id": "c", "turn_id": "t", "step_id": "s"}


def taken(event: dict[str, Any]) -> BaseEvent:
    return decode(encoded(event).body)


@pytest.mark.parametrize("kind", EVENT_TYPES)
@given(data=st.data())
def test_an_event_with_any_fields_can_be_read(kind: str, data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(EVENT_TYPES[kind].model_fields)), unique=True))
    given_fields = {
        name: data.draw(st.sampled_from(VALUES), name) for name in names if name not in ("type", "normalized")
    }
    event = {"type": kind, **ENVELOPE, **given_fields}
    read = taken(event)
    kept = json.dumps(json.loads(encoded(event).body))
    for value in given_fields.values():
        if value is not None:
            assert json.dumps(value) in kept or json.dumps(json.dumps(value))[1:-1] in kept, "nothing is lost"
    assert read.type in (kind, "note")


def test_a_number_in_place_of_a_text_is_its_json() -> None:
    event = {"type": "text_complete", **ENVELOPE, "text": {"a": 1}}
    assert json.loads(encoded(event).body) == {**event, "text": '{"a": 1}', "normalized": ["text"]}


def test_a_value_that_is_no_text_is_set_aside() -> None:
    event = {"type": "text_complete", **ENVELOPE, "text": "x", "block_index": "first", "source": 3}
    assert json.loads(encoded(event).body) == {
        "type": "text_complete",
        **ENVELOPE,
        "text": "x",
        "unfit": {"block_index": "first", "source": 3},
        "normalized": ["block_index", "source"],
    }


def test_an_event_that_cannot_be_mended_is_a_note() -> None:
    event = {"type": "compaction", **ENVELOPE, "summary": "x", "through_version": "far"}
    assert json.loads(encoded(event).body) == {
        "type": "note", "kind": "unfit event", "entry": event, **ENVELOPE,
    }  # fmt: skip


def test_a_fit_event_is_left_alone() -> None:
    event = {"type": "text_complete", **ENVELOPE, "text": "\ud800", "more": {"x": 1}}
    assert json.loads(encoded(event).body) == event


def test_a_turn_of_ill_typed_blocks_is_shown_and_replayed(ledger: Ledger) -> None:
    with Recorder(ledger, "c").turn("go") as turn, turn.begin_step("s") as step:
        step.push({"type": "block-end", "index": 0, "block": {"type": "text", "text": 7}})
        step.push({"type": "block-end", "index": 1, "block": {"type": "tool-call"}})
        step.push({"type": "block-end", "index": 2, "block": {"type": "tool-call", "id": 5, "name": ["n"]}})
    calls = [record.event for record in ledger.read("c") if record.type == "tool_start"]
    assert [(call.tool_call_id, call.tool_name) for call in calls] == [("call-1", ""), ("5", '["n"]')]
    found = replay(ledger.read("c"), "c", "anthropic")
    assert not [one for one in found.diagnostics if one.code == "unreadable_event_skipped"]
