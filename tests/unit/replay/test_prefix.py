"""What changes an earlier request, case by case; each case is held against rendering the requests."""

from __future__ import annotations

from typing import Any

import pytest

from replay import replay
from replay.prefix import prefix_changes
from tests.unit.replay.talk import call, event, result, talk, text, thinking, user

CLAUDE = {"provider": "anthropic", "model": "big"}
NEXT = [user("next", "t2"), text("B.", "m9", "t2")]
MADE = event("step_start", step="m0", provider="anthropic", model="big")

# events, the version that changes, since which version, and a word of the reason
CASES: dict[str, tuple[list[dict[str, Any]], int, int, str]] = {
    "retraction": ([user("q"), text("A.", "m1"), *NEXT, event("retraction", None, event_ids=["e2"])], 5, 2, "back"),  # noqa: E501
    "compaction": (
        [user("q"), text("A.", "m1"), *NEXT, event("compaction", None, summary="s", through_version=1)], 5, 0, "co"),  # noqa: E501
    "overlap": ([user("q"), text("A.", "m1"), text("B.", "m2"), text("C.", "m1"), user("x")], 4, 2, "step"),
    "retry": ([user("q"), text("A.", "m1"), event("step_start", step="m2", retry_of="m1"), user("x")], 3, 2, "repl"),  # noqa: E501
    "thinking without a place": (
        [user("q"), MADE, thinking("a", "m0", signature="s"), text("A.", "m0"), user("x"), text("B.", "m1"),
         call("c", None), result("c")], 7, 3, "bars"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_told_and_made(name: str) -> None:
    events, version, since, word = CASES[name]
    records = talk(*events)
    [one] = prefix_changes(records)
    assert (one.version, one.since, one.event_id) == (version, since, f"e{version}")
    assert word in one.reason
    whole = [message.as_json() for message in replay(records, "c", CLAUDE).neutral]
    cuts = [place for place, record in enumerate(records) if record.step_id is not None]
    before = [[m.as_json() for m in replay(records[:cut], "c", CLAUDE).neutral] for cut in cuts]
    assert any(whole[: len(sent)] != sent for sent in before), "rendering shows it too"


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
