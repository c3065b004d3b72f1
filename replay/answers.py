"""What answers each call, and what is said about its results (DESIGN.md 7.2 rules 4 to 6)."""

from ledger.events import ToolResult
from ledger.recorded import RecordedEvent
from replay.findings import Findings
from replay.items import DENIED, NO_RESULT, Answer, Block, Call, HostedResult, LateResult
from replay.options import Options
from replay.parts import late_parts
from replay.reading import Reading


class Answers:
    """Decides call by call; `pending` are those that may still be running."""

    def __init__(self, reading: Reading, options: Options, findings: Findings) -> None:
        self.pending: list[Call] = []
        self._reading = reading
        self._findings = findings
        self._drop = options.unanswered_calls == "drop"
        self._hoist = options.late_results == "hoist"
        self._close = options.pending_calls == "close"

    def answer(self, call: Call) -> bool:
        """Give a call its answer, where it has one; False when the call is left out."""
        finals = call.finals
        if finals is not None and len(finals) == 1 and call.late is None and not self._findings.any_gone:
            used: RecordedEvent | None = finals[0]
        else:
            used = self._final(call)
        standing: RecordedEvent | None = None
        keep = True
        if used is not None:
            event = result_of(used)
            call.answer = Answer(call, "result", used, event.content, bool(event.is_error))
            self.check_used(used, event, call)
        elif not call.hosted:
            if call.denied is not None and not self._findings.gone(call.denied):
                call.answer = Answer(call, "denied", call.denied, DENIED, True)
                self._report_call(call, "denied_tool_call")
            elif self._goes_on(call):
                standing = self._last_progress(call)
                keep = self._unanswered(call, standing)
            else:
                self.pending.append(call)
                self._report_call(call, "pending_tool_call")
        if call.progress is not None or call.unused is not None:
            self._report_unused(call, standing)
        return keep

    def check_used(self, record: RecordedEvent, event: ToolResult, call: Call) -> None:
        """What is said about a result that is sent."""
        name = event.tool_name
        if name is not None and name != call.event.tool_name:
            self._findings.say(
                "tool_id_mismatch",
                record,
                call.step.step_id,
                tool_call_id=event.tool_call_id,
                call=call.event.tool_name,
                result=name,
            )
        self._findings.after_terminal(record, call.step.step_id)

    def late(self, late: LateResult, cut: int) -> bool:
        """Rule 5: a late result is user text where it arrived (True), or moves to its call, or is taken back.

        Called after its call's step; `cut` is what the compaction in force stands for.
        """
        record, call = late.record, late.call
        if late.version <= cut:
            return False
        if self._findings.gone(record, call.step) or self._findings.gone(call.record, call.step):
            self.report(record, call, "retracted_skipped")
            return False
        self.report(record, call, "late_tool_result")
        if self._hoist and call.answer is not None:
            if call.answer.record is not record:
                self.report(record, call, "duplicate_tool_result")
            return False
        event = result_of(record)
        late.parts = late_parts(call.event.tool_name, call.id, event.content, bool(event.is_error))
        self.check_used(record, event, call)
        return True

    def taken_back(self, block: Block) -> bool:
        """True for a retracted block, after reporting it and the results that go with it."""
        gone, step = self._findings.gone, block.step
        with_call = isinstance(block, HostedResult) and gone(block.call.record, block.call.step)
        if not with_call and not gone(block.record, step):
            return False
        self._findings.say("retracted_skipped", block.record, step.step_id)
        if isinstance(block, Call):
            for records in (block.finals, block.progress, block.unused):
                for record in records or ():
                    self.report(record, block, "retracted_skipped")
        return True

    def report(self, record: RecordedEvent, call: Call, code: str) -> None:
        """A diagnostic about one of a call's results."""
        self._findings.say(code, record, call.step.step_id, tool_call_id=call.event.tool_call_id)

    def _final(self, call: Call) -> RecordedEvent | None:
        """The final result that is used: the last one in time, or with `hoist` the last of all."""
        gone = self._findings.gone
        used: RecordedEvent | None = None
        if call.late is not None and self._hoist:
            used = next((late.record for late in reversed(call.late) if not gone(late.record)), None)
        for record in reversed(call.finals or ()):
            if gone(record):
                self.report(record, call, "retracted_skipped")
            elif used is None:
                used = record
            else:
                self.report(record, call, "duplicate_tool_result")
        return used

    def _unanswered(self, call: Call, standing: RecordedEvent | None) -> bool:
        """A call that nothing final answers: its last progress stands, or a stand-in, or it goes."""
        if standing is not None:
            event = result_of(standing)
            call.answer = Answer(call, "progress", standing, event.content, bool(event.is_error))
            self.check_used(standing, event, call)
            return True
        self._report_call(call, "unmatched_tool_call")
        if not self._drop:
            call.answer = Answer(call, "stand_in", call.record, NO_RESULT, True)
        return not self._drop

    def _last_progress(self, call: Call) -> RecordedEvent | None:
        gone = self._findings.gone
        return next((record for record in reversed(call.progress or ()) if not gone(record)), None)

    def _report_unused(self, call: Call, standing: RecordedEvent | None) -> None:
        gone = self._findings.gone
        for record in call.progress or ():
            code = "progress_as_result" if record is standing else "progress_skipped"
            self.report(record, call, "retracted_skipped" if gone(record) else code)
        for record in call.unused or ():
            code = "progress_skipped" if result_of(record).final is False else "duplicate_tool_result"
            self.report(record, call, "retracted_skipped" if gone(record) else code)

    def _goes_on(self, call: Call) -> bool:
        """Rule 6: nothing can answer the call any more."""
        reading, turn = self._reading, call.step.turn
        return (
            turn.terminal is not None
            or reading.last_place > call.version
            or reading.user_after(turn.turn_id, call.version)
            or call.finals is not None  # it was answered, and the answer was taken back
            or self._close
        )

    def _report_call(self, call: Call, code: str) -> None:
        event = call.event
        self._findings.say(code, call.record, tool_call_id=event.tool_call_id, tool_name=event.tool_name)


def result_of(record: RecordedEvent) -> ToolResult:
    """The tool result that a record holds."""
    event = record.event
    assert isinstance(event, ToolResult)
    return event
