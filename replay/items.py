"""What a plan is made of: turns hold steps, steps hold blocks, calls hold answers; entries stand between steps.

A renderer reads these and never the ledger: every block knows its event, its version, its step (and by it the
provider, api and model that made it), and whether it has a place that was recorded or one that was assumed.
Instances are made once by `replay.plan.plan` and are read-only from then on.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ledger.events import Json, JsonObject, StepFinish, TextComplete, ThinkingComplete, ToolResult, ToolStart
from ledger.recorded import RecordedEvent

NO_RESULT = "[no result was recorded for this call; its outcome is unknown]"
DENIED = "[the call was denied; it did not run]"

EntryKind: TypeAlias = Literal["user", "system", "late_result", "summary", "flat_tool"]
AnswerKind: TypeAlias = Literal["result", "progress", "stand_in", "denied"]


class Turn:
    """One turn of the lane. `version` is where it was first seen, `terminal` the event that decided it."""

    __slots__ = (
        "inferred",
        "last_version",
        "named",
        "retried",
        "steps",
        "terminal",
        "turn_id",
        "unstepped",
        "version",
    )

    def __init__(self, turn_id: str, version: int) -> None:
        self.turn_id = turn_id
        self.version = version
        self.last_version = version
        self.terminal: RecordedEvent | None = None
        self.inferred: RecordedEvent | None = None  # counts only while it is the turn's last event
        self.steps: list[Step] = []  # in order of place, legacy groups included
        self.named: dict[str, Step] = {}
        self.unstepped: list[Call] | None = None  # calls without a step id (rule 10)
        self.retried = False  # a step of it is named by a retry or a retryable error

    def ended_before(self, version: int) -> bool:
        """True when the turn had its terminal before `version`."""
        return self.terminal is not None and self.terminal.version < version


class Step:
    """One model call: one assistant message, and the tool message with the results of its calls.

    `step_id` is None for a legacy group (rule 10). `record` is its first visible event and `version` that
    event's: its place. `provider`, `api`, `model` and `account` are those of its `step_start`: what its opaque
    data belongs to.
    """

    __slots__ = (
        "account",
        "api",
        "before_compaction",
        "blocks",
        "compaction",
        "context",
        "finish",
        "indexed",
        "left_out",
        "model",
        "order_assumed",
        "provider",
        "record",
        "replaced_by",
        "seam",
        "state",
        "state_invalid",
        "step_id",
        "turn",
        "version",
    )

    def __init__(self, turn: Turn, step_id: str | None, record: RecordedEvent) -> None:
        self.turn = turn
        self.step_id = step_id
        self.record = record
        self.version = record.version
        self.provider: str | None = None
        self.api: str | None = None
        self.model: str | None = None
        self.account: str | None = None
        self.finish: RecordedEvent | None = None  # the last step_finish
        self.blocks: list[Block] = []  # in message order
        self.left_out: list[Block] | None = None  # recorded, not in the message: A23's separators
        self.indexed = False  # every kept block has a block_index: the order is the model's own
        self.order_assumed = False  # two signed thinkings without a full set of indexes
        self.before_compaction = False  # began before the compaction in force
        self.state: ReplayState | None = None  # the replay envelope, when this build can use it
        self.state_invalid = False  # there was one that it cannot use: send plain content
        self.replaced_by: list[RecordedEvent] | None = None  # the retries and errors that name it
        self.context: RecordedEvent | None = None  # the last `context` event before it began
        self.compaction: RecordedEvent | None = None  # one that it gave and only its provider can read
        self.seam: RecordedEvent | None = None  # the last note of a fallback: another model goes on from there

    @property
    def turn_id(self) -> str:
        """The turn that the step is part of."""
        return self.turn.turn_id

    @property
    def finish_reason(self) -> str | None:
        """Why the model stopped, as recorded."""
        event = self.finish.event if self.finish is not None else None
        return event.finish_reason if isinstance(event, StepFinish) else None

    @property
    def response_id(self) -> str | None:
        """The provider's name for the response, as recorded."""
        event = self.finish.event if self.finish is not None else None
        return event.response_id if isinstance(event, StepFinish) else None

    @property
    def calls(self) -> list["Call"]:
        """Its client-side calls, in message order: what the tool message answers."""
        return [block for block in self.blocks if isinstance(block, Call) and not block.hosted]


@dataclass(slots=True, eq=False)
class ReplayState:
    """A usable replay envelope (DESIGN.md 7.3): its response half; the entries are on the blocks."""

    kind: str
    version: int
    response: JsonObject

    @property
    def api(self) -> str:
        """The wire api that made it."""
        return str(self.response["api"])


