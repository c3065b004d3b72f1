"""Messages that apps keep as JSON documents: the AI SDK's UIMessages, pydantic-ai's histories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ledger.errors import NotASession
from ledger.events import JsonObject
from projections.conversation import rows
from tests.conformance import needs_shared
from tests.corpus.streams.test_runtime_streams import whole
from tests.imports import FIXTURES, Taken, take_bytes, take_file
from tests.streams import take

SIGNED = {"anthropic": {"signature": "c2ln"}}


def taken(value: Any, source_format: str = "ai-sdk") -> Taken:
    return take_bytes(json.dumps(value).encode(), Path("chat.json"), source_format)


def told(these: Taken, *kinds: str) -> list[JsonObject]:
    found = [json.loads(event.model_dump_json(exclude_none=True)) for event in these.events()]
    return [one for one in found if one["type"] in kinds]


def said(text: str, role: str = "user", name: str = "m1", **more: Any) -> JsonObject:
    return {"id": name, "role": role, "parts": [{"type": "text", "text": text}], **more}


def tool(state: str, **more: Any) -> JsonObject:
    return {"type": "tool-ls", "toolCallId": "c1", "state": state, "input": {"p": 1}, **more}


def answer(*parts: JsonObject, name: str = "a1", **more: Any) -> JsonObject:
    return {"id": name, "role": "assistant", "parts": [{"type": "step-start"}, *parts], **more}


def test_steps_are_what_stands_between_their_starts() -> None:
    thought = {"type": "reasoning", "text": "hm", "state": "done", "providerMetadata": SIGNED}
    done = tool("output-available", output="out")
    usage = {"lastStepUsage": {"inputTokens": 5, "outputTokens": 2}, "model": "claude-x"}
    more = {"type": "text", "text": "Yes."}
    message = answer(thought, done, {"type": "step-start"}, more, metadata=usage)
    these = taken([said("go"), message, said("more", name="m2")])
    first, second = told(these, "step_start")
    assert (first["step_id"], first["provider"], first["model"]) == ("a1/1", "anthropic", "claude-x")
    assert second["step_id"] == "a1/2"
    assert told(these, "thinking_complete")[0]["signature"] == "c2ln"
    assert told(these, "tool_result")[0]["content"] == "out"
    assert [one.get("usage", {}).get("output") for one in told(these, "step_finish")] == [None, 2]
    assert [one["source"]["inferred"] for one in told(these, "complete")] == [True]


@pytest.mark.parametrize(
    ("part", "kinds"),
    [
        (tool("input-available"), ["tool_start"]),
        (tool("output-error", errorText="no"), ["tool_start", "tool_result"]),
        (tool("approval-requested", approval={"id": "p"}), ["tool_start", "tool_approval"]),
        (tool("output-denied", approval={"id": "p", "approved": False, "reason": "no"}),
         ["tool_start", "tool_approval", "tool_approval", "tool_result"]),
        (tool("input-streaming"), []),
        ({"type": "data-weather", "data": {"t": 1}}, ["note"]),
    ],
)  # fmt: skip
def test_what_became_of_a_call(part: JsonObject, kinds: list[str]) -> None:
    these = taken([said("go"), answer(part)])
    assert [one["type"] for one in told(these, "tool_start", "tool_result", "tool_approval", "note")] == kinds


def test_files_of_the_user_and_messages_of_no_known_role() -> None:
    image = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,QUJD"}
    pdf = {"type": "file", "mediaType": "application/pdf", "url": "https://a.example/x.pdf"}
    these = taken(
        {"messages": [{"id": "m", "role": "user", "parts": [image, pdf]}, {"id": "n", "role": "robot"}]}
    )
    (asked,) = told(these, "user_message")
    assert [(one["type"], one.get("data"), one.get("url")) for one in asked["content"]] == [  # type: ignore[union-attr, index, call-overload]
        ("image", "QUJD", None), ("file", None, "https://a.example/x.pdf")
    ]  # fmt: skip
    assert told(these, "note")[0]["kind"] == "raw"


def test_a_longer_list_begins_like_the_shorter_one() -> None:
    messages = [said("go"), answer(tool("output-available", output=1)), said("more", name="m2"),
                answer({"type": "text", "text": "x"}, name="a2")]  # fmt: skip
    whole_one = taken(messages).ids()["chat"]
    for count in range(1, 4):
        assert whole_one[: len(ids := taken(messages[:count]).ids()["chat"])] == ids


def test_nothing_is_no_conversation() -> None:
    for value in ([], {"messages": []}):
        with pytest.raises(NotASession):
            taken(value)


PROMPT = {"part_kind": "user-prompt", "content": "go"}


def history(*messages: tuple[str, list[JsonObject], str | None]) -> Taken:
    return taken(
        [
            {"kind": kind, "parts": parts, "run_id": run, "finish_reason": "stop"}
            for kind, parts, run in messages
        ],
        "pydantic-ai",
    )


@pytest.mark.parametrize("runs", [("r1", "r2"), (None, None)])
def test_a_run_is_a_turn_and_without_names_a_prompt_after_an_answer_begins_one(
    runs: tuple[str | None, str | None],
) -> None:
    text = {"part_kind": "text", "content": "Yes."}
    one, two = runs
    these = history(("request", [PROMPT], one), ("response", [text], one), ("request", [PROMPT], two))
    assert len(told(these, "turn_start")) == 2
    assert [event["source"]["inferred"] for event in told(these, "complete")] == [True]


def test_a_turn_whose_call_has_no_return_did_not_end_well() -> None:
    call = {"part_kind": "tool-call", "tool_name": "ls", "tool_call_id": "c1", "args": "{}"}
    these = history(("request", [PROMPT], "r1"), ("response", [call], "r1"), ("request", [PROMPT], "r2"))
    assert [event["reason"] for event in told(these, "abort")] == ["unknown"]


def shown(records: list[Any]) -> list[tuple[Any, ...]]:
    """What a view's rows say, without names and times."""
    kept = ("row", "text", "tool_name", "args", "status", "result", "finish_reason")
    return [
        (*(row.get(name) for name in kept), len(row.get("thinking") or ()))
        for row in rows(records, "c")
        if row["row"] in ("assistant", "tool")
    ]


