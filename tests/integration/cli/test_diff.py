"""`replay diff`: two versions, two targets, or a captured request beside the ledger."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.cli.desk import Desk

TALK: list[dict[str, Any]] = [
    {"type": "user_message", "conversation_id": "k", "id": "u1", "turn_id": "t1", "content": "q"},
    {"type": "step_start", "conversation_id": "k", "turn_id": "t1", "step_id": "m1", "model": "big"},
    {
        "type": "text_complete",
        "conversation_id": "k",
        "id": "a1",
        "turn_id": "t1",
        "step_id": "m1",
        "text": "A.",
    },
    {"type": "user_message", "conversation_id": "k", "turn_id": "t2", "content": "next"},
    {"type": "retraction", "conversation_id": "k", "event_ids": ["a1"]},
]
TO = ("--to", "anthropic", "--model", "big")


@pytest.fixture
def talk(desk: Desk) -> Desk:
    assert desk.append(*TALK).code == 0
    return desk


def test_two_versions(talk: Desk) -> None:
    answer = talk("replay", "diff", "k", "--at", "4", "--at", "5", "--json")
    assert answer.code == 3
    found = answer.json["difference"]
    assert (found["message"], found["part"], found["left"]["versions"], found["right"]["versions"]) == (
        1,
        0,
        [3],
        [4],
    )
    told = talk("replay", "diff", "k", "--at", "4", *TO)
    assert told.code == 3
    assert "differs at byte" in told.out
    assert "retracted_skipped at version 3" in told.out
    assert "version 4 for anthropic big and version 5 for anthropic big differ" in told.err


def test_the_same_is_exit_0(talk: Desk) -> None:
    answer = talk("replay", "diff", "k", "--at", "5")
    assert (answer.code, answer.err) == (0, "")
    assert "are the same" in answer.out
    assert talk("replay", "diff", "k", "--at", "5", "--json").json["same"] is True


def test_two_targets(talk: Desk) -> None:
    assert talk("replay", "diff", "k", "--against", "anthropic:big", "--json").code == 3
    assert talk("replay", "diff", "k", *TO, "--against", "anthropic:big").code == 0
    assert "no target nowhere" in talk("replay", "diff", "k", "--against", "nowhere").err


def test_a_captured_request(talk: Desk) -> None:
    shown = talk("replay", "k", *TO, "--at", "4", "--json").json
    body = {**shown["request"], "messages": shown["messages"], "max_tokens": 9}
    same = talk("replay", "diff", "k", *TO, "--at", "4", "--request", "-", input=json.dumps(body))
    assert (same.code, same.err) == (0, "")
    other = talk("replay", "diff", "k", *TO, "--request", "-", "--json", input=json.dumps(body))
    assert other.code == 3
    assert other.json["difference"]["left"]["versions"] == []
    assert talk("replay", "diff", "k", *TO, "--request", "-", input="[]").code == 1


def test_sides_that_are_missing_or_too_many_are_usage(talk: Desk) -> None:
    for wrong in (
        (),
        ("--at", "1", "--at", "2", "--at", "3"),
        ("--at", "1", "--at", "2", "--against", "anthropic"),
    ):
        assert talk("replay", "diff", "k", *wrong).code == 2
    assert talk("replay", "diff", "nobody", "--at", "1").code == 1


def test_a_conversation_named_diff_can_be_replayed(desk: Desk) -> None:
    desk.append({**TALK[0], "conversation_id": "diff"})
    assert desk("replay", "--json", "diff").json["conversation_id"] == "diff"


def test_what_was_sent_is_checked(talk: Desk) -> None:
    before = talk("replay", "k", *TO, "--json").json
    start = {
        "type": "step_start",
        "conversation_id": "k",
        "turn_id": "t2",
        "provider": "anthropic",
        "model": "big",
    }
    about = {"request_fingerprint": before["fingerprint"], "request_target": before["target"]}
    talk.append({**start, "step_id": "m2", **about})
    answer = talk("audit", "sent", "k")
    assert (answer.code, answer.err) == (0, "")
    assert "version 6, step m2: sent as rendered" in answer.out
    talk.append({**start, "step_id": "m3", "request_fingerprint": "sha256:0"})
    talk.append({**start, "step_id": "m4", "api": "telex", "request_fingerprint": "sha256:0"})
    answer = talk("audit", "sent", "k")
    assert answer.code == 3
    assert "version 7, step m3: not as rendered" in answer.out
    assert "3 requests with a fingerprint, 1 not as the ledger renders them" in answer.out
    found = talk("audit", "sent", "k", "--last", "1", "--json")
    assert (found.code, found.json["requests"][0]["verdict"]) == (0, "unknown_target")
