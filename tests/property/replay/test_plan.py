"""What holds of a plan and its neutral messages whatever the ledger holds (DESIGN.md 7.2 and 10)."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.events import encode
from replay import Options, Plan, neutral, plan, replay
from replay.diagnostics import SEVERITY
from replay.items import Entry, Step
from tests.property.ledgers import LANES, ledgers, orderly_ledgers, recorded

options = st.builds(
    Options,
    unanswered_calls=st.sampled_from(["synthesize", "drop"]),
    late_results=st.sampled_from(["append", "hoist"]),
    pending_calls=st.sampled_from(["refuse", "close"]),
    agent_id=st.sampled_from(LANES),
    fingerprints=st.booleans(),
)

# Types that never stand in a request by themselves: they say nothing (DESIGN.md 7.2).
CONTROL = {
    "context",
    "tool_approval",
    "erasure",
    "turn_start",
    "step_start",
    "step_finish",
    "token_usage",
    "complete",
    "abort",
    "error",
    "compaction",
    "retraction",
    "fork",
    "note",
}


def messages_of(planned: Plan) -> list[dict[str, Any]]:
    return [message.as_json() for message in neutral(planned)]


@given(ledgers(), options)
def test_any_ledger_gives_an_answer_and_the_same_one_twice(
    events: list[dict[str, Any]], chosen: Options
) -> None:
    first = replay(recorded(events), "c", options=chosen).as_json()
    second = replay(recorded(events), "c", options=chosen).as_json()
    assert json.dumps(first) == json.dumps(second)
    assert all(SEVERITY[one["code"]] == one["severity"] for one in first["diagnostics"])  # type: ignore[index,union-attr,call-overload]


@given(ledgers(), options)
def test_calls_are_answered_once_right_after_and_nothing_else_is(
    events: list[dict[str, Any]], chosen: Options
) -> None:
    planned = plan(recorded(events), chosen)
    messages = messages_of(planned)
    pending = {call.id for call in planned.pending}
    seen: Counter[str] = Counter()
    hosted_open: set[str] = set()
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            assert messages[place - 1]["role"] == "assistant"
            continue
        assert all(
            part["type"] != "tool_result" or part.get("provider_executed") for part in message["content"]
        )
        calls = [part for part in message["content"] if part["type"] == "tool_call"]
        seen.update(part["tool_call_id"] for part in calls)
        hosted_open |= {part["tool_call_id"] for part in calls if part.get("provider_executed")}
        for part in message["content"]:
            if part["type"] == "tool_result":
                assert part["tool_call_id"] in hosted_open
                hosted_open.discard(part["tool_call_id"])
        wanted = [
            part["tool_call_id"]
            for part in calls
            if not part.get("provider_executed") and part["tool_call_id"] not in pending
        ]
        after = messages[place + 1] if place + 1 < len(messages) else {"role": None, "content": []}
        given_back = [part["tool_call_id"] for part in after["content"]] if after["role"] == "tool" else []
        assert given_back == wanted
    assert not [name for name, count in seen.items() if count > 1], "ids are unique in a request (rule 9)"


@given(ledgers(), options)
def test_no_event_vanishes_silently(events: list[dict[str, Any]], chosen: Options) -> None:
    records = recorded(events)
    result = replay(records, "c", options=chosen)
    told = {version for parts in result.provenance for versions in parts for version in versions}
    told |= {entry.version for entry in result.plan.system}
    for one in result.diagnostics:
        told.add(one.version or 0)
        told.update(one.detail.get("versions") or ())  # type: ignore[arg-type]
    for record in records:
        event = record.event
        if event.agent_id != chosen.agent_id or record.type in CONTROL:
            continue
        assert record.version in told or record.version <= result.plan.cut, record.event


@given(ledgers(), options)
def test_nothing_empty_is_sent(events: list[dict[str, Any]], chosen: Options) -> None:
    for message in messages_of(plan(recorded(events), chosen)):
        assert message["content"]
        assert {"type": "text", "text": ""} not in message["content"]


@given(ledgers(), options)
def test_events_are_not_changed_by_a_replay(events: list[dict[str, Any]], chosen: Options) -> None:
    records = recorded(events)
    before = [encode(record.event) for record in records]
    replay(records, "c", options=chosen)
    assert before == [encode(record.event) for record in records]


@given(st.data())
def test_the_order_of_indexed_blocks_of_a_step_does_not_matter(data: st.DataObject) -> None:
    kinds = data.draw(
        st.lists(st.sampled_from(["thinking_complete", "text_complete", "tool_start"]), min_size=1)
    )
    names = {"turn_id": "t1", "step_id": "m1"}
    step: list[dict[str, Any]] = []
    for index, kind in enumerate(kinds):
        own: dict[str, Any] = {"text": f"words {index}"}
        if kind == "tool_start":
            own = {"tool_call_id": data.draw(st.sampled_from(["x", "y"])), "tool_name": "shell", "args": index}
        step.append({"type": kind, **names, "block_index": index, **own})
    user = {"type": "user_message", "turn_id": "t1", "content": "go"}
    names_used = data.draw(st.lists(st.sampled_from(["x", "y"]), max_size=5))
    end = [
        {"type": "tool_result", "turn_id": "t1", "tool_call_id": name, "content": place}
        for place, name in enumerate(names_used)
    ]
    shuffled = data.draw(st.permutations(step))
    assert messages_of(plan(recorded([user, *step, *end]))) == messages_of(
        plan(recorded([user, *shuffled, *end]))
    )


@given(orderly_ledgers())
def test_the_neutral_form_is_append_only(events: list[dict[str, Any]]) -> None:
    """What stood before a step's first event, nothing pending, begins what stands later (DESIGN.md 7.4)."""
    records = recorded(events)
    whole = messages_of(plan(records))
    begun: set[tuple[str | None, str]] = set()
    for place, record in enumerate(records):
        name = record.step_id
        if name is None or record.event.hidden or (record.turn_id, name) in begun:
            continue
        begun.add((record.turn_id, name))
        planned = plan(records[:place])
        if not planned.pending:
            before = messages_of(planned)
            assert whole[: len(before)] == before


