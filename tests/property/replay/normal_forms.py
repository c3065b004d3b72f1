"""Requests to several providers in one form: who says what, calls what, gets what back, and in which order.

A form is a list of `(what, ...)`: `system`, `user`, `assistant` with a text, `thinking` with what seals it,
`call` with its number, name and arguments, `result` with the number of its call, its value and whether it
failed; of a stand-in it does not say so, since the library takes none for a failure. Images and files are not
in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from replay.providers.content import NO_OUTPUT, OUTPUT_BELOW

Form = list[tuple[Any, ...]]
Body = Mapping[str, Any]


class _Calls:
    """Numbers calls, whatever their ids are."""

    def __init__(self) -> None:
        self._numbers: dict[str, list[int]] = {}
        self._next = 0

    def called(self, name: str, function: str, args: Any) -> tuple[Any, ...]:
        self._numbers.setdefault(name, []).append(self._next)
        self._next += 1
        return "call", self._next - 1, function, json.loads(args or "{}") if isinstance(args, str) else args

    def answered(self, name: str, value: Any, failed: bool) -> tuple[Any, ...]:
        told = _value(value)
        stand_in = isinstance(told, str) and (not told or (told.startswith("[") and told.endswith("]")))
        if told in (NO_OUTPUT, OUTPUT_BELOW):
            told = ""
        return "result", self._numbers[name].pop(0), told, None if stand_in else failed


def _value(value: Any) -> Any:
    """A result as its JSON, where it is JSON."""
    if isinstance(value, list):
        value = "\n\n".join(_texts(value))
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    found = [one.get("text", _file(one)) for one in content or []]
    return [text for text in found if isinstance(text, str)]


def _file(block: Any) -> Any:
    """The text of a text file of Anthropic's; None for any other block."""
    source = block.get("source") or {}
    return source.get("data") if block.get("type") == "document" and source.get("type") == "text" else None


def anthropic(body: Body) -> Form:
    return [("system", text) for text in _texts(body.get("system"))] + list(_anthropic(body["messages"]))


def _anthropic(messages: list[Any]) -> Iterator[tuple[Any, ...]]:
    calls = _Calls()
    for message in messages:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            kind = block["type"]
            if kind == "text":
                yield message["role"], block["text"]
            elif kind == "document":
                yield from ((message["role"], text) for text in _texts([block]))
            elif kind == "thinking":
                yield "thinking", block["thinking"], block["signature"]
            elif kind == "redacted_thinking":
                yield "thinking", "", block["data"]
            elif kind == "tool_use":
                yield calls.called(block["id"], block["name"], block["input"])
            elif kind == "tool_result":
                failed = block.get("is_error", False)
                yield calls.answered(block["tool_use_id"], block.get("content") or NO_OUTPUT, failed)


def chat(body: Body) -> Form:
    return list(_chat(body["messages"]))


def _chat(messages: list[Any]) -> Iterator[tuple[Any, ...]]:
    calls = _Calls()
    for message in messages:
        role, texts = message["role"], _texts(message.get("content"))
        if role == "tool":
            yield calls.answered(message["tool_call_id"], *_told(message["content"]))
            continue
        if message.get("reasoning_content"):
            yield "thinking", message["reasoning_content"]
        yield from ((role, text) for text in texts)
        for call in message.get("tool_calls") or []:
            yield calls.called(call["id"], call["function"]["name"], call["function"]["arguments"])


def _told(content: Any) -> tuple[Any, bool]:
    """A result whose failure is said in its text: ours begins with a mark, theirs is an object."""
    text = "\n\n".join(_texts(content))
    if text.startswith("[error] "):
        return text.removeprefix("[error] "), True
    value = _value(text)
    if isinstance(value, dict) and set(value) == {"error"}:
        return value["error"], True
    return text, False


def responses(body: Body) -> Form:
    system = [("system", text) for text in _texts(body.get("instructions"))]
    return system + list(_responses(body["input"]))


def _responses(items: list[Any]) -> Iterator[tuple[Any, ...]]:
    calls = _Calls()
    for item in items:
        kind = item.get("type", "message")
        if kind == "message":
            yield from ((item["role"], text) for text in _texts(item["content"]))
        elif kind == "reasoning":
            yield "thinking", item.get("id"), item.get("encrypted_content")
        elif kind == "function_call":
            yield calls.called(item["call_id"], item["name"], item["arguments"])
        elif kind == "function_call_output":
            output = item["output"]
            texts = [{"text": text} for text in _texts(output)]
            yield calls.answered(item["call_id"], *_told(texts))


def gemini(body: Body) -> Form:
    system = body.get("systemInstruction") or {"parts": []}
    form: Form = [("system", text) for text in _texts(system["parts"])]
    calls = _Calls()
    for content in body["contents"]:
        role = {"model": "assistant"}.get(content["role"], content["role"])
        for part in content["parts"]:
            if part.get("thought"):
                form.append(("thinking", part["text"]))
            elif "text" in part:
                form.append((role, part["text"]))
            elif "functionCall" in part:
                call = part["functionCall"]
                form.append(calls.called(call.get("id", call["name"]), call["name"], call.get("args") or {}))
            elif "functionResponse" in part:
                given = part["functionResponse"]
                told = given["response"]
                failed = set(told) == {"error"}
                only = (
                    next(iter(told.values()))
                    if set(told) in ({"error"}, {"result"}, {"return_value"})
                    else told
                )
                form.append(calls.answered(given.get("id", given["name"]), only, failed))
    return form


def bedrock(body: Body) -> Form:
    form: Form = [("system", text) for text in _texts(body.get("system"))]
    calls = _Calls()
    for message in body["messages"]:
        for block in message["content"]:
            if "text" in block:
                form.append((message["role"], block["text"]))
            elif "reasoningContent" in block:
                form.append(("thinking", *_sealed(block["reasoningContent"])))
            elif "toolUse" in block:
                use = block["toolUse"]
                form.append(calls.called(use["toolUseId"], use["name"], use["input"]))
            elif "toolResult" in block:
                result = block["toolResult"]
                told = "\n\n".join(_texts(result["content"])) or NO_OUTPUT
                failed = result.get("status") == "error"
                form.append(calls.answered(result["toolUseId"], told, failed))
    return form


def _sealed(reasoning: Body) -> tuple[str, str]:
    if "redactedContent" in reasoning:
        return "", reasoning["redactedContent"]
    return reasoning["reasoningText"]["text"], reasoning["reasoningText"]["signature"]


def mistral(body: Body) -> Form:
    """As Chat Completions; texts of one answer are one, which the library sends apart."""
    messages = [
        {**one, "content": "\n\n".join(_texts(one.get("content")))} if one["role"] == "assistant" else one
        for one in body["messages"]
    ]
    return [said for said in _chat(messages) if said != ("assistant", "")]


FORMS = {
    "anthropic": anthropic,
    "bedrock": bedrock,
    "gemini": gemini,
    "mistral": mistral,
    "openai-chat": chat,
    "openai-responses": responses,
}
