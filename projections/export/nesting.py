"""Rows of sub-agents under the call that started them, as far as their place in the view says it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ledger.events import Json
from projections.export.lines import Row


@dataclass
class Lane:
    """Rows of one sub-agent that belong together. `under` is the tool row of the call that started it, or None
    where the view does not know it; `depth` is 1 below the main agent."""

    agent: str
    under: Row | None
    depth: int
    rows: int = 0


@dataclass(frozen=True)
class Opens:
    """The rows of a lane begin."""

    lane: Lane


@dataclass(frozen=True)
class Closes:
    """The rows of the innermost open lane are over."""

    lane: Lane


def nested(rows: Sequence[Row]) -> Iterator[Row | Opens | Closes]:
    """The rows in their order, between the borders of sub-agents' lanes.

    A view has the rows of a sub-agent right after the tool row that started it, inside that row's turn
    (DESIGN.md 6): rows of another agent that stand after a tool row, while its turn has rows to come, are below
    it. Others stand at the end of no turn: a lane of their own.
    """
    marks = _borders(rows)
    for place, row in enumerate(rows):
        yield from marks[place]
        yield row
    yield from marks[len(rows)]


def _borders(rows: Sequence[Row]) -> list[list[Opens | Closes]]:
    """What opens and closes before each row, and behind the last."""
    last: dict[tuple[Json, Json], int] = {}  # where each turn of each agent has its last row
    for place, row in enumerate(rows):
        last[_turn(row)] = place
    marks: list[list[Opens | Closes]] = [[] for _ in range(len(rows) + 1)]
    opened: list[Lane] = []
    latest: list[Row | None] = [None]  # the row before, in the main agent's lane and in each open one
    for place, row in enumerate(rows):
        agent = row.get("agent_id")
        while True:
            before = latest[-1]
            here = opened[-1].agent if opened else None
            if agent != here and _starts(before, last, place):
                break  # below the row before
            over = bool(opened) and opened[-1].under is not None and not _starts(opened[-1].under, last, place)
            if agent == here and not over:
                break
            if not opened:
                before = None
                break
            marks[place].append(Closes(opened.pop()))
            latest.pop()
        here = opened[-1].agent if opened else None
        if agent != here:
            lane = Lane(str(agent), before, len(opened) + 1)
            opened.append(lane)
            latest.append(None)
            marks[place].append(Opens(lane))
        for lane in opened:
            lane.rows += 1
        latest[-1] = row
    while opened:
        marks[len(rows)].append(Closes(opened.pop()))
    return marks


def _starts(row: Row | None, last: dict[tuple[Json, Json], int], place: int) -> bool:
    """Whether rows at `place` may be below this row: that of a call whose turn has rows from there on."""
    return row is not None and row["row"] == "tool" and last[_turn(row)] >= place


def _turn(row: Row) -> tuple[Json, Json]:
    return row.get("agent_id"), row.get("turn_id")
