"""UIMessages of a view are what the AI SDK's own schemas take, and say what the rows say."""

from __future__ import annotations

from typing import Any

import pytest

from projections import View, ui_messages
from projections.scenario import given
from tests.unit.projections.ui_message_shapes import ui_message_faults

STEP = {"turn_id": "t1", "step_id": "s1"}
PNG = "iVBORw0KGgo="


def stored(*events: dict[str, Any]) -> list[Any]:
    found = ui_messages(View("c", len(events), given(*events).rows()))
    if found:
        assert ui_message_faults(found) == []
    return [*found]


def call(name: str | None = "f", call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_start", **STEP, "tool_call_id": call_id, "tool_name": name, "args": {"a": 1}} | more


def result(content: Any, call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "turn_id": "t1", "tool_call_id": call_id, "content": content} | more


def approval(decision: str) -> dict[str, Any]:
    return {"type": "tool_approval", "turn_id": "t1", "tool_call_id": "c1", "decision": decision}


DONE = {"type": "complete", "turn_id": "t1"}
NEXT = {"type": "step_start", "turn_id": "t1", "step_id": "s2"}


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "text", "text": "hi"}, {"type": "text", "text": "hi"}),
        (
            {"type": "image", "media_type": "image/webp", "data": "AA"},
            {"type": "file", "mediaType": "image/webp", "url": "data:image/webp;base64,AA"},
        ),
        (
            {"type": "image", "data": PNG},
            {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{PNG}"},
        ),
        (
            {"type": "image", "data": "/9j/4AAQ"},
            {"type": "file", "mediaType": "image/jpeg", "url": "data:image/jpeg;base64,/9j/4AAQ"},
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "https://example.com/a"}},
            {"type": "file", "mediaType": "image/png", "url": "https://example.com/a"},
        ),
        (
            {"type": "file", "data": "AA", "filename": "a.bin"},
            {
                "type": "file",
                "mediaType": "application/octet-stream",
                "filename": "a.bin",
                "url": "data:application/octet-stream;base64,AA",
            },
        ),
        (
            {"type": "file", "url": "https://example.com/a.pdf", "media_type": "application/pdf"},
            {"type": "file", "mediaType": "application/pdf", "url": "https://example.com/a.pdf"},
        ),
        (
            {"type": "file", "url": "data:text/csv;base64,AA", "media_type": 7},
            {"type": "file", "mediaType": "application/octet-stream", "url": "data:text/csv;base64,AA"},
        ),
        (
            {"type": "file", "url": "data:text/csv;base64,AA"},
            {"type": "file", "mediaType": "text/csv", "url": "data:text/csv;base64,AA"},
        ),
        (
            {"type": "document", "source": {"type": "text", "data": "hé"}},
            {"type": "file", "mediaType": "text/plain", "url": "data:text/plain;base64,aMOp"},
        ),
        ({"type": "place", "x": 1}, {"type": "data-place", "data": {"type": "place", "x": 1}}),
        ({"type": "data-x", "data": [1]}, {"type": "data-x", "data": [1]}),
    ],
)
def test_what_a_person_gives(block: dict[str, Any], part: dict[str, Any]) -> None:
    (message,) = stored({"type": "user_message", "turn_id": "t1", "content": [block]})
    assert message == {"id": "user:1", "role": "user", "parts": [part]}


@pytest.mark.parametrize(
    ("events", "part"),
    [
        ([], {"state": "input-available"}),
        ([result("out")], {"state": "output-available", "output": "out"}),
        ([result(None)], {"state": "output-available", "output": None}),
        (
            [result({"content": "x", "more": 1})],
            {"state": "output-available", "output": {"content": "x", "more": 1}},
        ),
        (
            [result([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])],
            {"state": "output-available", "output": "a\n\nb"},
        ),
        (
            [result([{"type": "text", "text": "a", "seen": 1}])],
            {"state": "output-available", "output": [{"type": "text", "text": "a", "seen": 1}]},
        ),
        ([result("bad", is_error=True)], {"state": "output-error", "errorText": "bad"}),
        ([result({"code": 2}, is_error=True)], {"state": "output-error", "errorText": '{"code": 2}'}),
        ([DONE], {"state": "output-error", "errorText": "The call has no result."}),
        (
            [approval("requested")],
            {"state": "approval-requested", "approval": {"id": "approval of c1"}},
        ),
        (
            [approval("approved")],
            {"state": "approval-responded", "approval": {"id": "approval of c1", "approved": True}},
        ),
        (
            [approval("approved"), result("out")],
            {
                "state": "output-available",
                "output": "out",
                "approval": {"id": "approval of c1", "approved": True},
            },
        ),
        (
            [approval("denied"), result("not that", is_error=True)],
            {
                "state": "output-denied",
                "approval": {"id": "approval of c1", "approved": False, "reason": "not that"},
            },
        ),
    ],
)
def test_what_becomes_of_a_call(events: list[dict[str, Any]], part: dict[str, Any]) -> None:
    (message,) = stored(call(), *events)
    assert message["parts"] == [
        {"type": "step-start"},
        {"type": "tool-f", "toolCallId": "c1", "input": {"a": 1}, **part},
    ]


def test_calls_that_the_provider_ran_and_calls_of_one_id() -> None:
    messages = stored(
        call(provider_executed=True),
        result("out", provider_executed=True, step_id="s1"),
        DONE,
        {**call(), "turn_id": "t2"},
        {**result("again"), "turn_id": "t2"},
    )
    first, second = (message["parts"][1] for message in messages)
    assert (first["toolCallId"], first["providerExecuted"], first["output"]) == ("c1", True, "out")
    assert (second["toolCallId"], second["output"]) == ("c1~2", "again")


def test_message_ids_are_used_once() -> None:
    asked = {"type": "user_message", "content": "go", "message_id": "m"}
    messages = stored({**asked, "turn_id": "t1"}, {**asked, "turn_id": "t2"})
    assert [one["id"] for one in messages] == ["m", "m~2"]


def test_what_is_left_out() -> None:
    messages = stored(
        {"type": "system_message", "content": "be brief"},
        {"type": "user_message", "turn_id": "t0", "content": "undone"},
        {"type": "retraction", "turn_ids": ["t0"]},
        {"type": "user_message", "turn_id": "t1", "content": "secret", "visibility": "hidden"},
        {"type": "user_message", "turn_id": "t1", "content": "go"},
        {"type": "text_complete", "turn_id": "t1", "step_id": "s0", "text": "first try"},
        {"type": "step_start", "turn_id": "t1", "step_id": "s1", "retry_of": "s0"},
        {"type": "text_complete", "turn_id": "t1", "step_id": "s1", "text": "second try"},
        result("nobody asked", "c9"),
        {"type": "text_complete", "turn_id": "t5", "step_id": "h", "text": "aside", "agent_id": "helper"},
        DONE,
    )
    assert [[part.get("text") for part in one["parts"]] for one in messages] == [["go"], [None, "second try"]]
