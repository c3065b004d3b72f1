"""The shape of an Anthropic request, block by block: types, keys, ids, emptiness (A5, A6, A10, A11, A20 …).

The allow-lists are those of the vendor's *Param types; server and beta blocks are opaque beyond their ids.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TypeGuard

from ledger.events import Json, JsonObject
from replay.providers.judges import Violation
from replay.providers.rules.anthropic import RULES

Blocks = list[tuple[str, JsonObject]]
"""Content as blocks, each with its path."""

ROLES = ("user", "assistant", "system")
CLIENT_ID = re.compile(r"[a-zA-Z0-9_-]+")
SERVER_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,200}")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_THINKING = ("thinking", "redacted_thinking")

# block type -> (keys that must be there with their type, keys that may be)
_KEYS: dict[str, tuple[dict[str, type | tuple[type, ...]], frozenset[str]]] = {
    "text": ({"text": str}, frozenset({"cache_control", "citations"})),
    "image": ({"source": dict}, frozenset({"cache_control", "transformations"})),
    "document": ({"source": dict}, frozenset({"cache_control", "citations", "context", "title"})),
    "search_result": (
        {"content": list, "source": str, "title": str},
        frozenset({"cache_control", "citations"}),
    ),
    "thinking": ({"thinking": str}, frozenset({"signature", "cache_control"})),
    "redacted_thinking": ({}, frozenset({"data", "cache_control"})),
    "tool_use": (
        {"id": str, "name": str},
        frozenset({"input", "cache_control", "caller", "toolset_name"}),
    ),
    "tool_result": (
        {"tool_use_id": str},
        frozenset({"content", "is_error", "cache_control", "toolset_name"}),
    ),
    "server_tool_use": ({"id": str, "name": str}, frozenset({"input", "cache_control", "caller"})),
    "tool_reference": ({"tool_name": str}, frozenset({"cache_control"})),
}
_OPAQUE = frozenset({"container_upload", "mcp_tool_use", "browser_state", "compaction", "fallback"})
_USER = frozenset({"text", "image", "document", "search_result", "tool_result", "container_upload"})
_ASSISTANT = frozenset(
    {"text", "tool_use", "server_tool_use", "mcp_tool_use", "compaction", "fallback", *_THINKING}
)
_IN_RESULT = frozenset({"text", "image", "document", "search_result", "tool_reference", "browser_state"})
_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


def is_object(value: Json) -> TypeGuard[JsonObject]:
    """True for a JSON object."""
    return isinstance(value, dict)


def found(rule: str, where: str, message: str) -> Violation:
    """A violation of a rule of the table."""
    return Violation(rule, where, message, RULES[rule].mend)


def blocks_of(content: Json, where: str) -> Blocks:
    """Content as (path, block) pairs; a string is one text block, what is no block is left out."""
    if isinstance(content, str):
        return [(where, {"type": "text", "text": content})] if content else []
    if not isinstance(content, list):
        return []
    return [(f"{where}.{index}", block) for index, block in enumerate(content) if is_object(block)]


def is_server_result(kind: Json) -> bool:
    """True for the result types of server tools (`web_search_tool_result`, `mcp_tool_result` …)."""
    return isinstance(kind, str) and kind.endswith("_tool_result")


def judge_message(message: Json, where: str) -> Iterator[Violation]:
    """What is wrong with one message on its own."""
    if not is_object(message):
        yield found("A41", where, "a message is an object")
        return
    role = message.get("role")
    if role not in ROLES:
        yield found("A41", f"{where}.role", f"unknown role {role!r}")
    for key in message.keys() - {"role", "content"}:
        yield found("A41", f"{where}.{key}", "Extra inputs are not permitted")
    content = message.get("content")
    path = f"{where}.content"
    if role == "user" and content in ("", []):
        yield found("A11b", path, "user messages must have non-empty content")
    elif isinstance(content, str):
        if content:
            yield from _judge_text(content, path)
    elif not isinstance(content, list):
        yield found("A41", path, "content is a string or a list of blocks")
    else:
        for index, block in enumerate(content):
            yield from _judge_block(block, f"{path}.{index}", str(role))


def judge_text_blocks(content: Json, where: str) -> Iterator[Violation]:
    """What is wrong with `system`: a string or text blocks."""
    if isinstance(content, str):
        if content:
            yield from _judge_text(content, where)
        return
    if not isinstance(content, list):
        yield found("A41", where, "system is a string or a list of text blocks")
        return
    for index, block in enumerate(content):
        path = f"{where}.{index}"
        if not is_object(block) or block.get("type") != "text":
            yield found("A41", path, "system holds text blocks only")
        else:
            yield from _judge_block(block, path, "system")


def _judge_text(text: str, where: str) -> Iterator[Violation]:
    if not text:
        yield found("A10", where, "text content blocks must be non-empty")
    elif not text.strip():
        yield found("A11", where, "text content blocks must contain non-whitespace text")


def _judge_block(block: Json, where: str, role: str) -> Iterator[Violation]:
    if not is_object(block):
        yield found("A41", where, "a block is an object")
        return
    kind = block.get("type")
    allowed = {"user": _USER, "assistant": _ASSISTANT, "system": frozenset({"text"})}.get(
        role, _USER | _ASSISTANT
    )
    if not isinstance(kind, str) or not (kind in _KEYS or kind in _OPAQUE or is_server_result(kind)):
        yield found("A41", where, f"unknown block type {kind!r}")
        return
    if kind not in allowed and not (role == "assistant" and is_server_result(kind) and kind != "tool_result"):
        rule = "A29" if kind in _THINKING else "A41"
        yield found(rule, where, f"a {role} message holds no {kind} block")
    yield from _judge_keys(block, kind, where)
    match kind:
        case "text":
            text = block.get("text")
            if isinstance(text, str):
                yield from _judge_text(text, where)
                if not text and block.get("cache_control") is not None:
                    yield found("A40", where, "cache_control cannot be set for empty text blocks")
        case "thinking" | "redacted_thinking":
            yield from _judge_thinking(block, kind, where)
        case "tool_use" | "server_tool_use":
            yield from _judge_call(block, kind, where)
        case "tool_result":
            yield from _judge_result(block, where)
        case "image" | "document":
            yield from _judge_source(block, kind, where)


def _judge_keys(block: JsonObject, kind: str, where: str) -> Iterator[Violation]:
    if kind not in _KEYS:
        if is_server_result(kind) and not isinstance(block.get("tool_use_id"), str):
            yield found("A41", f"{where}.tool_use_id", "Field required")
        return
    required, optional = _KEYS[kind]
    for key, type_ in required.items():
        if key not in block:
            yield found("A41", f"{where}.{key}", "Field required")
        elif not isinstance(block[key], type_):
            yield found("A41", f"{where}.{key}", "Input is of another type")
    for key in block.keys() - required.keys() - optional - {"type"}:
        yield found("A41", f"{where}.{key}", "Extra inputs are not permitted")


def _judge_thinking(block: JsonObject, kind: str, where: str) -> Iterator[Violation]:
    field = "signature" if kind == "thinking" else "data"
    value = block.get(field)
    if not isinstance(value, str) or not value:
        yield found("A20", f"{where}.{field}", f"{kind} without its {field}")
    if "cache_control" in block:
        yield found("A29", where, "thinking blocks carry no cache_control")


def _judge_call(block: JsonObject, kind: str, where: str) -> Iterator[Violation]:
    pattern = CLIENT_ID if kind == "tool_use" else SERVER_ID
    call_id, name = block.get("id"), block.get("name")
    if isinstance(call_id, str) and not pattern.fullmatch(call_id):
        yield found("A5", f"{where}.id", f"String should match pattern '^{pattern.pattern}$'")
    if isinstance(name, str) and not _NAME.fullmatch(name):
        yield found("A41", f"{where}.name", f"String should match pattern '^{_NAME.pattern}$'")
    if not is_object(block.get("input")):
        yield found("A6", f"{where}.input", "Input should be a valid dictionary")


def _judge_result(block: JsonObject, where: str) -> Iterator[Violation]:
    call_id = block.get("tool_use_id")
    if isinstance(call_id, str) and not CLIENT_ID.fullmatch(call_id):
        yield found("A5", f"{where}.tool_use_id", f"String should match pattern '^{CLIENT_ID.pattern}$'")
    failed = block.get("is_error")
    if failed is not None and not isinstance(failed, bool):
        yield found("A41", f"{where}.is_error", "Input should be a valid boolean")
    content = block.get("content", "")
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        yield found("A31", f"{where}.content", "a result's content is a string or a list of blocks")
        return
    for index, part in enumerate(content):
        path = f"{where}.content.{index}"
        kind = part.get("type") if is_object(part) else None
        if not is_object(part) or not isinstance(kind, str) or kind not in _IN_RESULT:
            yield found("A31", path, f"a result holds no {kind!r} block")
            continue
        if failed is True and kind != "text":
            yield found("A30", path, "all content must be type `text` if `is_error` is true")
        yield from _judge_keys(part, kind, path)
        if kind == "text" and isinstance(part.get("text"), str):
            yield from _judge_text(str(part["text"]), path)
        elif kind in ("image", "document"):
            yield from _judge_source(part, kind, path)


def _judge_source(block: JsonObject, kind: str, where: str) -> Iterator[Violation]:
    source = block.get("source")
    if not is_object(source):
        return
    path = f"{where}.source"
    form = source.get("type")
    media = source.get("media_type")
    wanted: Mapping[str, frozenset[str]]
    if kind == "image":
        wanted = {
            "base64": frozenset({"data", "media_type"}),
            "url": frozenset({"url"}),
            "file": frozenset({"file_id"}),
        }
        fits = form != "base64" or media in _IMAGES
    else:
        wanted = {
            "base64": frozenset({"data", "media_type"}),
            "text": frozenset({"data", "media_type"}),
            "url": frozenset({"url"}),
            "file": frozenset({"file_id"}),
            "content": frozenset({"content"}),
        }
        fits = {"base64": "application/pdf", "text": "text/plain"}.get(str(form), media) == media
    if not isinstance(form, str) or form not in wanted:
        yield found("A41", f"{path}.type", f"a {kind} has no source of type {form!r}")
        return
    if source.keys() != wanted[form] | {"type"}:
        yield found("A41", path, f"a {form} source has exactly {', '.join(sorted(wanted[form]))}")
    elif not fits:
        yield found("A41", f"{path}.media_type", f"{media!r} is not accepted")
    elif form != "content" and not all(isinstance(source[key], str) and source[key] for key in wanted[form]):
        yield found("A41", path, "a source's fields are non-empty strings")
    elif form == "base64" and not _BASE64.fullmatch(str(source["data"])):
        yield found("A41", f"{path}.data", "invalid base64 data")
