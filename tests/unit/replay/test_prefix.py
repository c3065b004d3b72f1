"""What changes an earlier request, case by case; each case is held against rendering the requests."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from replay import Options, replay
from replay.prefix import prefix_changes
from tests.property.replay.requests import opened
from tests.unit.replay.talk import call, complete, event, result, talk, text, thinking, user

CLAUDE = {"provider": "anthropic", "model": "big"}
NEXT = [user("next", "t2"), text("B.", "m9", "t2")]
MADE = event("step_start", step="m0", provider="anthropic", model="big")
RETRY = event("step_start", step="m2", retry_of="m1")
THIRD = event("step_start", step="m3")
ASKED = [user("q"), text("A.", "m1"), user("go")]
LAST = user("x", "t3")


class Case(NamedTuple):
    """Events, the version that changes, since which version, and a word of the reason."""

    events: list[dict[str, Any]]
    version: int
    since: int
    word: str
    options: Options = Options()


CASES = {
    "retraction": Case(
        [user("q"), text("A.", "m1"), *NEXT, event("retraction", None, event_ids=["e2"])], 5, 2, "back"
    ),
    "compaction": Case(
        [user("q"), text("A.", "m1"), *NEXT, event("compaction", None, summary="s", through_version=1)],
        5,
        0,
        "compaction",
    ),
    "overlap": Case([*ASKED, text("B.", "m2"), text("C.", "m1"), LAST], 5, 2, "step"),
    "a late word of who made it": Case(
        [user("q"), thinking("a", "m0", signature="s"), text("A.", "m0"), *NEXT, MADE, LAST], 6, 2, "step"
    ),
    "retry": Case([*ASKED, RETRY, text("B.", "m2"), LAST], 4, 2, "was replaced"),
    "an attempt comes back": Case([*ASKED, RETRY, THIRD, complete(), LAST], 6, 2, "came back"),
    "and goes again": Case(
        [user("q"), text("A.", "m1"), RETRY, complete(), *NEXT, text("C.", "m2"), LAST], 7, 2, "again"
    ),
    "an answer brings it back": Case(
        [user("q"), call("c", "m1"), user("go"), RETRY, THIRD, result("c"), LAST], 6, 2, "an answer"
    ),
    "a result moves to its call": Case(
        [user("q"), call("c", "m1"), text("B.", "m2"), result("c"), LAST],
        4,
        2,
        "a result",
        Options(late_results="hoist", pending_calls="close"),
    ),
    "a refusal": Case(
        [
            user("q"),
            call("c", "m1"),
            result("c"),
            text("B.", "m2"),
            {"type": "note", "kind": "rung", "target": CLAUDE, "rung": "text-only"},
            LAST,
        ],
        5,
        0,
        "rung",
    ),
    "thinking without a place": Case(
        [
            user("q"),
            MADE,
            thinking("a", "m0", signature="s"),
            text("A.", "m0"),
            user("x"),
            text("B.", "m1"),
            call("c", None),
            result("c"),
        ],
        7,
        3,
        "bars",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_told_and_made(name: str) -> None:
    case = CASES[name]
    records = talk(*case.events)
    told = [
        (one.version, one.since, one.event_id)
        for one in prefix_changes(records, case.options)
        if case.word in one.reason
    ]
    assert told == [(case.version, case.since, f"e{case.version}")]
    whole = opened(replay(records, "c", CLAUDE, case.options))
    cuts = [place for place, record in enumerate(records) if record.step_id is not None]
    before = [replay(records[:cut], "c", CLAUDE, case.options) for cut in cuts]
    assert any(one.sendable and not whole.startswith(opened(one)) for one in before), "rendering shows it too"


def test_a_changed_context_is_told() -> None:
    events = [event("context", None, digest="d", system="A"), *NEXT]
    assert prefix_changes(talk(*events)) == []
    [one] = prefix_changes(talk(*events, event("context", None, digest="e", system="B")))
    assert (one.version, one.since) == (4, 0)


def test_what_only_adds_changes_nothing() -> None:
    events = [user("q"), call("c", "m1"), text("B.", "m2"), result("c"), *NEXT]
    assert prefix_changes(talk(*events)) == []


def test_an_attempt_that_failed_before_the_next_one_began_was_never_sent() -> None:
    failed = event("error", step="m1", message="no", retryable=True)
    assert prefix_changes(talk(user("q"), text("A", "m1"), failed, text("B.", "m2"), event("complete"))) == []
