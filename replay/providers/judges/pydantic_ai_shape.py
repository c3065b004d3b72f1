"""The shapes of pydantic-ai's messages, closed: kinds, parts and fields that a history may hold."""

import re
from collections.abc import Iterator

from ledger.events import Json, JsonObject

Found = tuple[str, str, str]
"""A rule, where, and what is wrong."""

_BASE64 = re.compile(r"(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}==|[A-Za-z0-9+/_-]{3}=)?")
_URL = re.compile(r"https?://[^\s/?#]+([/?#]\S*)?")
_MEDIA_TYPE = re.compile(r"[a-z]+/[A-Za-z0-9.+-]+")

_MESSAGE = {
    "request": {"parts", "timestamp", "instructions", "kind", "run_id", "conversation_id", "metadata", "state"},
    "response": {
        "parts", "usage", "model_name", "model_id", "timestamp", "kind", "provider_name", "provider_url",
        "canonical_system", "provider_details", "provider_response_id", "finish_reason", "run_id",
        "conversation_id", "metadata", "workspace_ref", "history_digest", "failed_attempts", "state",
    },
}  # fmt: skip
# Fields of each part: those that it must have with their types, then those that it may.
_OWN: dict[str, type | tuple[type, ...]] = {
    "id": (str, type(None)),
    "provider_name": (str, type(None)),
    "provider_details": (dict, type(None)),
}
_REQUEST: dict[str, tuple[dict[str, type | tuple[type, ...]], set[str]]] = {
    "system-prompt": ({"content": str}, {"timestamp", "dynamic_ref", "context_id", "scope", "metadata"}),
    "user-prompt": ({"content": (str, list)}, {"timestamp"}),
    "tool-return": (
        {"tool_name": str, "tool_call_id": str, "content": object},
        {"tool_kind", "metadata", "timestamp", "outcome", "retry", "content_file_digests"},
    ),
    "retry-prompt": ({"content": (str, list)}, {"tool_name", "tool_call_id", "timestamp"}),
    "retry-feedback": ({"content": (str, list), "retry": dict}, {"timestamp"}),
}
_RESPONSE: dict[str, tuple[dict[str, type | tuple[type, ...]], set[str]]] = {
    "text": ({"content": str}, {*_OWN, "citations"}),
    "thinking": ({"content": str}, {*_OWN, "signature"}),
    "tool-call": ({"tool_name": str, "tool_call_id": str}, {*_OWN, "args", "tool_kind"}),
    "builtin-tool-call": ({"tool_name": str, "tool_call_id": str}, {*_OWN, "args", "tool_kind"}),
    "builtin-tool-return": (
        {"tool_name": str, "tool_call_id": str, "content": object},
        {"tool_kind", "metadata", "timestamp", "outcome", "provider_name", "provider_details",
         "content_file_digests"},
    ),
    "compaction": ({"content": (str, type(None))}, {*_OWN, "metadata"}),
    "file": ({"content": dict}, set(_OWN)),
}  # fmt: skip
_OUTCOMES = ("success", "failed", "denied", "interrupted", "retried")
_URLS = {"image-url", "audio-url", "document-url", "video-url"}
_ITEM = {
    **{kind: {"url", "force_download", "vendor_metadata", "media_type", "identifier"} for kind in _URLS},
    "binary": {"data", "media_type", "vendor_metadata", "identifier"},
    "text-content": {"content", "metadata"},
    "cache-point": {"ttl"},
    "uploaded-file": {"file_id", "provider_name", "vendor_metadata", "media_type", "identifier"},
}


def parts_of(message: JsonObject) -> list[JsonObject]:
    """The parts of a message that are objects; anything else is another's finding."""
    parts = message.get("parts")
    return [part if isinstance(part, dict) else {} for part in parts] if isinstance(parts, list) else []


