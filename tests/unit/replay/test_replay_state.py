"""Replay envelopes: every reason in its order, the flat form, and where entries go (DESIGN.md 7.3)."""

from __future__ import annotations

from typing import Any

import pytest

from replay import Options, plan
from replay.replay_state import Unusable, open_envelope
from tests.unit.replay.talk import call, complete, event, result, talk, text, thinking, user

RESPONSE: dict[str, Any] = {
    "kind": "pi-ai",
    "version": 2,
    "api": "messages",
    "provider": "anthropic",
    "model": "big",
    "stopReason": "stop",
}


def step(state: Any, *blocks: dict[str, Any], source: dict[str, Any] | None = None) -> Any:
    """The plan's one step, of the given blocks and state, and what is said about the state."""
    names = {"provider": "anthropic", "api": "messages", "model": "big"} if source is None else source
    planned = plan(
        talk(
            user("q"),
            event("step_start", step="m1", **names),
            *blocks,
            event("step_finish", step="m1", replay_state=state),
            complete(),
        )
    )
    reasons = [one.detail["reason"] for one in planned.diagnostics if one.code == "invalid_replay_state"]
    return planned.steps[0], reasons


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (7, "expected a replay envelope"),
        ([], "expected a replay envelope"),
        ({"blocks": []}, "expected a response object"),
        ({"kind": "other", "version": 1}, "expected a response object"),
        ({"kind": "pi-ai", "version": True, "blocks": []}, "expected a response object"),
        ({"response": {**RESPONSE, "kind": "x", "version": 9}}, "unknown state kind"),
        ({"response": {**RESPONSE, "version": "2"}}, 'unsupported version "2"'),
        ({"response": {**RESPONSE, "version": True}}, "unsupported version true"),
        ({"response": {**RESPONSE, "api": ""}}, "api must be a non-empty string"),
        ({"response": {**RESPONSE, "provider": None}}, "provider must be a non-empty string"),
        ({"response": {**RESPONSE, "model": 3}}, "model must be a non-empty string"),
        ({"response": {**RESPONSE, "stopReason": ["stop"]}}, "unknown stopReason"),
        ({"response": {**RESPONSE, "responseModel": None}}, "responseModel must be a string"),
        ({"response": {**RESPONSE, "responseId": 1}}, "responseId must be a string"),
        ({"response": RESPONSE}, "blocks must be an array"),
        ({"kind": "pi-ai", "version": 1, **{k: v for k, v in RESPONSE.items() if k not in ("kind", "version")}},
         "blocks must be an array"),
        ({"response": RESPONSE, "blocks": [{"type": "text"}, 3]}, "block 1 must be an object"),
        ({"response": RESPONSE, "blocks": [{"type": "audio"}]}, "block 0 has an unknown type"),
        ({"response": RESPONSE, "blocks": [{"type": "text", "thoughtSignature": 1}]},
         "block 0 thoughtSignature must be a string"),
        ({"response": RESPONSE, "blocks": [{"type": "text", "redacted": 1}]},
         "block 0 redacted must be boolean"),
    ],
)  # fmt: skip
def test_a_malformed_envelope_says_the_first_thing_wrong(state: Any, reason: str) -> None:
    with pytest.raises(Unusable) as caught:
        open_envelope(state)
    assert caught.value.reason == reason


def test_a_state_that_fits_hands_each_block_its_entry() -> None:
    entries = [
        {"type": "reasoning", "thinkingSignature": "rs"},
        {"type": "text", "textSignature": "ts"},
        {"type": "tool-call", "thoughtSignature": "cs"},
    ]
    found, reasons = step(
        {"response": RESPONSE, "blocks": entries},
        call("c1", "m1"),  # recorded while the step still streamed: the entries stand in message order
        result("c1"),
        thinking("hm", "m1"),
        text("a", "m1"),
    )
    assert reasons == []
    assert found.state.kind == "pi-ai"
    assert found.state.api == "messages"
    assert [block.entry for block in found.blocks] == entries


def test_a_state_that_does_not_fit_leaves_nothing_behind() -> None:
    found, reasons = step(
        {"response": RESPONSE, "blocks": [{"type": "text", "textSignature": "a"}, {"type": "tool-call"}]},
        text("a", "m1"),
    )
    assert reasons == ["block count does not match assistant content"]
    assert found.state is None
    assert found.state_invalid
    assert found.blocks[0].entry is None


def test_empty_blocks_count_when_the_response_had_them() -> None:
    entries = [{"type": "reasoning"}, {"type": "text"}, {"type": "tool-call"}]
    blocks = (
        thinking("hm", "m1", block_index=0),
        text("", "m1", block_index=1),
        call("c1", "m1", block_index=2),
        result("c1"),
    )
    _, with_empty = step({"response": RESPONSE, "blocks": entries}, *blocks)
    _, without = step({"response": RESPONSE, "blocks": [entries[0], entries[2]]}, *blocks)
    assert (with_empty, without) == ([], [])


def test_a_source_that_was_not_recorded_contradicts_nothing() -> None:
    _, reasons = step({"response": RESPONSE, "blocks": [{"type": "text"}]}, text("a", "m1"), source={})
    assert reasons == []


def test_dropping_a_call_prunes_its_entry() -> None:
    entry = {"type": "text", "textSignature": "ts"}
    records = talk(
        user("q"),
        event("step_start", step="m1", provider="anthropic", model="big"),
        text("a", "m1"),
        call("c1", "m1"),
        event(
            "step_finish",
            step="m1",
            replay_state={
                "response": RESPONSE,
                "blocks": [{"type": "text", "textSignature": "ts"}, {"type": "tool-call"}],
            },
        ),
        complete(),
    )
    planned = plan(records, Options(unanswered_calls="drop"))
    assert [block.entry for block in planned.steps[0].blocks] == [entry]
    assert [one.code for one in planned.diagnostics] == ["unmatched_tool_call"]


def test_the_last_finish_decides() -> None:
    records = talk(
        user("q"),
        text("a", "m1"),
        event("step_finish", step="m1", replay_state=7),
        event("step_finish", step="m1"),
    )
    assert plan(records).diagnostics == []
