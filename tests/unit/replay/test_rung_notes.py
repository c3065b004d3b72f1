"""A refusal on record: the next request to the same model starts lower, and nobody else's does."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.admission import parse_event
from replay import Options, Target, refusal_note, replay
from tests.unit.replay.talk import event, talk, text, user

TO = {"provider": "anthropic", "model": "m"}
REFUSAL = "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: c1."
TALK = [user("q"), text("a", "m1"), user("go on", "t2")]


def noted(**changed: Any) -> dict[str, Any]:
    note: dict[str, Any] = dict(refusal_note(Target("anthropic", "m"), REFUSAL)[0])
    return {**note, **changed}


def rung(
    *further: dict[str, Any],
    target: dict[str, Any] | Target = TO,
    options: Options | None = None,
) -> str:
    return replay(talk(*TALK, *further), "c", target, options).target.rung


def test_the_note_is_an_event_that_says_all() -> None:
    note, found = refusal_note(Target("anthropic", "m", rung="no-foreign"), REFUSAL, "helper")
    parsed = parse_event(note, "c")
    assert parsed.agent_id == "helper"
    assert dict(parsed.fields) == {
        "kind": "rung",
        "target": TO,
        "refused": "no-foreign",
        "rung": "flat-tools",
        "class": "dangling",
        "rules": ["A1"],
        "mend": found.mend,
        "error": REFUSAL,
    }
    assert found.rung == "flat-tools"


def test_a_long_refusal_is_kept_in_part_and_understood_whole() -> None:
    note, found = refusal_note("anthropic", "x" * 9000 + REFUSAL)
    assert found.rules == ("A1",)
    assert note["error"] == "x" * 4000


def test_on_the_last_rung_the_next_request_starts_there_again() -> None:
    note, found = refusal_note(Target("anthropic", "m", rung="text-only"), "?")
    assert (found.rung, note["rung"]) == (None, "text-only")


def test_the_next_request_starts_there_and_says_so() -> None:
    found = replay(talk(*TALK, noted()), "c", TO)
    assert found.target.rung == "flat-tools"
    [said] = [one for one in found.diagnostics if one.code == "rung_lowered"]
    assert (said.version, said.detail) == (4, {"rung": "flat-tools", "rules": ["A1"]})
    assert found.as_json()["target"] == {**TO, "rung": "flat-tools"}


def test_not_before_the_note() -> None:
    assert replay(talk(*TALK, noted())[:3], "c", TO).target.rung == "native"


@pytest.mark.parametrize(
    "other",
    [
        {"provider": "anthropic", "model": "other"},
        {"provider": "anthropic"},
        {"provider": "neutral", "model": "m"},
    ],
)
def test_not_for_another_target(other: dict[str, Any]) -> None:
    assert rung(noted(), target=other) == "native"


def test_in_its_own_lane() -> None:
    assert rung(noted(agent_id="helper")) == "native"
    assert rung(noted(agent_id="helper"), options=Options(agent_id="helper")) == "flat-tools"


def test_the_newest_counts_and_native_takes_it_back() -> None:
    assert rung(noted(), noted(rung="no-thinking")) == "no-thinking"
    assert rung(noted(), noted(rung="native")) == "native"


def test_a_retracted_note_is_none() -> None:
    assert rung(noted(), event("retraction", None, event_ids=["e4"])) == "native"
    assert rung(noted(), event("retraction", None, event_ids=["e1"])) == "flat-tools"
    assert rung(noted(), noted(rung="no-thinking"), event("retraction", None, event_ids=["e5"])) == "flat-tools"


def test_the_callers_rung_stands() -> None:
    assert rung(noted(), target={**TO, "rung": "native"}) == "native"
    assert rung(noted(), target=Target("anthropic", "m", rung="no-thinking")) == "no-thinking"
    assert rung(noted(), options=Options(recorded_rungs=False)) == "native"


@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "remark"},
        {"target": "anthropic"},
        {"rung": "cellar"},
        {"rung": ["native"]},
        {"rung": None},
        {"visibility": "hidden"},
    ],
)
def test_a_note_of_another_shape_is_just_a_note(changed: dict[str, Any]) -> None:
    assert rung(noted(**changed)) == "native"
    assert rung(noted(), noted(**changed)) == "flat-tools", "nor does it take an earlier one back"


def test_a_note_with_a_turn_counts_too() -> None:
    assert rung(noted(turn_id="t2", step_id="m9")) == "flat-tools"
