"""Short spellings of chat messages: `u()` of a user, `a("x", "id")` with a call, `t("id")` with its result."""

from __future__ import annotations

from typing import Any

Message = dict[str, Any]


def u(content: Any = "x") -> Message:
    return {"role": "user", "content": content}


def a(content: Any = None, *ids: str, **more: Any) -> Message:
    calls = [{"id": one, "type": "function", "function": {"name": "f", "arguments": "{}"}} for one in ids]
    spoken = {} if content is None else {"content": content}
    return {"role": "assistant", **spoken, **({"tool_calls": calls} if calls else {}), **more}


def t(name: str, content: Any = "out") -> Message:
    return {"role": "tool", "tool_call_id": name, "content": content}
