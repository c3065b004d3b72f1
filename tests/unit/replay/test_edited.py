"""Edited content (DESIGN.md 7.3): a block that its digest does not fit loses its opaque state everywhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ledger.admission import parse_event
from replay import plan, replay, targets
from replay.edited import content_digest
from tests.unit.replay.talk import EventDict, call, event, result, talk, text, thinking, user

MODEL = "claude-opus-4-5"
START = event("step_start", step="m1", provider="anthropic", model=MODEL)


def digested(block: EventDict, **metadata: Any) -> EventDict:
    """The block with the digest of its content beside its state."""
    digest = content_digest(parse_event({**block, "conversation_id": "c"}))  # type: ignore[arg-type]
    return {**block, "provider_metadata": {**metadata, "turnledger": {"digest": digest}}}


SEALED = digested(thinking("as it was", "m1", signature="sig"), openai={"itemId": "rs_1"})


def test_a_digest_is_of_what_a_model_reads() -> None:
    [_, block] = [user("q"), digested(thinking("hm", "m1", signature="one"))]
    other = digested(thinking("hm", "m2", signature="two", block_index=4))
    assert block["provider_metadata"] == other["provider_metadata"]
    assert digested(text("hm", "m1"))["provider_metadata"] == block["provider_metadata"]
    assert block["provider_metadata"]["turnledger"]["digest"] == (
        # sha256 of {"text":"hm"}
        "42211b53db32d366256ee169dfb1e76a78f6226c63d79fcba714bde5947d0c63"
    )


def test_content_that_fits_keeps_its_state() -> None:
    found = replay(
        talk(user("q"), START, SEALED, digested(call("c", "m1")), digested(result("c"))),
        "c",
        {"provider": "anthropic", "model": MODEL},
    )
    assert found.messages[1]["content"][0]["signature"] == "sig"  # type: ignore[index,call-overload]
    assert found.diagnostics == []


@pytest.mark.parametrize(
    "edited",
    [
        {**SEALED, "text": "as it is now"},
        {**digested(text("a", "m1"), openai={"itemId": "sig"}), "text": "b"},
        {**digested(call("c", "m1"), google={"thoughtSignature": "sig"}), "args": {"a": 1}},
        {**digested(call("c", "m1"), google={"thoughtSignature": "sig"}), "tool_name": "other"},
        {**SEALED, "provider_metadata": {"turnledger": {"digest": 7}}},
    ],
    ids=["thinking", "text", "arguments", "name", "no digest"],
)
def test_edited_content_loses_its_state_for_every_target(edited: EventDict) -> None:
    events = talk(user("q"), START, edited, text("then", "m1"), user("next", "t2"))
    [block, *_] = (
        plan(events).steps[0].blocks if edited["type"] != "tool_start" else plan(events).steps[0].calls
    )
    assert block.provider_metadata is None
    assert getattr(block.event, "signature", None) is None
    for target in targets():
        found = replay(events, "c", {"provider": target, "model": MODEL})
        assert "sig" not in json.dumps(found.request)
        assert [one.version for one in found.diagnostics if one.code == "edited_content"] == [3]
    assert events[2].event.provider_metadata is not None, "what is recorded stays"


def test_edited_content_has_no_part_in_the_replay_envelope() -> None:
    response = {
        "kind": "pi-ai",
        "version": 2,
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": MODEL,
        "stopReason": "stop",
    }
    state = {"response": response, "blocks": [{"type": "text", "textSignature": "sig"}]}
    finish = event("step_finish", step="m1", replay_state=state)
    block = digested(text("a", "m1"))
    [kept] = plan(talk(user("q"), START, block, finish)).steps[0].blocks
    assert kept.entry == {"type": "text", "textSignature": "sig"}
    [lost] = plan(talk(user("q"), START, {**block, "text": "b"}, finish)).steps[0].blocks
    assert lost.entry is None
