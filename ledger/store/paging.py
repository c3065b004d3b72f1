"""Pages of a log that is kept in batches: where a page ends, so that a reader's memory stays bounded."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ledger.store.engine import PAGE_BYTES, PAGE_EVENTS


class Batch(NamedTuple):
    """A batch as a page needs it: its first number in the order that is read (versions, or positions), its
    first number in the other order, how many events it has, and their size in bytes."""

    first: int
    other: int
    n: int
    size: int


def page_end(batches: Sequence[Batch], after: int, upto: int) -> int:
    """The last number of the page that follows `after`: at most PAGE_EVENTS events and, by the average of their
    batch, PAGE_BYTES bytes, but at least one event.

    `batches` are those that hold the numbers after `after`, in order. Where there are none (damage), the
    page is as long as it may be, whatever it holds.
    """
    last, events, size = after, 0, 0
    for batch in batches:
        start, end = max(batch.first, last + 1), min(batch.first + batch.n - 1, upto)
        fits = min(PAGE_EVENTS - events, (PAGE_BYTES - size) * batch.n // max(1, batch.size))
        if end - start + 1 > fits:
            if fits > 0 or not events:
                last = start + max(fits, 1) - 1
            return last
        last, events, size = end, events + end - start + 1, size + batch.size
    return last if batches else min(upto, after + PAGE_EVENTS)


def counterparts(batches: Sequence[Batch]) -> Callable[[int], int]:
    """A function from numbers, asked in rising order, to what they are in the other order; 0 where no batch
    holds a number (damage, which the audit names)."""
    at, first, after, shift = 0, 0, 0, 0

    def other(number: int) -> int:
        nonlocal at, first, after, shift
        while number >= after and at < len(batches):
            first, other_first, n, _ = batches[at]
            after, shift = first + n, other_first - first
            at += 1
        return number + shift if first <= number < after else 0

    return other
