"""A reader's place in the ledger: one position a book."""

from collections.abc import Iterator, Mapping

from ledger.recorded import RecordedEvent


class Cursor(Mapping[int, int]):
    """The last position read of each book, by book; 0 where nothing was. Immutable.

    A plain mapping in JSON: `Cursor.from_json(cursor.to_json()) == cursor`.
    """

    def __init__(self, positions: Mapping[int, int] | None = None) -> None:
        """Raises `ValueError` for a negative book or position."""
        self._positions = {book: at for book, at in sorted((positions or {}).items()) if at}
        if any(book < 0 or at < 0 for book, at in self._positions.items()):
            raise ValueError("a cursor holds one position, from 0, for each book, from 0")

    def __getitem__(self, book: int) -> int:
        return self._positions.get(book, 0)

    def __iter__(self) -> Iterator[int]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)

    def __contains__(self, book: object) -> bool:
        return book in self._positions

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cursor) and self._positions == other._positions

    def __hash__(self) -> int:
        return hash(tuple(self._positions.items()))

    def __repr__(self) -> str:
        return f"Cursor({self._positions})"

    def after(self, event: RecordedEvent) -> "Cursor":
        """The cursor of a reader that has now read `event` too."""
        return self.at(event.book, event.position)

    def at(self, book: int, position: int) -> "Cursor":
        """The same with `book` read up to `position`."""
        return Cursor({**self._positions, book: position})

    def covers(self, other: "Cursor") -> bool:
        """Whether everything that `other` has read was read here too."""
        return all(self[book] >= position for book, position in other._positions.items())

    def to_json(self) -> dict[str, int]:
        """The positions as a JSON object; keys are book numbers."""
        return {str(book): position for book, position in self._positions.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, int]) -> "Cursor":
        """The cursor that `to_json` wrote. Raises `ValueError` for what is not one."""
        if not all(type(position) is int for position in data.values()):
            raise ValueError("the positions of a cursor are integers")
        return cls({int(book): position for book, position in data.items()})
