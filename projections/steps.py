"""Steps and legacy groups: blocks, facts, and attempts that later ones replace (DESIGN.md 6 and 7.2)."""

from __future__ import annotations

from ledger.events import JsonObject, StepFinish, StepStart, TextComplete, ThinkingComplete, TokenUsage
from projections.lanes import Lane
from projections.placing import reorder_calls
from projections.records import Step, Turn
from projections.state import State
from projections.usage import add_usage


def start_step(state: State, lane: Lane, step: Step) -> None:
    """A step's first visible event: the lane goes on, and leaves other steps' unanswered calls behind."""
    step.started = True
    if not step.dirty:
        state.touch(step)
    if not lane.busy:
        return
    busy, lane.busy = lane.busy, {}
    for turn in busy:
        if turn.running:
            kept = {call: None for call in turn.running if call.step is step}
            state.close(call for call in turn.running if call.step is not step)
            turn.running = kept or None
            if kept:
                lane.busy[turn] = None


def legacy_group(state: State, version: int, lane: Lane, turn: Turn, hidden: bool, thinking: bool) -> Step:
    """The group that an event without a step id belongs to; a new one where the open one has ended."""
    group = lane.hidden_group if hidden else lane.group
    if group is not None and (group.turn is not turn or (thinking and group.texted and not group.open_calls)):
        group = None
    if group is None:
        group = state.open_step(turn, None, version)
        if hidden:
            lane.hidden_group = group
        else:
            lane.group = group
            start_step(state, lane, group)
    return group


def take_block(state: State, step: Step, hidden: bool, index: int | None) -> None:
    """What every kept, visible block does: it may end the order by index, and it replaces earlier attempts."""
    if hidden:
        return
    if index is None and not step.unindexed:
        step.unindexed = True
        if step.latest is not None or state.shelf is not None:
            reorder_calls(state, step)
    turn = step.turn
    if step.first > turn.last_block:
        turn.last_block = step.first


def take_text(
    state: State, version: int, event: TextComplete, lane: Lane, turn: Turn, step: Step | None
) -> None:
    """A text block, or the empty closer of a step without text."""
    hidden = event.visibility == "hidden"
    if step is None:
        step = legacy_group(state, version, lane, turn, hidden, thinking=False)
        state.by_version[version] = step
    text = event.text
    step.own(version, event.at)
    step.add_block((event.block_index, version, hidden, text))
    step.texted = True  # an empty one too: replay's groups end there as well
    if text:
        take_block(state, step, hidden, event.block_index)
        if not hidden and not turn.output and not text.isspace():
            turn.output = True
    if not step.dirty:
        state.touch(step)


def take_thinking(
    state: State, version: int, event: ThinkingComplete, lane: Lane, turn: Turn, step: Step | None
) -> None:
    """A thinking block."""
    hidden = event.visibility == "hidden"
    if step is None:
        step = legacy_group(state, version, lane, turn, hidden, thinking=True)
        state.by_version[version] = step
    thought: JsonObject = {
        "text": event.text,
        "signed": bool(event.signature),
        "redacted": event.redacted_data is not None,
    }
    step.own(version, event.at)
    step.add_block((event.block_index, version, hidden, thought))
    if event.text or event.signature or event.redacted_data is not None:
        take_block(state, step, hidden, event.block_index)
    if not step.dirty:
        state.touch(step)


def take_step_start(
    state: State, version: int, event: StepStart, lane: Lane, turn: Turn, step: Step | None
) -> None:
    """Who is asked, and which attempt this one replaces."""
    if step is None:
        return
    step.own(version, event.at)
    if event.provider is not None:
        step.provider = event.provider
    if event.model is not None:
        step.model = event.model
    if event.retry_of is not None and event.visibility != "hidden":
        replaced = state.step(turn, event.retry_of)
        if replaced is not None and replaced.first < step.first:
            replace_step(state, lane, replaced)
    if not step.dirty:
        state.touch(step)


def replace_step(state: State, lane: Lane, step: Step) -> None:
    """A later attempt, or a retryable error, names this step (7.2, rule 11)."""
    if not step.named:
        step.named = True
        turn = step.turn
        turn.named += 1
        if not turn.over_since(step.first):
            lane.attempts[turn.turn_id] = turn.first
        state.touch(turn)
        state.touch(step)


def take_step_finish(
    state: State, version: int, event: StepFinish, lane: Lane, turn: Turn, step: Step | None
) -> None:
    """How the model call ended; a late one makes a cut step whole."""
    if step is None:
        step = lane.group if lane.group is not None and lane.group.turn is turn else None
        if step is None:
            return
    step.own(version, event.at)
    step.finished = True
    if event.finish_reason is not None:
        step.finish_reason = event.finish_reason
    if event.usage is not None:
        if step.usage is None:
            turn.usage = add_usage(turn.usage, step.finish_usage, event.usage)
        step.finish_usage = event.usage
    if not step.dirty:
        state.touch(step)


def take_usage(
    state: State, version: int, event: TokenUsage, _lane: Lane, turn: Turn, step: Step | None
) -> None:
    """Tokens spent: the last report of a step counts."""
    if step is None:
        turn.usage = add_usage(turn.usage, None, event.usage)  # without a step id it counts once for the turn
        return
    step.own(version, event.at)
    before = step.usage if step.usage is not None else step.finish_usage
    turn.usage = add_usage(turn.usage, before, event.usage)
    step.usage = event.usage
    if not step.dirty:
        state.touch(step)
