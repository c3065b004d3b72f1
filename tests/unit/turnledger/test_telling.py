"""Parts and messages of every wire format in lines for people."""

from __future__ import annotations

from typing import Any

import pytest

from turnledger.cli.telling import message_lines

CALL = '-> read {"path": "a"}  [c1]'
ARGS = {"path": "a"}

MESSAGES: list[tuple[dict[str, Any], list[str]]] = [
    ({"role": "user", "content": "hi\nthere"}, ["hi there"]),
    ({"role": "user", "content": [{"type": "text", "text": "hi"}]}, ["hi"]),
    # Anthropic
    (
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "tool_use", "id": "c1", "name": "read", "input": ARGS},
            ],
        },
        ["(thinking, signed) hm", "(redacted)", CALL],
    ),
    (
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True}],
        },
        ["<- error no  [c1]"],
    ),
    # Chat
    (
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "hm",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
            ],
        },
        ["reasoning_content: hm", CALL],
    ),
    ({"role": "tool", "tool_call_id": "c1", "content": "out"}, ["tool_call_id: c1", "out"]),
    # Responses
    ({"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path": "a"}'}, [CALL]),
    ({"type": "function_call_output", "call_id": "c1", "output": "out"}, ["<- out  [c1]"]),
    ({"type": "reasoning", "summary": [], "encrypted_content": "x"}, ["(thinking, signed)"]),
    (
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
        ["hi"],
    ),
    # Gemini
    (
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True},
                {"text": "hi"},
                {"functionCall": {"id": "c1", "name": "read", "args": ARGS}, "thoughtSignature": "s"},
            ],
        },
        ["(thinking) hm", "hi", CALL],
    ),
    (
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "c1", "name": "read", "response": {"result": "out"}}}],
        },
        ['<- {"result": "out"}  [c1]'],
    ),
    # Bedrock
    (
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
                {"text": "hi"},
                {"toolUse": {"toolUseId": "c1", "name": "read", "input": ARGS}},
            ],
        },
        ["(thinking, signed) hm", "hi", CALL],
    ),
    (
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "no"}], "status": "error"}}],
        },
        ['<- error [{"text": "no"}]  [c1]'],
    ),
    # AI SDK
    (
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "read", "input": ARGS}],
        },
        [CALL],
    ),
    # pydantic-ai
    (
        {
            "kind": "response",
            "parts": [
                {"part_kind": "text", "content": "hi"},
                {"part_kind": "tool-call", "tool_call_id": "c1", "tool_name": "read", "args": ARGS},
            ],
        },
        ["hi", CALL],
    ),
    (
        {
            "kind": "request",
            "parts": [
                {"part_kind": "tool-return", "tool_call_id": "c1", "tool_name": "read", "content": "out"},
                {"part_kind": "user-prompt", "content": "hi"},
            ],
        },
        ["<- out  [c1]", "hi"],
    ),
    (
        {"role": "user", "parts": [{"inlineData": {"data": "QUJD"}}]},
        ['(part) {"inlineData": {"data": "QUJD"}}'],
    ),
]


@pytest.mark.parametrize(("message", "lines"), MESSAGES)
def test_a_message_in_lines(message: dict[str, Any], lines: list[str]) -> None:
    assert list(message_lines(message)) == lines


def test_long_parts_are_cut_and_say_so() -> None:
    [line] = message_lines({"role": "user", "content": "x" * 5000})
    assert line.endswith("… (5000 characters)")
    assert len(line) < 450
