"""The records of a session file in columns: some ninety bytes a record and no objects, so that a file of very
many small records is held too.

A record is named by its `index`, from 0 in file order. Columns of indices hold them counted from 1, 0 for none.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from ledger.intake.lines import MAX_LINE_BYTES
from ledger.intake.pi.index import Index
from ledger.intake.problems import Problem

HEADER = "session header"
"""The key of the session's own header: no entry id has a blank."""

DAMAGED = ""
"""The `kind` of a record whose bytes are not a JSON object."""

_DECLARED, _INFERRED, _NAMED = 1, 2, 4
_MARK_BYTES = 8  # of the digest: that bytes are others than before is found by as many


class Record(NamedTuple):
    """One record, the `number`-th: `offset` and `length` in the file, in bytes; `digest` of all its bytes;
    `key` names it for ids; `inferred`: its parent is our conclusion."""

    number: int
    line: int
    offset: int
    length: int
    digest: bytes
    kind: str
    key: str
    id: str | None
    inferred: bool


class Records:
    """All records of a file in file order; `header` is the index of the session's, None when there is none."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.header: int | None = None
        self.session = ""
        self.version = 1
        self.array = array("I")  # as pi counts them: what parsed, the header first
        self.repaired = 0
        self.lines = 0
        self.line = array("I")
        self._offset = array("Q")
        self._length = array("I")
        self.mark = array("Q")  # the beginning of the digest
        self._content = array("Q")  # the key by content, 0 where the id is one
        self._flags = bytearray()
        self._kind = array("I")
        self._kinds = [DAMAGED]
        self._kind_of = {DAMAGED: 0}
        self._names = bytearray()  # the ids, one after the other
        self._name_end = array("Q")
        self._parent = array("I")  # the record whose id the parent has
        self._parent_name: dict[int, str] = {}  # where that was none before it
        self._long: dict[int, tuple[int, bytes]] = {}  # lines too long to be read: length, whole digest
        self._ids = Index(lambda index: hash(self.id(index)))
        self._same_id: dict[int, int] = {}  # the record before with the same id
        self._lost: dict[str, list[int]] = {}  # damaged records by the id read off them
        self._ordinal = array("I")
        self._up = array("I")
        self._below = array("I")
        self._aside = array("I")
        self._next = array("I")  # the next one below, or aside of, the same record

    def __len__(self) -> int:
        return len(self.line)

    def problem(self, code: str, line: int | None, text: str, *, lost: bool = False) -> None:
        """Note a finding."""
        self.problems.append(Problem(code, line, text, lost))

    # -- reading

    def add(
        self,
        line: int,
        offset: int,
        length: int,
        digest: bytes,
        kind: str,
        name: str | None,
        parent: str | None,
        content: str,
        *,
        declared: bool,
    ) -> None:
        """The next record. `declared`: it says something of a parent; `content` is its key by content."""
        index = len(self)
        self.line.append(line)
        self._offset.append(offset)
        if length > MAX_LINE_BYTES:
            self._long[index] = (length, digest)
        self._length.append(min(length, MAX_LINE_BYTES + 1))
        self.mark.append(mark_of(digest))
        self._content.append(int(content, 16) if content else 0)
        if kind not in self._kind_of:
            self._kind_of[kind] = len(self._kinds)
            self._kinds.append(kind)
        self._kind.append(self._kind_of[kind])
        self._flags.append(_DECLARED * declared | _NAMED * (name is not None))
        if name is not None:
            self._names += name.encode(errors="surrogatepass")
        self._name_end.append(len(self._names))
        above = self.find(parent) if parent is not None else None
        self._parent.append(0 if above is None else above + 1)
        if parent is not None and above is None:
            self._parent_name[index] = parent
        if name is not None and kind == DAMAGED:
            self._lost.setdefault(name, []).append(index)
        elif name is not None:
            before = self._ids.put(hash(name), lambda other: self.id(other) == name, index)
            if before is not None:
                self._same_id[index] = before

    def name(self, *, legacy: bool) -> Iterator[int]:
        """Give every record its key: the entry's id, or a digest of its content; `#n` from the n-th on. In a
        `legacy` file ids are no keys. Gives the records that are the second with a key."""
        for index in range(len(self)):
            if legacy or self.id(index) is None or self.kind(index) == DAMAGED:
                self._content[index] = self._content[index] or self.mark[index] or 1
            else:
                self._content[index] = 0
        used = Index(lambda index: hash(self._stem(index)))
        for index in range(len(self)):
            stem = self._stem(index)
            before = used.put(hash(stem), lambda other: self._stem(other) == stem, index)  # noqa: B023
            self._ordinal.append(1 if before is None else self._ordinal[before] + 1)
            if self._ordinal[index] == 2:
                yield index

    # -- what a record says

    def record(self, index: int, digest: bytes) -> Record:
        """All of a record; `digest` is that of its bytes, which are read again."""
        long = self._long.get(index)
        return Record(
            index,
            self.line[index],
            self._offset[index],
            self._length[index] if long is None else long[0],
            digest if long is None else long[1],
            self.kind(index),
            self.key(index),
            self.id(index),
            bool(self._flags[index] & _INFERRED),
        )

    def place(self, index: int) -> tuple[int, int] | None:
        """Offset and length in the file; None for a line too long to be read."""
        return None if index in self._long else (self._offset[index], self._length[index])

    def is_as_read(self, index: int, digest: bytes) -> bool:
        """Whether bytes with that digest are what the record was."""
        return self.mark[index] == mark_of(digest)

    def has_length(self, index: int, length: int) -> bool:
        """Whether the record has so many bytes."""
        return self._length[index] == length

    def kind(self, index: int) -> str:
        """Its type, `DAMAGED` where it is none."""
        return self._kinds[self._kind[index]]

    def id(self, index: int) -> str | None:
        """The id that it says."""
        if not self._flags[index] & _NAMED:
            return None
        begin = self._name_end[index - 1] if index else 0
        return self._names[begin : self._name_end[index]].decode(errors="surrogatepass")

    def key(self, index: int) -> str:
        """What names it for ids."""
        stem, number = self._stem(index), self._ordinal[index]
        return stem if number == 1 else f"{stem}#{number}"

    def parent(self, index: int) -> str | None:
        """The id of the parent that it declares."""
        above = self._parent[index]
        return self.id(above - 1) if above else self._parent_name.get(index)

    def declares_parent(self, index: int) -> bool:
        """False where the record says nothing of a parent."""
        return bool(self._flags[index] & _DECLARED)

    def find(self, name: str) -> int | None:
        """The last record of an id that is not damaged."""
        return self._ids.find(hash(name), lambda other: self.id(other) == name)

    def all_of(self, name: str) -> Iterator[int]:
        """Every record of an id, also damaged ones; the last first."""
        found = list(self._lost.get(name, ()))
        at = self.find(name)
        while at is not None:
            found.append(at)
            at = self._same_id.get(at)
        yield from sorted(found, reverse=True)

    def lost(self, name: str) -> int | None:
        """The last damaged record that an id was read off."""
        found = self._lost.get(name)
        return found[-1] if found else None

    def _stem(self, index: int) -> str:
        if index == self.header:
            return HEADER  # pi rewrites it when it lifts a file
        content = self._content[index]
        return f"{content:016x}" if content else self.id(index) or ""

    # -- the tree

    def plant(self) -> None:
        """Make room for the tree."""
        self._up, self._below, self._aside, self._next = (array("I", bytes(4 * len(self))) for _ in range(4))

    def up(self, index: int) -> int | None:
        """The parent; None for the header, and for what stands aside."""
        return self._up[index] - 1 if self._up[index] else None

    def hang(self, index: int, above: int | None, *, inferred: bool = False) -> None:
        """Give a record its parent."""
        self._up[index] = 0 if above is None else above + 1
        if inferred:
            self._flags[index] |= _INFERRED

    def put_aside(self, index: int, of: int, after: int | None) -> None:
        """A record that is no link stands aside of one, `after` the last that does."""
        if after is None:
            self._aside[of] = index + 1
        else:
            self._next[after] = index + 1

    def put_below(self, index: int, above: int) -> None:
        """A record is a child of one, before those that it has: the last comes first."""
        self._next[index], self._below[above] = self._below[above], index + 1

    def below(self, index: int) -> Iterator[int]:
        """Its children, in file order."""
        return self._siblings(self._below[index])

    def aside(self, index: int) -> Iterator[int]:
        """What stands aside of it, in file order."""
        return self._siblings(self._aside[index])

    def _siblings(self, at: int) -> Iterator[int]:
        while at:
            yield at - 1
            at = self._next[at - 1]


def mark_of(digest: bytes) -> int:
    """What is kept of a digest."""
    return int.from_bytes(digest[:_MARK_BYTES], "big")
