"""Parents, children and branches (specs/pi.md 3.3), decided so that a longer version of a file changes
nothing.

Every record hangs from the session header. A conversation is a chain: a record, its first child in file
order, that one's first child, and so on; every later child begins a branch, a conversation of its own that
forks after its parent. pi only ever appends lines, so the first child of a record stays the first whichever
branch the user goes on with, and a conversation only grows at its end. The current leaf, the last line, is
then simply in one of them.

A record that no other can name (a damaged line, an entry without id, a second header) is no link of a
chain: it goes `aside`, right after the record before it in the file.
"""

from array import array
from collections.abc import Iterator

from ledger.intake.pi.table import DAMAGED, Records


def link(found: Records) -> None:
    """Give every record its parent (`up`) and children (`below`, in file order), or put it `aside` of
    another.

    A parent that is not in the file is replaced by the record before, a parent cycle is cut at its first
    record; both are reported. Takes time linear in the number of records. `found.header` must not be None.
    """
    header = found.header or 0
    found.plant()
    previous = header
    aside: int | None = None  # the last one that stands aside of `previous`
    for index in range(len(found)):
        if index == header:
            continue
        if not _is_link(found, index):
            found.put_aside(index, previous, aside)
            aside = index
            continue
        _resolve(found, index, previous)
        previous, aside = index, None
    _cut_cycles(found, header)
    for index in reversed(range(len(found))):  # each comes before those that are there
        above = found.up(index)
        if above is not None:
            found.put_below(index, above)


def _is_link(found: Records, index: int) -> bool:
    if found.kind(index) in (DAMAGED, "session"):
        return False
    return found.version < 2 or found.id(index) is not None


def _resolve(found: Records, index: int, previous: int) -> None:
    line = found.line[index]
    if not found.declares_parent(index):
        infers = found.version >= 2  # version 1 is a list and names no parents
        found.hang(index, previous, inferred=infers)
        if infers:
            found.problem("no_parent", line, "names no parent; taken after the record before it")
            found.repaired += 1
        return
    parent = wanted = found.parent(index)
    passed: set[str] = set()
    at: int | None = None
    while wanted is not None and (at := found.find(wanted)) is None:
        lost = found.lost(wanted) if wanted not in passed else None
        if lost is None:
            break
        passed.add(wanted)
        wanted = found.parent(lost)
    up = previous if at is None else at
    if wanted is None:
        up = found.header or 0
    mended = wanted != parent or (wanted is not None and at is None)
    found.hang(index, up, inferred=mended)
    if mended:
        why = f"its parent {parent!s:.80} could not be read"
        found.problem("missing_parent", line, f"{why}; taken after the record of line {found.line[up]}")
        found.repaired += 1


def _cut_cycles(found: Records, header: int) -> None:
    done = bytearray(len(found))  # 1: leads to the header, 2: on the walk that is going on
    done[header] = 1
    for start in range(len(found)):
        walk = array("I")
        at = start
        while not done[at]:
            done[at] = 2
            walk.append(at)
            up = found.up(at)
            at = header if up is None else up
        if done[at] == 2:
            cycle = walk[walk.index(at) :]
            first = min(cycle)
            lines = sorted(found.line[index] for index in cycle)
            shown = ", ".join(map(str, lines[:5])) + (", …" if len(lines) > 5 else "")
            text = f"a parent cycle of {len(cycle)} (lines {shown}); cut here, its first record begins a branch"
            found.problem("parent_cycle", found.line[first], text, lost=True)
            found.hang(first, header, inferred=True)
        for index in walk:
            done[index] = 1


def chain(found: Records, start: int) -> Iterator[list[int]]:
    """The conversation that begins with `start`: link by link, each with what stands aside of it."""
    at: int | None = start
    while at is not None:
        yield [at, *found.aside(at)]
        at = next(found.below(at), None)


def leaf(found: Records) -> int:
    """The link that the last line of the file is, or stands aside of: where pi goes on."""
    links = (index for index in reversed(range(len(found))) if found.up(index) is not None)
    return next(links, found.header or 0)
