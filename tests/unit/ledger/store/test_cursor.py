"""Cursors: one position a book, immutable, comparable."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import Cursor
from ledger.events import Note
from ledger.recorded import RecordedEvent

positions = st.dictionaries(st.integers(0, 99), st.integers(0, 10**12))


@given(positions)
def test_a_cursor_comes_back_from_json(at: dict[int, int]) -> None:
    cursor = Cursor(at)
    assert Cursor.from_json(cursor.to_json()) == cursor
    assert hash(Cursor.from_json(cursor.to_json())) == hash(cursor)
    assert all(cursor[book] == position for book, position in at.items())


@given(positions, positions)
def test_covering_is_book_by_book(one: dict[int, int], other: dict[int, int]) -> None:
    covers = all(one.get(book, 0) >= position for book, position in other.items())
    assert Cursor(one).covers(Cursor(other)) is covers


def test_a_book_that_was_never_read_stands_at_nothing() -> None:
    assert Cursor({3: 5})[4] == 0
    assert Cursor({3: 0}) == Cursor()
    assert list(Cursor({3: 5, 1: 2})) == [1, 3]
    assert 3 in Cursor({3: 5})
    assert 4 not in Cursor({3: 5})


def test_reading_on_leaves_the_old_one_alone() -> None:
    before = Cursor({0: 4})
    event = RecordedEvent.of(Note(conversation_id="c", id="e"), 1, book=2, position=7)
    assert before.after(event) == Cursor({0: 4, 2: 7})
    assert before == Cursor({0: 4})


@pytest.mark.parametrize("bad", [{-1: 3}, {0: -3}])
def test_negative_places_are_none(bad: dict[int, int]) -> None:
    with pytest.raises(ValueError, match="cursor"):
        Cursor(bad)
