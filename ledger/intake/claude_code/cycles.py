"""Parent links that lead back to where they began."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Link(NamedTuple):
    """A record by its line, its name and the name of its parent."""

    line: int
    name: str
    parent: str | None


def cycles(links: Iterable[Link]) -> list[list[int]]:
    """The lines of every cycle, in file order; the first record of a name counts. Takes time linear in the
    number of records, and holds all names: for files that need it."""
    first: dict[str, Link] = {}
    for link in links:
        first.setdefault(link.name, link)
    found: list[list[int]] = []
    walked: dict[str, int] = {}  # by name: the number of the walk that came there
    for number, start in enumerate(first.values()):
        walk: list[Link] = []
        at: Link | None = start
        while at is not None and at.name not in walked:
            walked[at.name] = number
            walk.append(at)
            at = first.get(at.parent) if at.parent is not None else None
        if at is not None and walked[at.name] == number:
            found.append(sorted(link.line for link in walk[walk.index(at) :]))
    return sorted(found)
