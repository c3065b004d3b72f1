"""Judges a request to Chat Completions and its dialects: each message's shape, then calls and their results."""

import re
from collections.abc import Iterator, Mapping, Sequence

from ledger.errors import BadInput
from ledger.events import Json, JsonObject
from replay.options import Target
from replay.providers.judges import Violation, has_surrogates
from replay.providers.judges.chat import pair_faults, role_of
from replay.providers.rules.openai_chat import RULES

_KEYS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "refusal", "audio", "tool_calls", "function_call"},
    "tool": {"role", "content", "tool_call_id"},
    "function": {"role", "content", "name"},
}
_PARTS = {
    "system": {"text": {"text"}},
    "developer": {"text": {"text"}},
    "tool": {"text": {"text"}},
    "assistant": {"text": {"text"}, "refusal": {"refusal"}},
    "user": {"text": {"text"}, "image_url": {"image_url"}, "input_audio": {"input_audio"}, "file": {"file"}},
}
_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
# Dialect -> what the names of its models hold; the first that fits counts.
_DIALECTS: dict[str, str] = {
    "plain": "",
    "deepseek-r1": "deepseek.*(reasoner|r1)",
    "deepseek": "deepseek",
    "kimi": "kimi|moonshot",
    "mimo": "mimo",
    "glm": "glm",
    "minimax": "minimax",
    "gemini": "gemini",
    "mistral": "stral",
    "reasoning": "",
}
_DUMMIES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NAME = re.compile(r"[^\s<|\\/>]+")


def judge(
    target: Target,
    request: Mapping[str, Json],
    sendable: bool,
    original: Sequence[Sequence[JsonObject]] | None,  # noqa: ARG001 - nothing is signed here
) -> list[Violation]:
    """Every rule that the request breaks; see `replay.providers.violations`.

    Raises `BadInput` for a dialect that there is not, listing what there is.
    """
    dialect = _dialect(target)
    found = list(_judge(dialect, request, sendable))
    if dialect == "gemini" and re.search(r"gemini-([3-9]|\d\d)", (target.model or "").lower()):
        found += _signatures(request.get("messages"))
    return found


def _dialect(target: Target) -> str:
    """The dialect of a target: the one it names, else what its model's name says of the server."""
    if target.dialect is not None:
        if target.dialect not in _DIALECTS:
            known = ", ".join(_DIALECTS)
            raise BadInput(problem=f"openai-chat has no dialect {target.dialect!r}; it has: {known}")
        return target.dialect
    model = (target.model or "").lower()
    return next((name for name, pattern in _DIALECTS.items() if pattern and re.search(pattern, model)), "plain")


def _found(rule: str, where: str, message: str) -> Violation:
    return Violation(rule, where, message, RULES[rule].mend)


def _judge(dialect: str, request: Mapping[str, Json], sendable: bool) -> Iterator[Violation]:
    messages = request.get("messages")
    if not isinstance(messages, list):
        yield _found("O6", "messages", "messages is a list")
        return
    for at, message in enumerate(messages):
        if role_of(message) in _KEYS and isinstance(message, dict):
            yield from _shape(dialect, message, f"messages.{at}")
        else:
            yield _found("O6", f"messages.{at}", f"there is no role {role_of(message)!r}")
    for fault in pair_faults(messages, sendable):
        yield _found("O2" if fault.kind == "unasked" else "O1", f"messages.{fault.at}", fault.message)
    yield from _tools(request.get("tools"))
    if sendable:
        talk = [role for role in map(role_of, messages) if role not in ("system", "developer")]
        if not talk or talk[-1] not in ("user", "tool", "function"):
            yield _found("X5", f"messages.{len(messages) - 1}" if messages else "messages", "nothing to answer")
    if has_surrogates(dict(request)):
        yield _found("S1", "messages", "a lone surrogate")


def _shape(dialect: str, message: JsonObject, where: str) -> Iterator[Violation]:
    role = str(message["role"])
    unknown = set(message) - _KEYS[role] - (set(_REASONING) if role == "assistant" else set())
    if unknown:
        yield _found("O6", where, f"unknown keys {sorted(unknown)}")
    name = message.get("name")
    if name is not None and not (isinstance(name, str) and _NAME.fullmatch(name)):
        yield _found("O7", f"{where}.name", f"the name {name!r}")
    if role == "assistant":
        yield from _assistant(dialect, message, where)
    elif message.get("content") is None:
        yield _found("O3", f"{where}.content", "content is missing")
    yield from _content(message.get("content"), role, f"{where}.content")


def _content(content: Json, role: str, where: str) -> Iterator[Violation]:
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        yield _found("O5", where, "content is a string or a list of parts")
        return
    if not content:
        yield _found("O4", where, "an empty list")
    for at, part in enumerate(content):
        place = f"{where}.{at}"
        kind = part.get("type") if isinstance(part, dict) else None
        keys = _PARTS.get(role, {}).get(str(kind))
        if not isinstance(part, dict) or keys is None:
            rule = "O5" if role == "tool" else "O6"
            yield _found(rule, place, f"a {role} message has no part of type {kind!r}")
        elif set(part) != {"type", *keys}:
            yield _found("O6", place, f"a {kind} part has the keys {sorted({'type', *keys})}")
        elif kind in ("text", "refusal") and not isinstance(part[str(kind)], str):
            yield _found("O5", place, "a text is a string")
        elif kind == "image_url" and not _is_image(part["image_url"]):
            yield _found("O5", place, "an image has a url that is a string")


