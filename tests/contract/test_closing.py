"""Closing: what was acknowledged is stored, what comes after is refused in one clear line."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from ledger import Ledger
from ledger.errors import DatabaseError
from tests.contract.material import assert_gapless, ids, several, stored

USES: dict[str, Callable[[Ledger], object]] = {
    "append": lambda ledger: ledger.append("c", several("c", "b")),
    "append to a new one": lambda ledger: ledger.append("d", several("d", "b")),
    "append again": lambda ledger: ledger.append("c", several("c", "a")),
    "read": lambda ledger: list(ledger.read("c")),
    "head": lambda ledger: ledger.head("c"),
    "conversations": lambda ledger: list(ledger.conversations()),
    "follow": lambda ledger: list(ledger.follow()),
    "follow live": lambda ledger: next(ledger.follow(live=True)),
    "cursor": lambda ledger: ledger.cursor(),
}


@pytest.mark.parametrize("use", USES)
def test_a_closed_ledger_says_so(engine_url: str, use: str) -> None:
    ledger = Ledger.open(engine_url)
    ledger.append("c", several("c", "a"))
    ledger.close()
    ledger.close()
    with pytest.raises(DatabaseError, match=r"closed") as refused:
        USES[use](ledger)
    assert "\n" not in str(refused.value)
    with Ledger.open(engine_url) as again:
        assert stored(again, "c") == [(1, "a")]


def test_an_error_in_the_block_closes_too(engine_url: str) -> None:
    opened: list[Ledger] = []

    def fail() -> None:
        with Ledger.open(engine_url) as ledger:
            opened.append(ledger)
            ledger.append("c", several("c", "a"))
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        fail()
    with pytest.raises(DatabaseError, match=r"closed"):
        opened[0].head("c")


def test_a_reading_that_was_left_halfway_holds_nothing_up(engine_url: str) -> None:
    with Ledger.open(engine_url) as ledger:
        ledger.append("c", several("c", *(f"e{n}" for n in range(2500))))
        for _ in range(40):  # more than any pool holds
            next(ledger.read("c"))
            next(ledger.follow())
        halfway = ledger.read("c")
        next(halfway)
        ledger.append("c", several("c", "more"))
        assert len(list(ledger.read("c"))) == 2501
        assert len(list(halfway)) in (2499, 2500)


def test_closing_while_others_append(engine_url: str) -> None:
    """Each append is stored and acknowledged, or refused; never acknowledged and lost."""
    acknowledged: list[str] = []
    problems: list[BaseException] = []
    ledger = Ledger.open(engine_url)
    started = threading.Barrier(5)

    def write(number: int) -> None:
        started.wait(timeout=30)
        for n in range(10_000):
            try:
                ledger.append(f"c{number}", several(f"c{number}", f"{number}-{n}"))
            except DatabaseError:
                return
            except BaseException as problem:
                problems.append(problem)
                return
            acknowledged.append(f"{number}-{n}")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    started.wait(timeout=30)
    while len(acknowledged) < 20 and not problems:
        threading.Event().wait(0.01)
    ledger.close()
    for thread in threads:
        thread.join(timeout=60)
    assert problems == []
    with Ledger.open(engine_url) as again:
        followed = list(again.follow())
        assert_gapless(followed)
        assert set(acknowledged) <= set(ids(followed))
        assert len(followed) - len(acknowledged) <= len(threads)
