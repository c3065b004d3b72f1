"""`--turns`: a turn's steps as one message (specs/maka.md 7.6)."""

from __future__ import annotations

from typing import Any

from projections.scenario import given
from projections.turns import turn_messages

USER = {"type": "user_message", "turn_id": "t1", "content": "q"}


def step(
    name: str, text: str, thought: str | None = None, second: int = 0, **start: Any
) -> list[dict[str, Any]]:
    about = {"turn_id": "t1", "step_id": name, "at": f"2026-05-01T08:00:{second:02}Z"}
    events: list[dict[str, Any]] = [{"type": "step_start", **about, **start}]
    if thought is not None:
        events.append({"type": "thinking_complete", "text": thought, **about})
    return [*events, {"type": "text_complete", "text": text, **about}]


def test_steps_become_one_message() -> None:
    rows = given(
        USER,
        *step("a1", "first", "A", 1, model="small"),
        {
            "type": "tool_start",
            "turn_id": "t1",
            "step_id": "a1",
            "tool_call_id": "c",
            "tool_name": "f",
            "args": 1,
        },
        *step("a2", "second", "B", 5, model="big"),
    ).rows()
    shown = turn_messages(rows)
    assert [row["row"] for row in shown] == ["user", "assistant", "tool", "turn"]
    message = shown[1]
    assert message["text"] == "first\n\nsecond"
    assert [thought["text"] for thought in message["thinking"]] == ["A", "B"]  # type: ignore[union-attr,index,call-overload]
    assert (message["step_id"], message["step_ids"], message["model"]) == ("a1", ["a1", "a2"], "big")
    assert message["at"] == "2026-05-01T08:00:05Z"
    assert message["versions"] == [2, 8]


def test_an_empty_first_step_gives_its_id_and_no_blank_line() -> None:
    message = turn_messages(given(USER, *step("a1", "", "A"), *step("a2", "only")).rows())[1]
    assert (message["id"], message["text"]) == ("assistant:2", "only")


def test_replaced_attempts_stay_apart() -> None:
    rows = given(USER, *step("a1", "hal"), *step("a2", "whole", retry_of="a1")).rows()
    assert [(row["row"], row.get("text")) for row in turn_messages(rows)][1:3] == [
        ("assistant", "hal"),
        ("assistant", "whole"),
    ]


def test_rows_are_not_changed() -> None:
    rows = given(USER, *step("a1", "x"), *step("a2", "y")).rows()
    before = [dict(row) for row in rows]
    turn_messages(rows)
    assert rows == before
