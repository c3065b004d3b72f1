"""What the fold remembers: one record a turn, step, call and plain row; everything a row is made from.

Defaults stand on the classes, so a record holds only what was said about it; that is also what is kept of it
between batches. Records refer to each other as objects while they are in memory.
"""

from __future__ import annotations

from typing import TypeAlias

from ledger.events import Json, JsonObject
from projections.clock import earlier, later
from projections.usage import Totals

Block: TypeAlias = tuple[int | None, int, bool, str | JsonObject]
"""A block of a step: its index, its version, whether it is hidden, and its text or thought."""


class Record:
    """Anything that can become a row. `first` is the version that made it, unique within its kind."""

    kind: str
    first: int
    last: int
    sort: bytes
    turn: Turn | None = None
    row: JsonObject | None = None  # as it was last handed out
    dirty: bool = False
    stored: bool = False  # the table holds it already
    retracted: bool = False


class Lane(Record):
    """The main agent (`agent` is None) or one sub-agent, and what its history looks like at this point."""

    kind = "lane"
    sort = b""

    def __init__(self, agent: str | None) -> None:
        self.first = self.last = 0
        self.agent = agent
        self.turns: dict[str, Turn] = {}
        self.running: dict[
            int, dict[Call, None]
        ] = {}  # calls that may still run, by their turn's first version
        self.waiting: list[int] = []  # heap of the turns that `running` names
        self.attempts: list[
            tuple[int, str]
        ] = []  # heap of turns with attempts that a later message may bring back
        self.last_user_turn = 0  # the highest first version of a turn with a visible user message
        self.current: str | None = None  # turn id of the lane's last event that had one
        self.group: Step | None = None  # the open legacy group, and the hidden one
        self.hidden_group: Step | None = None
        self.parents: dict[str, int] = {}  # parent call id -> version of the call that started the lane
        self.parent: str | None = None


class Turn(Record):
    kind = "turn"
    real = False  # it has an event that only a turn has, so it has a row
    explicit = False  # it was started or ended by an event of its own
    host: Turn | None = None  # the turn of the same id that a sub-agent works for
    at: str | None = None
    end: int = 0  # version of the terminal event that decides it; 0 = none
    end_kind: str | None = None
    end_at: str | None = None
    stop_reason: str | None = None
    error: JsonObject | None = None
    inferred = False  # the terminal was concluded by an importer
    output = False
    named = 0  # attempts that something names as replaced
    last_block = 0  # first version of the last started step that has a block
    settled: tuple[tuple[int, str | None, bool], tuple[int, bool, int], bool] | None = (
        None  # facts last looked at
    )

    def __init__(self, lane: Lane, turn_id: str, first: int, prefix: bytes, parent: Call | None) -> None:
        self.lane = lane
        self.turn_id = turn_id
        self.first = self.last = first
        self.prefix = prefix
        self.parent = parent
        self.usage: Totals = {}
        self.steps: dict[str, Step] = {}
        self.items: list[Record] = []
        self.guests: list[Turn] = []
        self.suspects: list[int] = []  # calls answered after a terminal that was only inferred

    def ended(self) -> Turn | None:
        """The turn whose terminal ends this one: itself, or the one it works for."""
        if self.end:
            return self
        return self.host if self.host is not None and self.host.end else None

    def over(self) -> bool:
        """It has a terminal, or a later turn's user message came (DESIGN.md 7.2, rule 11)."""
        return self.lane.last_user_turn > self.first or self.ended() is not None


class Step(Record):
    """One model call (`step_id`), or a legacy group (`step_id` None): blocks, and the facts around them."""

    kind = "assistant"
    started = False  # a visible event of it was seen
    low: int = 0  # first and last version of the events that the assistant row is made of
    high: int = 0
    unindexed = False  # a kept block has no index
    provider: str | None = None
    model: str | None = None
    finish_reason: str | None = None
    finished = False
    usage: JsonObject | None = None
    finish_usage: JsonObject | None = None
    at_first: str | None = None
    at_last: str | None = None
    readings = 0
    named = False  # a retry or a retryable error names it
    answered = False  # one of its calls has a final result
    open_calls = 0
    texted = False

    def __init__(self, turn: Turn, step_id: str | None, first: int, prefix: bytes) -> None:
        self.turn = turn
        self.step_id = step_id
        self.first = self.last = first
        self.prefix = prefix
        self.sort = prefix + b"\0"
        self.blocks: list[
            tuple[int | None, int, bool, str | JsonObject]
        ] = []  # index, version, hidden, content
        self.calls: list[Call] = []
        self.gone: set[int] = set()  # versions of its blocks that were retracted one by one

    turn: Turn

    def own(self, version: int, at: str | None) -> None:
        """Count an event of the assistant row itself (tool events belong to tool rows)."""
        if not self.low:
            self.low = version
        self.high = version
        if at is not None:
            self.readings += 1
            self.at_first = earlier(self.at_first, at)
            self.at_last = later(self.at_last, at)


class Call(Record):
    kind = "tool"
    index: int | None = None
    provider_executed = False
    hidden = False
    occurrence = 1
    at: str | None = None
    seen = 0
    final = False  # a final result came
    last_final = 0  # version of the result that answered it
    result_version = 0
    result: Json = None
    is_error = False
    duration_ms: int | float | None = None
    result_at: str | None = None
    closed = False  # the history went on without its result
    approval: JsonObject | None = None
    gone = False  # its shown result was retracted

    def __init__(self, step: Step, call_id: str, first: int, name: str, args: Json) -> None:
        self.turn = step.turn
        self.step = step
        self.call_id = call_id
        self.first = self.last = first
        self.name = name
        self.args = args
        self.results: list[int] = []  # versions of its final results and of its last progress
        self.nested: list[Turn] = []

    turn: Turn


class Plain(Record):
    """A user row, a note or an orphaned result: one event, one row; only a retraction changes it later."""

    def __init__(self, kind: str, turn: Turn | None, version: int, sort: bytes, row: JsonObject) -> None:
        self.kind = kind
        self.turn = turn
        self.first = self.last = version
        self.sort = sort
        self.body = row
