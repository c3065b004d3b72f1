"""What is decided once all is read: which steps stay, and in which order their blocks stand.

The rules are those of DESIGN.md 7.2; each is named where it is applied. Everything is decided by the whole
conversation, then the compaction in force cuts at a step boundary.
"""

from ledger.events import Compaction, Json, StepFinish
from ledger.recorded import RecordedEvent
from replay.answers import Answers, result_of
from replay.attempts import report_superseded, superseded
from replay.diagnostics import diagnostic
from replay.edited import forget_state, is_edited
from replay.findings import Findings
from replay.items import (
    Block,
    Call,
    Entry,
    HostedResult,
    Item,
    LateResult,
    Step,
    Thinking,
    Turn,
    is_nothing,
)
from replay.options import Options
from replay.order import ordered
from replay.parts import is_empty_text, text_part
from replay.reading import Reading
from replay.replay_state import Unusable, align, open_envelope
from replay.retractions import Retracted


class Settling:
    """The decisions over one reading; its attributes are what a plan is made of."""

    def __init__(self, reading: Reading, options: Options) -> None:
        self.items: list[Item] = []
        self.system: list[Entry] = []
        self.compaction: RecordedEvent | None = None
        self.opaque: list[RecordedEvent] = []
        self.cut = 0  # nothing up to this version is replayed, but for steps that reach past it
        self.findings = Findings(Retracted(reading.retractions, reading.turns, reading.lane), reading.turns)
        self.answers = Answers(reading, options, self.findings)
        self._reading = reading
        self._superseded: set[Step] = set()
        self._unstepped: dict[Turn, bool] = {}
        self._names: set[str] = set()
        self._next: dict[str, int] = {}

    def settle(self) -> None:
        """Decide everything, in the order in which decisions depend on each other."""
        reading = self._reading
        self._end_turns()
        self._find_compaction()
        if reading.any_retry:
            self._superseded = superseded(reading, self.findings)
        self._report_events()
        self.system = [entry for entry in reading.system if self._stays(entry, 0)]
        items = self.items
        if self.compaction is not None:
            summary = text_part(_compaction(self.compaction).summary)
            entry = Entry("summary", self.compaction, [summary])
            entry.step = self._step_of(self.compaction)
            items.append(entry)
        for item in reading.items:
            if isinstance(item, Step):
                if self._step(item):
                    items.append(item)
            elif isinstance(item, LateResult):
                if self.answers.late(item, self.cut):
                    items.append(item)
            elif self._stays(item, self.cut):
                items.append(item)
        self.findings.diagnostics.sort(key=lambda one: one.version or 0)

    def context(self) -> RecordedEvent | None:
        """The `context` event in force: the last one that was not taken back."""
        contexts = reversed(self._reading.contexts)
        return next((record for record in contexts if not self.findings.gone(record)), None)

    # Before the items

    def _end_turns(self) -> None:
        """A terminal that an importer inferred counts only as the last event of its turn (DESIGN.md 3.2)."""
        for turn in self._reading.turns.values():
            inferred = turn.inferred
            if inferred is not None and inferred.version == turn.last_version:
                if turn.terminal is None:
                    turn.terminal = inferred
                else:
                    self._reading.diagnostics.append(diagnostic("extra_terminal", inferred))

    def _find_compaction(self) -> None:
        """Rule 12: the last compaction with a summary is in force; later ones are for their provider."""
        said = self._reading.diagnostics
        for record in reversed(self._reading.compactions):
            event = _compaction(record)
            if self.findings.gone(record):
                said.append(diagnostic("retracted_skipped", record))
            elif event.summary:
                self.compaction = record
                self.cut = min(event.through_version, record.version - 1)
                if event.through_version >= record.version:
                    through = event.through_version
                    said.append(diagnostic("compaction_clamped", record, through_version=through))
                break
            elif event.provider_metadata:
                self.opaque.append(record)
                step = self._step_of(record)
                if step is not None and step.compaction is None:
                    step.compaction = record
            else:
                said.append(diagnostic("empty_text_skipped", record))
        self.opaque.reverse()

    def _report_events(self) -> None:
        """What concerns single events outside the steps; what the cut removes has no diagnostics."""
        cut, say, gone = self.cut, self.findings.say, self.findings.gone
        for one in self._reading.diagnostics:
            if one.version is None or one.version > cut:
                self.findings.diagnostics.append(one)
        for record in self._reading.orphans:
            if record.version > cut:
                code = "retracted_skipped" if gone(record) else "unmatched_tool_result"
                say(code, record, tool_call_id=result_of(record).tool_call_id)
        for record in self._reading.retry_ignored:
            if record.version > cut and not gone(record, self._step_of(record)):
                say("retry_ignored", record, retry_of=getattr(record.event, "retry_of", None))

    def _step_of(self, record: RecordedEvent) -> Step | None:
        turn = self._reading.turns.get(record.turn_id or "")
        return turn.named.get(record.step_id or "") if turn is not None else None

    def _stays(self, entry: Entry, cut: int) -> bool:
        """True for a user or system message that is sent, without its empty text (rule 8)."""
        record = entry.record
        if entry.version <= cut:
            return False
        if self.findings.gone(record):
            self.findings.say("retracted_skipped", record)
            return False
        if not entry.parts or any(map(is_empty_text, entry.parts)):
            self.findings.say("empty_text_skipped", record)
            entry.parts = [part for part in entry.parts if not is_empty_text(part)]
            if not entry.parts:
                return False
        self.findings.after_terminal(record)
        return True

    # Steps

    def _step(self, step: Step) -> bool:
        """Settle one step; False when it is left out."""
        if step in self._superseded:
            report_superseded(step, self.cut, self.findings, self.answers)
            return False
        mark, waiting = len(self.findings.diagnostics), len(self.answers.pending)
        kept = self._keep(step)
        if step.version <= self.cut and _reach(kept) <= self.cut:
            # What a compaction cuts away has no diagnostics; an empty text behind it was not cut away.
            said = self.findings.diagnostics
            said[mark:] = [one for one in said[mark:] if (one.version or 0) > self.cut]
            del self.answers.pending[waiting:]
            for block in kept:
                if isinstance(block, Call):
                    block.answer = None
            return False
        if not kept:  # rule 8: a step left with nothing
            return False
        recorded = step.blocks
        step.blocks, step.indexed = ordered(kept)
        if len(kept) != len(recorded):
            here = set(kept)
            step.left_out = [block for block in recorded if block not in here]
        if not step.indexed:
            self._check_order(step)
        step.before_compaction = self.compaction is not None and step.version < self.compaction.version
        for block in step.blocks:
            if isinstance(block, Call):
                self._name(block)
        if step.finish is not None and not self.findings.gone(step.finish, step):
            self._attach_state(step, step.finish, recorded)
        for block in step.blocks:
            if block.event.provider_metadata is not None and is_edited(block):
                self.findings.say("edited_content", block.record)
                forget_state(block)
        return True

    def _keep(self, step: Step) -> list[Block]:
        """The blocks that are sent, in ledger order; what is left out is reported."""
        kept: list[Block] = []
        findings, turn = self.findings, step.turn
        ended = turn.terminal.version if turn.terminal is not None else None
        for block in step.blocks:
            if findings.any_gone and self.answers.taken_back(block):
                continue
            if isinstance(block, Call):
                if not self.answers.answer(block):
                    continue
            elif isinstance(block, HostedResult):
                self.answers.check_used(block.record, block.event, block.call)
                kept.append(block)
                continue
            elif isinstance(block, Thinking):
                if is_nothing(block):
                    findings.say("empty_thinking_skipped", block.record)
                    continue
                if turn.unstepped is not None and block.signed and self._has_unstepped(turn):  # rule 10
                    findings.say("signed_thinking_in_tool_turn_skipped", block.record)
                    continue
            elif is_nothing(block):
                findings.say("empty_text_skipped", block.record)
                continue
            if ended is not None and block.version > ended:
                findings.say("after_terminal", block.record)
            kept.append(block)
        return kept

    def _has_unstepped(self, turn: Turn) -> bool:
        """True when a call of the turn that was not taken back has no step id; found out once a turn."""
        known = self._unstepped.get(turn)
        if known is None:
            gone = self.findings.gone
            known = any(not gone(call.record, call.step) for call in turn.unstepped or ())
            self._unstepped[turn] = known
        return known

    def _check_order(self, step: Step) -> None:
        """Rule 2: the order of several signed thinkings without a full set of indexes is a guess."""
        signed = [block for block in step.blocks if isinstance(block, Thinking) and block.signed]
        if len(signed) > 1:
            step.order_assumed = True
            versions: list[Json] = [block.version for block in signed]
            self.findings.say("block_order_assumed", signed[1].record, versions=versions)

    def _name(self, call: Call) -> None:
        """Rule 9: ids of one request are unique; a later use takes the next free number."""
        name = call.event.tool_call_id
        if name in self._names:
            number = self._next.get(name, 2)
            while f"{name}~{number}" in self._names:
                number += 1
            self._next[name] = number + 1
            call.id = f"{name}~{number}"
            self.findings.say("duplicate_call_id_renamed", call.record, tool_call_id=name, renamed=call.id)
        self._names.add(call.id)

    def _attach_state(self, step: Step, finish: RecordedEvent, recorded: list[Block]) -> None:
        """DESIGN.md 7.3: the step's replay envelope, held against what was recorded of the step."""
        event = finish.event
        state = event.replay_state if isinstance(event, StepFinish) else None
        if state is None:
            return
        try:
            envelope = open_envelope(state)
            content, _ = ordered([block for block in recorded if not is_nothing(block)])
            if len(content) != len(envelope.entries) == len(recorded):
                content, _ = ordered(recorded)  # the response itself held empty blocks
            step.state, entries = align(envelope, content, step.provider, step.model)
        except Unusable as unusable:
            step.state_invalid = True
            self.findings.say("invalid_replay_state", finish, reason=unusable.reason)
        else:
            for block, entry in zip(content, entries, strict=True):
                block.entry = entry


def _reach(kept: list[Block]) -> int:
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


def _compaction(record: RecordedEvent) -> Compaction:
    event = record.event
    assert isinstance(event, Compaction)
    return event
