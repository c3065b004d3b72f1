"""Views as text and Markdown: readable, complete, and safe to print."""

from __future__ import annotations

from typing import Any

from projections import Pause, View, markdown, text
from projections.scenario import given


def view(*events: dict[str, Any], pause: Pause | None = None) -> View:
    scenario = given(*events)
    return View("c", len(events), scenario.rows(), pause)


EVENTS: list[dict[str, Any]] = [
    {"type": "user_message", "turn_id": "t1", "content": [{"type": "text", "text": "see"}, {"type": "image"}]},
    {"type": "step_start", "turn_id": "t1", "step_id": "m1", "model": "big"},
    {"type": "thinking_complete", "turn_id": "t1", "step_id": "m1", "text": "hm"},
    {"type": "text_complete", "turn_id": "t1", "step_id": "m1", "text": "Two\nlines"},
    {
        "type": "tool_start",
        "turn_id": "t1",
        "step_id": "m1",
        "tool_call_id": "c",
        "tool_name": "f",
        "args": {"a": 1},
    },
    {"type": "tool_result", "turn_id": "t1", "tool_call_id": "c", "content": "```\nout"},
    {"type": "abort", "turn_id": "t1", "reason": "user_stop"},
]


def test_text_shows_every_row_with_its_versions() -> None:
    assert text(view(*EVENTS)).splitlines() == [
        "c, version 7",
        "[1] user",
        "    see",
        "",
        "    [image]",
        "[2-4] assistant big (partial)",
        "    ~ hm",
        "    Two",
        "    lines",
        '[5-6] tool f {"a": 1}',
        "    ```",
        "    out",
        "[1-7] turn t1: aborted (user_stop)",
        "",
    ]


def test_markdown_fences_results_whatever_they_hold() -> None:
    shown = markdown(view(*EVENTS))
    assert "## User" in shown
    assert "## Assistant (big) *(partial)*" in shown
    assert "  ````\n  ```\n  out\n  ````" in shown
    assert shown.endswith("\n")


def test_control_characters_and_lone_surrogates_cannot_reach_a_terminal() -> None:
    bad = "\x1b[31mred\x00 \ud83d"
    shown = view({"type": "user_message", "turn_id": "t\u00e9", "content": bad})
    for rendered in (text(shown), markdown(shown)):
        assert "\\x1b[31mred\\x00 \\ud83d" in rendered
        rendered.encode()
        assert not any(ord(char) < 32 and char != "\n" for char in rendered)


def test_long_results_are_cut_and_say_so() -> None:
    long = "x" * 10_000
    events = [*EVENTS[:5], {"type": "tool_result", "turn_id": "t1", "tool_call_id": "c", "content": long}]
    assert "(8000 more characters)" in text(view(*events))


def test_a_pause_is_told() -> None:
    pause = Pause(8, "e8", "ValueError: no event")
    assert "paused at event 8 (e8): ValueError: no event" in text(view(*EVENTS, pause=pause))
    assert "Paused at event 8" in markdown(view(*EVENTS, pause=pause))
    assert view(*EVENTS, pause=pause).as_json()["pause"] == pause.as_json()
