"""A table of numbers by what they stand for, without a copy of that."""

from __future__ import annotations

from array import array
from collections.abc import Callable


class Index:
    """Finds a record by something that it says, which stays in columns: four bytes a slot, half of them or more
    free. `hash_of` gives the hash of a record that is in it."""

    def __init__(self, hash_of: Callable[[int], int]) -> None:
        self._hash_of = hash_of
        self._slots = array("I", bytes(4 * 64))
        self._count = 0

    def find(self, hashed: int, same: Callable[[int], bool]) -> int | None:
        """The record with that hash of which `same` holds."""
        held = self._slots[self._place(hashed, same)]
        return held - 1 if held else None

    def put(self, hashed: int, same: Callable[[int], bool], index: int) -> int | None:
        """Put in a record, in the place of the one that says the same, which is given."""
        at = self._place(hashed, same)
        held = self._slots[at]
        self._slots[at] = index + 1
        if held:
            return held - 1
        self._count += 1
        if self._count * 2 > len(self._slots):
            self._grow()
        return None

    def copy(self, hash_of: Callable[[int], int]) -> Index:
        """One of its own for a copy of the columns."""
        made = Index(hash_of)
        made._slots, made._count = self._slots[:], self._count
        return made

    def _place(self, hashed: int, same: Callable[[int], bool]) -> int:
        slots = self._slots
        mask = len(slots) - 1
        at = hashed & mask
        while (held := slots[at]) and not same(held - 1):
            at = (at + 1) & mask
        return at

    def _grow(self) -> None:
        before, self._slots = self._slots, array("I", bytes(8 * len(self._slots)))
        for held in before:
            if held:
                self._slots[self._place(self._hash_of(held - 1), lambda _: False)] = held
