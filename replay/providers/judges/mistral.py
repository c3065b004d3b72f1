"""Judges a request to Mistral's chat API: each message's shape, who follows whom, calls and results."""

import re
from collections.abc import Iterator, Mapping, Sequence

from ledger.events import Json, JsonObject
from replay.options import Target
from replay.providers.judges import Violation, has_surrogates
from replay.providers.judges.chat import pair_faults, role_of
from replay.providers.rules.mistral import RULES

_KEYS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls", "prefix"},
    "tool": {"role", "content", "tool_call_id", "name"},
}
_PARTS = {
    "text": {"text"},
    "image_url": {"image_url"},
    "document_url": {"document_url", "document_name"},
    "input_audio": {"input_audio"},
    "file": {"file_id"},
    "reference": {"reference_ids"},
    "thinking": {"thinking", "signature", "closed"},
}
"""The keys of a part beside its type."""
_OPTIONAL = {"document_name", "signature", "closed"}
_PARTS_OF = {
    "user": {"text", "image_url", "document_url", "input_audio", "file", "reference"},
    "assistant": {"text", "reference", "thinking"},
    "system": {"text", "thinking"},
    "tool": {"text", "reference"},
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
    before = ""
    for at, message in enumerate(messages):
        role = role_of(message)
        if role not in _KEYS or not isinstance(message, dict):
            yield _found("S2", f"messages.{at}", f"there is no role {role!r}")
            continue
        yield from _shape(message, role, f"messages.{at}")
        if role in _NOT_AFTER[before]:
            yield _found("M3", f"messages.{at}", f"role {role} after {before or 'nothing'}")
        before = role
    for fault in pair_faults(messages, sendable):
        yield _found("M2", f"messages.{fault.at}", fault.message)
    last = messages[-1] if messages else None
    open_end = isinstance(last, dict) and last.get("prefix") is True
    if sendable and role_of(last) not in ("user", "tool") and not open_end:
        yield _found("M4", f"messages.{len(messages) - 1}" if messages else "messages", "nothing to answer")
    yield from _tools(request.get("tools"))
    if has_surrogates(dict(request)):
        yield _found("S2", "messages", "a lone surrogate")


def _shape(message: JsonObject, role: str, where: str) -> Iterator[Violation]:
    if "name" in message and role != "tool":
        yield _found("M6", f"{where}.name", f"a message of role {role} has no name")
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
    if isinstance(content, list):
        for at, part in enumerate(content):
            kind = part.get("type") if isinstance(part, dict) else None
            if not isinstance(part, dict) or kind not in _PARTS_OF[role]:
                yield _found("S2", f"{where}.content.{at}", f"a {role} message has no part {kind!r}")
                continue
            known = _PARTS[str(kind)]
            if not set(part) - {"type"} <= known or not set(part) & known - _OPTIONAL:
                yield _found("S2", f"{where}.content.{at}", f"a part {kind!r} has the keys {sorted(known)}")


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


def _tools(tools: Json) -> Iterator[Violation]:
    for at, tool in enumerate(tools if isinstance(tools, list) else []):
        function = tool.get("function") if isinstance(tool, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            yield _found("S2", f"tools.{at}", f"the name {name!r}")