class Block:
    """One block of a model's response. `kind` is `thinking`, `text`, `call` or `hosted_result`.

    `entry` is the block's entry of the step's replay envelope, None where there is none that can be used.
    """

    __slots__ = ("entry", "event", "record", "step", "version")
    kind: Literal["thinking", "text", "call", "hosted_result"]
    event: ThinkingComplete | TextComplete | ToolStart | ToolResult

    def __init__(
        self, record: RecordedEvent, event: ThinkingComplete | TextComplete | ToolStart | ToolResult, step: Step
    ) -> None:
        self.record = record
        self.event = event
        self.version = record.version
        self.step = step
        self.entry: JsonObject | None = None

    @property
    def versions(self) -> list[int]:
        """The versions it was made from."""
        return [self.version]

    @property
    def block_index(self) -> int | None:
        """Place of the block in the model's response, where it was recorded."""
        return self.event.block_index

    @property
    def provider_metadata(self) -> Json:
        """Opaque data of this block (signatures, item ids, citations); belongs to the step's provider."""
        return self.event.provider_metadata


class Thinking(Block):
    """A thinking block, signed or not."""

    __slots__ = ()
    kind = "thinking"
    event: ThinkingComplete

    @property
    def signed(self) -> bool:
        """True when the event holds a signature or redacted data (DESIGN.md 7.2: redacted counts as signed)."""
        return bool(self.event.signature or self.event.redacted_data)


class Words(Block):
    """A text block; blank text is kept, empty text is not."""

    __slots__ = ()
    kind = "text"
    event: TextComplete


def is_nothing(block: Block) -> bool:
    """True for empty text and for thinking without text, signature, data or metadata (rule 8)."""
    if isinstance(block, Words):
        return not block.event.text
    if isinstance(block, Thinking):
        return not (block.event.text or block.signed or block.event.provider_metadata)
    return False


class Call(Block):
    """A tool call. `id` is its name in this request (rule 9); `hosted` means that the provider runs it.

    `answer` is what the tool message holds for it; None when it is still running, or hosted.
    """

    __slots__ = (
        "answer",
        "answered",
        "denied",
        "finals",
        "hosted",
        "hosted_result",
        "id",
        "late",
        "progress",
        "unused",
    )
    kind = "call"
    event: ToolStart

    def __init__(self, record: RecordedEvent, event: ToolStart, step: Step) -> None:
        super().__init__(record, event, step)
        self.id = event.tool_call_id
        self.hosted = bool(event.provider_executed)
        self.answer: Answer | None = None
        self.hosted_result: HostedResult | None = None
        self.answered = False  # a final result was recorded, in time or late (rule 4)
        # What was recorded for it, each in ledger order.
        self.finals: list[RecordedEvent] | None = None  # final results before the next step's start
        self.late: list[LateResult] | None = None  # final results after it
        self.progress: list[RecordedEvent] | None = None  # progress before the next step's start
        self.unused: list[RecordedEvent] | None = None  # later progress, doubles of a hosted result: never sent
        self.denied: RecordedEvent | None = None  # a denial before the next step's start


class HostedResult(Block):
    """The result of a provider-executed call: a block of the assistant message of the step that recorded it."""

    __slots__ = ("call",)
    kind = "hosted_result"
    event: ToolResult

    def __init__(self, record: RecordedEvent, event: ToolResult, step: Step, call: Call) -> None:
        super().__init__(record, event, step)
        self.call = call


class Answer:
    """What a call is answered with in its tool message.

    `kind`: `result`; `progress` (it stands, rule 4); `stand_in` (nothing was recorded); `denied`. `record` is
    the event that made it: the result, the denial, or for a stand-in the call itself.
    """

    __slots__ = ("call", "content", "is_error", "kind", "record")

    def __init__(
        self, call: Call, kind: AnswerKind, record: RecordedEvent, content: Json, is_error: bool
    ) -> None:
        self.call = call
        self.kind = kind
        self.record = record
        self.content = content
        self.is_error = is_error

    @property
    def versions(self) -> list[int]:
        """The versions it was made from."""
        if self.kind == "denied":
            return [self.call.version, self.record.version]
        return [self.record.version]


class Entry:
    """A message between the steps: of the user, of the system, a late result, a compaction's summary, or a tool
    call told as text (`replay.ladder`).

    `parts` are neutral parts. `record` is the user or system message, the result, or the compaction; `turn_id`
    may be None for a system message or a summary. `step` is the one that gave the summary, where one did.
    """

    __slots__ = ("kind", "parts", "record", "step", "turn_id", "version")

    def __init__(self, kind: EntryKind, record: RecordedEvent, parts: list[JsonObject]) -> None:
        self.kind = kind
        self.record = record
        self.version = record.version
        self.turn_id = record.turn_id
        self.parts = parts
        self.step: Step | None = None

    @property
    def versions(self) -> list[int]:
        """The versions it was made from."""
        return [self.version]

    @property
    def person(self) -> bool:
        """True for what a person sent: neither injected by the runtime nor made by replay."""
        return self.kind == "user" and getattr(self.record.event, "origin", None) != "runtime"


class LateResult(Entry):
    """A final result that came after the next step's start: user text where it arrived (rule 5)."""

    __slots__ = ("call",)

    def __init__(self, record: RecordedEvent, call: Call) -> None:
        super().__init__("late_result", record, [])
        self.call = call


Item: TypeAlias = Step | Entry
