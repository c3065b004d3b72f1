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

from ledger.intake.pi.records import DAMAGED, Record, Records


def link(found: Records) -> None:
    """Give every record its parent (`up`) and children (`below`, in file order), or put it `aside` of
    another.

    A parent that is not in the file is replaced by the record before, a parent cycle is cut at its first
    record; both are reported. Takes time linear in the number of records. `found.header` must not be None.
    """
    header = found.header or 0
    by_id: dict[str, int] = {}
    lost: dict[str, str | None] = {}  # ids read off damaged lines, with their parents
    for record in found.records:
        if record.id is not None and record.kind == DAMAGED:
            lost[record.id] = record.parent
        elif record.id is not None:
            by_id[record.id] = record.index  # the last of an id counts
    previous = header
    for record in found.records:
        if record.index == header:
            continue
        if not _is_link(found, record):
            found.records[previous].aside.append(record.index)
            continue
        _resolve(found, record, by_id, lost, previous)
        previous = record.index
    _cut_cycles(found, header)
    for record in found.records:
        if record.up is not None:
            found.records[record.up].below.append(record.index)


def _is_link(found: Records, record: Record) -> bool:
    if record.kind in (DAMAGED, "session"):
        return False
    return record.id is not None or found.version < 2


def _resolve(
    found: Records, record: Record, by_id: dict[str, int], lost: dict[str, str | None], previous: int
) -> None:
    if not record.declared:
        record.up = previous
        if found.version >= 2:  # version 1 is a list and names no parents
            record.inferred = True
            found.problem("no_parent", record.line, "names no parent; taken after the record before it")
            found.repaired += 1
        return
    wanted = record.parent
    passed: set[str] = set()
    while wanted is not None and wanted not in by_id and wanted in lost and wanted not in passed:
        passed.add(wanted)
        wanted = lost[wanted]
    if wanted is None:
        record.up = found.header
    elif wanted in by_id:
        record.up = by_id[wanted]
    else:
        record.up = previous
    if wanted != record.parent or (wanted is not None and wanted not in by_id):
        record.inferred = True
        why = f"its parent {record.parent!s:.80} could not be read"
        after = found.records[record.up or 0].line
        found.problem("missing_parent", record.line, f"{why}; taken after the record of line {after}")
        found.repaired += 1


def _cut_cycles(found: Records, header: int) -> None:
    done = bytearray(len(found.records))  # 1: leads to the header, 2: on the walk that is going on
    done[header] = 1
    for record in found.records:
        walk: list[int] = []
        at = record.index
        while not done[at]:
            done[at] = 2
            walk.append(at)
            up = found.records[at].up
            at = header if up is None else up
        if done[at] == 2:
            cycle = walk[walk.index(at) :]
            first = min(cycle)
            lines = sorted(found.records[index].line for index in cycle)
            shown = ", ".join(map(str, lines[:5])) + (", …" if len(lines) > 5 else "")
            text = f"a parent cycle of {len(cycle)} (lines {shown}); cut here, its first record begins a branch"
            found.problem("parent_cycle", found.records[first].line, text, lost=True)
            found.records[first].up, found.records[first].inferred = header, True
        for index in walk:
            done[index] = 1


def chain(found: Records, start: int) -> list[list[int]]:
    """The conversation that begins with `start`: link by link, each with what stands aside of it."""
    links: list[list[int]] = []
    at: int | None = start
    while at is not None:
        record = found.records[at]
        links.append([at, *record.aside])
        at = record.below[0] if record.below else None
    return links


def leaf(found: Records) -> int:
    """The link that the last line of the file is, or stands aside of: where pi goes on."""
    links = (record.index for record in found.records if record.up is not None)
    return max(links, default=found.header or 0)