def _is_image(image: Json) -> bool:
    return isinstance(image, dict) and isinstance(image.get("url"), str) and set(image) <= {"url", "detail"}


def _assistant(dialect: str, message: JsonObject, where: str) -> Iterator[Violation]:
    calls = message.get("tool_calls")
    if message.get("content") is None and not any(
        message.get(name) is not None for name in ("tool_calls", "function_call", "refusal", "audio")
    ):
        yield _found("O3", f"{where}.content", "content is missing without calls")
    if dialect == "mistral" and not calls and message.get("content") in (None, "", []):
        yield _found("O8", where, "neither text nor calls")
    yield from _reasoning(dialect, message, bool(calls), where)
    if calls is None:
        return
    if not isinstance(calls, list):
        yield _found("O5", f"{where}.tool_calls", "tool_calls is a list")
        return
    if not calls:
        yield _found("O4", f"{where}.tool_calls", "an empty list")
    for at, call in enumerate(calls):
        yield from _call(dialect, call, f"{where}.tool_calls.{at}")


def _call(dialect: str, call: Json, where: str) -> Iterator[Violation]:
    if not isinstance(call, dict) or call.get("type") not in ("function", "custom"):
        yield _found("O6", where, "a call is of type function or custom")
        return
    inner = call.get(str(call["type"]))
    field = "arguments" if call["type"] == "function" else "input"
    if not isinstance(call.get("id"), str) or not call["id"]:
        yield _found("O1", f"{where}.id", "a call has an id")
    if (
        not isinstance(inner, dict)
        or set(inner) != {"name", field}
        or set(call) - ({"extra_content"} if dialect == "gemini" else set()) != {"id", "type", call["type"]}
    ):
        yield _found("O6", where, f"a call has id, type and {call['type']} with name and {field}")
        return
    if not isinstance(inner[field], str):
        yield _found("O5", f"{where}.{call['type']}.{field}", f"{field} is a string")
    if not isinstance(inner["name"], str) or not _TOOL_NAME.fullmatch(inner["name"]):
        yield _found("O7", f"{where}.{call['type']}.name", f"the name {inner['name']!r}")


def _signatures(messages: Json) -> Iterator[Violation]:
    """The first call of each message since the user's newest carries a signature, others no dummy (O27)."""
    listed = messages if isinstance(messages, list) else []
    newest = max((at for at, message in enumerate(listed) if role_of(message) == "user"), default=-1)
    for at, message in enumerate(listed):
        calls = message.get("tool_calls") if isinstance(message, dict) else None
        for number, call in enumerate(calls if isinstance(calls, list) else []):
            beside = call.get("extra_content") if isinstance(call, dict) else None
            google = beside.get("google") if isinstance(beside, dict) else None
            signature = google.get("thought_signature") if isinstance(google, dict) else None
            where = f"messages.{at}.tool_calls.{number}"
            if number == 0 and at > newest and not (isinstance(signature, str) and signature):
                yield _found("O27", where, "the first call has no thought signature")
            if number > 0 and signature in _DUMMIES:
                yield _found("O27", where, "a dummy that stands for nothing")


def _reasoning(dialect: str, message: JsonObject, calls: bool, where: str) -> Iterator[Violation]:
    fields = [name for name in _REASONING if name in message]
    content = message.get("reasoning_content")
    if dialect in ("plain", "mistral", "gemini") and fields:
        yield _found("O28", f"{where}.{fields[0]}", "a field that this server does not know")
    if dialect == "deepseek-r1" and fields:
        yield _found("O21", f"{where}.{fields[0]}", "reasoning is sent back")
    for name in fields:
        if not isinstance(message[name], list if name == "reasoning_details" else str):
            yield _found("O26", f"{where}.{name}", "reasoning of the wrong type")
    if len(fields) > 1 and "reasoning_details" not in fields:
        yield _found("O26", where, "two names of one field")
    missing = calls and not isinstance(content, str)
    for name, rule in (("deepseek", "O20"), ("kimi", "O22"), ("mimo", "O23")):
        if dialect == name and missing:
            yield _found(rule, where, "a tool call without reasoning_content")


def _tools(tools: Json) -> Iterator[Violation]:
    if tools is None:
        return
    if not isinstance(tools, list) or not tools:
        yield _found("O4", "tools", "tools is a list that is not empty")
        return
    for at, tool in enumerate(tools):
        kind = tool.get("type") if isinstance(tool, dict) else None
        inner = tool.get(str(kind)) if isinstance(tool, dict) else None
        if not isinstance(inner, dict) or kind not in ("function", "custom"):
            yield _found("O6", f"tools.{at}", "a tool is of type function or custom")
        elif not isinstance(inner.get("name"), str) or not _TOOL_NAME.fullmatch(str(inner["name"])):
            yield _found("O7", f"tools.{at}.{kind}.name", f"the name {inner.get('name')!r}")
