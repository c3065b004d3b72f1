"""The state of one conversation's fold: what is remembered, found by key, and what has changed.

Records that are not in memory are asked of a `Shelf`, one key at a time, so a batch on a long conversation
loads only what it touches. A state without a shelf saw every event and has all of it in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappush
from typing import NamedTuple, Protocol

from ledger.events import Event
from projections.lanes import Lane
from projections.order import item, turn_prefix
from projections.pairing import Ids
from projections.records import Call, Record, Step, Turn

DEEPEST = 1_200
"""Bytes of an order key: deeper sub-agents (thirty levels, say) stand at the top, since indexes have limits."""


class Found(NamedTuple):
    """An earlier event of the conversation, named by its id."""

    version: int
    event: Event


class Move(NamedTuple):
    """Rows whose order key starts with `old` now start with `new`: a tool row went to another place."""

    old: bytes
    new: bytes


class Shelf(Protocol):
    """Where records wait that are not in memory. A method may add several to the state, or none."""

    def lane(self, state: State, agent: str | None) -> Lane | None: ...

    def turn(self, state: State, lane: Lane, turn_id: str) -> Turn | None: ...

    def turns(self, state: State, turn_id: str) -> None: ...

    def step(self, state: State, turn: Turn, step_id: str) -> Step | None: ...

    def latest_step(self, state: State, step_id: str) -> Step | None: ...

    def record(self, state: State, version: int) -> Record | None: ...

    def group_at(self, state: State, lane: Lane, version: int) -> Step | None: ...

    def named_calls(self, state: State, call_id: str) -> None: ...

    def step_calls(self, state: State, step: Step) -> None: ...

    def watched(self, state: State, turn: Turn) -> None: ...

    def items(self, state: State, turn: Turn) -> None: ...


def unknown(_event_id: str) -> Found | None:
    """Finds no event; for ledgers in which nothing is retracted by event id."""
    return None


def attach(guest: Turn, host: Turn) -> None:
    """A sub-agent's turn that shares its host's id ends with it."""
    guest.host = host
    if host.guests is None:
        host.guests = []
    host.guests.append(guest)


class State:
    """All that a fold keeps of one conversation. `version` is the last event folded, 0 before the first."""

    def __init__(
        self,
        conversation_id: str,
        find: Callable[[str], Found | None] = unknown,
        shelf: Shelf | None = None,
    ) -> None:
        self.conversation_id = conversation_id
        self.find = find
        self.shelf = shelf
        self.version = 0
        self.lanes: dict[str | None, Lane] = {}
        self.sub_turns: dict[str, list[Turn]] = {}  # by turn id, those of sub-agents
        self.callers: dict[str, Call] = {}  # the last call of any sub-agent by its id
        self.latest_steps: dict[str, Step] = {}  # started since the state is in memory
        self.by_version: dict[int, Record] = {}  # user rows, notes, orphans, calls (by the result shown too)
        self.dirty: list[Record] = []
        self.touched: list[Turn] = []  # turns whose facts may have changed
        self.renumber: dict[Ids, None] = {}
        self.moves: list[Move] = []

    def touch(self, record: Record) -> None:
        """Mark a record: its row is made anew when changes are asked for."""
        if not record.dirty:
            record.dirty = True
            self.dirty.append(record)
            if record.kind == "turn":
                self.touched.append(record)  # type: ignore[arg-type]

    def lane(self, agent: str | None) -> Lane:
        """The lane of the event that is being taken; it may be its first."""
        lane = self.known_lane(agent)
        if lane is None:
            lane = self.lanes[agent] = Lane(agent, self.version + 1)
        return lane

    def known_lane(self, agent: str | None) -> Lane | None:
        """The lane, if it has events."""
        lane = self.lanes.get(agent)
        if lane is None and self.shelf is not None:
            lane = self.shelf.lane(self, agent)
        return lane

    def turn(self, lane: Lane, turn_id: str) -> Turn | None:
        turn = lane.turns.get(turn_id)
        if turn is None and self.shelf is not None:
            turn = self.shelf.turn(self, lane, turn_id)
        return turn

    def turns_of(self, turn_id: str) -> list[Turn]:
        """The turns of that id, of all lanes."""
        if self.shelf is not None:
            self.shelf.turns(self, turn_id)
        lane = self.known_lane(None)
        main = lane.turns.get(turn_id) if lane is not None else None
        return ([main] if main is not None else []) + self.sub_turns.get(turn_id, [])

    def open_turn(self, lane: Lane, turn_id: str, version: int, parent_id: str | None) -> Turn:
        """The new turn that starts at `version`, at its place: after its parent call, else at the top."""
        parent: Call | None = None
        if lane.agent is not None:
            parent = self._parent(lane, parent_id)
            if parent is not None and len(parent.sort) > DEEPEST:
                parent = None
        prefix = turn_prefix(b"" if parent is None else parent.sort, version)
        turn = Turn(lane, turn_id, version, prefix, parent)
        lane.turns[turn_id] = turn
        if lane.agent is not None:
            self.sub_turns.setdefault(turn_id, []).append(turn)
        if parent is not None:
            parent.start(turn)
            if parent.turn.turn_id == turn_id:
                attach(turn, parent.turn.host or parent.turn)
        return turn

    def _parent(self, lane: Lane, parent_id: str | None) -> Call | None:
        """The call that started this lane's work: remembered, else the last one of that id outside the lane."""
        parent_id = lane.parent if parent_id is None else parent_id
        if parent_id is None:
            return None
        known = lane.parents.get(parent_id)
        if known is not None:
            record = self.record(known)
            return record if isinstance(record, Call) else None
        call = self._caller(parent_id, lane)
        if call is not None:
            lane.parents[parent_id] = call.first
            lane.parent = parent_id
        return call

    def _caller(self, call_id: str, lane: Lane) -> Call | None:
        if self.shelf is not None:
            self.shelf.named_calls(self, call_id)
        of_main = self.known_lane(None)
        named = of_main.calls.get(call_id) if of_main is not None else None
        main = named.latest if isinstance(named, Ids) else named
        sub = self.callers.get(call_id)
        if sub is None or sub.turn.lane is lane:
            return main
        return main if main is not None and (not main.final or main.first > sub.first) else sub

    def step(self, turn: Turn, step_id: str) -> Step | None:
        step = turn.steps.get(step_id)
        if step is None and self.shelf is not None:
            step = self.shelf.step(self, turn, step_id)
        return step

    def open_step(self, turn: Turn, step_id: str | None, version: int) -> Step:
        step = Step(turn, step_id, version, item(turn.prefix, version))
        step.dirty = True
        self.dirty.append(step)
        turn.steps[step_id if step_id is not None else f"\0{version}"] = step
        if step_id is not None:
            self.latest_steps[step_id] = step
        return step

    def latest_step(self, step_id: str) -> Step | None:
        """The last started step of that id, of whatever turn."""
        step = self.latest_steps.get(step_id)
        if step is None and self.shelf is not None:
            step = self.shelf.latest_step(self, step_id)
        return step

    def record(self, version: int) -> Record | None:
        """The user row, note, orphan or call that the event at `version` made."""
        record = self.by_version.get(version)
        if record is None and self.shelf is not None:
            record = self.shelf.record(self, version)
        return record

    def calls_of(self, lane: Lane, hidden: bool) -> dict[str, Call | Ids]:
        """The lane's calls by id, visible or hidden ones."""
        return lane.hidden_calls if hidden else lane.calls

    def named(self, lane: Lane, call_id: str, hidden: bool) -> Call | Ids | None:
        """The calls of one id in one lane."""
        if self.shelf is not None:
            self.shelf.named_calls(self, call_id)
        return (lane.hidden_calls if hidden else lane.calls).get(call_id)

    def run(self, call: Call) -> None:
        """Remember a call that may still be running."""
        turn = call.turn
        if turn.running is None:
            turn.running = {}
        turn.running[call] = None
        turn.lane.busy[turn] = None
        if not turn.waits:
            turn.waits = True
            heappush(turn.lane.waiting, (turn.first, turn))

    def close(self, calls: Iterable[Call]) -> None:
        """The history went on without these calls' results."""
        for call in calls:
            call.closed = True
            self.touch(call)

    def taken(self) -> tuple[list[Record], list[Move]]:
        """The marked records and moves, handed over once."""
        dirty, self.dirty = self.dirty, []
        moves, self.moves = self.moves, []
        for record in dirty:
            record.dirty = False
        return dirty, moves
