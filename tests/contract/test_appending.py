"""Appending: order, receipts, expected versions, all or nothing."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ledger import Ledger
from ledger.errors import BadInput, BatchTooLarge, Conflict, IdConflict, NotFinite, VersionConflict
from ledger.events import MAX_BATCH, TextDelta, ThinkingDelta, ToolOutputDelta
from tests.contract.material import assert_gapless, ids, result, said, several, stored


def test_versions_and_positions_start_at_one_and_have_no_gaps(ledger: Ledger) -> None:
    first = ledger.append("c", several("c", "a", "b"))
    second = ledger.append("c", several("c", "d"))
    assert (first.first_version, first.last_version) == (1, 2)
    assert (second.first_version, second.last_version) == (3, 3)
    assert first.book == second.book
    assert (first.first_position, first.last_position) == (1, 2)
    assert (second.first_position, second.last_position) == (3, 3)
    assert not first.replayed
    assert (first.known, first.differing, first.live) == (0, 0, 0)
    assert stored(ledger, "c") == [(1, "a"), (2, "b"), (3, "d")]


def test_what_is_read_is_what_was_acknowledged(ledger: Ledger) -> None:
    receipt = ledger.append("c", several("c", "a", "b"))
    read = list(ledger.read("c"))
    assert [each.position for each in read] == [receipt.first_position, receipt.last_position]
    assert {each.book for each in read} == {receipt.book}
    assert {each.tenant for each in read} == {"default"}
    assert {each.actor for each in read} == {"local"}
    assert [each.type for each in read] == ["user_message"] * 2
    assert [each.turn_id for each in read] == ["t1"] * 2
    assert [each.event.id for each in read] == ["a", "b"]


def test_a_read_is_bounded_by_after_and_upto(ledger: Ledger) -> None:
    ledger.append("c", several("c", *"abcde"))
    assert ids(ledger.read("c", after=2)) == ["c", "d", "e"]
    assert ids(ledger.read("c", upto=2)) == ["a", "b"]
    assert ids(ledger.read("c", after=1, upto=3)) == ["b", "c"]
    assert ids(ledger.read("c", after=5)) == []
    assert ids(ledger.read("c", after=3, upto=3)) == []
    assert ids(ledger.read("c", upto=99)) == list("abcde")


@pytest.mark.parametrize("expected", [0, 1, 3, 99])
def test_a_wrong_expected_version_carries_both(ledger: Ledger, expected: int) -> None:
    ledger.append("c", several("c", "a", "b"))
    with pytest.raises(VersionConflict) as refused:
        ledger.append("c", several("c", "d"), expected_version=expected)
    assert (refused.value.expected, refused.value.actual) == (expected, 2)
    assert refused.value.conversation_id == "c"
    assert str(expected) in str(refused.value)
    assert stored(ledger, "c") == [(1, "a"), (2, "b")]


def test_the_right_expected_version_appends(ledger: Ledger) -> None:
    ledger.append("c", several("c", "a"), expected_version=0)
    ledger.append("c", several("c", "b", "d"), expected_version=1)
    assert ledger.append("c", several("c", "e"), expected_version=3).last_version == 4


def test_a_new_conversation_is_at_version_nought(ledger: Ledger) -> None:
    with pytest.raises(VersionConflict) as refused:
        ledger.append("c", several("c", "a"), expected_version=5)
    assert (refused.value.expected, refused.value.actual) == (5, 0)
    assert ledger.head("c") is None


def test_the_expected_version_holds_for_a_writer_that_has_lost_touch(engine_url: str) -> None:
    with Ledger.open(engine_url) as one, Ledger.open(engine_url) as other:
        one.append("c", several("c", "a"))
        other.append("c", several("c", "b"))
        with pytest.raises(VersionConflict) as refused:
            one.append("c", several("c", "d"), expected_version=1)
        assert (refused.value.expected, refused.value.actual) == (1, 2)
        assert one.append("c", several("c", "e")).first_version == 3
        assert other.append("c", several("c", "f"), expected_version=3).first_version == 4
        assert stored(one, "c") == stored(other, "c") == [(1, "a"), (2, "b"), (3, "e"), (4, "f")]


def test_a_refused_batch_leaves_nothing_and_no_hole(ledger: Ledger) -> None:
    ledger.append("c", several("c", "a"))
    refusals: list[tuple[str, list[object], int | None, type[Exception]]] = [
        ("c", [*several("c", "b"), result("c", "x", float("nan"))], None, NotFinite),
        ("c", [*several("c", "b"), said("c", "a", "another body")], None, IdConflict),
        ("c", several("c", "b"), 7, VersionConflict),
        ("c", several("c", "b", "b"), None, IdConflict),
        ("new", [*several("new", "b"), result("new", "x", float("inf"))], None, NotFinite),
    ]
    for conversation_id, batch, expected, error in refusals:
        with pytest.raises(error):
            ledger.append(conversation_id, batch, expected_version=expected)
    assert stored(ledger, "c") == [(1, "a")]
    assert ledger.head("new") is None
    ledger.append("c", several("c", "b"))
    ledger.append("new", several("new", "b"))
    followed = list(ledger.follow())
    assert len(followed) == 3
    assert_gapless(followed)


def test_a_conflict_is_an_integrity_error_of_the_library(ledger: Ledger) -> None:
    from eventsourcing.persistence import IntegrityError

    assert issubclass(Conflict, IntegrityError)
    ledger.append("c", several("c", "a"))
    with pytest.raises(IntegrityError):
        ledger.append("c", several("c", "b"), expected_version=9)


def test_an_event_of_another_conversation_is_refused(ledger: Ledger) -> None:
    with pytest.raises(BadInput):
        ledger.append("c", [said("c", "a"), said("d", "b")])
    assert ledger.head("c") is None
    assert ledger.head("d") is None


@pytest.mark.parametrize("bad", ["", "x" * 201, "a\x00b", "a\nb", "a\x7fb", "\ud800"])
def test_a_conversation_id_has_its_rules(ledger: Ledger, bad: str) -> None:
    with pytest.raises(BadInput):
        ledger.append(bad, [said(bad, "a")])
    assert list(ledger.follow()) == []


@pytest.mark.parametrize("bad", ["", "x" * 201, "a\x00b", "a\nb", "\udfff"])
def test_an_event_id_has_the_same_rules(ledger: Ledger, bad: str) -> None:
    with pytest.raises(BadInput):
        ledger.append("c", [said("c", bad)])
    assert ledger.head("c") is None


@pytest.mark.parametrize(
    "name", ["x" * 200, "ü" * 200, "a b/c?d#e", "'; DROP TABLE event; --", "\u2028", "%s", "😀"]
)
def test_any_other_id_is_an_id(ledger: Ledger, name: str) -> None:
    ledger.append(name, [said(name, name)])
    assert stored(ledger, name) == [(1, name)]
    assert [each.conversation_id for each in ledger.follow()] == [name]


def test_an_absent_id_is_made(ledger: Ledger) -> None:
    ledger.append("c", [said("c", None), said("c", None)])
    made = list(ledger.read("c"))
    assert len({each.event_id for each in made}) == 2
    for each in made:
        assert each.event.id == each.event_id
        assert each.event_id.replace("-", "")[12] == "7", "a UUID of version 7"


def test_deltas_are_counted_and_not_stored(ledger: Ledger) -> None:
    deltas = [
        TextDelta(conversation_id="c", turn_id="t1", id="d1"),
        ThinkingDelta(conversation_id="c", turn_id="t1", id="d2"),
        ToolOutputDelta(conversation_id="c", turn_id="t1", id="d3"),
    ]
    receipt = ledger.append("c", [deltas[0], said("c", "a"), deltas[1], said("c", "b"), deltas[2]])
    assert receipt.live == 3
    assert (receipt.first_version, receipt.last_version) == (1, 2)
    assert stored(ledger, "c") == [(1, "a"), (2, "b")]
    assert ledger.append("c", [said("c", "e"), deltas[0]]).first_version == 3


def test_a_batch_of_deltas_alone_stores_nothing(ledger: Ledger) -> None:
    assert ledger.append("c", [TextDelta(conversation_id="c", turn_id="t1", id="d1")]).live == 1
    assert list(ledger.follow()) == []
    ledger.append("c", several("c", "a"))
    assert ledger.append("c", [TextDelta(conversation_id="c", turn_id="t1", id="d1")]).live == 1
    assert stored(ledger, "c") == [(1, "a")]


def test_the_largest_batch(ledger: Ledger) -> None:
    batch = several("c", *(f"e{n}" for n in range(MAX_BATCH)))
    receipt = ledger.append("c", batch)
    assert (receipt.first_version, receipt.last_version) == (1, MAX_BATCH)
    assert ids(ledger.read("c")) == [each.id for each in batch]
    assert ledger.append("c", batch).replayed


def test_a_batch_over_the_limit(ledger: Ledger) -> None:
    with pytest.raises(BatchTooLarge) as refused:
        ledger.append("c", several("c", *(f"e{n}" for n in range(MAX_BATCH + 1))))
    assert (refused.value.limit, refused.value.actual) == (MAX_BATCH, MAX_BATCH + 1)
    assert ledger.head("c") is None


def test_recorded_at_is_one_a_batch_and_never_goes_back(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.append("c", several("c", "a", "b"))
    hour_ago = time.time_ns() - 3_600 * 10**9
    with monkeypatch.context() as clock:
        clock.setattr(time, "time_ns", lambda: hour_ago)
        clock.setattr(time, "time", lambda: hour_ago / 1e9)
        ledger.append("c", several("c", "d"))
    ledger.append("c", several("c", "e"))
    at = [each.recorded_at for each in ledger.read("c")]
    assert at[0] == at[1]
    assert at == sorted(at)
    assert all(isinstance(each, int) for each in at)
    assert abs(at[-1] / 1e6 - time.time()) < 60, "microseconds since 1970"


def test_the_actor_is_recorded(engine_url: str) -> None:
    with Ledger.open(engine_url, actor="token-7") as ledger:
        ledger.append("c", several("c", "a"))
    with Ledger.open(engine_url) as ledger:
        ledger.append("c", several("c", "b"))
        assert [each.actor for each in ledger.read("c")] == ["token-7", "local"]


def test_events_may_be_plain_json(ledger: Ledger) -> None:
    ledger.append(
        "c",
        [
            {"type": "user_message", "turnId": "t", "id": "a", "content": "x", "messageId": "m"},
            {"type": "user_message", "conversation_id": "c", "turn_id": "t", "id": "b", "content": "y"},
        ],
    )
    first, second = (each.event for each in ledger.read("c"))
    assert (first.conversation_id, first.turn_id, first.message_id) == ("c", "t", "m")
    assert second.content == "y"
    with pytest.raises(BadInput):
        ledger.append("c", [{"type": "user_message", "id": "d", "content": "no turn"}])
    assert len(stored(ledger, "c")) == 2


def test_who_changes_what_was_given_changes_nothing_stored(ledger: Ledger) -> None:
    content: dict[str, Any] = {"list": [1]}
    event = result("c", "a", content)
    ledger.append("c", [event])
    content["list"].append(2)
    (recorded,) = ledger.read("c")
    assert recorded.event.content == {"list": [1]}


@pytest.mark.parametrize(("after", "upto", "expected"), [(-1, None, "ab"), (0, 0, ""), (0, -3, ""), (2, 1, "")])
def test_a_read_beyond_the_ends_is_what_lies_between(
    ledger: Ledger, after: int, upto: int | None, expected: str
) -> None:
    ledger.append("c", several("c", "a", "b"))
    assert ids(ledger.read("c", after=after, upto=upto)) == list(expected)
