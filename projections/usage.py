"""Adding up token usage, exactly: a sum does not depend on the order in which its parts came."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from ledger.events import Json, JsonObject

Totals: TypeAlias = dict[str, int | Fraction]

_ENORMOUS = 1 << 63  # more than this is no count of tokens


def add_usage(total: Totals | None, before: JsonObject | None, now: JsonObject) -> Totals:
    """Put `now` in the place of `before` in a total: numbers are summed by name, the rest passed over."""
    if total is None:
        total = {}
    if before:
        for name, value in before.items():
            if (number := _number(value)) is not None:
                total[name] = total.get(name, 0) - number
    for name, value in now.items():
        if type(value) is int and -_ENORMOUS < value < _ENORMOUS:
            total[name] = total.get(name, 0) + value
        elif (number := _number(value)) is not None:
            total[name] = total.get(name, 0) + number
    return total


def _number(value: Json) -> int | Fraction | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -_ENORMOUS < value < _ENORMOUS:
        return None
    return value if isinstance(value, int) else Fraction(value)


def summed(total: Totals) -> JsonObject:
    """The total as JSON numbers, fractions as floats."""
    return {name: value if isinstance(value, int) else float(value) for name, value in total.items()}
