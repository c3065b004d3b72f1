"""A replay that goes on: after some more events the next request costs what they add, not the whole history.

Kept are the plan, the messages and the render up to where a step began (the base). What comes after it is
planned and written each time, on a copy that shares the base (`replay.growing`); the lists of an answer are
made when they are asked for. That gives the whole replay's answer as long as what comes reaches back to
nothing in the base; where it does (a compaction, a retraction, a result for an old call …), all is replayed
once and a new base is made.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ledger.events import (
    Compaction,
    Context,
    Error,
    Json,
    Note,
    Retraction,
    StepFinish,
    StepStart,
    TextComplete,
    ThinkingComplete,
    ToolApproval,
    ToolResult,
    ToolStart,
)
from ledger.recorded import RecordedEvent
from replay.diagnostics import Diagnostic
from replay.fingerprint import Printed
from replay.growing import Growing
from replay.items import Call, Item, Step, Turn
from replay.ladder import lowered
from replay.materialize import Message, neutral
from replay.options import Options, Target
from replay.plan import Plan, is_sendable, settled
from replay.reading import Reading
from replay.render import Writing, beginning, renderer
from replay.result import Result, answered, in_order, replay, starting
from replay.rung_notes import is_rung_note

_OF_STEPS = (StepStart, StepFinish, TextComplete, ThinkingComplete, ToolStart)


class Continued:
    """One conversation's requests to one target, as it grows.

        going = Continued("c1", {"provider": "anthropic", "model": "claude-x"})
        going.feed(ledger.read("c1"))
        request = going.result()
        going.feed(new events)
        request = going.result()

    `feed` takes the events in version order, each once; `result` equals `replay` of all of them. Not for use by
    several threads at once. `messages_written` counts the neutral messages that were written so far: what was
    not in the base.
    """

    def __init__(
        self,
        conversation_id: str,
        target: Target | Mapping[str, Json] | str = "neutral",
        options: Options | None = None,
    ) -> None:
        """Raises `UnknownTarget` and `BadInput` for a target that cannot be rendered for."""
        self.messages_written = 0
        self._conversation_id = conversation_id
        self._asked = target
        self._options = options or Options()
        self._records: list[RecordedEvent] = []
        self._base: _Base | None = None
        self._fits = True  # what was fed since the base reaches back to nothing in it
        self._printed = Printed()
        renderer(Target.of(target))

    def feed(self, records: Iterable[RecordedEvent]) -> None:
        """Take in what was recorded next."""
        base = self._base
        for record in records:
            self._records.append(record)
            if base is not None and self._fits:
                self._fits = not base.is_reached_by(record)

    def result(self) -> Result:
        """The request as it stands."""
        base = self._base
        if base is not None and self._fits:
            following = base.following(self._records[base.count :])
            if following is not None:
                reading, tail = following
                result = self._joined(base, tail)
                self._advance(base, reading.last_place)
                return result
        return self._whole()

    def _whole(self) -> Result:
        result = replay(self._records, self._conversation_id, self._asked, self._options)
        self.messages_written += len(result.neutral)
        result.events = list(self._records)
        self._printed = Printed()
        self._base, self._fits = None, True
        steps = [item for item in result.plan.items if isinstance(item, Step)]
        # Without a model named, what is the target's own hangs on the last step's.
        begin = beginning(result.target)
        kept = result.target.model is not None or begin is None or result.target.provider == "neutral"
        if kept and steps:
            base = _Base.of(self._records[: self._index(steps[-1].version)], self._asked, self._options)
            if base is not None and not any(map(base.is_reached_by, self._records[base.count :])):
                self._base = base
        return result

    def _joined(self, base: "_Base", tail: Plan) -> Result:
        """The whole answer from the base and the plan of what follows it; what is long is made on demand."""
        messages, lost = lowered(neutral(tail), base.target.rung)
        self.messages_written += len(messages)
        settled = base.settled.fork()
        settled.add(tail, messages, lost)
        if base.writing is None:
            rendered = renderer(base.target)(base.joined(tail, settled), settled.messages.whole(), base.target)
        else:
            writing = base.writing.fork()
            for message in messages:
                writing.write(message)
            rendered = writing.rendered()
        result = answered(
            self._conversation_id,
            base.target,
            tail.version,
            base.context,
            is_sendable(tail.pending, reversed(settled.items)),
            rendered,
            plan=partial(base.joined, tail, settled),
            neutral=settled.messages.whole,
            diagnostics=partial(settled.diagnosed, base.known, rendered.diagnostics),
            events=Growing((), self._records, len(self._records)).whole,
        )
        if self._options.fingerprints:
            sent = rendered.messages
            printed = self._printed.of(result.beside, sent if isinstance(sent, Growing) else Growing(sent))
            result.fingerprints, result.fingerprint = printed.whole, printed[-1]
        return result

    def _advance(self, base: "_Base", last_step: int) -> None:
        """Take what stands before the last step (it began at that version) into the base, if it is settled."""
        place = self._index(last_step)
        if place <= base.count:
            return
        following = base.following(self._records[base.count : place])
        if following is None or not _is_settled(*following):
            return
        turns, calls = following[0].turns, _names(*following)
        if any(base.is_reached_by(record, turns, calls) for record in self._records[place:]):
            return
        base.take(*following, calls, place)

    def _index(self, version: int) -> int:
        return bisect_left(self._records, version, key=lambda record: record.version)


class _Settled:
    """What plan and neutral messages have of some events; `turns` are parts of turns, as they were read."""

    def __init__(self) -> None:
        self.items: Growing[Item] = Growing()
        self.diagnostics: Growing[Diagnostic] = Growing()
        self.notes: Growing[RecordedEvent] = Growing()
        self.turns: Growing[Turn] = Growing()
        self.messages: Growing[Message] = Growing()
        self.lost: Growing[Diagnostic] = Growing()

    def fork(self) -> "_Settled":
        """A copy that goes on apart."""
        twin = _Settled()
        for name, value in vars(self).items():
            setattr(twin, name, value.fork())
        return twin

    def add(self, plan: Plan, messages: list[Message], lost: list[Diagnostic]) -> None:
        """Put in what comes behind."""
        self.items.extend(plan.items)
        self.diagnostics.extend(plan.diagnostics)
        self.notes.extend(plan.notes)
        self.turns.extend(plan.turns.values())
        self.messages.extend(messages)
        self.lost.extend(lost)

    def diagnosed(self, known: list[Diagnostic], rendered: Sequence[Diagnostic]) -> list[Diagnostic]:
        """All diagnostics; `known` are those of the target's rung."""
        return in_order(self.diagnostics, [*self.lost, *known], rendered)