@given(orderly_ledgers())
def test_the_running_fingerprint_tells_a_prefix(events: list[dict[str, Any]]) -> None:
    records = recorded(events)
    whole = replay(records, "c")
    assert len(whole.fingerprints) == len(whole.messages) + 1
    for cut in range(0, len(records), 3):
        part = replay(records[:cut], "c")
        for number, (left, right) in enumerate(zip(part.fingerprints, whole.fingerprints, strict=False)):
            same_prefix = part.messages[:number] == whole.messages[:number] and part.system == whole.system
            assert (left == right) == same_prefix


@given(ledgers(), options)
def test_items_keep_the_structure_that_renderers_need(events: list[dict[str, Any]], chosen: Options) -> None:
    planned = plan(recorded(events), chosen)
    places = [
        item.version for item in planned.items if not (isinstance(item, Entry) and item.kind == "summary")
    ]
    assert places == sorted(places)
    for message in neutral(planned):
        assert len(message.parts) == len(message.origins)
        if isinstance(message.item, Step):
            assert message.item.turn is planned.turns[message.item.turn_id]
            assert message.item.before_compaction == (
                planned.compaction is not None and message.item.version < planned.compaction.version
            )
    assert planned.sendable is False or not planned.pending


@pytest.mark.parametrize("lane", LANES)
@given(events=ledgers())
def test_other_lanes_never_meet(lane: str | None, events: list[dict[str, Any]]) -> None:
    """Events of other lanes change nothing, but for what they retract."""
    own = [event for event in events if event.get("agent_id") == lane or event["type"] == "retraction"]
    others_gone = [event if event in own else {"type": "note", "agent_id": "elsewhere"} for event in events]
    chosen = Options(agent_id=lane)
    assert messages_of(plan(recorded(events), chosen)) == messages_of(plan(recorded(others_gone), chosen))
