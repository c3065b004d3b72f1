"""What is decided once all is read: which steps stay, what answers each call, and in which order blocks stand.

The rules are those of DESIGN.md 7.2; each is named where it is applied. Everything is decided by the whole
conversation, then the compaction in force cuts at a step boundary.
"""

from ledger.events import Compaction, Json, StepFinish, ToolResult
from ledger.recorded import RecordedEvent
from replay.diagnostics import Diagnostic, diagnostic
from replay.items import (
    DENIED,
    NO_RESULT,
    Answer,
    Block,
    Call,
    Entry,
    HostedResult,
    Item,
    LateResult,
    Step,
    Thinking,
    Turn,
    Words,
)
from replay.options import Options
from replay.order import ordered
from replay.parts import is_empty_text, late_parts, text_part
from replay.reading import Reading
from replay.replay_state import Unusable, align, open_envelope
from replay.retractions import Retracted


class Settling:
    """The decisions over one reading; `items`, `pending` and `diagnostics` are what a plan is made of."""

    def __init__(self, reading: Reading, options: Options) -> None:
        self.reading = reading
        self.options = options
        self.items: list[Item] = []
        self.system: list[Entry] = []
        self.pending: list[Call] = []
        self.diagnostics: list[Diagnostic] = []
        self.compaction: RecordedEvent | None = None
        self.opaque: list[RecordedEvent] = []
        self.cut = 0  # nothing up to this version is replayed, but for steps that reach past it
        self._retracted = Retracted(reading.retractions, reading.turns, reading.lane)
        self._any_retracted = bool(self._retracted)
        self._superseded: set[Step] = set()
        self._names: set[str] = set()
        self._next: dict[str, int] = {}

    def settle(self) -> None:
        """Decide everything, in the order in which decisions depend on each other."""
        reading = self.reading
        self._end_turns()
        self._find_compaction()
        if reading.any_retry:
            for turn in reading.turns.values():
                if turn.retried:
                    self._supersede(turn)
        self._report_events()
        for entry in reading.system:
            self._entry(entry, self.system, past=0)
        if self.compaction is not None:
            self.items.append(
                Entry("summary", self.compaction, [text_part(_compaction(self.compaction).summary)])
            )
        for item in reading.items:
            if item.__class__ is Step:
                self._step(item)
            elif item.__class__ is LateResult:
                self._late(item)
            else:
                self._entry(item, self.items, past=self.cut)
        self.diagnostics.sort(key=_by_version)

    def context(self) -> RecordedEvent | None:
        """The `context` event in force: the last one that was not taken back."""
        for record in reversed(self.reading.contexts):
            if not self._gone(record):
                return record
        return None

    # Before the items

    def _gone(self, record: RecordedEvent, step: Step | None = None) -> bool:
        return self._any_retracted and self._retracted.holds(record, step)

    def _end_turns(self) -> None:
        """A terminal that an importer inferred counts only as the last event of its turn (DESIGN.md 3.2)."""
        for turn in self.reading.turns.values():
            inferred = turn.inferred
            if inferred is not None and inferred.version == turn.last_version:
                if turn.terminal is None:
                    turn.terminal = inferred
                else:
                    self.reading.diagnostics.append(diagnostic("extra_terminal", inferred))

    def _find_compaction(self) -> None:
        """Rule 12: the last compaction with a summary is in force; those after it that only a provider can read."""
        for record in reversed(self.reading.compactions):
            if self._gone(record):
                self.reading.diagnostics.append(diagnostic("retracted_skipped", record))
                continue
            event = _compaction(record)
            if not event.summary:
                if event.provider_metadata:
                    self.opaque.append(record)
                else:
                    self.reading.diagnostics.append(diagnostic("empty_text_skipped", record))
                continue
            self.compaction = record
            self.cut = min(event.through_version, record.version - 1)
            if event.through_version >= record.version:
                self.diagnostics.append(
                    diagnostic("compaction_clamped", record, through_version=event.through_version)
                )
            break
        self.opaque.reverse()

    def _supersede(self, turn: Turn) -> None:
        """Rule 11: attempts that were replaced, unless a call of them was answered or nothing came instead."""
        later_block = False
        for step in reversed(turn.steps):
            if step.replaced_by is not None and any(not self._gone(record) for record in step.replaced_by):
                over = turn.terminal is not None or self.reading.user_after(turn.turn_id, step.version)
                if not (over and not later_block) and not any(
                    block.answered for block in step.blocks if isinstance(block, Call)
                ):
                    self._superseded.add(step)
            later_block = later_block or any(
                not _is_nothing(block) and not self._gone(block.record, step) for block in step.blocks
            )

    def _report_events(self) -> None:
        """What concerns single events outside the steps; what the cut removes has no diagnostics."""
        cut = self.cut
        for one in self.reading.diagnostics:
            if one.version is None or one.version > cut:
                self.diagnostics.append(one)
        for record in self.reading.orphans:
            if record.version > cut:
                code = "retracted_skipped" if self._gone(record) else "unmatched_tool_result"
                self.diagnostics.append(diagnostic(code, record, **_call_detail(record)))
        for record in self.reading.retry_ignored:
            if record.version > cut and not self._gone(record):
                retry_of = getattr(record.event, "retry_of", None)
                self.diagnostics.append(diagnostic("retry_ignored", record, retry_of=retry_of))

    # Entries

    def _entry(self, entry: Entry, into: list[Item] | list[Entry], past: int) -> None:
        if entry.version <= past:
            return
        record = entry.record
        if self._gone(record):
            self.diagnostics.append(diagnostic("retracted_skipped", record))
            return
        parts = entry.parts
        if not parts or any(map(is_empty_text, parts)):  # rule 8
            self.diagnostics.append(diagnostic("empty_text_skipped", record))
            entry.parts = [part for part in parts if not is_empty_text(part)]
            if not entry.parts:
                return
        self._after_terminal(record)
        into.append(entry)  # type: ignore[arg-type]

    def _after_terminal(self, record: RecordedEvent, step_id: str | None = None) -> None:
        if record.turn_id is not None and self.reading.turns[record.turn_id].ended_before(record.version):
            self.diagnostics.append(diagnostic("after_terminal", record, step_id))

    def _late(self, late: LateResult) -> None:
        """Rule 5: a late result is user text where it arrived, or moves to its call."""
        record, call = late.record, late.call
        if late.version <= self.cut:
            return
        step_id = call.step.step_id
        if self._gone(record, call.step) or self._gone(call.record, call.step):
            self.diagnostics.append(diagnostic("retracted_skipped", record, step_id))
            return
        self._report(record, call, "late_tool_result")
        if call.answer is not None and self.options.late_results == "hoist":
            if call.answer.record is not record:
                self._report(record, call, "duplicate_tool_result")
            return
        event = _result(record)
        late.parts = late_parts(call.event.tool_name, call.id, event.content, bool(event.is_error))
        self._check_used(record, call)
        self.items.append(late)

    def _report(self, record: RecordedEvent, call: Call, code: str) -> None:
        """A diagnostic about one of a call's results."""
        self.diagnostics.append(
            diagnostic(code, record, call.step.step_id, tool_call_id=call.event.tool_call_id)
        )

    def _check_used(self, record: RecordedEvent, call: Call) -> None:
        """What is said about a result that is sent."""
        name = _result(record).tool_name
        if name is not None and name != call.event.tool_name:
            self.diagnostics.append(
                diagnostic(
                    "tool_id_mismatch",
                    record,
                    call.step.step_id,
                    tool_call_id=call.event.tool_call_id,
                    call=call.event.tool_name,
                    result=name,
                )
            )
        self._after_terminal(record, call.step.step_id)

    # Steps

    def _step(self, step: Step) -> None:
        if step in self._superseded:
            self._report_superseded(step)
            return
        mark, waiting = len(self.diagnostics), len(self.pending)
        kept = self._keep(step)
        if step.version <= self.cut and self._reach(kept) <= self.cut:
            del self.diagnostics[mark:], self.pending[waiting:]
            for block in kept:
                if isinstance(block, Call):
                    block.answer = None
            return
        if not kept:  # rule 8: a step left with nothing
            return
        recorded = step.blocks
        step.blocks, step.indexed = ordered(kept)
        if len(kept) != len(recorded):
            here = set(kept)
            step.left_out = [block for block in recorded if block not in here]
        if not step.indexed:
            self._check_order(step)
        step.before_compaction = self.compaction is not None and step.version < self.compaction.version
        for block in step.blocks:
            if block.__class__ is Call:
                self._name(block)
        if step.finish is not None and not self._gone(step.finish, step):
            self._attach_state(step, step.finish, recorded)
        self.items.append(step)

    def _keep(self, step: Step) -> list[Block]:
        """The blocks that are sent, in ledger order; what is left out is reported."""
        kept: list[Block] = []
        turn = step.turn
        ended = turn.terminal.version if turn.terminal is not None else None
        for block in step.blocks:
            kind = block.__class__
            if self._any_retracted and self._taken_back(block):
                continue
            if kind is Call:
                if not self._answer(block):
                    continue
            elif kind is Thinking:
                if _is_nothing(block):
                    self.diagnostics.append(diagnostic("empty_thinking_skipped", block.record))
                    continue
                if turn.unstepped and block.signed and self._has_unstepped(turn):  # rule 10
                    self.diagnostics.append(diagnostic("signed_thinking_in_tool_turn_skipped", block.record))
                    continue
            elif kind is HostedResult:
                self._check_used(block.record, block.call)
                kept.append(block)
                continue
            elif _is_nothing(block):
                self.diagnostics.append(diagnostic("empty_text_skipped", block.record))
                continue
            if ended is not None and block.version > ended:
                self.diagnostics.append(diagnostic("after_terminal", block.record))
            kept.append(block)
        return kept

    def _taken_back(self, block: Block) -> bool:
        """True for a retracted block, after reporting it and the results that go with it."""
        step = block.step
        if isinstance(block, HostedResult) and self._gone(block.call.record, block.call.step):
            pass
        elif not self._gone(block.record, step):
            return False
        self.diagnostics.append(diagnostic("retracted_skipped", block.record, step.step_id))
        if isinstance(block, Call):
            for records in (block.finals, block.progress, block.unused):
                for record in records or ():
                    self._report(record, block, "retracted_skipped")
        return True

    def _has_unstepped(self, turn: Turn) -> bool:
        return not self._any_retracted or any(not self._gone(call.record, call.step) for call in turn.unstepped)

    def _reach(self, kept: list[Block]) -> int:
        """Rule 12: the last version of a step's blocks and of the results that are sent with it."""
        reach = 0
        for block in kept:
            reach = max(reach, block.version)
            if isinstance(block, Call):
                if block.answer is not None:
                    reach = max(reach, block.answer.record.version)
                if block.hosted_result is not None:
                    reach = max(reach, block.hosted_result.version)
        return reach

    def _check_order(self, step: Step) -> None:
        signed = [block for block in step.blocks if isinstance(block, Thinking) and block.signed]
        if len(signed) > 1:
            step.order_assumed = True
            self.diagnostics.append(
                diagnostic(
                    "block_order_assumed", signed[1].record, versions=[block.version for block in signed]
                )
            )

    def _name(self, call: Call) -> None:
        """Rule 9: ids of one request are unique; a later use takes the next free number."""
        name = call.event.tool_call_id
        if name in self._names:
            number = self._next.get(name, 2)
            while f"{name}~{number}" in self._names:
                number += 1
            self._next[name] = number + 1
            call.id = f"{name}~{number}"
            self.diagnostics.append(
                diagnostic("duplicate_call_id_renamed", call.record, tool_call_id=name, renamed=call.id)
            )
        self._names.add(call.id)

    def _attach_state(self, step: Step, finish: RecordedEvent, recorded: list[Block]) -> None:
        """DESIGN.md 7.3: the step's replay envelope, held against what was recorded of the step."""
        event = finish.event
        state = event.replay_state if isinstance(event, StepFinish) else None
        if state is None:
            return
        try:
            envelope = open_envelope(state)
            content, _ = ordered([block for block in recorded if not _is_nothing(block)])
            if len(content) != len(envelope.entries) == len(recorded):
                content, _ = ordered(recorded)  # the response itself held empty blocks
            step.state, entries = align(envelope, content, step.provider, step.model)
        except Unusable as unusable:
            step.state_invalid = True
            self.diagnostics.append(diagnostic("invalid_replay_state", finish, reason=unusable.reason))
        else:
            for block, entry in zip(content, entries, strict=True):
                block.entry = entry

    def _report_superseded(self, step: Step) -> None:
        """One entry an attempt, with all that goes with it."""
        mark = len(self.diagnostics)
        versions: list[int] = []
        for block in step.blocks:
            if self._any_retracted and self._taken_back(block):
                continue
            versions.append(block.version)
            if isinstance(block, Call):
                for records in (block.progress, block.unused):
                    versions += (record.version for record in records or ())
        if step.version <= self.cut and max(versions, default=0) <= self.cut:
            del self.diagnostics[mark:]
        elif versions:
            self.diagnostics.append(
                diagnostic("superseded_step_skipped", step.record, step.step_id, versions=sorted(versions))
            )

    # Answers

    def _answer(self, call: Call) -> bool:
        """Rules 4 to 6: what answers a call; False when the call is left out."""
        used = self._final(call)
        standing: RecordedEvent | None = None
        keep = True
        if used is not None:
            event = _result(used)
            call.answer = Answer(call, "result", used, event.content, bool(event.is_error))
            self._check_used(used, call)
        elif not call.hosted:
            if call.denied is not None and not self._gone(call.denied):
                call.answer = Answer(call, "denied", call.denied, DENIED, True)
                self._report_call(call, "denied_tool_call")
            elif self._goes_on(call):
                standing = self._last_progress(call)
                if standing is not None:
                    event = _result(standing)
                    call.answer = Answer(call, "progress", standing, event.content, bool(event.is_error))
                    self._check_used(standing, call)
                else:
                    self._report_call(call, "unmatched_tool_call")
                    keep = self.options.unanswered_calls != "drop"
                    if keep:
                        call.answer = Answer(call, "stand_in", call.record, NO_RESULT, True)
            else:
                self.pending.append(call)
                self._report_call(call, "pending_tool_call")
        for record in call.progress or ():
            code = "progress_as_result" if record is standing else "progress_skipped"
            self._report(record, call, "retracted_skipped" if self._gone(record) else code)
        for record in call.unused or ():
            code = "progress_skipped" if _result(record).final is False else "duplicate_tool_result"
            self._report(record, call, "retracted_skipped" if self._gone(record) else code)
        return keep

    def _final(self, call: Call) -> RecordedEvent | None:
        """The final result that is used: the last one in time, or with `hoist` the last of all."""
        used: RecordedEvent | None = None
        if call.late is not None and self.options.late_results == "hoist":
            used = next((late.record for late in reversed(call.late) if not self._gone(late.record)), None)
        for record in reversed(call.finals or ()):
            if self._gone(record):
                self._report(record, call, "retracted_skipped")
            elif used is None:
                used = record
            else:
                self._report(record, call, "duplicate_tool_result")
        return used

    def _last_progress(self, call: Call) -> RecordedEvent | None:
        return next((record for record in reversed(call.progress or ()) if not self._gone(record)), None)

    def _goes_on(self, call: Call) -> bool:
        """Rule 6: nothing can answer the call any more."""
        reading, turn = self.reading, call.step.turn
        return (
            turn.terminal is not None
            or reading.last_place > call.version
            or reading.user_after(turn.turn_id, call.version)
            or call.finals is not None  # it was answered, and the answer was taken back
            or self.options.pending_calls == "close"
        )

    def _report_call(self, call: Call, code: str) -> None:
        event = call.event
        self.diagnostics.append(
            diagnostic(code, call.record, tool_call_id=event.tool_call_id, tool_name=event.tool_name)
        )


def _is_nothing(block: Block) -> bool:
    """True for empty text and for thinking without text, signature, data or metadata (rule 8)."""
    if isinstance(block, Thinking):
        event = block.event
        return not (event.text or block.signed or event.provider_metadata)
    return isinstance(block, Words) and not block.event.text


def _compaction(record: RecordedEvent) -> Compaction:
    event = record.event
    assert isinstance(event, Compaction)
    return event


def _result(record: RecordedEvent) -> ToolResult:
    event = record.event
    assert isinstance(event, ToolResult)
    return event


def _call_detail(record: RecordedEvent) -> dict[str, Json]:
    return {"tool_call_id": _result(record).tool_call_id}


def _by_version(one: Diagnostic) -> int:
    return one.version or 0
