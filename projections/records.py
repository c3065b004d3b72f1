"""What the fold remembers: one record a turn, step, call and plain row; everything a row is made from.

`KEPT` names what is stored of a record besides its row and its place, each with the value that goes without
saying (`projections.store.codec`). Records refer to each other as objects while they are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from ledger.events import Json, JsonObject
from projections.clock import earlier, later
from projections.usage import Totals

if TYPE_CHECKING:
    from projections.lanes import Lane

Block: TypeAlias = tuple[int | None, int, bool, str | JsonObject]
"""A block of a step: its index, its version, whether it is hidden, and its text or thought."""

Facts: TypeAlias = tuple[tuple[int, str | None, bool], tuple[int, int, int], bool]
"""What rows of a turn hang on: its end (version, kind, inferred), its attempts (how many, since when the turn
is over without them, its last step with a block), whether it was taken back."""


FEW = 8


class Record:
    """Anything that can become a row. `first` is the version that made it, unique within its kind."""

    __slots__ = ("dirty", "first", "last", "retracted", "row", "sort", "stored")
    kind: ClassVar[str]
    KEPT: ClassVar[Mapping[str, Json]] = {}

    def __init__(self, first: int, sort: bytes) -> None:
        self.first = first
        self.last = first
        self.sort = sort
        self.row: JsonObject | None = None  # as it was last handed out
        self.dirty = False
        self.stored = False  # the table holds it already
        self.retracted = False


class Turn(Record):
    __slots__ = (
        "at",
        "end",
        "end_at",
        "end_kind",
        "error",
        "explicit",
        "guests",
        "host",
        "inferred",
        "lane",
        "last_block",
        "named",
        "output",
        "parent",
        "plain",
        "prefix",
        "real",
        "running",
        "settled",
        "steps",
        "stop_reason",
        "suspects",
        "turn_id",
        "usage",
        "waits",
    )
    kind = "turn"
    KEPT: ClassVar[Mapping[str, Json]] = {
        "last": 0,
        "retracted": False,
        "real": False,
        "explicit": False,
        "at": None,
        "end": 0,
        "end_kind": None,
        "end_at": None,
        "stop_reason": None,
        "error": None,
        "inferred": False,
        "output": False,
        "named": 0,
        "last_block": 0,
    }

    def __init__(self, lane: Lane, turn_id: str, first: int, prefix: bytes, parent: Call | None) -> None:
        super().__init__(first, prefix + b"\xff" * 6)
        self.lane = lane
        self.turn_id = turn_id
        self.prefix = prefix
        self.parent = parent
        self.steps: dict[str, Step] = {}
        self.plain: list[Record] = []  # user rows, notes and orphans
        self.real = False  # it has an event that only a turn has, so it has a row
        self.explicit = False  # it was started or ended by an event of its own
        self.host: Turn | None = None  # the turn of the same id that a sub-agent works for
        self.guests: list[Turn] | None = None  # the turns of the same id that sub-agents do for it
        self.running: dict[Call, None] | None = None  # calls that may still run
        self.waits = False  # it stands in its lane's heap of turns with such calls
        self.at: str | None = None
        self.end = 0  # version of the terminal event that decides it; 0 = none
        self.end_kind: str | None = None
        self.end_at: str | None = None
        self.stop_reason: str | None = None
        self.error: JsonObject | None = None
        self.inferred = False  # the terminal was concluded by an importer
        self.output = False
        self.usage: Totals | None = None
        self.named = 0  # attempts that something names as replaced
        self.last_block = 0  # first version of the last started step that has a block
        self.suspects: list[int] | None = None  # calls answered after a terminal that was only inferred
        self.settled: Facts | None = None  # when rows were last asked for

    def ended(self) -> Turn | None:
        """The turn whose terminal ends this one: itself, or the one it works for."""
        if self.end:
            return self
        return self.host if self.host is not None and self.host.end else None

    def followed(self) -> int:
        """Version of the last user message of another turn; it ends what came before (7.2, rule 11)."""
        return self.lane.user_at if self.lane.user_turn != self.turn_id else self.lane.other_user_at

    def over_since(self, version: int) -> bool:
        """It has a terminal, or another turn's user message came after `version`."""
        return self.ended() is not None or self.followed() > version

    def items(self) -> list[Record]:
        """All that stands in the turn, but for its own row."""
        found = [*self.plain, *self.steps.values()]
        for step in self.steps.values():
            found += step.calls()
        return found


