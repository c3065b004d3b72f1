"""Connections kept open: taken in turn, thrown away when broken, closed at the end."""

import threading
from itertools import count

import pytest

from ledger.errors import DatabaseUnavailable
from ledger.store.pool import Pool


class Made:
    """Connections as numbers, and what became of them."""

    def __init__(self, size: int = 3) -> None:
        self.numbers = count(1)
        self.closed: list[int] = []
        self.broken: set[int] = set()
        self.pool = Pool(
            "there", lambda: next(self.numbers), self.closed.append, lambda each: each not in self.broken, size
        )


def test_the_one_used_last_is_used_next() -> None:
    made = Made()
    with made.pool.connection() as one, made.pool.connection() as other:
        assert (one, other) == (1, 2)
    with made.pool.connection() as again:
        assert again == 1
    assert made.closed == []


def test_a_broken_one_is_not_kept() -> None:
    made = Made()
    with made.pool.connection() as one:
        made.broken.add(one)
    assert made.closed == [1]
    assert made.pool.take() == 2


def test_threads_wait_for_their_turn() -> None:
    made = Made(size=1)
    one = made.pool.take()
    got: list[int] = []
    thread = threading.Thread(target=lambda: got.append(made.pool.take()))
    thread.start()
    thread.join(timeout=0.1)
    assert got == []
    made.pool.give_back(one)
    thread.join(timeout=30)
    assert got == [one]


def test_a_connection_that_cannot_be_made_takes_no_room() -> None:
    def refuse() -> int:
        raise OSError("no")

    pool = Pool("there", refuse, lambda _: None, lambda _: True, 1)
    for _ in range(3):
        with pytest.raises(OSError, match="no"):
            pool.take()


def test_a_closed_pool_gives_none_and_closes_what_comes_back() -> None:
    made = Made()
    one, other = made.pool.take(), made.pool.take()
    made.pool.give_back(other)
    made.pool.close()
    assert made.closed == [other]
    made.pool.give_back(one)
    assert made.closed == [other, one]
    with pytest.raises(DatabaseUnavailable, match="closed"):
        made.pool.take()
    made.pool.close()
