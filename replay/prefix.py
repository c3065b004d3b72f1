"""What broke the prefix (DESIGN.md 7.4): events that changed what earlier requests of a lane had held.

Told in one pass over the events, without rendering: an event that concerns a place from before the last step's
beginning changes a request that was rendered just before that step. An empty answer means that each of those
requests, where it could be sent, is a byte prefix of the present one; a change that is told may be one that
a given target does not show.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

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
    TextComplete,
    ThinkingComplete,
    ToolResult,
    ToolStart,
    UserMessage,
)
from ledger.recorded import RecordedEvent
from replay.diagnostics import Diagnostic, diagnostic
from replay.options import Options


class PrefixChange(NamedTuple):
    """`version` is the event that changed what had been sent, `since` the earliest version whose message it
    changed (0: all of the request, or what stands beside the messages), `reason` why in a few words."""

    version: int
    event_id: str
    since: int
    reason: str


class _Step:
    __slots__ = ("back", "blocks", "calls", "replaced", "turn_id", "version")

    def __init__(self, turn_id: str, version: int) -> None:
        self.turn_id = turn_id
        self.version = version
        self.blocks = False
        self.calls: set[str] = set()
        self.replaced = 0
        self.back = False  # it stands again: its turn is over, and nothing came in its place


def prefix_changes(events: Iterable[RecordedEvent], options: Options = Options()) -> list[PrefixChange]:  # noqa: B008
    """The events that changed requests of a lane, from all events in version order; pure, one pass."""
    return _Pass(options).read(events)


def told(
    changes: Iterable[PrefixChange],
    records: Sequence[RecordedEvent],
    provenance: Sequence[Sequence[Sequence[int]]],
) -> list[Diagnostic]:
    """The changes as diagnostics of one rendered request, whose parts were made from `provenance`.

    `detail.message` is the first message of that request that holds anything of `since` or later, or what no
    event made right before it; no message before was changed. It is the number of messages where none does,
    and 0 where `detail.since` is 0.
    """
    changes = list(changes)
    if not changes:
        return []
    by_version = {record.version: record for record in records}
    newest = [max((version for part in parts for version in part), default=0) for parts in provenance]
    found = []
    for change in changes:
        number = next((at for at, version in enumerate(newest) if version >= change.since), len(newest))
        while number and not newest[number - 1]:  # what no event made came with what follows it
            number -= 1
        record = by_version[change.version]
        found.append(
            diagnostic("prefix_changed", record, message=number, since=change.since, reason=change.reason)
        )
    return found


class _Pass:
    def __init__(self, options: Options) -> None:
        self._lane = options.agent_id
        self._hoist = options.late_results == "hoist"
        self._found: list[PrefixChange] = []
        self._steps: dict[tuple[str, str], _Step] = {}
        self._steps_of: dict[str, list[_Step]] = {}  # by turn id
        self._latest: dict[str, _Step] = {}  # by step id
        self._replaced: list[_Step] = []
        self._turns: dict[str, int] = {}
        self._signed: dict[str, int] = {}  # turn -> its first signed thinking
        self._ids: dict[str, int] = {}
        self._calls: dict[str, int] = {}  # call id -> the earliest place of its steps, where a result matters
        self._ended: set[str] = set()
        self._users: dict[str, int] = {}  # turn -> its last user message
        self._last = 0  # where the last named step began

    def read(self, events: Iterable[RecordedEvent]) -> list[PrefixChange]:
        for record in events:
            try:
                event: BaseEvent = record.event
            except ValueError:
                continue
            self._ids[record.event_id] = record.version
            if event.turn_id is not None:
                self._turns.setdefault(event.turn_id, record.version)
            if event.visibility == "hidden":
                continue
            if isinstance(event, Retraction):
                self._retraction(record, event)
            if event.agent_id == self._lane:
                self._event(record, event)
        return self._found

    def _changed(self, record: RecordedEvent, place: int, reason: str) -> None:
        """Something from `place` on is different now; it had been sent if a step began after it."""
        if self._last > place:
            self._found.append(PrefixChange(record.version, record.event_id, place, reason))

    def _event(self, record: RecordedEvent, event: BaseEvent) -> None:
        step = self._step(record, event)
        if isinstance(event, Compaction):
            self._changed(record, 0, "a compaction stands for what was sent")
        elif isinstance(event, Context):
            self._changed(record, 0, "the context changed after it was sent")
        elif isinstance(event, Note):
            if event.fields.get("kind") == "rung":
                self._changed(record, 0, "a refusal lowered the rung")
        elif isinstance(event, ToolResult):
            self._result(record, event)
        elif isinstance(event, ThinkingComplete | TextComplete | ToolStart):
            self._block(record, event, step)
        elif isinstance(event, StepStart | StepFinish) and step is not None:
            self._changed(record, step.version, "it came to a step after a later one had begun")
        if isinstance(event, StepStart) and event.retry_of is not None and event.turn_id is not None:
            named = self._steps.get((event.turn_id, event.retry_of))
            if named is not None and named is not step:
                self._replace(record, named)
        elif (
            isinstance(event, Error) and event.retryable and step is not None and step.version < record.version
        ):
            self._replace(record, step)
        elif isinstance(event, Complete | Abort | Error | UserMessage):
            self._over(record, event)

    def _step(self, record: RecordedEvent, event: BaseEvent) -> _Step | None:
        if event.turn_id is None or event.step_id is None or isinstance(event, ToolResult):
            return None
        key = (event.turn_id, event.step_id)
        step = self._steps.get(key)
        if step is None:
            step = self._steps[key] = self._latest[event.step_id] = _Step(event.turn_id, record.version)
            self._steps_of.setdefault(event.turn_id, []).append(step)
            self._last = record.version
        return step

    def _block(self, record: RecordedEvent, event: BaseEvent, step: _Step | None) -> None:
        turn_id = event.turn_id or ""
        for other in self._replaced:  # an attempt that had come back goes again
            if other.back and other.blocks and other.turn_id == turn_id and other is not step:
                self._changed(record, other.version, "an attempt is replaced again")
                other.back = False
        if step is not None:
            self._changed(record, step.version, "it came to a step after a later one had begun")
            step.blocks = True
        if isinstance(event, ThinkingComplete) and (event.signature or event.redacted_data):
            self._signed.setdefault(turn_id, record.version)
        if isinstance(event, ToolStart):
            place = step.version if step is not None else record.version
            if event.provider_executed or self._hoist:
                self._calls.setdefault(event.tool_call_id, place)
            if step is not None:
                step.calls.add(event.tool_call_id)
            elif turn_id in self._signed:
                self._changed(
                    record, self._signed[turn_id], "a call without a step id bars its turn's thinking"
                )

    def _result(self, record: RecordedEvent, event: ToolResult) -> None:
        place = self._calls.get(event.tool_call_id)
        if event.step_id is not None and event.turn_id is not None and place is not None:
            self._step(record, event)
        if place is not None and event.final is not False:
            self._changed(record, place, "a result went to a call that had been sent")
        for step in self._replaced:
            if event.tool_call_id in step.calls and self._last > step.replaced:
                self._changed(record, step.version, "an answer brought an attempt back")

    def _replace(self, record: RecordedEvent, step: _Step) -> None:
        if step.blocks:
            self._changed(record, step.version, "an attempt that had been sent was replaced")
        step.replaced = record.version
        step.back = step.turn_id in self._ended or any(
            turn_id != step.turn_id and version > step.version for turn_id, version in self._users.items()
        )
        self._replaced.append(step)

    def _over(self, record: RecordedEvent, event: BaseEvent) -> None:
        if isinstance(event, UserMessage):
            self._users[event.turn_id] = record.version
        elif event.turn_id is not None:
            self._ended.add(event.turn_id)
        for step in self._replaced:
            over = (step.turn_id == event.turn_id) != isinstance(event, UserMessage)
            if step.back or not over:
                continue
            if not any(one.blocks and one.version > step.version for one in self._steps_of[step.turn_id]):
                step.back = True
                if step.blocks:
                    self._changed(record, step.version, "an attempt came back: nothing replaced it")

    def _retraction(self, record: RecordedEvent, event: Retraction) -> None:
        places = [self._ids[name] for name in event.event_ids or () if name in self._ids]
        places += [self._turns[name] for name in event.turn_ids or () if name in self._turns]
        if event.agent_id == self._lane:
            for name in event.step_ids or ():
                step = self._steps.get((event.turn_id or "", name)) or self._latest.get(name)
                if step is not None:
                    places.append(step.version)
        if places:
            self._changed(record, min(places), "what had been sent was taken back")
