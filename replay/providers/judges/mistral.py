"""Judges a request to Mistral's chat API: each message's shape, who follows whom, calls and results."""

import re
from collections.abc import Iterator, Mapping, Sequence

from ledger.events import Json, JsonObject
from replay.options import Target
from replay.providers.judges import Violation
from replay.providers.rules.mistral import RULES

_KEYS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls", "prefix"},
    "tool": {"role", "content", "tool_call_id"},
}
_NOT_AFTER = {
    "tool": {"user", "system"},
    "assistant": {"system"},
    "user": {"tool"},
    "system": {"tool"},
    "": {"tool", "assistant"},
}
_ID = re.compile(r"[a-zA-Z0-9]{9}")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def judge(
    target: Target,  # noqa: ARG001 - one set of rules for all models
    request: Mapping[str, Json],
    sendable: bool,
    original: Sequence[Sequence[JsonObject]] | None,  # noqa: ARG001 - nothing is signed here
) -> list[Violation]:
    """Every rule that the request breaks; see `replay.providers.violations`."""
    return list(_judge(request, sendable))


def _found(rule: str, where: str, message: str) -> Violation:
    return Violation(rule, where, message, RULES[rule].mend)


def _judge(request: Mapping[str, Json], sendable: bool) -> Iterator[Violation]:
    messages = request.get("messages")
    if not isinstance(messages, list):
        yield _found("S2", "messages", "messages is a list")
        return
    known: list[tuple[int, JsonObject]] = []
    before = ""
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in _KEYS:
            yield _found("S2", f"messages.{at}", "there is no such role")
            continue
        role = str(message["role"])
        yield from _shape(message, role, f"messages.{at}")
        if role in _NOT_AFTER[before]:
            yield _found("M3", f"messages.{at}", f"role {role} after {before or 'nothing'}")
        before = role
        known.append((at, message))
    yield from _pairs(known, sendable)
    last = known[-1][1] if known else {}
    if sendable and last.get("role") not in ("user", "tool") and last.get("prefix") is not True:
        yield _found("M4", f"messages.{len(messages) - 1}" if messages else "messages", "nothing to answer")
    yield from _tools(request.get("tools"))


def _shape(message: JsonObject, role: str, where: str) -> Iterator[Violation]:
    if "name" in message:
        yield _found("M6", f"{where}.name", "a message has no name")
    unknown = set(message) - _KEYS[role] - {"name"}
    if unknown:
        yield _found("S2", where, f"unknown keys {sorted(unknown)}")
    content = message.get("content")
    if role == "assistant":
        if not content and not message.get("tool_calls"):
            yield _found("M5", where, "neither content nor calls")
        yield from _calls(message.get("tool_calls"), f"{where}.tool_calls")
    elif content is None or content == []:
        yield _found("S2", f"{where}.content", "content is missing")
    if role == "tool" and not _ID.fullmatch(str(message.get("tool_call_id"))):
        yield _found("M1", f"{where}.tool_call_id", f"the id {message.get('tool_call_id')!r}")
    if not isinstance(content, str | list | None):
        yield _found("S2", f"{where}.content", "content is a string or a list")
    for place, text in _texts(content, f"{where}.content"):
        if any("\ud800" <= character <= "\udfff" for character in text):
            yield _found("S2", place, "a lone surrogate")
    if isinstance(content, list):
        for at, part in enumerate(content):
            kind = part.get("type") if isinstance(part, dict) else None
            allowed = ("text", "image_url") if role == "user" else ("text",)
            if not isinstance(part, dict) or kind not in allowed or set(part) != {"type", str(kind)}:
                yield _found("S2", f"{where}.content.{at}", f"a {role} message has no such part")


def _texts(content: Json, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(content, str):
        yield where, content
    elif isinstance(content, list):
        for at, part in enumerate(content):
            if isinstance(part, dict) and isinstance(text := part.get("text"), str):
                yield f"{where}.{at}.text", text


def _calls(calls: Json, where: str) -> Iterator[Violation]:
    if calls is None:
        return
    if not isinstance(calls, list):
        yield _found("S2", where, "tool_calls is a list")
        return
    for at, call in enumerate(calls):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict):
            yield _found("S2", f"{where}.{at}", "a call has a function")
            continue
        if not _ID.fullmatch(str(call.get("id"))):
            yield _found("M1", f"{where}.{at}.id", f"the id {call.get('id')!r}")
        if not isinstance(function.get("arguments"), str):
            yield _found("S2", f"{where}.{at}.function.arguments", "arguments are a string")
        if not _NAME.fullmatch(str(function.get("name"))):
            yield _found("S2", f"{where}.{at}.function.name", f"the name {function.get('name')!r}")


def _pairs(messages: list[tuple[int, JsonObject]], sendable: bool) -> Iterator[Violation]:
    """Calls against the run of results behind them; at the start of a conversation the last may be open."""
    speaking = [place for place, (_, message) in enumerate(messages) if message["role"] == "assistant"]
    last = speaking[-1] if speaking else -1
    while last > 0 and messages[last - 1][1]["role"] == "assistant":
        last -= 1
    waiting: list[str] = []
    asked = 0
    for place, (at, message) in enumerate(messages):
        if message["role"] == "tool":
            name = str(message.get("tool_call_id"))
            if name in waiting:
                waiting.remove(name)
            else:
                yield _found("M2", f"messages.{at}", f"no call {name} is waiting for it")
            continue
        if waiting and (sendable or asked < last):
            yield _found("M2", f"messages.{messages[asked][0]}", f"calls without a result: {waiting}")
        waiting = _ids(message.get("tool_calls"))
        asked = place
        if len(set(waiting)) != len(waiting):
            yield _found("M2", f"messages.{at}", "one id for two calls")
    if waiting and sendable:
        yield _found("M2", f"messages.{messages[asked][0]}", f"calls without a result: {waiting}")


def _ids(calls: Json) -> list[str]:
    found = calls if isinstance(calls, list) else []
    return [str(call.get("id")) for call in found if isinstance(call, dict)]


def _tools(tools: Json) -> Iterator[Violation]:
    for at, tool in enumerate(tools if isinstance(tools, list) else []):
        function = tool.get("function") if isinstance(tool, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            yield _found("S2", f"tools.{at}", f"the name {name!r}")
