"""Records of one conversation, loaded from its table by key as the fold asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

from ledger.events import Json, JsonObject
from ledger.store.engine import Engine, Value
from projections.finding import statements
from projections.lanes import Lane
from projections.pairing import Ids
from projections.records import Call, Plain, Record, Step, Turn
from projections.state import State, attach
from projections.store import codec

SHIFT = 35


class Stored(NamedTuple):
    """A line of the table."""

    key: int
    kind: int
    first: int
    place: bytes
    turn: int | None
    lane: str
    name: str | None
    data: bytes | None
    state: bytes


class Table:
    """The shelf (`projections.state.Shelf`) over one conversation's rows. What it loads, it loads once."""

    def __init__(self, engine: Engine, vid: int) -> None:
        self.engine = engine
        self.vid = vid
        self.known: dict[int, Record] = {}
        self.names: set[tuple[int, str]] | None = None  # where it is known which names there are
        self.asked: set[str] = set()
        self.calls_loaded: set[str] = set()
        self.steps_loaded: set[int] = set()
        self.items_loaded: set[int] = set()

    def expect(self, names: Iterable[str]) -> None:
        """Ask at once which of these ids the conversation has, so that new ones cost nothing."""
        self.asked = set(names)
        asked: Value = cast(Value, list(self.asked))
        if self.engine.name == "sqlite":
            asked = codec.dump_json([*self.asked])
        rows = self.engine.fetch(self._text("names"), {"vid": self.vid, "names": asked})
        self.names = {(cast(int, kind), cast(str, name)) for kind, name in rows}

    def lane(self, state: State, agent: str | None) -> Lane | None:
        name = agent or ""
        lines = self._lines("lane", vid=self.vid, name=name)
        if not lines:
            return None
        lane = Lane(agent, lines[0].first)
        state.lanes[agent] = lane
        self._know(lines[0], lane)
        facts = codec.load_json(lines[0].state)
        codec.restore(lane, facts)
        lane.attempts = {turn_id: first for first, turn_id in cast("list[tuple[int, str]]", facts["attempts"])}
        lane.parents = cast("dict[str, int]", facts["parents"])
        lane.group = self._group(state, facts["group"])
        lane.hidden_group = self._group(state, facts["hidden_group"])
        for line in self._lines("running", vid=self.vid, lane=name):
            call = self._admit(state, line)
            assert isinstance(call, Call)
            state.run(call)
        return lane

    def _group(self, state: State, first: Json) -> Step | None:
        if not isinstance(first, int):
            return None
        record = self._need(state, "assistant", first)
        return record if isinstance(record, Step) else None

    def turn(self, state: State, lane: Lane, turn_id: str) -> Turn | None:
        if self._absent("turn", turn_id):
            return None
        self.turns(state, turn_id)
        return lane.turns.get(turn_id)

    def turns(self, state: State, turn_id: str) -> None:
        for line in self._lines("turns_named", vid=self.vid, name=turn_id):
            self._admit(state, line)

    def step(self, state: State, turn: Turn, step_id: str) -> Step | None:
        if not turn.stored or self._absent("assistant", step_id):
            return None
        for line in self._lines("step_named", vid=self.vid, name=step_id, turn=turn.first):
            self._admit(state, line)
        return turn.steps.get(step_id)

    def latest_step(self, state: State, step_id: str) -> Step | None:
        found = None
        for line in self._lines("latest_step", vid=self.vid, name=step_id):
            found = cast(Step, self._admit(state, line))
        return found

    def record(self, state: State, version: int) -> Record | None:
        for line in self._lines("records_at", key=self._key(0, version)):
            self._admit(state, line)
        return state.by_version.get(version)

    def group_at(self, state: State, lane: Lane, version: int) -> Step | None:
        """The legacy group that has a block at `version`."""
        lines = self._lines("group_before", vid=self.vid, key=self._key(7, version), lane=lane.agent or "")
        for line in lines:
            step = cast(Step, self._admit(state, line))
            if any(block[1] == version for block in step.blocks):
                return step
        return None

    def named_calls(self, state: State, call_id: str) -> None:
        """Load the calls of that id, of all agents."""
        if call_id in self.calls_loaded:
            return
        self.calls_loaded.add(call_id)
        if self._absent("tool", call_id):
            return
        for line in self._lines("calls_named", vid=self.vid, name=call_id):
            self._admit(state, line)

    def step_calls(self, state: State, step: Step) -> None:
        """Load all calls of a step."""
        if step.stored and step.first not in self.steps_loaded:
            self.steps_loaded.add(step.first)
            self._range(state, step.prefix)

    def watched(self, state: State, turn: Turn) -> None:
        if turn.stored:
            for line in self._lines("watched", vid=self.vid, turn=turn.first):
                self._admit(state, line)

    def items(self, state: State, turn: Turn) -> None:
        if turn.stored and turn.first not in self.items_loaded:
            self.items_loaded.add(turn.first)
            self._range(state, turn.prefix)

    def _range(self, state: State, prefix: bytes) -> None:
        start = prefix
        for move in reversed(state.moves):  # the table does not know of these yet
            if start.startswith(move.new):
                start = move.old + start[len(move.new) :]
        for line in self._lines("between", vid=self.vid, start=start, beyond=beyond(start)):
            self._admit(state, line)

    def _absent(self, kind: str, name: str) -> bool:
        """Whether the table has surely no such name."""
        return self.names is not None and name in self.asked and (codec.KINDS[kind], name) not in self.names

    def _text(self, name: str) -> str:
        return statements(self.engine.name)[name]

    def _key(self, kind: int, first: int) -> int:
        return (self.vid << SHIFT) + (first << 3) + kind

    def _lines(self, statement: str, **parameters: Value) -> list[Stored]:
        rows = self.engine.fetch(self._text(statement), parameters)
        return [Stored(*row) for row in cast("list[Sequence[object]]", rows)]  # type: ignore[arg-type]

    def _need(self, state: State, kind: str, first: int) -> Record | None:
        key = self._key(codec.KINDS[kind], first)
        record = self.known.get(key)
        if record is None:
            for line in self._lines("record", key=key):
                record = self._admit(state, line)
        return record

    def _know(self, line: Stored, record: Record) -> None:
        self.known[line.key] = record
        record.stored = True
        record.first = line.first
        record.sort = bytes(line.place)

    def _admit(self, state: State, line: Stored) -> Record:
        """The record of a line, made and linked unless it is in memory."""
        record = self.known.get(line.key)
        if record is not None:
            return record
        facts = codec.load_json(line.state)
        row = codec.load_json(line.data) if line.data is not None else None
        for move in state.moves:
            if line.place.startswith(move.old):
                line = line._replace(place=move.new + line.place[len(move.old) :])
        if line.kind == codec.KINDS["turn"]:
            return self._turn(state, line, facts)
        if line.kind == codec.KINDS["assistant"]:
            return self._step(state, line, facts, row)
        if line.kind == codec.KINDS["tool"]:
            assert row is not None
            return self._call(state, line, facts, row)
        assert row is not None
        return self._plain(state, line, facts, row)

    def _turn(self, state: State, line: Stored, facts: JsonObject) -> Turn:
        lane = state.lane(line.lane or None)
        known = self.known.get(line.key)  # loading the lane may have loaded it
        if isinstance(known, Turn):
            return known
        turn = Turn(lane, cast(str, line.name), line.first, bytes(line.place)[:-6], None)
        self._know(line, turn)
        codec.restore(turn, facts)
        turn.usage = codec.totals(facts["usage"])
        turn.settled = codec.settled(facts["settled"])
        turn.suspects = cast("list[int] | None", facts.get("suspects"))
        lane.turns[turn.turn_id] = turn
        if lane.agent is not None:
            state.sub_turns.setdefault(turn.turn_id, []).append(turn)
        if isinstance(parent := facts.get("parent"), int):
            call = self._need(state, "tool", parent)
            if isinstance(call, Call):
                turn.parent = call
                call.start(turn)
        if isinstance(host := facts.get("host"), int):
            of = self._need(state, "turn", host)
            if isinstance(of, Turn):
                attach(turn, of)
        return turn

    def _step(self, state: State, line: Stored, facts: JsonObject, row: JsonObject | None) -> Step:
        turn = cast(Turn, self._need(state, "turn", cast(int, line.turn)))
        known = self.known.get(line.key)
        if isinstance(known, Step):
            return known
        step = Step(turn, line.name, line.first, bytes(line.place)[:-1])
        self._know(line, step)
        codec.restore(step, facts)
        step.blocks = codec.blocks(facts["blocks"], row)
        step.gone = frozenset(cast("list[int]", facts.get("gone", ())))
        turn.steps[step.step_id if step.step_id is not None else f"\0{step.first}"] = step
        return step

    def _call(self, state: State, line: Stored, facts: JsonObject, row: JsonObject) -> Call:
        step = cast(Step, self._need(state, "assistant", cast(int, facts["step"])))
        known = self.known.get(line.key)
        if isinstance(known, Call):
            return known
        call = Call(step, cast(str, line.name), line.first, cast(str, row["tool_name"]), row["args"])
        self._know(line, call)
        codec.restore(call, facts)
        call.result = row["result"]
        call.approval = cast("JsonObject | None", row["approval"])
        step.add_call(call)
        state.by_version[call.first] = call
        if call.result_version:
            state.by_version[call.result_version] = call
        calls = state.calls_of(call.turn.lane, call.hidden)
        others = calls.get(call.call_id)
        if others is None:
            calls[call.call_id] = call
        elif isinstance(others, Ids):
            others.restore(call)
        else:
            calls[call.call_id] = ids = Ids(others)
            ids.restore(call)
        latest = state.callers.get(call.call_id)
        if call.turn.lane.agent is not None and (latest is None or latest.first < call.first):
            state.callers[call.call_id] = call
        return call

    def _plain(self, state: State, line: Stored, facts: JsonObject, row: JsonObject) -> Plain:
        turn = self._need(state, "turn", line.turn) if line.turn is not None else None
        known = self.known.get(line.key)
        if isinstance(known, Plain):
            return known
        of = turn if isinstance(turn, Turn) else None
        record = Plain(codec.NAMES[line.kind], of, line.first, bytes(line.place), row)
        self._know(line, record)
        codec.restore(record, facts)
        state.by_version[record.first] = record
        if record.turn is not None:
            record.turn.plain.append(record)
        return record


def beyond(prefix: bytes) -> bytes:
    """The first key after all that start with `prefix` (which is not all 0xff)."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes((kept[-1] + 1,))
