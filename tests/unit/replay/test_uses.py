"""Pairing against the rule said slowly: the tables find the call that rule 4 names, whatever overlaps."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.events import ToolStart
from replay.items import Call, Step, Turn
from replay.uses import Calls
from tests.unit.replay.talk import call, talk

Action = tuple[str, int, int, int | None]


def message_order(one: Call) -> tuple[int, int, int]:
    return one.step.version, one.event.block_index or 0, one.version


def slow(calls: list[Call], answered: list[Call], turn: Turn) -> Call | None:
    """Rule 4 by looking at all calls; `answered` are those with a result, in the order of their first ones."""
    for before in sorted({one.step.turn.version for one in calls} | {turn.version}, reverse=True):
        if before > turn.version:
            continue
        waiting = sorted(
            (one for one in calls if one.step.turn.version == before and not one.answered), key=message_order
        )
        done = [one for one in answered if one.step.turn.version == before]
        if before == turn.version:
            if waiting or done:
                return waiting[0] if waiting else done[-1]
        elif waiting:
            return waiting[-1]
    earlier = [one for one in answered if one.step.turn.version < turn.version]
    nearest = max((one.step.turn.version for one in earlier), default=0)
    return next((one for one in reversed(earlier) if one.step.turn.version == nearest), None)


actions = st.tuples(
    st.sampled_from(["call", "result", "result", "progress"]),
    st.integers(0, 4),
    st.integers(0, 2),
    st.sampled_from([None, 0, 1, 2]),
)


@given(st.lists(actions, max_size=40))
@settings(max_examples=500)
def test_results_find_the_call_that_the_rule_names(drawn: list[Action]) -> None:
    turns = [Turn(f"t{number}", number + 1) for number in range(5)]
    table = Calls()
    calls: list[Call] = []
    answered: list[Call] = []
    [record] = talk(call("x", "m1"))
    steps = {(turn, place): Step(turns[turn], "m", record) for turn in range(5) for place in range(3)}
    for (turn, place), step in steps.items():
        step.version = 10 + turn + 5 * place
    for version, (kind, number, place, index) in enumerate(drawn, start=100):
        if kind == "call":
            event = record.event.model_copy(update={"block_index": index})
            assert isinstance(event, ToolStart)
            made = Call(record, event, steps[number, place])
            made.version = version
            calls.append(made)
            table.add(made)
            continue
        found = table.find("x", turns[number])
        assert found is slow(calls, answered, turns[number])
        if kind == "result" and found is not None and not found.answered:
            table.answer(found)
            answered.append(found)
