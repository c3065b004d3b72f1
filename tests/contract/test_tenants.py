"""Tenants share a database and see nothing of each other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ledger import Ledger
from ledger.errors import BadInput
from tests.contract.material import ids, said, several, stored


@pytest.fixture
def two(engine_url: str) -> Iterator[tuple[Ledger, Ledger]]:
    with Ledger.open(engine_url, tenant="one") as one, Ledger.open(engine_url, tenant="two") as other:
        yield one, other


def test_the_same_conversation_id_is_two_conversations(two: tuple[Ledger, Ledger]) -> None:
    one, other = two
    one.append("c", several("c", "a", "b"))
    assert other.head("c") is None
    receipt = other.append("c", [said("c", "a", "another body")], expected_version=0)
    assert receipt.first_version == 1
    assert not receipt.replayed
    assert stored(one, "c") == [(1, "a"), (2, "b")]
    assert stored(other, "c") == [(1, "a")]
    heads = one.head("c"), other.head("c")
    assert heads[0] is not None
    assert heads[1] is not None
    assert heads[0].digest != heads[1].digest
    assert {each.tenant for each in other.read("c")} == {"two"}


def test_listing_and_following_stay_inside(two: tuple[Ledger, Ledger]) -> None:
    one, other = two
    one.append("c", several("c", "a"))
    other.append("d", several("d", "x", "y"))
    one.append("e", several("e", "b"))
    assert sorted(ids(one.follow())) == ["a", "b"]
    assert ids(other.follow()) == ["x", "y"]
    assert sorted(each.conversation_id for each in one.conversations()) == ["c", "e"]
    assert [each.conversation_id for each in other.conversations()] == ["d"]


@pytest.mark.parametrize("bad", ["", "x" * 201, "a\x00b", "\ud800"])
def test_a_tenant_is_an_id(engine_url: str, bad: str) -> None:
    with pytest.raises(BadInput):
        Ledger.open(engine_url, tenant=bad)


def test_a_separator_cannot_be_smuggled_in(engine_url: str) -> None:
    """Tenant and conversation are joined with 00 when hashed; neither may hold one."""
    with Ledger.open(engine_url, tenant="a") as ledger, pytest.raises(BadInput):
        ledger.append("b\x00c", [said("b\x00c", "x")])
