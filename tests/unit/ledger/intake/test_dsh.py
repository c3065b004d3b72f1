"""Logs of DeepSeek Harness: rows to events, packed pieces, approvals, ends; compressed files frame by frame."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

from ledger.errors import NotASession
from ledger.events import JsonObject
from tests.conformance import needs_shared
from tests.imports import FIXTURES, SAMPLES, Taken, take_bytes, take_file
from turnledger.importing.storing import import_file

HEAD = {"type": "session", "version": 0, "id": "s1", "createdAt": 1, "delegationDepth": 0}
START = {"type": "turn/start", "data": {"turn": 1}}
MODEL = {"kind": "model", "provider": "deepseek", "model": "v4"}
PACKED = {"type": "text-chunks", "data": {"turn": 1, "step": 1, "index": 0, "dt": [1], "texts": ["Hel", "lo"]}}


def rows_of(*rows: JsonObject) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in (HEAD, *rows))


def taken(*rows: JsonObject) -> Taken:
    return take_bytes(rows_of(*rows), Path("session.jsonl"), "dsh")


def told(these: Taken, *kinds: str) -> list[Any]:
    return [event for event in these.events() if event.type in kinds]


def said(text: str, **more: Any) -> JsonObject:
    data = {"content": [{"type": "text", "text": text}], "source": {"kind": "user"}, "role": "user", "id": "m1"}
    return {"type": "user/message", "data": {**data, **more}, "surfaceOp": "append"}


def message(*content: JsonObject, step: int = 1, **more: Any) -> JsonObject:
    whole = {"role": "assistant", "content": list(content), "source": MODEL, "id": f"a{step}"}
    usage = {"inputTokens": 5, "outputTokens": 3, "cacheReadTokens": 2, "reasoningTokens": 1}
    return {
        "type": "assistant/message",
        "data": {"turn": 1, "step": step, "message": whole, "usage": usage, **more},
    }


def ended(kind: str, **more: Any) -> JsonObject:
    return {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": kind, **more}}}


TEXT = {"type": "text", "text": "Hello"}
CALL = {"type": "tool-call", "id": "c1", "name": "bash", "arguments": '{"a": 1}'}


def test_a_turn_with_its_step() -> None:
    finish = {
        "type": "assistant/chunk",
        "data": {"turn": 1, "step": 1, "chunk": {"type": "finish", "reason": {"kind": "tool-calls"}}},
    }
    block = {
        "type": "tool-result",
        "toolCallId": "c1",
        "content": [{"type": "text", "text": "out"}],
        "isError": False,
    }
    answer = {"type": "tool/result", "data": {"turn": 1, "step": 1, "message": {"content": [block], "id": "r"}}}
    thought = {"type": "reasoning", "text": "hm"}
    these = taken(START, said("go"), PACKED, finish, message(thought, TEXT, CALL), answer, ended("completed"))
    (step,) = told(these, "step_start")
    assert (step.step_id, step.provider, step.model) == ("turn:1/1", "deepseek", "v4")
    (finished,) = told(these, "step_finish")
    assert finished.finish_reason == "tool_use"
    assert {key: finished.usage[key] for key in ("input", "output", "cache_read", "reasoning")} == {
        "input": 5, "output": 3, "cache_read": 2, "reasoning": 1
    }  # fmt: skip
    assert [event.text for event in told(these, "text_complete")] == ["Hello"]
    assert told(these, "tool_start")[0].args == {"a": 1}
    assert told(these, "tool_result")[0].is_error is False
    assert told(these, "complete")


def test_a_step_whose_message_never_came_keeps_what_was_heard() -> None:
    end = {"type": "step/end", "data": {"turn": 1, "step": 1}}
    these = taken(START, said("go"), PACKED, end, ended("aborted", reason={"kind": "user"}))
    (text,) = told(these, "text_complete")
    assert (text.text, text.fields.get("partial")) == ("Hello", True)
    assert told(these, "abort")[0].reason == "user_stop"


@pytest.mark.parametrize(
    ("end", "kind", "reason"),
    [
        (ended("interrupted"), "abort", "crash"),
        (ended("aborted", reason={"kind": "parent"}), "abort", "parent"),
        (ended("error", error={"message": "no", "code": "AUTH"}), "error", None),
        (ended("max-tokens"), "complete", None),
        (ended("blocked"), "error", None),
    ],
)
def test_how_turns_end(end: JsonObject, kind: str, reason: str | None) -> None:
    (event,) = told(taken(START, said("go"), message(TEXT), end), "complete", "abort", "error")
    assert event.type == kind
    assert getattr(event, "reason", None) == reason


def test_context_compactions_approvals_and_what_is_not_known() -> None:
    header = {"type": "request/header", "data": {"header": {"config": {"model": "v4"}, "system": "Be brief."}}}
    asked = {"type": "approval/asked", "data": {"id": "p", "toolName": "bash", "callId": "c1", "reason": "why"}}
    decided = {"type": "approval/decided", "data": {"id": "p", "outcome": "allowed-once"}}
    cut = {**said("So far."), "surfaceOp": {"op": "replace", "start": 1, "end": 2}}
    more = {"type": "plan/mode", "data": {"on": True}}
    these = taken(header, START, said("go"), message(CALL), asked, decided, cut, more)
    (context,) = told(these, "context")
    assert (context.system, context.settings) == ("Be brief.", {"config": {"model": "v4"}})
    assert [event.decision for event in told(these, "tool_approval")] == ["requested", "approved"]
    assert [event.summary for event in told(these, "compaction")] == ["So far."]
    assert [event.fields["kind"] for event in told(these, "note")] == ["session", "plan/mode"]


def test_what_a_plugin_says_is_of_the_runtime() -> None:
    these = taken(START, said("go"), said("now", source={"kind": "plugin", "plugin": "x"}))
    assert [event.origin for event in told(these, "user_message")] == [None, "runtime"]


def test_the_older_shape() -> None:
    old = {"turn": 1, "step": 1, "content": [TEXT], "provenance": MODEL, "usage": {"inputTokens": 1}}
    result = {"turn": 1, "step": 1, "callId": "c1", "content": [], "isError": True}
    these = taken(START, {"type": "assistant/message", "data": old}, {"type": "tool/result", "data": result})
    assert told(these, "step_start")[0].model == "v4"
    assert told(these, "tool_result")[0].is_error is True


def test_a_log_without_header_and_one_of_a_later_version() -> None:
    with pytest.raises(NotASession, match="session header"):
        take_bytes(json.dumps(START).encode() + b"\n", Path("session.jsonl"), "dsh")
    with pytest.raises(NotASession, match="upgrade"):
        take_bytes(json.dumps({**HEAD, "version": 1}).encode() + b"\n", Path("session.jsonl"), "dsh")


def test_frames_one_after_the_other(tmp_path: Path) -> None:
    rows = [HEAD, START, said("go"), message(TEXT), ended("completed")]
    frames = [zstandard.compress(json.dumps(row).encode() + b"\n") for row in rows]
    file = tmp_path / "session.jsonl.zst"
    file.write_bytes(b"".join(frames))
    report = import_file(None, "dsh", file, None, True, lambda _: None)
    assert (report.failure, report.conversations[0].steps, report.lines) == (None, 1, 5)
    file.write_bytes(b"".join(frames)[:-5])
    torn = import_file(None, "dsh", file, None, True, lambda _: None)
    assert torn.failure is not None or torn.lines >= 4


@needs_shared
def test_each_sample_has_the_steps_that_its_messages_tell() -> None:
    for name, path in SAMPLES:
        if name != "dsh":
            continue
        rows = [json.loads(line) for line in (FIXTURES / path).read_bytes().splitlines() if line.strip()]
        messages = [row["data"] for row in rows if row["type"] == "assistant/message"]
        these = take_file(FIXTURES / path)
        assert len(told(these, "step_start")) == len(messages), path
        calls = sum(
            block["type"] == "tool-call"
            for data in messages
            for block in data.get("message", data).get("content", ())
        )
        assert len(told(these, "tool_start")) == calls, path
