"""Pairing against the rule said slowly: the tables find the call that rule 4 names, whatever overlaps."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from replay.items import Call, Step, Turn
from replay.uses import Uses, add_use, call_of
from tests.unit.replay.talk import call, talk

Action = tuple[str, int]


def slow(calls: list[Call], turn: Turn) -> Call | None:
    """Rule 4, word for word, by looking at all calls."""
    own = [one for one in calls if one.step.turn is turn]
    if own:
        return next((one for one in own if not one.answered), own[-1])
    earlier = [one for one in calls if one.step.turn.version < turn.version]
    unanswered = [one for one in earlier if not one.answered]
    return (unanswered or earlier or [None])[-1]


@given(st.lists(st.tuples(st.sampled_from(["call", "result", "progress"]), st.integers(0, 5)), max_size=40))
@settings(max_examples=500)
def test_results_find_the_call_that_the_rule_names(actions: list[Action]) -> None:
    turns = [Turn(f"t{number}", number + 1) for number in range(6)]
    table: dict[str, Call | Uses] = {}
    calls: list[Call] = []
    for place, (kind, number) in enumerate(actions, start=10):
        turn = turns[number]
        if kind == "call":
            [record] = talk(call("x", "m1", turn.turn_id))
            made = Call(record, record.event, Step(turn, "m1", record))  # type: ignore[arg-type]
            made.version = place
            calls.append(made)
            add_use(table, made)
        else:
            expected = slow(calls, turn)
            found = call_of(table, "x", turn)
            assert found is expected
            if kind == "result" and found is not None:
                found.answered = True
