"""Branches: one numbering, reads that go on into the source, and never across tenants."""

from __future__ import annotations

import pytest

from ledger import Ledger
from ledger.errors import BadFork, TurnledgerError, VersionConflict
from tests.contract.material import assert_gapless, fork, ids, several, stored


@pytest.fixture
def source(ledger: Ledger) -> Ledger:
    """A ledger whose conversation `c` holds the events a to e."""
    ledger.append("c", several("c", *"abcde"))
    return ledger


def test_a_branch_goes_on_from_the_fork(source: Ledger) -> None:
    receipt = source.append("b", [fork("b", "c", 2), *several("b", "x", "y")])
    assert (receipt.first_version, receipt.last_version) == (3, 5)
    assert stored(source, "b") == [(1, "a"), (2, "b"), (3, "fork"), (4, "x"), (5, "y")]
    assert [each.conversation_id for each in source.read("b")] == ["c", "c", "b", "b", "b"]
    assert source.append("b", several("b", "z")).first_version == 6
    head = source.head("b")
    assert head is not None
    assert head.version == 6


def test_a_read_of_a_branch_is_bounded_like_any_other(source: Ledger) -> None:
    source.append("b", [fork("b", "c", 3), *several("b", "x", "y")])
    assert ids(source.read("b", after=1)) == ["b", "c", "fork", "x", "y"]
    assert ids(source.read("b", upto=2)) == ["a", "b"]
    assert ids(source.read("b", after=2, upto=4)) == ["c", "fork"]
    assert ids(source.read("b", after=3)) == ["fork", "x", "y"]
    assert ids(source.read("b", after=4)) == ["x", "y"]


def test_source_and_branch_grow_apart(source: Ledger) -> None:
    source.append("b", [fork("b", "c", 2)])
    source.append("c", several("c", "f"))
    source.append("b", several("b", "x"))
    assert ids(source.read("c")) == list("abcdef")
    assert ids(source.read("b")) == ["a", "b", "fork", "x"]
    followed = list(source.follow())
    assert sorted(ids(followed)) == sorted([*"abcdef", "fork", "x"]), "each event once, whoever shows it"
    assert_gapless(followed)


def test_expected_versions_of_a_branch_are_its_own_numbering(source: Ledger) -> None:
    source.append("b", [fork("b", "c", 2)])
    with pytest.raises(VersionConflict) as refused:
        source.append("b", several("b", "x"), expected_version=1)
    assert refused.value.actual == 3
    assert source.append("b", several("b", "x"), expected_version=3).first_version == 4


def test_branches_of_branches(source: Ledger) -> None:
    source.append("b1", [fork("b1", "c", 3), *several("b1", "x", "y")])  # 4, 5, 6
    source.append("b2", [fork("b2", "b1", 5), *several("b2", "z")])  # 6, 7
    source.append("b3", [fork("b3", "b2", 7)])  # 8
    assert stored(source, "b2") == [(1, "a"), (2, "b"), (3, "c"), (4, "fork"), (5, "x"), (6, "fork"), (7, "z")]
    assert [version for version, _ in stored(source, "b3")] == list(range(1, 9))
    assert [each.conversation_id for each in source.read("b3")] == [*"ccc", "b1", "b1", "b2", "b2", "b3"]
    assert ids(source.read("b3", after=2, upto=5)) == ["c", "fork", "x"]


def test_a_branch_of_a_branch_below_its_own_first_event(source: Ledger) -> None:
    """Version 2 of the branch is an event of the source: a fork there reads on into the source."""
    source.append("b1", [fork("b1", "c", 4), *several("b1", "x")])
    receipt = source.append("b2", [fork("b2", "b1", 2), *several("b2", "z")])
    assert receipt.first_version == 3
    assert [each.conversation_id for each in source.read("b2")] == ["c", "c", "b2", "b2"]
    assert ids(source.read("b2")) == ["a", "b", "fork", "z"]


def test_a_branch_from_the_very_start_and_from_the_end(source: Ledger) -> None:
    assert source.append("b0", [fork("b0", "c", 0), *several("b0", "x")]).first_version == 1
    assert stored(source, "b0") == [(1, "fork"), (2, "x")]
    assert source.append("b5", [fork("b5", "c", 5)]).first_version == 6
    assert ids(source.read("b5")) == [*"abcde", "fork"]


def test_a_branch_made_again_is_a_replay(source: Ledger) -> None:
    batch = [fork("b", "c", 2), *several("b", "x")]
    first = source.append("b", batch)
    again = source.append("b", batch)
    assert again.replayed
    assert (again.first_version, again.last_version) == (first.first_version, first.last_version)
    receipt = source.append("b", batch, known="skip")
    assert receipt.known == 2
    assert len(stored(source, "b")) == 4


def test_event_ids_of_the_source_are_free_in_the_branch(source: Ledger) -> None:
    receipt = source.append("b", [fork("b", "c", 2), *several("b", "a")])
    assert not receipt.replayed
    assert ids(source.read("b")) == ["a", "b", "fork", "a"]


@pytest.mark.parametrize(
    ("name", "version"), [("nowhere", 1), ("nowhere", 0), ("c", 6), ("b", 0), ("b", 1)], ids=str
)
def test_a_source_that_cannot_be_read_there_is_refused(source: Ledger, name: str, version: int) -> None:
    with pytest.raises(BadFork) as refused:
        source.append("b", [fork("b", name, version), *several("b", "x")])
    assert (refused.value.source_conversation_id, refused.value.source_version) == (name, version)
    assert source.head("b") is None
    assert len(list(source.follow())) == 5


def test_a_fork_is_the_first_event_or_refused(source: Ledger) -> None:
    with pytest.raises(TurnledgerError):
        source.append("c", [fork("c", "c", 2)])
    source.append("d", several("d", "x"))
    with pytest.raises(TurnledgerError):
        source.append("d", [fork("d", "c", 2)])
    with pytest.raises(TurnledgerError):
        source.append("b", [*several("b", "x"), fork("b", "c", 2)])
    assert source.head("b") is None
    assert stored(source, "d") == [(1, "x")]


def test_a_fork_never_leaves_its_tenant(engine_url: str) -> None:
    with Ledger.open(engine_url, tenant="one") as one, Ledger.open(engine_url, tenant="two") as two:
        one.append("c", several("c", "secret", "b"))
        with pytest.raises(BadFork):
            two.append("b", [fork("b", "c", 1)])
        assert two.head("b") is None
        two.append("c", several("c", "own"))
        two.append("b", [fork("b", "c", 1)])
        assert ids(two.read("b")) == ["own", "fork"]
