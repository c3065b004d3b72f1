"""A replay that goes on answers as a whole one does, wherever its events were fed from, and writes less."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay import Continued, Options, Result, replay, targets
from tests.property.ledgers import recorded
from tests.property.replay.test_plan import options
from tests.property.replay.test_targets import PROVIDERS, a_target, chaos, many, orderly


def told(found: Result) -> str:
    """All that a result says."""
    neutral = [message.as_json() for message in found.neutral]
    turns = {
        name: [turn.terminal and turn.terminal.version, [step.version for step in turn.steps]]
        for name, turn in found.plan.turns.items()
    }
    said = [found.as_json(), found.request, found.fingerprints, neutral, turns, len(found.events)]
    return json.dumps([*said, len(found.plan.items), [one.version for one in found.plan.notes]])


@pytest.mark.parametrize("provider", targets())
@many(40)
@given(data=st.data())
def test_going_on_answers_as_a_whole_replay_does(provider: str, data: st.DataObject) -> None:
    events: list[dict[str, Any]] = data.draw(st.one_of(chaos, orderly, orderly), "events")
    chosen: Options = data.draw(options, "options")
    target = "neutral" if provider == "neutral" else data.draw(a_target(provider), "target")
    records = recorded(events)
    going = Continued("c", target, chosen)
    fed = 0
    while fed < len(records):
        more = data.draw(st.integers(1, 6), "more")
        going.feed(records[fed : fed + more])
        fed += more
        assert told(going.result()) == told(replay(records[:fed], "c", target, chosen))
    assert told(going.result()) == told(replay(records, "c", target, chosen))


def steps(many: int, *, turns: int = 1) -> list[dict[str, Any]]:
    """A history of steps that each call a tool and hear from it, in as many turns."""
    events: list[dict[str, Any]] = []
    for number in range(many):
        turn, step = {"turn_id": f"t{number * turns // many}"}, f"s{number}"
        if number * turns % many < turns:
            events.append({"type": "user_message", **turn, "content": "go"})
        own = {**turn, "step_id": step}
        events += [
            {"type": "step_start", **own, "provider": "anthropic", "api": "messages", "model": "m"},
            {"type": "text_complete", **own, "text": f"looking {number}"},
            {"type": "tool_start", **own, "tool_call_id": f"c{number}", "tool_name": "ls", "args": {}},
            {"type": "token_usage", **own, "usage": {"input": 1, "output": 1}},
            {"type": "step_finish", **own, "finish_reason": "tool_use"},
            {"type": "tool_result", **turn, "tool_call_id": f"c{number}", "content": "out"},
        ]
    return events


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("turns", [1, 20])
def test_a_step_more_writes_a_step_and_not_the_history(provider: str, turns: int) -> None:
    target = {"provider": provider, "model": "m"}
    records = recorded(steps(60, turns=turns))
    going = Continued("c", target)
    half = len(records) // 2
    going.feed(records[:half])
    going.result()
    before, asked = going.messages_written, 0
    for record in records[half:]:
        going.feed([record])
        found = going.result()
        asked += 1
    assert told(found) == told(replay(records, "c", target))
    assert going.messages_written - before <= 6 * asked, "two steps and a user's message at the most"


CALL = {"type": "tool_start", "tool_name": "ls", "args": {}}
T3 = {"turn_id": "t3"}
REACHES_BACK: dict[str, list[dict[str, Any]]] = {
    "a retraction of a step": [{"type": "retraction", "turn_id": "t1", "step_ids": ["s2"]}],
    "a retraction of a turn": [{"type": "retraction", "turn_ids": ["t1"]}],
    "a retraction in another lane": [{"type": "retraction", "agent_id": "sub", "turn_ids": ["t1"]}],
    "a compaction": [{"type": "compaction", "summary": "they looked", "through_version": 12}],
    "a compaction of the provider's": [
        {"type": "compaction", "summary": "", "through_version": 0, "provider_metadata": {"a": {"b": 1}}}
    ],
    "a context": [{"type": "context", "digest": "d", "system": "be brief", "tools": []}],
    "a rung": [
        {
            "type": "note",
            "kind": "rung",
            "target": {"provider": "anthropic", "model": "m"},
            "rung": "text-only",
            "rules": [],
        }
    ],
    "a block of an old step": [{"type": "text_complete", "turn_id": "t1", "step_id": "s2", "text": "more"}],
    "a call of an old step": [{**CALL, "turn_id": "t1", "step_id": "s2", "tool_call_id": "x"}],
    "an old step's end": [
        {"type": "step_finish", "turn_id": "t1", "step_id": "s2", "finish_reason": "pause_turn"}
    ],
    "a result for an old call": [
        {"type": "tool_result", "turn_id": "t1", "tool_call_id": "c2", "content": "x"}
    ],
    "a result elsewhere": [{"type": "tool_result", **T3, "tool_call_id": "c2", "content": "x"}],
    "an old call's name again": [{**CALL, **T3, "step_id": "new", "tool_call_id": "c2"}],
    "blocks without a step": [
        {"type": "text_complete", **T3, "text": "hm"},
        {**CALL, **T3, "tool_call_id": "y"},
    ],
    "a call without a step after signed thinking": [
        {
            "type": "step_start",
            **T3,
            "step_id": "new",
            "provider": "anthropic",
            "api": "messages",
            "model": "m",
        },
        {"type": "thinking_complete", **T3, "step_id": "new", "text": "hm", "signature": "sig"},
        {"type": "text_complete", **T3, "step_id": "new", "text": "well"},
        {"type": "step_start", **T3, "step_id": "next"},
        {"type": "text_complete", **T3, "step_id": "next", "text": "well"},
        {**CALL, **T3, "tool_call_id": "y"},
    ],
    "an attempt that failed": [
        {"type": "step_start", **T3, "step_id": "new"},
        {"type": "text_complete", **T3, "step_id": "new", "text": "well"},
        {"type": "error", **T3, "step_id": "new", "message": "x", "retryable": True},
        {"type": "step_start", **T3, "step_id": "next"},
        {"type": "step_start", **T3, "step_id": "last"},
        {"type": "complete", **T3, "finish_reason": "stop"},
    ],
    "a retry of an old step": [{"type": "step_start", **T3, "step_id": "new", "retry_of": "s7"}],
    "an old attempt's error": [
        {"type": "error", "turn_id": "t3", "step_id": "s7", "message": "x", "retryable": True}
    ],
    "an event after the end": [
        {"type": "complete", **T3, "finish_reason": "stop"},
        *({"type": "step_start", "turn_id": "t4", "step_id": f"n{number}"} for number in range(3)),
        {"type": "user_message", **T3, "content": "still there?"},
        {"type": "complete", **T3, "finish_reason": "stop"},
    ],
}


@pytest.mark.parametrize("provider", ["neutral", "anthropic", "openai-responses"])
@pytest.mark.parametrize("what", REACHES_BACK)
def test_what_reaches_back_is_answered_whole(what: str, provider: str) -> None:
    later = [
        {"type": "step_start", **T3, "step_id": "later"},
        {"type": "text_complete", **T3, "step_id": "later", "text": "so"},
        {"type": "user_message", "turn_id": "t9", "content": "and?"},
    ]
    target = {"provider": provider, "model": "m"}
    records = recorded([*steps(8, turns=4), *REACHES_BACK[what], *later])
    going = Continued("c", target)
    for number, record in enumerate(records, start=1):
        going.feed([record])
        assert told(going.result()) == told(replay(records[:number], "c", target))


def test_an_attempt_that_was_replaced_is_no_reason_to_write_all_again() -> None:
    events = steps(30)
    failed = {"turn_id": "t0", "step_id": "failed"}
    events[1:1] = [
        {"type": "step_start", **failed, "provider": "anthropic", "api": "messages", "model": "m"},
        {"type": "text_complete", **failed, "text": "look"},
        {"type": "error", **failed, "message": "overloaded", "retryable": True},
    ]
    target = {"provider": "anthropic", "model": "m"}
    records = recorded(events)
    going = Continued("c", target)
    for number, record in enumerate(records, start=1):
        going.feed([record])
        assert told(going.result()) == told(replay(records[:number], "c", target))
    assert going.messages_written <= 6 * len(records)


def test_each_event_of_a_run_is_asked_for_and_answered_whole() -> None:
    target = {"provider": "anthropic", "model": "m"}
    records = recorded(steps(12, turns=3))
    going = Continued("c", target)
    for number, record in enumerate(records, start=1):
        going.feed([record])
        assert told(going.result()) == told(replay(records[:number], "c", target))


def test_an_answer_stays_what_it_was_when_more_is_fed() -> None:
    records = recorded(steps(6, turns=2))
    going = Continued("c", {"provider": "anthropic", "model": "m"})
    kept = []
    for record in records:
        going.feed([record])
        found = going.result()
        kept.append((found, json.dumps([found.request, found.fingerprints, len(found.plan.items)])))
    assert all(json.dumps([one.request, one.fingerprints, len(one.plan.items)]) == said for one, said in kept)


@pytest.mark.parametrize("provider", targets())
def test_an_answer_is_the_callers_own_whenever_its_lists_are_asked_for(provider: str) -> None:
    target = {"provider": provider, "model": "m"}
    records = recorded(steps(8, turns=3))
    going = Continued("c", target)
    answers = []
    for number, record in enumerate(records, start=1):
        going.feed([record])
        answers.append(going.result())
        if number % 2:
            _spoil(going.result())
    for number, found in enumerate(answers, start=1):  # the lists of each are made only now
        assert told(found) == told(replay(records[:number], "c", target))
        _spoil(found)
    assert told(going.result()) == told(replay(records, "c", target))


def _spoil(found: Result) -> None:
    plan = found.plan
    lists: list[Any] = [found.messages, found.neutral, found.diagnostics, found.fingerprints, found.events]
    for one in [*lists, found.provenance, plan.items, plan.diagnostics, plan.notes]:
        assert type(one) is list
        one.clear()
    for turn in plan.turns.values():
        turn.steps.clear()
        turn.named.clear()
    plan.turns.clear()