class _Base:
    """What is settled of the first `count` events, and the render of it in progress.

    Both grow; what is answered forks them.
    """

    def __init__(
        self, reading: Reading, plan: Plan, count: int, target: Target, known: list[Diagnostic]
    ) -> None:
        begin = beginning(target)
        self.count = count
        self.target = target
        self.context = plan.context
        self.known = known
        self.settled = _Settled()
        self.writing: Writing | None = None if begin is None else begin(plan, target)
        self._reading = reading
        self._turns: dict[str, Turn] = {}
        self._calls: set[str] = set()
        self._plan = plan
        self.take(reading, plan, _names(reading, plan), count)

    @classmethod
    def of(
        cls, records: list[RecordedEvent], asked: Target | Mapping[str, Json] | str, options: Options
    ) -> "_Base | None":
        """The base of the first events of a conversation; None where they are not settled."""
        reading = Reading(options.agent_id)
        reading.read(records)
        plan = settled(reading, options)
        if not _is_settled(reading, plan):
            return None
        target, known = starting(plan, asked)
        return cls(reading, plan, len(records), target, known)

    def is_reached_by(
        self, record: RecordedEvent, turns: Mapping[str, Turn] | None = None, calls: Iterable[str] = ()
    ) -> bool:
        """Whether a later event may change what is settled, or needs to know more of it than is kept.

        `turns` and `calls` are further ones that count as settled.
        """
        try:
            event = record.event
        except ValueError:
            return False
        if isinstance(event, Retraction):
            return True
        if event.agent_id != self._plan.options.agent_id or event.visibility == "hidden":
            return False
        if isinstance(event, Context | Compaction) or (isinstance(event, Note) and is_rung_note(record)):
            return True
        for known in (self._turns, turns or {}):
            turn = known.get(event.turn_id or "")
            if turn is not None and (
                turn.terminal is not None or turn.unstepped is not None or event.step_id in turn.named
            ):
                return True
        if isinstance(event, _OF_STEPS) and event.step_id is None:
            return True
        if isinstance(event, StepStart):
            return event.retry_of is not None
        if isinstance(event, Error):
            return bool(event.retryable)
        if isinstance(event, ToolStart | ToolResult | ToolApproval):
            return event.tool_call_id in self._calls or event.tool_call_id in calls
        return False

    def following(self, records: list[RecordedEvent]) -> tuple[Reading, Plan] | None:
        """What follows the base, read and planned; None where a renamed call needs a name of the base."""
        reading = Reading(self._plan.options.agent_id)
        reading.contexts, reading.retractions = [*self._reading.contexts], [*self._reading.retractions]
        reading.opened, reading.last_place = self._reading.opened, self._reading.last_place
        reading.last_user, reading.other_user = self._reading.last_user, self._reading.other_user
        for record in records:
            known = self._turns.get(record.turn_id or "")
            if known is not None and known.turn_id not in reading.turns:
                reading.turns[known.turn_id] = Turn(known.turn_id, known.version)
        reading.read(records)
        plan = settled(reading, self._plan.options)
        renamed = any(call.id != call.event.tool_call_id and call.id in self._calls for call in _calls(plan))
        return None if renamed else (reading, plan)

    def joined(self, tail: Plan, settled: _Settled) -> Plan:
        """The plan of the base and of what follows: `settled` is both."""
        turns: dict[str, Turn] = {}
        _join(turns, settled.turns)
        return replace(
            self._plan,
            version=tail.version,
            items=settled.items.whole(),
            diagnostics=settled.diagnostics.whole(),
            pending=tail.pending,
            turns=turns,
            notes=settled.notes.whole(),
        )

    def take(self, reading: Reading, plan: Plan, calls: set[str], count: int) -> None:
        """What follows belongs to the base from now on, up to the event of that index."""
        messages, lost = lowered(neutral(plan), self.target.rung)
        if self.writing is not None:
            for message in messages:
                self.writing.write(message)
        self.settled.add(plan, messages, lost)
        self.count = count
        self._reading = reading
        self._calls |= calls
        _join(self._turns, plan.turns.values())


