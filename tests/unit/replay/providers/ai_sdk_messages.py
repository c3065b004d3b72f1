"""Short spellings of the AI SDK's messages, and of a ledger with a search that the provider ran."""

from __future__ import annotations

from typing import Any

from tests.unit.replay.providers.rendering import call, result, start, text, user

Message = dict[str, Any]
VERSIONS = ("v5", "v6", "v7")


def u(content: Any = "x") -> Message:
    return {"role": "user", "content": content}


def a(*parts: Message) -> Message:
    return {"role": "assistant", "content": list(parts) or [t()]}


def t(words: str = "x", **more: Any) -> Message:
    return {"type": "text", "text": words, **more}


def c(name: str = "c1", tool: str = "f", given: Any = None, **more: Any) -> Message:
    return {
        "type": "tool-call",
        "toolCallId": name,
        "toolName": tool,
        "input": {} if given is None else given,
        **more,
    }


def r(name: str = "c1", output: Any = None, tool: str = "f") -> Message:
    told = {"type": "text", "value": "out"} if output is None else output
    return {"type": "tool-result", "toolCallId": name, "toolName": tool, "output": told}


def o(*results: Message) -> Message:
    return {"role": "tool", "content": list(results) or [r()]}


def th(words: str = "hm", **options: Any) -> Message:
    return {"type": "reasoning", "text": words, **({"providerOptions": options} if options else {})}


CLAUDE, GPT, GEMINI = "claude-opus-4-5", "gpt-5.4", "gemini-3-pro"
NOVA = "anthropic.claude-sonnet-4-5-v1:0"
ITEM: Message = {"openai": {"itemId": "rs_1"}}
HIT = {"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "E", "page_age": None}
SEARCH = {
    "type": "context", "digest": "d",
    "tools": [
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
        {"name": "read", "description": "Reads.", "input_schema": {"type": "object", "maximum": 2**60}},
        {"type": "computer_20250124", "name": "computer"},
    ],
}  # fmt: skip


def searched(content: Any) -> list[Message]:
    hosted: Message = {"tool_name": "web_search", "provider_executed": True}
    return [
        SEARCH, user("q"), start("s1", api="messages"), call("s1", "srvtoolu_1", {"query": "x"}, **hosted),
        result("srvtoolu_1", content, step_id="s1", provider_executed=True), text("s1"), user("r", "t2"),
    ]  # fmt: skip
