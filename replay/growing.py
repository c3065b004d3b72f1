"""What only grows, and whose copies share what they have in common: a copy costs nothing of the length.

So a request that goes on can be answered again and again without a copy of its history (`replay.continued`).
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Generic, TypeVar, cast, overload

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Growing(Sequence[T]):
    """A list that grows at its end alone.

    It is the first `count` items of a list that others may lengthen (`common`), then its own.
    """

    __slots__ = ("_common", "_count", "_own", "append", "extend")

    def __init__(self, items: Iterable[T] = (), common: list[T] | None = None, count: int = 0) -> None:
        self._common = [] if common is None else common
        self._count = count
        self._own = list(items)
        self.append = self._own.append
        self.extend = self._own.extend

    def fork(self, copied: Callable[[T], T] | None = None) -> "Growing[T]":
        """A copy that goes on apart. Where the last item may still change, `copied` gives the copy's own."""
        common, count = (self.whole(), len(self)) if self._count else (self._own, len(self._own))
        if copied is None or not count:
            return Growing((), common, count)
        return Growing((copied(common[count - 1]),), common, count - 1)

    @property
    def common(self) -> tuple[list[T], int]:
        """The list that it begins with, and how many items of that: to be read only."""
        return self._common, self._count

    @property
    def own(self) -> list[T]:
        """The items behind the common ones: to be read only."""
        return self._own

    def whole(self) -> list[T]:
        """All items as a list. Nothing may be put in afterwards: it is the caller's."""
        return [*islice(self._common, self._count), *self._own] if self._count else self._own

    def __len__(self) -> int:
        return self._count + len(self._own)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        at = place if place >= 0 else place + len(self)
        if at < 0:
            raise IndexError(place)
        return self._common[at] if at < self._count else self._own[at - self._count]

    def __iter__(self) -> Iterator[T]:
        return chain(islice(self._common, self._count), self._own)

    def __reversed__(self) -> Iterator[T]:
        return chain(reversed(self._own), map(self._common.__getitem__, range(self._count - 1, -1, -1)))


def listed(items: Sequence[T]) -> list[T]:
    """A sequence as a list; a list is itself."""
    if isinstance(items, Growing):
        return items.whole()
    return items if isinstance(items, list) else list(items)


class Known(Generic[K, V]):
    """Values by keys; none is ever changed or taken out."""

    __slots__ = ("_common", "_count", "_own")

    def __init__(self) -> None:
        self._common: dict[K, tuple[int, V]] = {}  # each with its number
        self._count = 0
        self._own: dict[K, tuple[int, V]] = {}

    def fork(self) -> "Known[K, V]":
        """A copy that goes on apart."""
        twin: Known[K, V] = Known()
        if self._count:
            shown = islice(self._common.items(), self._count)
            twin._own = {**dict(shown), **self._own}
        else:
            twin._common, twin._count = self._own, len(self._own)
        return twin

    def get(self, key: K) -> V | None:
        """The value of a key; None where there is none."""
        found = self._own.get(key)
        if found is None and self._count:
            found = self._common.get(key)
            if found is not None and found[0] >= self._count:
                return None
        return None if found is None else found[1]

    def put(self, key: K, value: V) -> None:
        """Keep the value of a key that has none yet; the value of any other stays."""
        if key not in self:
            self.add(key, value)

    def add(self, key: K, value: V) -> None:
        """Keep the value of a key that is known to have none."""
        self._own[key] = (self._count + len(self._own), value)

    def __contains__(self, key: object) -> bool:
        if key in self._own:
            return True
        found = self._common.get(cast(K, key)) if self._count else None
        return found is not None and found[0] < self._count