@needs_shared
def test_a_history_shows_what_its_stream_showed() -> None:
    imported = take_file(FIXTURES / "pydantic-ai" / "v2.68-messages-2turns.json")
    streamed = whole("pydantic-ai/v2.68-run-stream-events.jsonl")
    first = shown(streamed.records)
    assert [(one[1], one[2], one[5]) for one in shown(imported.whole())[: len(first)]] == [
        (one[1], one[2], one[5]) for one in first
    ]


@needs_shared
@pytest.mark.parametrize("name", ["fix", "abort", "maxtok"])
def test_stored_messages_show_what_their_stream_showed(name: str) -> None:
    """All but how it ended, which the messages do not hold."""
    streamed = take("ai-sdk", (FIXTURES / f"ai-sdk/v7.0.173-ui-stream-{name}.sse").read_bytes())
    imported = take_file(FIXTURES / f"ai-sdk/v7.0.173-ui-messages-{name}.json")
    said_by_stream, said_by_file = (
        [(*one[:4], one[5], one[7]) for one in shown(records)]
        for records in (streamed.records, imported.whole())
    )
    assert said_by_file == said_by_stream


@needs_shared
@pytest.mark.parametrize(
    ("path", "steps", "calls"),
    [("ai-sdk/v7.0.173-ui-messages-fix.json", 4, 5), ("ai-sdk/v7.0.173-ui-messages-abort.json", 1, 1),
     ("pydantic-ai/v2.68-messages-2turns.json", 5, 5)],
)  # fmt: skip
def test_steps_and_calls_are_those_of_the_file(path: str, steps: int, calls: int) -> None:
    data = json.loads((FIXTURES / path).read_bytes())
    parts = [part for one in data["messages"] for part in one["parts"]] if isinstance(data, dict) else []
    counted = sum(part["type"] == "step-start" for part in parts) or sum(
        one["kind"] == "response" for one in data if not isinstance(data, dict)
    )
    these = take_file(FIXTURES / path)
    assert len(told(these, "step_start")) == counted == steps
    assert len(told(these, "tool_start")) == calls
