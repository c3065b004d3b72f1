"""`turnledger lint`: requests that somebody made, judged by rule, place and mend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from turnledger.cli import main

USE = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "out"}


def u(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks) or "go"}


def a(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


BAD: dict[str, tuple[list[dict[str, Any]], str]] = {
    "a call without its result": ([u(), a(USE), u(text("so?"))], "messages.1"),
    "a result without its call": ([u(), a(text("x")), u(RESULT)], "messages.2.content.0"),
    "two results of a call": ([u(), a(USE), u(RESULT, RESULT)], "messages.2"),
    "one id twice": ([u(), a(USE), u(RESULT), a(USE), u(RESULT)], "messages.3"),
    "an id out of its alphabet": (
        [u(), a({**USE, "id": "call:1"}), u({**RESULT, "tool_use_id": "call:1"})], "messages.1.content.0"),
    "input that is no object": ([u(), a({**USE, "input": "{"}), u(RESULT)], "messages.1.content.0"),
    "the assistant first": ([a(text("x")), u()], "messages.0"),
    "the assistant last": ([u(), a(text("x"))], "messages.1"),
    "empty text": ([u(), a(text("")), u()], "messages.1.content.0"),
    "unsigned thinking": ([u(), a({"type": "thinking", "thinking": "hm"}, text("x")), u()], "messages.1."),
}  # fmt: skip
RULES = ["A1", "A2", "A3", "A4", "A5", "A6", "A7", "A9", "A10", "A20"]


def lint(request: Any, *options: str) -> Result:
    spelled = request if isinstance(request, bytes) else json.dumps(request).encode()
    return CliRunner().invoke(main, ["lint", "-", "--to", "anthropic", *options], input=spelled)


@pytest.mark.parametrize(("name", "rule"), list(zip(BAD, RULES, strict=True)))
def test_a_bad_request_is_named_by_rule_place_and_mend(name: str, rule: str) -> None:
    messages, place = BAD[name]
    answer = lint({"model": "claude-opus-4-5", "messages": messages}, "--json")
    assert answer.exit_code == 3
    found = json.loads(answer.stdout)
    assert (found["target"], found["model"]) == ("anthropic", "claude-opus-4-5")
    own = [one for one in found["violations"] if one["rule"] == rule]
    assert own
    assert own[0]["where"].startswith(place)
    assert own[0]["mend"]
    told = lint({"model": "claude-opus-4-5", "messages": messages})
    assert told.exit_code == 3
    assert f"{rule} at {own[0]['where']}: {own[0]['message']}" in told.stdout
    assert f"mend: {own[0]['mend']}" in told.stdout


def test_a_good_request(tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps({"messages": [u(), a(USE), u(RESULT)]}))
    answer = CliRunner().invoke(main, ["lint", str(file), "--to", "anthropic"])
    assert (answer.exit_code, answer.stdout) == (0, "no rule of anthropic is broken\n")


def test_the_start_of_a_conversation_may_be_open() -> None:
    assert lint({"messages": [u(), a(USE)]}).exit_code == 3
    assert lint({"messages": [u(), a(USE)]}, "--prefix").exit_code == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (b"{", "is not JSON: Expecting property name enclosed in double quotes at line 1 column 2"),
        (b"\xff\xfe{", "is not UTF-8 at byte 0"),
        (b"[1]", "holds a JSON list; a request is an object"),
        (b"[" * 200_000, "nests too deep to be read"),
    ],
)
def test_what_is_no_request_is_said(given: bytes, said: str) -> None:
    answer = lint(given)
    assert answer.exit_code == 1
    assert said in answer.output


def test_an_unknown_target_lists_what_there_is() -> None:
    answer = CliRunner().invoke(main, ["lint", "-", "--to", "acme"], input="{}")
    assert answer.exit_code == 1
    assert "acme" in answer.output
    assert "anthropic" in answer.output


def test_a_dialect() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    request = {
        "model": "some-model",
        "messages": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "c1", "content": "out"},
        ],
    }
    for more, code in ((["--dialect", "kimi"], 3), ([], 0)):
        options = ["lint", "-", "--to", "openai-chat", *more]
        answer = CliRunner().invoke(main, options, input=json.dumps(request))
        assert answer.exit_code == code
        assert ("O22 at messages.1" in answer.output) == (code == 3)


CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
ELSEWHERE: list[tuple[str, dict[str, Any], str]] = [
    ("ai-sdk", {"messages": [{"role": "user", "content": [{"type": "text", "text": "q"}]},
     {"role": "assistant", "content": [
         {"type": "tool-call", "toolCallId": "c", "toolName": "ls", "input": {}}]},
     {"role": "user", "content": [{"type": "text", "text": "r"}]}]}, "V1"),
    ("bedrock", {"modelId": "anthropic.claude-sonnet-4-5-v1:0", "messages": [
     {"role": "user", "content": [{"text": " "}]}]}, "B5"),
    ("gemini", {"contents": [{"role": "user", "parts": []}]}, "G5"),
    ("mistral", {"model": "m", "messages": [{"role": "user", "content": "q"},
     {"role": "assistant", "content": "", "tool_calls": [CALL]},
     {"role": "tool", "tool_call_id": "c1", "content": "x"}]}, "M1"),
    ("openai-chat", {"model": "m", "messages": [{"role": "tool", "tool_call_id": "c1", "content": "x"}]}, "O2"),
    ("openai-responses", {"model": "m", "input": [
     {"type": "function_call_output", "call_id": "c1", "output": "x"}]}, "R2"),
    ("pydantic-ai", {"messages": [{"kind": "request", "parts": [
     {"part_kind": "tool-return", "tool_name": "ls", "tool_call_id": "c1", "content": "x"}]}]}, "P2"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "request_body", "rule"), ELSEWHERE, ids=[one[0] for one in ELSEWHERE])
def test_every_target_names_a_bad_request(target: str, request_body: dict[str, Any], rule: str) -> None:
    answer = CliRunner().invoke(main, ["lint", "-", "--to", target, "--json"], input=json.dumps(request_body))
    assert answer.exit_code == 3, answer.output
    found = json.loads(answer.stdout)["violations"]
    assert rule in [one["rule"] for one in found], found
    assert all(one["where"] and one["mend"] for one in found)
