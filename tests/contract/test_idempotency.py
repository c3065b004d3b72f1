"""Appending the same again: what is known is not stored twice, what differs is never taken for it."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import Ledger
from ledger.errors import IdConflict
from ledger.events import Json
from tests.contract.material import assert_gapless, result, said, several, stored


@pytest.mark.parametrize("expected", [None, 0, 1, 3, 77])
def test_a_whole_batch_again_gives_the_same_answer(ledger: Ledger, expected: int | None) -> None:
    ledger.append("c", several("c", "a"))
    first = ledger.append("c", several("c", "b", "d"))
    ledger.append("c", several("c", "e"))
    again = ledger.append("c", several("c", "b", "d"), expected_version=expected)
    assert again == first._replace(replayed=True)
    assert stored(ledger, "c") == [(1, "a"), (2, "b"), (3, "d"), (4, "e")]


def test_a_replay_needs_no_memory_of_the_first_time(engine_url: str) -> None:
    with Ledger.open(engine_url) as ledger:
        first = ledger.append("c", several("c", "a", "b"))
    with Ledger.open(engine_url) as ledger:
        assert ledger.append("c", several("c", "a", "b")) == first._replace(replayed=True)


def test_a_replay_may_be_cut_otherwise_than_the_first_time(ledger: Ledger) -> None:
    ledger.append("c", several("c", "a", "b"))
    ledger.append("other", several("other", "x"))
    ledger.append("c", several("c", "d", "e"))
    for part, versions in (("a", (1, 1)), ("bd", (2, 3)), ("abde", (1, 4)), ("de", (3, 4))):
        again = ledger.append("c", several("c", *part))
        assert again.replayed
        assert (again.first_version, again.last_version) == versions
    assert_gapless(list(ledger.follow()))


@pytest.mark.parametrize("batch", ["ax", "xa", "bx", "axb", "ba", "ad", "abe", "abdex"])
def test_a_batch_stored_in_part_or_in_another_order_conflicts(ledger: Ledger, batch: str) -> None:
    ledger.append("c", several("c", *"abde"))
    before = stored(ledger, "c")
    with pytest.raises(IdConflict) as refused:
        ledger.append("c", several("c", *batch))
    assert refused.value.conversation_id == "c"
    assert refused.value.event_id in batch
    assert stored(ledger, "c") == before


@pytest.mark.parametrize("known", ["conflict", "skip"])
def test_the_same_id_in_another_conversation_is_another_event(ledger: Ledger, known: Any) -> None:
    ledger.append("c", several("c", "a"))
    receipt = ledger.append("d", several("d", "a"), known=known)
    assert not receipt.replayed
    assert receipt.known == 0
    assert stored(ledger, "d") == [(1, "a")]


def test_an_id_twice_in_a_batch_conflicts_even_with_the_same_body(ledger: Ledger) -> None:
    with pytest.raises(IdConflict) as refused:
        ledger.append("c", several("c", "a", "b", "a"))
    assert refused.value.event_id == "a"
    assert ledger.head("c") is None
    ledger.append("c", several("c", "a"))
    with pytest.raises(IdConflict):
        ledger.append("c", several("c", "a", "a"))


def test_an_id_with_another_body_conflicts(ledger: Ledger) -> None:
    ledger.append("c", several("c", "a", "b"))
    for batch in (
        [said("c", "a", "otherwise")],
        [*several("c", "a"), said("c", "b", "otherwise")],
        [said("c", "a", "text of a", visibility="hidden")],
        [said("c", "a", "text of a", unknown=None, more=1)],
    ):
        with pytest.raises(IdConflict):
            ledger.append("c", batch)
    assert stored(ledger, "c") == [(1, "a"), (2, "b")]


def test_the_order_of_keys_makes_no_difference(ledger: Ledger) -> None:
    ledger.append("c", [result("c", "a", {"one": 1, "two": {"x": [1, 2], "y": None}})])
    again = ledger.append("c", [result("c", "a", {"two": {"y": None, "x": [1, 2]}, "one": 1})])
    assert again.replayed
    (only,) = ledger.read("c")
    assert list(only.event.content) == ["one", "two"], "the bytes of the first time stand"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1, 1.0),
        (1, True),
        (0, False),
        (1.0, True),
        (0, None),
        ("1", 1),
        ([1], [1.0]),
        ({"a": [True]}, {"a": [1]}),
        ([1, 2], [2, 1]),
        ({}, []),
        ("", None),
        ("a", "a\x00"),
        ("\ud800", "?"),
        ("é", "e\u0301"),
        ({"a": 1}, {"a": 1, "b": None}),
        (10**400, 10**400 + 1),
        (2**53, 2**53 + 1),
    ],
    ids=repr,
)
def test_values_that_python_or_a_database_might_confuse_differ(
    ledger: Ledger, first: Json, second: Json
) -> None:
    ledger.append("c", [result("c", "a", first)])
    with pytest.raises(IdConflict):
        ledger.append("c", [result("c", "a", second)])
    receipt = ledger.append("c", [result("c", "a", second)], known="skip")
    assert (receipt.known, receipt.differing) == (1, 1)


def test_skipping_stores_what_is_new_and_counts_the_rest(ledger: Ledger) -> None:
    ledger.append("c", several("c", "a", "b", "d"))
    batch = [*several("c", "a", "x"), said("c", "b", "otherwise"), *several("c", "y", "d")]
    receipt = ledger.append("c", batch, known="skip")
    assert (receipt.known, receipt.differing) == (3, 1)
    assert (receipt.first_version, receipt.last_version) == (4, 5)
    assert stored(ledger, "c") == [(1, "a"), (2, "b"), (3, "d"), (4, "x"), (5, "y")]
    assert_gapless(list(ledger.follow()))
    assert [each.event.content for each in ledger.read("c", upto=2)] == ["text of a", "text of b"]


def test_skipping_everything_stores_nothing(ledger: Ledger) -> None:
    ledger.append("c", several("c", "a", "b"))
    receipt = ledger.append("c", several("c", "b", "a"), known="skip")
    assert (receipt.known, receipt.differing) == (2, 0)
    assert stored(ledger, "c") == [(1, "a"), (2, "b")]
    assert len(list(ledger.follow())) == 2


def test_an_id_twice_in_a_skipping_batch_is_stored_once(ledger: Ledger) -> None:
    batch = [*several("c", "a", "b", "a"), said("c", "b", "otherwise")]
    receipt = ledger.append("c", batch, known="skip")
    assert (receipt.known, receipt.differing) == (2, 1)
    assert stored(ledger, "c") == [(1, "a"), (2, "b")]
    assert ledger.append("c", batch, known="skip").known == 4
    assert stored(ledger, "c") == [(1, "a"), (2, "b")]


def test_an_import_again_and_again_makes_no_doubles(ledger: Ledger) -> None:
    """An importer reads a growing file from the start each time."""
    lines = several("c", *(f"e{n}" for n in range(30)))
    for size in (10, 10, 17, 30, 30):
        ledger.append("c", lines[:size], known="skip")
    assert [event_id for _, event_id in stored(ledger, "c")] == [each.id for each in lines]


def test_a_retry_after_growth_by_another_writer_is_still_a_replay(engine_url: str) -> None:
    with Ledger.open(engine_url) as one, Ledger.open(engine_url) as other:
        first = one.append("c", several("c", "a", "b"), expected_version=0)
        other.append("c", several("c", "d"), expected_version=2)
        again = one.append("c", several("c", "a", "b"), expected_version=0)
        assert again == first._replace(replayed=True)
        assert one.append("c", several("c", "e"), expected_version=3).first_version == 4