class Step(Record):
    """One model call (`step_id`), or a legacy group (`step_id` None): blocks, and the facts around them."""

    __slots__ = (
        "answered",
        "at_first",
        "at_last",
        "blocks",
        "finish_reason",
        "finish_usage",
        "finished",
        "gone",
        "high",
        "latest",
        "low",
        "model",
        "named",
        "open_calls",
        "prefix",
        "provider",
        "started",
        "step_id",
        "texted",
        "timed",
        "turn",
        "unindexed",
        "usage",
    )
    kind = "assistant"
    KEPT: ClassVar[Mapping[str, Json]] = {
        "retracted": False,
        "low": 0,
        "high": 0,
        "at_first": None,
        "at_last": None,
        "timed": False,
        "provider": None,
        "model": None,
        "finish_reason": None,
        "finished": False,
        "started": False,
        "unindexed": False,
        "named": False,
        "answered": False,
        "open_calls": 0,
        "texted": False,
        "usage": None,
        "finish_usage": None,
    }

    def __init__(self, turn: Turn, step_id: str | None, first: int, prefix: bytes) -> None:
        self.first = self.last = first
        self.sort = prefix + b"\0"
        self.row = None
        self.dirty = self.stored = self.retracted = False
        self.turn = turn
        self.step_id = step_id
        self.prefix = prefix
        self.blocks: Sequence[Block] = ()
        self.latest: Call | None = None  # its calls, as a chain: containers are what a long fold pays for
        self.low = 0  # first and last version of the events that the assistant row is made of
        self.high = 0
        self.at_first: str | None = None
        self.at_last: str | None = None
        self.timed = False  # two readings of its clock or more
        self.provider: str | None = None
        self.model: str | None = None
        self.finish_reason: str | None = None
        self.finished = False
        self.usage: JsonObject | None = None
        self.finish_usage: JsonObject | None = None
        self.started = False  # a visible event of it was seen
        self.unindexed = False  # a kept block has no index
        self.named = False  # a retry or a retryable error names it
        self.answered = False  # one of its calls has a final result
        self.open_calls = 0
        self.texted = False
        self.gone: frozenset[int] = frozenset()  # versions of its blocks that were retracted one by one

    def calls(self) -> Iterator[Call]:
        """Its calls, the newest first."""
        call = self.latest
        while call is not None:
            yield call
            call = call.before

    def add_call(self, call: Call) -> None:
        call.before = self.latest
        self.latest = call

    def add_block(self, block: Block) -> None:
        """A few blocks are a tuple, which the garbage collector soon leaves alone; many are a list."""
        blocks = self.blocks
        if isinstance(blocks, list):
            blocks.append(block)
        elif len(blocks) < FEW:
            self.blocks = (*blocks, block)
        else:
            self.blocks = [*blocks, block]

    def own(self, version: int, at: str | None) -> None:
        """Count an event of the assistant row itself (tool events belong to tool rows)."""
        if not self.low:
            self.low = version
        self.high = version
        if at is None:
            return
        if self.at_last is None:
            self.at_first = self.at_last = at
            return
        self.timed = True
        if at != self.at_last:
            self.at_last, before = later(self.at_last, at), self.at_last
            if self.at_last is before:  # it did not move on: an earlier reading, or one that says nothing
                self.at_first = earlier(self.at_first, at)


class Call(Record):
    __slots__ = (
        "approval",
        "args",
        "at",
        "before",
        "call_id",
        "closed",
        "duration_ms",
        "final",
        "gone",
        "hidden",
        "index",
        "is_error",
        "last_final",
        "name",
        "nested",
        "occurrence",
        "provider_executed",
        "result",
        "result_at",
        "result_version",
        "seen",
        "step",
        "turn",
    )
    kind = "tool"
    KEPT: ClassVar[Mapping[str, Json]] = {
        "last": 0,
        "retracted": False,
        "index": None,
        "provider_executed": False,
        "hidden": False,
        "occurrence": 1,
        "at": None,
        "seen": 0,
        "final": False,
        "last_final": 0,
        "result_version": 0,
        "is_error": False,
        "duration_ms": None,
        "result_at": None,
        "closed": False,
        "gone": False,
    }

    def __init__(self, step: Step, call_id: str, first: int, name: str, args: Json) -> None:
        self.first = self.last = first
        self.sort = b""
        self.row = None
        self.dirty = self.stored = self.retracted = False
        self.turn = step.turn
        self.step = step
        self.call_id = call_id
        self.name = name
        self.args = args
        self.index: int | None = None
        self.provider_executed = False
        self.hidden = False
        self.occurrence = 1
        self.at: str | None = None
        self.seen = 0
        self.final = False  # a final result came
        self.last_final = 0  # version of the result that answered it
        self.result_version = 0
        self.result: Json = None
        self.is_error = False
        self.duration_ms: int | float | None = None
        self.result_at: str | None = None
        self.closed = False  # the history went on without its result
        self.gone = False  # its shown result was retracted
        self.approval: JsonObject | None = None
        self.before: Call | None = None  # the call that its step had before it
        self.nested: list[Turn] | None = None  # the turns of sub-agents that it started

    def start(self, turn: Turn) -> None:
        """It started this turn of a sub-agent."""
        if self.nested is None:
            self.nested = []
        self.nested.append(turn)


class Plain(Record):
    """A user row, a note or an orphaned result: one event, one row; only a retraction changes it later."""

    __slots__ = ("body", "kind", "turn")
    KEPT: ClassVar[Mapping[str, Json]] = {"retracted": False}

    def __init__(self, kind: str, turn: Turn | None, version: int, sort: bytes, body: JsonObject) -> None:
        self.first = self.last = version
        self.sort = sort
        self.row = None
        self.dirty = self.stored = self.retracted = False
        self.kind = kind  # type: ignore[misc]
        self.turn = turn
        self.body = body
