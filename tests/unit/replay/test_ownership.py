"""Whose signed thinking goes back: provider, api, model and account have to be the target's (DESIGN.md 7.3)."""

from __future__ import annotations

from typing import Any

import pytest

from replay import replay
from tests.unit.replay.providers.rendering import MODEL, records, start, text, thinking, user

API = "anthropic-messages"
MINE: dict[str, Any] = {"api": API, "account": "acme"}


def sent(recorded: dict[str, Any], **target: Any) -> bool:
    events = [user("q"), start("s1", **recorded), thinking("s1"), text("s1"), user("go on", turn="t2")]
    found = replay(records(events), "c", {"provider": "anthropic", "model": MODEL, **target})
    foreign = [one for one in found.diagnostics if one.code == "foreign_thinking_skipped"]
    is_sent = '"sig"' in str(found.messages).replace("'", '"')
    assert is_sent != bool(foreign), "what is not sent is said"
    for one in foreign:
        assert one.detail.get("account") == recorded.get("account")
    return is_sent


@pytest.mark.parametrize(
    ("recorded", "target", "is_sent"),
    [
        ({}, {}, True),
        (MINE, {"account": "acme"}, True),
        (MINE, {"account": "other"}, False),
        (MINE, {}, True),
        ({"api": API}, {"account": "acme"}, True),
        ({"api": "bedrock-converse"}, {}, False),
        ({"model": "another"}, {}, False),
        ({"provider": "openai"}, {}, False),
    ],
)
def test_on_the_first_rung_what_is_not_known_to_be_anothers(
    recorded: dict[str, Any], target: dict[str, Any], is_sent: bool
) -> None:
    assert sent(recorded, **target) is is_sent


@pytest.mark.parametrize(
    ("recorded", "target", "is_sent"),
    [
        ({}, {}, False),
        ({"api": API}, {}, True),
        (MINE, {"account": "acme"}, True),
        (MINE, {"account": "other"}, False),
        (MINE, {}, False),
        ({"api": API}, {"account": "acme"}, False),
    ],
)
def test_without_foreign_only_what_is_known_to_be_its_own(
    recorded: dict[str, Any], target: dict[str, Any], is_sent: bool
) -> None:
    assert sent(recorded, **target, rung="no-foreign") is is_sent
