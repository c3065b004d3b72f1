"""Tool calls, their results and approvals (DESIGN.md 6, and 7.2 rules 4 and 9)."""

from __future__ import annotations

from ledger.events import ToolApproval, ToolResult, ToolStart
from projections import order
from projections.lanes import Lane
from projections.pairing import Ids, match
from projections.placing import call_place
from projections.plain import plain_row, take_note
from projections.records import Call, Step, Turn
from projections.rows import orphan_row
from projections.state import State
from projections.steps import legacy_group, take_block


def take_call(state: State, version: int, event: ToolStart, lane: Lane, turn: Turn, step: Step | None) -> None:
    """A call: unanswered for now, at its place among the calls of its step."""
    hidden = event.visibility == "hidden"
    if step is None:
        step = legacy_group(state, version, lane, turn, hidden, thinking=False)
    call = Call(step, event.tool_call_id, version, event.tool_name, event.args)
    call.index = event.block_index
    call.provider_executed = bool(event.provider_executed)
    call.hidden = hidden
    call.at = event.at
    take_block(state, step, hidden, call.index)
    call.sort = call_place(step, call)
    step.add_call(call)
    step.open_calls += 1
    if not step.dirty:
        state.touch(step)
    state.by_version[version] = call
    if lane.agent is not None:
        state.callers[call.call_id] = call
    _name(state, lane, call)
    ended = turn.ended()
    if ended is None or ended.inferred:
        state.run(call)
    state.touch(call)


def _name(state: State, lane: Lane, call: Call) -> None:
    """Count the call among those of its id: most ids are used once."""
    if state.shelf is not None:
        state.shelf.named_calls(state, call.call_id)
    calls = lane.hidden_calls if call.hidden else lane.calls
    before = calls.get(call.call_id)
    if before is None:
        calls[call.call_id] = call
        return
    ids = calls[call.call_id] = before if isinstance(before, Ids) else Ids(before)
    if ids.add(call):
        state.renumber[ids] = None


def take_result(
    state: State, version: int, event: ToolResult, lane: Lane, turn: Turn, step: Step | None
) -> None:
    """A result: shown at the call it belongs to, else as an orphan where it was."""
    hidden = event.visibility == "hidden"
    named = state.named(lane, event.tool_call_id, hidden)
    call = match(named, turn.first)
    if call is None:
        place = (
            order.item(turn.prefix, version)
            if step is None
            else order.tool(step.prefix, order.CALL_MISSING, 0, version)
        )
        plain_row(state, "orphan", turn, version, place, orphan_row(event))
        return
    call.seen += 1
    call.last = version
    final = event.final is not False
    if final or not call.final:
        if final and not call.final:
            call.final = True
            call.last_final = version
            if isinstance(named, Ids):
                named.answer(call)
            if call.turn.running:
                call.turn.running.pop(call, None)
            of = call.step
            of.answered = True
            of.open_calls -= 1
            if not of.dirty:
                state.touch(of)
            if of is lane.group and not of.open_calls:
                lane.group = None  # a legacy group ends when all its calls are answered
        if call.result_version:
            state.by_version.pop(call.result_version, None)  # only the result shown can be marked
        state.by_version[version] = call
        call.result_version = version
        call.result = event.content
        call.is_error = bool(event.is_error)
        call.result_at = event.at
        call.duration_ms = event.duration_ms
        call.gone = False
        ended = call.turn.ended()
        if ended is not None and ended.inferred:
            if call.turn.suspects is None:
                call.turn.suspects = []
            call.turn.suspects.append(call.first)
    if not hidden:
        call.turn.output = True
        if not call.turn.dirty:
            state.touch(call.turn)
    if not call.dirty:
        state.touch(call)


def take_approval(
    state: State, version: int, event: ToolApproval, lane: Lane, turn: Turn, _step: Step | None
) -> None:
    """What a person or a policy said to a call."""
    call = match(state.named(lane, event.tool_call_id, event.visibility == "hidden"), turn.first)
    if call is None:
        take_note(state, version, event, lane, turn)
        return
    call.last = version
    call.approval = {"decision": event.decision, "by": event.by}
    if event.args is not None:
        call.approval["args"] = event.args
    state.touch(call)
