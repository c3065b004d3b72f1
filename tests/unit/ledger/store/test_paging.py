"""Pages cover everything once, in order, whatever the batches and wherever a reader stands."""

from hypothesis import given
from hypothesis import strategies as st

from ledger.store.engine import PAGE_BYTES, PAGE_EVENTS
from ledger.store.paging import Batch, counterparts, page_end

sizes = st.lists(st.tuples(st.integers(1, 3000), st.integers(0, 3 * PAGE_BYTES)), min_size=1, max_size=12)


def batches_of(cut: list[tuple[int, int]]) -> list[Batch]:
    made, first = [], 1
    for n, size in cut:
        made.append(Batch(first, first + 100, n, size))
        first += n
    return made


def after(batches: list[Batch], number: int) -> list[Batch]:
    """What the engine asks for: the batches that hold the numbers after `number`, within a page's reach."""
    return [each for each in batches if number < each.first + each.n and each.first <= number + PAGE_EVENTS]


@given(sizes, st.data())
def test_pages_end_where_the_next_begins(cut: list[tuple[int, int]], data: st.DataObject) -> None:
    batches = batches_of(cut)
    last = batches[-1].first + batches[-1].n - 1
    upto = data.draw(st.integers(1, last))
    at = data.draw(st.integers(0, upto - 1))
    pages = 0
    while at < upto:
        end = page_end(after(batches, at), at, upto)
        assert at < end <= upto
        assert end - at <= PAGE_EVENTS
        taken = sum(
            each.size * (min(end, each.first + each.n - 1) - max(at + 1, each.first) + 1) / each.n
            for each in batches
            if each.first <= end and at < each.first + each.n
        )
        assert taken <= PAGE_BYTES or end == at + 1
        at, pages = end, pages + 1
    assert at == upto


def test_a_page_without_batches_goes_on() -> None:
    assert page_end([], 10, 50) == 50
    assert page_end([], 10, 10**9) == 10 + PAGE_EVENTS


@given(sizes)
def test_every_number_has_its_counterpart(cut: list[tuple[int, int]]) -> None:
    batches = batches_of(cut)
    other = counterparts(batches)
    for number in range(1, batches[-1].first + batches[-1].n, 97):
        assert other(number) == number + 100
    assert other(batches[-1].first + batches[-1].n) == 0


def test_a_hole_has_none() -> None:
    other = counterparts([Batch(1, 11, 2, 0), Batch(5, 30, 2, 0)])
    assert [other(number) for number in range(1, 8)] == [11, 12, 0, 0, 30, 31, 0]
    assert counterparts([])(4) == 0
