"""Where two requests part: what stands beside the messages first, then message, byte and events."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from ledger.errors import BadInput
from replay import Options, replay
from replay.difference import difference, difference_from
from replay.fingerprint import canonical_bytes
from tests.property.ledgers import ledgers, recorded
from tests.unit.replay.talk import call, event, result, talk, text, user

CLAUDE = {"provider": "anthropic", "model": "big"}
TALK = talk(
    event("context", None, digest="d", system="You help."),
    user("q"),
    text("A.", "m1"),
    call("c1", "m1"),
    result("c1", "out"),
    user("next", "t2"),
    event("retraction", None, event_ids=["e3"]),
    event("context", None, digest="d2", system="You help more."),
)


def test_equal_requests_have_no_difference() -> None:
    assert difference(replay(TALK, "c"), replay(TALK, "c")) is None


def test_the_first_message_its_byte_and_its_events_are_named() -> None:
    found = difference(replay(TALK[:6], "c"), replay(TALK[:7], "c"))
    assert found is not None
    assert (found.beside, found.message, found.part) == (None, 1, 0)
    before, after = (canonical_bytes(replay(TALK[:cut], "c").messages[1]) for cut in (6, 7))
    assert before[: found.offset] == after[: found.offset]
    assert before[found.offset] != after[found.offset]
    assert (found.left.versions, found.right.versions) == ([3], [4])
    assert [one.code for one in found.right.diagnostics] == ["retracted_skipped"]
    assert "A." in (found.left.excerpt or "")
    json.dumps(found.as_json())


def test_a_message_that_grew_because_its_neighbour_went_names_the_neighbour() -> None:
    records = talk(user("q"), text("A.", "m1"), user("next", "t2"), event("retraction", None, event_ids=["e2"]))
    found = difference(replay(records[:3], "c", CLAUDE), replay(records, "c", CLAUDE))
    assert found is not None
    assert (found.message, found.part, found.left.versions, found.right.versions) == (0, 1, [2], [3])
    assert [one.code for one in found.right.diagnostics] == ["retracted_skipped"]


def test_a_request_that_goes_on_differs_where_the_other_ends() -> None:
    found = difference(replay(TALK[:5], "c"), replay(TALK[:6], "c"))
    assert found is not None
    assert (found.message, found.offset, found.left.excerpt, found.left.versions) == (3, 0, None, [])
    assert found.right.versions == [6]


def test_what_stands_beside_the_messages_comes_first() -> None:
    found = difference(replay(TALK[:6], "c", CLAUDE), replay(TALK, "c", CLAUDE))
    assert found is not None
    assert (found.beside, found.message) == ("context", None)
    assert (found.left.versions, found.right.versions) == ([1], [8])


def test_two_targets_part_too() -> None:
    assert difference(replay(TALK, "c"), replay(TALK, "c", CLAUDE)) is not None


def test_a_captured_request_is_held_against_the_ledger() -> None:
    rendered = replay(TALK[:6], "c", CLAUDE)
    sent = json.loads(json.dumps({**rendered.request, "max_tokens": 100, "stream": True}))
    assert difference_from(sent, rendered) is None
    sent["messages"][0]["content"][0]["text"] = "Q"
    found = difference_from(sent, rendered)
    assert found is not None
    assert (found.message, found.part, found.left.versions, found.right.versions) == (0, 0, [], [2])
    found = difference_from({**rendered.request, "system": "Other."}, rendered)
    assert found is not None
    assert (found.beside, found.right.versions) == ("system", [1])
    found = difference_from({**rendered.request, "tools": [{"name": "x"}]}, rendered)
    assert found is not None
    assert (found.beside, found.right.excerpt) == ("tools", None)


def test_a_request_in_another_format_is_refused() -> None:
    with pytest.raises(BadInput, match="no list 'messages'"):
        difference_from({"contents": []}, replay(TALK, "c", CLAUDE))


@given(ledgers(), ledgers())
def test_no_difference_means_the_same_fingerprint(
    one: list[dict[str, object]], two: list[dict[str, object]]
) -> None:
    for right in (one, two, [*one, *two[:1]]):
        results = [replay(recorded(events), "c", CLAUDE, Options()) for events in (one, right)]
        assert (difference(*results) is None) == (results[0].fingerprint == results[1].fingerprint)
