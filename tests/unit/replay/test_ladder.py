"""The lower rungs: what is left of a history, whom it comes from, and that nothing goes unsaid."""

from __future__ import annotations

from typing import Any

import pytest

from replay import Options, Result, replay
from replay.options import RUNGS
from replay.providers.violations import violations
from tests.unit.replay.providers.rendering import call, records, result, start, text, thinking, user

IMAGE = {"type": "image", "media_type": "image/png", "data": "QUJD"}
HISTORY: list[dict[str, Any]] = [
    user([{"type": "text", "text": "look"}, IMAGE]),
    start("s1"),
    thinking("s1", "hm"),
    text("s1", "Reading."),
    call("s1", "c1", {"path": "a", "n": 1}),
    call("s1", "c2"),
    result("c1", content=[{"type": "text", "text": "shown"}, IMAGE]),
    result("c2", content="no such file", is_error=True),
    start("s2"),
    text("s2", "Done."),
    {"type": "complete", "turn_id": "t1"},
    {"type": "system_message", "content": "be brief"},
    user("go on", turn="t2"),
]


def on(
    rung: str, events: list[dict[str, Any]] | None = None, provider: str = "neutral", **options: Any
) -> Result:
    target = {"provider": provider, "model": "claude-opus-4-5", "rung": rung}
    return replay(records(HISTORY if events is None else events), "c", target, Options(**options))


def said(found: Result) -> list[tuple[str, Any]]:
    return [
        (str(message["role"]), part["text"] if part["type"] == "text" else part["type"])
        for message in found.messages
        for part in message["content"]  # type: ignore[union-attr]
    ]


def codes(found: Result) -> list[tuple[str, int | None]]:
    return [(one.code, one.version) for one in found.diagnostics if one.code.startswith("rung_")]


CALLS = [
    ("user", '[called read (c1) with {"n":1,"path":"a"}]\n[result] shown'),
    ("user", "image"),
    ("user", "[called read (c2) with {}]\n[error] no such file"),
]


def test_without_thinking() -> None:
    found = on("no-thinking")
    assert said(found)[:5] == [
        ("user", "look"),
        ("user", "image"),
        ("assistant", "Reading."),
        ("assistant", "tool_call"),
        ("assistant", "tool_call"),
    ]
    assert codes(found) == [("rung_thinking_skipped", 3)]


def test_a_step_of_thinking_alone_goes() -> None:
    found = on("no-thinking", [user("q"), start("s1"), thinking("s1"), user("go on", turn="t2")])
    assert said(found) == [("user", "q"), ("user", "go on")]
    assert codes(found) == [("rung_thinking_skipped", 3)]


def test_tools_told_as_text() -> None:
    found = on("flat-tools")
    assert said(found) == [
        ("user", "look"),
        ("user", "image"),
        ("assistant", "Reading."),
        *CALLS,
        ("assistant", "Done."),
        ("system", "be brief"),
        ("user", "go on"),
    ]
    assert [versions for message in found.provenance for versions in message][3:6] == [[5, 7], [5, 7], [6, 8]]
    assert codes(found) == [("rung_thinking_skipped", 3)]


def test_text_alone() -> None:
    found = on("text-only")
    gone = "[image left out: the request is text only]"
    assert said(found) == [
        ("user", "look"),
        ("user", gone),
        ("assistant", "Reading."),
        CALLS[0],
        ("user", gone),
        CALLS[2],
        ("assistant", "Done."),
        ("user", "<system>\nbe brief\n</system>"),
        ("user", "go on"),
    ]
    assert codes(found) == [
        ("rung_media_told", 1),
        ("rung_thinking_skipped", 3),
        ("rung_media_told", 7),
        ("rung_system_told", 12),
    ]


def test_what_the_provider_ran_is_told_once() -> None:
    events = [
        user("q"),
        start("s1"),
        call("s1", "w1", {"query": "x"}, provider_executed=True),
        {**result("w1", content="a hit"), "step_id": "s1", "provider_executed": True},
        text("s1", "Found."),
        user("go on", turn="t2"),
    ]
    found = on("flat-tools", events)
    assert said(found) == [
        ("user", "q"),
        ("assistant", "Found."),
        ("user", '[called read (w1) with {"query":"x"}]\n[result] a hit'),
        ("user", "go on"),
    ]
    assert found.provenance[2] == [[3, 4]]


def test_a_pending_call_is_not_sendable_on_any_rung() -> None:
    for rung in RUNGS:
        assert not on(rung, [user("q"), start("s1"), call("s1")]).sendable


def test_a_stand_in_says_what_it_is() -> None:
    found = on("flat-tools", [user("q"), start("s1"), call("s1"), user("go on", turn="t2")])
    assert said(found)[1] == (
        "user",
        "[called read (c1) with {}]\n[error] [no result was recorded for this call; its outcome is unknown]",
    )


@pytest.mark.parametrize("rung", RUNGS)
def test_every_rung_is_taken(rung: str) -> None:
    found = on(rung, provider="anthropic")
    assert found.sendable
    assert violations(found.target, found.request) == []
    opaque = "sig" in str(found.request)
    # Without an api in step_start nothing proves that the signature is the target's own.
    assert opaque == (rung == "native")
