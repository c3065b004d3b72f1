"""What only grows: copies show what stood when they were made, and go on apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.growing import Growing, Known


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["add", "fork", "fork anew"]), st.integers(0, 9))))
def test_lists_and_keys_go_on_apart(moves: list[tuple[int, str, int]]) -> None:
    kept: list[tuple[Growing[int], Known[int, int], list[int], dict[int, int]]] = [(Growing(), Known(), [], {})]
    for place, what, number in moves:
        items, known, plain, named = kept[place % len(kept)]
        if what == "add":
            items.append(number)
            known.put(number, len(plain))
            named.setdefault(number, len(plain))
            plain.append(number)
        elif what == "fork":
            kept.append((items.fork(), known.fork(), list(plain), dict(named)))
        else:
            anew = [*plain[:-1], *(one + 100 for one in plain[-1:])]
            kept.append((items.fork(lambda last: last + 100), known.fork(), anew, dict(named)))
    for items, known, plain, named in kept:
        assert len(items) == len(plain)
        assert [*items] == plain
        assert [*reversed(items)] == plain[::-1]
        assert [items[at] for at in range(-len(plain), len(plain))] == plain + plain
        assert items[1:-1] == plain[1:-1]
        assert items.whole() == plain
        assert {key: known.get(key) for key in range(10) if key in known} == named


def test_there_is_nothing_beyond_the_ends() -> None:
    items = Growing([1, 2]).fork()
    items.append(3)
    for place in (3, -4):
        with pytest.raises(IndexError):
            items[place]
