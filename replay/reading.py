"""One pass over the events of a lane: what belongs together, before anything is decided about it.

Hidden events are as if absent (DESIGN.md 7.2, places). Nothing is left out here: retractions, retries and
compactions may come after what they concern, so `replay.settling` decides when all is read. Time and memory
are linear.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from ledger.events import (
    Abort,
    BaseEvent,
    Compaction,
    Complete,
    Context,
    Error,
    Note,
    Retraction,
    StepFinish,
    StepStart,
    SystemMessage,
    TextComplete,
    ThinkingComplete,
    ToolApproval,
    ToolResult,
    ToolStart,
    UnknownEvent,
    UserMessage,
)
from ledger.recorded import RecordedEvent
from replay.diagnostics import Diagnostic, diagnostic
from replay.items import Call, Entry, HostedResult, Item, LateResult, Step, Thinking, Turn, Words
from replay.parts import content_parts
from replay.uses import Calls

_T = TypeVar("_T")


class Reading:
    """The state of the pass; read by `replay.settling` afterwards."""

    def __init__(self, lane: str | None) -> None:
        self.lane = lane
        self.version = 0
        self.turns: dict[str, Turn] = {}
        self.items: list[Item] = []  # steps by their first event, entries where they were recorded
        self.system: list[Entry] = []
        self.diagnostics: list[Diagnostic] = []
        self.contexts: list[RecordedEvent] = []
        self.compactions: list[RecordedEvent] = []
        self.retractions: list[RecordedEvent] = []
        self.notes: list[RecordedEvent] = []
        self.retry_ignored: list[RecordedEvent] = []
        self.orphans: list[RecordedEvent] = []
        self.last_place = 0  # of all steps
        self.any_retry = False
        self._calls = Calls()
        self.opened = False  # a user message or a step was seen: later system messages keep their place
        self._last_step: Step | None = None
        self._group: Step | None = None  # the legacy group that is open
        self._group_open = 0  # its calls without a final result
        self._group_text = False
        self._unnamed: tuple[Turn, StepStart] | None = None  # the last step_start without a step id
        self.last_user: tuple[str, int] = ("", 0)  # turn and version of the last user message
        self.other_user: tuple[str, int] = ("", 0)  # the last one of another turn than that

    def read(self, records: Iterable[RecordedEvent]) -> None:
        """Take in the events of the conversation, in version order."""
        lane, turns, handlers, apart_handlers = self.lane, self.turns, _IN_TURN, _APART
        turn: Turn | None = None
        version = 0
        for record in records:
            version = record.version
            try:
                event: BaseEvent = record.event
            except ValueError as problem:
                self.diagnostics.append(diagnostic("unreadable_event_skipped", record, problem=str(problem)))
                continue
            if event.agent_id != lane:
                if isinstance(event, Retraction) and event.visibility != "hidden":
                    self.retractions.append(record)
                continue
            if event.visibility == "hidden":
                self.diagnostics.append(diagnostic("model_hidden_skipped", record))
                continue
            kind = event.__class__
            turn_id = event.turn_id
            if turn_id is not None:
                if turn is None or turn.turn_id != turn_id:
                    turn = turns.get(turn_id)
                    if turn is None:
                        turn = turns[turn_id] = Turn(turn_id, version)
                turn.last_version = version
                step_id = event.step_id
                if step_id is None:
                    step = None
                    if self._group is not None and self._group.turn is not turn and kind is not ToolResult:
                        self._group = None
                elif kind is ToolResult:  # its step is that of its call
                    step = None
                else:
                    self._group = None
                    step = turn.named.get(step_id)
                    if step is None and kind is not UserMessage:
                        step = self._begin(turn, step_id, record)
                handler = handlers.get(kind)
                if handler is not None:
                    handler(self, record, event, turn, step)
            else:
                apart = apart_handlers.get(kind)
                if apart is not None:
                    apart(self, record, event)
        self.version = version

    @property
    def in_group(self) -> bool:
        """True while a legacy group is open: what comes next may belong to it."""
        return self._group is not None

    @property
    def call_ids(self) -> Iterable[str]:
        """The ids of all calls, as they were recorded."""
        return self._calls.ids

    def user_after(self, turn_id: str, version: int) -> bool:
        """True when a user message of another turn was recorded after `version`."""
        last = self.last_user if self.last_user[0] != turn_id else self.other_user
        return last[1] > version

    def _named(self, turn: Turn, step_id: str, record: RecordedEvent) -> Step:
        return turn.named.get(step_id) or self._begin(turn, step_id, record)

    def _begin(self, turn: Turn, step_id: str | None, record: RecordedEvent) -> Step:
        step = Step(turn, step_id, record)
        step.context = self.contexts[-1] if self.contexts else None
        self.last_place = record.version
        self._last_step = step
        self.opened = True
        turn.steps.append(step)
        if step_id is not None:
            turn.named[step_id] = step
        self.items.append(step)
        return step

    def _legacy(self, turn: Turn, record: RecordedEvent) -> Step:
        """The open legacy group, or a new one (rule 10)."""
        if self._group is None:
            self._group = self._begin(turn, None, record)
            if self._unnamed is not None and self._unnamed[0] is turn:
                self._take_source(self._group, self._unnamed[1])
            self._group_open = 0
            self._group_text = False
        return self._group

    def _user(self, record: RecordedEvent, event: UserMessage, turn: Turn, _step: Step | None) -> None:
        self.opened = True
        self._group = None
        if self.last_user[0] != event.turn_id:
            self.other_user = self.last_user
        self.last_user = (event.turn_id, record.version)
        self.items.append(Entry("user", record, content_parts(event.content)))
        if event.step_id is not None:
            self._named(turn, event.step_id, record)

    def _system(self, record: RecordedEvent, event: SystemMessage, *_: object) -> None:
        entry = Entry("system", record, content_parts(event.content))
        if self.opened:
            self.items.append(entry)
        else:
            self.system.append(entry)

    def _thinking(self, record: RecordedEvent, event: ThinkingComplete, turn: Turn, step: Step | None) -> None:
        if step is None:
            if self._group_text and not self._group_open:
                self._group = None
            step = self._legacy(turn, record)
        step.blocks.append(Thinking(record, event, step))

    def _text(self, record: RecordedEvent, event: TextComplete, turn: Turn, step: Step | None) -> None:
        if step is None:
            step = self._legacy(turn, record)
            self._group_text = True
        step.blocks.append(Words(record, event, step))

    def _call(self, record: RecordedEvent, event: ToolStart, turn: Turn, step: Step | None) -> None:
        if step is not None:
            call = Call(record, event, step)
        else:
            step = self._legacy(turn, record)
            call = Call(record, event, step)
            self._group_open += 1
            turn.unstepped = _added(turn.unstepped, call)
        step.blocks.append(call)
        self._calls.add(call)

    def _result(self, record: RecordedEvent, event: ToolResult, turn: Turn, _step: Step | None) -> None:
        call = self._calls.find(event.tool_call_id, turn)
        if call is None:
            self.orphans.append(record)
            if event.step_id is not None or (self._group is not None and self._group.turn is not turn):
                self._group = None
            return
        final = event.final is not False
        if call.hosted:
            self._hosted_result(record, event, turn, call, final)
        elif self.last_place > call.version:  # a later step started: its request went out without this result
            if final:
                late = LateResult(record, call)
                self.items.append(late)
                call.late = _added(call.late, late)
            else:
                call.unused = _added(call.unused, record)
        elif final:
            if call.finals is None:
                call.finals = [record]
            else:
                call.finals.append(record)
        else:
            call.progress = _added(call.progress, record)
        first = final and not call.answered
        if first:
            self._calls.answer(call)
        group = self._group
        if group is not None and call.step.step_id is None:
            if first and call.step is group:
                self._group_open -= 1
            # A group ends when its calls are answered and at an event of another turn; the result of a
            # named step's call ends none.
            if group.turn is not turn or (first and call.step is group and not self._group_open):
                self._group = None

    def _hosted_result(
        self, record: RecordedEvent, event: ToolResult, turn: Turn, call: Call, final: bool
    ) -> None:
        """A provider-executed result is a block of the step that recorded it (rule 5)."""
        known = call.hosted_result
        if known is not None and final and self.last_place <= known.version:
            # The last of several before the next step is used; it takes the place of the one before.
            call.unused = _added(call.unused, known.record)
            known.record, known.event, known.version = record, event, record.version
        elif known is not None or not final:
            call.unused = _added(call.unused, record)
        else:
            if event.step_id is not None:
                step = self._named(turn, event.step_id, record)
            elif self.last_place > call.version and self._last_step is not None:
                step = self._last_step  # nothing says which step recorded it: the one that had begun last
            else:
                step = call.step
            call.hosted_result = HostedResult(record, event, step, call)
            step.blocks.append(call.hosted_result)

    def _approval(self, record: RecordedEvent, event: ToolApproval, turn: Turn, _step: Step | None) -> None:
        if event.decision not in ("denied", "approved"):
            return
        call = self._calls.find(event.tool_call_id, turn)
        # A decision after the next step's start is too late: that request went out without it.
        if call is not None and not call.hosted and self.last_place <= call.version:
            call.denied = record if event.decision == "denied" else None

    def _step_start(self, record: RecordedEvent, event: StepStart, turn: Turn, step: Step | None) -> None:
        if step is None:  # a legacy source: it speaks of the group that begins next
            self._unnamed = (turn, event)
            return
        self._take_source(step, event)
        if event.retry_of is not None:
            replaced = turn.named.get(event.retry_of)
            if replaced is None or replaced.version >= step.version:
                self.retry_ignored.append(record)
            else:
                self._replace(replaced, record)

    def _take_source(self, step: Step, event: StepStart) -> None:
        if event.provider is not None:
            step.provider = event.provider
        if event.api is not None:
            step.api = event.api
        if event.model is not None:
            step.model = event.model
        account = event.fields.get("account")
        if isinstance(account, str):
            step.account = account

    def _replace(self, step: Step, record: RecordedEvent) -> None:
        step.replaced_by = _added(step.replaced_by, record)
        step.turn.retried = self.any_retry = True

    def _step_finish(self, record: RecordedEvent, _event: StepFinish, turn: Turn, step: Step | None) -> None:
        if step is not None:
            step.finish = record
        elif self._group is not None and self._group.turn is turn:
            self._group.finish = record

    def _error(self, record: RecordedEvent, event: Error, turn: Turn, step: Step | None) -> None:
        if not event.retryable:
            self._terminal(record, event, turn, step)
        elif step is not None and step.record is not record:  # it closes what had begun before it
            self._replace(step, record)

    def _terminal(self, record: RecordedEvent, event: BaseEvent, turn: Turn, _step: Step | None) -> None:
        if event.source is not None and event.source.get("inferred") is True:
            turn.inferred = record
        elif turn.terminal is None:
            turn.terminal = record
        else:
            self.diagnostics.append(diagnostic("extra_terminal", record))

    def _compaction(self, record: RecordedEvent, *_: object) -> None:
        self.compactions.append(record)

    def _retraction(self, record: RecordedEvent, *_: object) -> None:
        self.retractions.append(record)

    def _context(self, record: RecordedEvent, *_: object) -> None:
        self.contexts.append(record)

    def _note(
        self, record: RecordedEvent, event: Note, _turn: Turn | None = None, step: Step | None = None
    ) -> None:
        self.notes.append(record)
        if step is not None and event.fields.get("kind") == "fallback":
            step.seam = record

    def _unknown(self, record: RecordedEvent, *_: object) -> None:
        self.diagnostics.append(diagnostic("unknown_event_skipped", record, type=record.type))


def _added(items: list[_T] | None, item: _T) -> list[_T]:
    """The list with the item at its end; there is none yet for most calls and steps."""
    if items is None:
        return [item]
    items.append(item)
    return items


_APART: dict[type[BaseEvent], Callable[..., None]] = {
    SystemMessage: Reading._system,
    Context: Reading._context,
    Compaction: Reading._compaction,
    Retraction: Reading._retraction,
    Note: Reading._note,
    UnknownEvent: Reading._unknown,
}
"""What is done with the types that need no turn."""

_IN_TURN: dict[type[BaseEvent], Callable[..., None]] = {
    **_APART,
    UserMessage: Reading._user,
    StepStart: Reading._step_start,
    ThinkingComplete: Reading._thinking,
    TextComplete: Reading._text,
    ToolStart: Reading._call,
    ToolResult: Reading._result,
    ToolApproval: Reading._approval,
    StepFinish: Reading._step_finish,
    Complete: Reading._terminal,
    Abort: Reading._terminal,
    Error: Reading._error,
}
"""What each type does beside giving its step a place; the types that are not here do nothing."""