def _is_settled(reading: Reading, plan: Plan) -> bool:
    """Whether nothing that was read waits for what comes: no open call, retry or group without step ids."""
    if plan.pending or reading.in_group or not reading.opened:
        return False
    if not reading.any_retry:
        return True
    sent = {item for item in plan.items if isinstance(item, Step)}
    return not any(_may_come_back(turn, sent) for turn in reading.turns.values() if turn.retried)


def _may_come_back(turn: Turn, sent: set[Step]) -> bool:
    """Whether a replaced attempt may stand again: its turn goes on, and no later step of it is sent."""
    if turn.terminal is not None:
        return False
    for step in reversed(turn.steps):
        if step.replaced_by is not None:
            return True
        if step in sent:
            return False
    return False


def _names(reading: Reading, plan: Plan) -> set[str]:
    """All ids of calls, as recorded and as sent."""
    return {*reading.call_ids, *(call.id for call in _calls(plan))}


def _calls(plan: Plan) -> Iterator[Call]:
    for item in plan.items:
        if isinstance(item, Step):
            yield from (block for block in item.blocks if isinstance(block, Call))


def _join(turns: dict[str, Turn], parts: Iterable[Turn]) -> None:
    """Put parts of turns, read one after the other, to the turns that they are of."""
    for part in parts:
        turn = turns.get(part.turn_id)
        if turn is None:
            turn = turns[part.turn_id] = Turn(part.turn_id, part.version)
        turn.last_version = part.last_version
        turn.terminal, turn.inferred = part.terminal or turn.terminal, part.inferred or turn.inferred
        turn.steps += part.steps
        turn.named.update(part.named)
        turn.retried, turn.unstepped = turn.retried or part.retried, turn.unstepped or part.unstepped
