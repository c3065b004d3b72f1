"""Durations from the runtime's own clocks: never used for order, absent where they say nothing."""

from datetime import datetime


def moment(at: str) -> datetime | None:
    """The instant an `at` spells (RFC 3339); None when it cannot be read (a leap second, say)."""
    try:
        read = datetime.fromisoformat(at)
    except ValueError:
        return None
    return None if read.tzinfo is None else read


def elapsed_ms(start: str | None, end: str | None) -> int | None:
    """Whole milliseconds from `start` to `end`; None when one is missing or the clock ran backwards."""
    if start is None or end is None:
        return None
    first, last = moment(start), moment(end)
    if first is None or last is None or last < first:
        return None
    gone = last - first
    return gone.days * 86_400_000 + gone.seconds * 1_000 + gone.microseconds // 1_000


def earlier(left: str | None, right: str) -> str:
    """The earlier of two readings; an unreadable one loses."""
    return right if left is None or _after(left, right) else left


def later(left: str | None, right: str) -> str:
    """The later of two readings; an unreadable one loses."""
    return right if left is None or _after(right, left) else left


def _after(left: str, right: str) -> bool:
    if len(left) == len(right) and left[-1] == "Z" == right[-1] and left[10] == right[10]:
        return left > right  # one spelling: the text compares as the instants do
    first, last = moment(left), moment(right)
    if first is None or last is None:
        return first is None and (last is not None or left > right)
    return first > last or (first == last and left > right)