def shape(message: Json, where: str) -> Iterator[Found]:
    """What is wrong with one message on its own: P4, P6 and P11."""
    kind = message.get("kind") if isinstance(message, dict) else None
    if not isinstance(message, dict) or kind not in ("request", "response"):
        yield "P6", where, f"there is no message of kind {kind!r}"
        return
    if unknown := set(message) - _MESSAGE[str(kind)]:
        yield "P6", where, f"unknown fields {sorted(unknown)}"
    for name in ("model_name", "provider_name", "provider_response_id", "instructions"):
        if name in message and not isinstance(message[name], str | None):
            yield "P6", f"{where}.{name}", f"{name} is a string"
    parts = message.get("parts")
    if not isinstance(parts, list):
        yield "P6", f"{where}.parts", "parts is a list"
        return
    if not parts and not message.get("instructions"):
        yield "P4", where, "a message without parts"
    known = _REQUEST if kind == "request" else _RESPONSE
    for at, part in enumerate(parts):
        yield from _part(known, str(kind), part, f"{where}.parts.{at}")


def _part(
    known: dict[str, tuple[dict[str, type | tuple[type, ...]], set[str]]], message: str, part: Json, where: str
) -> Iterator[Found]:
    kind = part.get("part_kind") if isinstance(part, dict) else None
    if not isinstance(part, dict) or kind not in known:
        yield "P6", where, f"a {message} has no part of kind {kind!r}"
        return
    must, may = known[str(kind)]
    if unknown := set(part) - set(must) - may - {"part_kind"}:
        yield "P6", where, f"unknown fields {sorted(unknown)}"
    for name, types in must.items():
        if name not in part or not isinstance(part[name], types):
            yield "P6", f"{where}.{name}", f"{name} is missing, or of the wrong type"
    for name, types in _OWN.items():
        if name in part and name in may and not isinstance(part[name], types):
            yield "P6", f"{where}.{name}", f"{name} is of the wrong type"
    if part.get("outcome", "success") not in _OUTCOMES:
        yield "P6", f"{where}.outcome", f"there is no outcome {part.get('outcome')!r}"
    content = part.get("content")
    if kind in ("system-prompt", "text", "user-prompt", "tool-return") and isinstance(content, str):
        if not content.strip():
            yield "P4", f"{where}.content", "the text is blank"
    elif kind == "user-prompt" and isinstance(content, list):
        if not content:
            yield "P4", f"{where}.content", "a prompt without content"
        for at, item in enumerate(content):
            yield from _item(item, f"{where}.content.{at}")
    elif kind == "tool-return":
        items = content if isinstance(content, list) else [content]
        if not items or any(item is None or (isinstance(item, str) and not item.strip()) for item in items):
            yield "P4", f"{where}.content", "an empty item of a tool return"


def _item(item: Json, where: str) -> Iterator[Found]:
    """One item of a user prompt."""
    if isinstance(item, str):
        if not item.strip():
            yield "P4", where, "the text is blank"
        return
    kind = item.get("kind") if isinstance(item, dict) else None
    if not isinstance(item, dict) or kind not in _ITEM:
        yield "P6", where, f"a prompt has no item of kind {kind!r}"
        return
    if unknown := set(item) - _ITEM[str(kind)] - {"kind"}:
        yield "P6", where, f"unknown fields {sorted(unknown)}"
    media_type = item.get("media_type")
    named = isinstance(media_type, str) and _MEDIA_TYPE.fullmatch(media_type) is not None
    if not named and (kind == "binary" or media_type is not None):
        yield "P11", f"{where}.media_type", f"the media type {media_type!r}"
    if kind == "binary":
        data = item.get("data")
        if not isinstance(data, str) or not data or not _BASE64.fullmatch(data):
            yield "P11", f"{where}.data", "not base64"
    if kind in _URLS:
        url = item.get("url")
        if not isinstance(url, str) or not _URL.fullmatch(url):
            yield "P11", f"{where}.url", "not an http URL"
