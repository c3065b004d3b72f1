"""The shapes of ModelMessages, version by version: what `modelMessageSchema` takes, closed, in plain JSON."""

import re
from collections.abc import Iterator

from ledger.events import Json, JsonObject

Found = tuple[str, str, str]
"""A rule, where, and what is wrong."""

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_URL = re.compile(r"https?://[A-Za-z0-9.:-]+([/?#][!-~]*)?|data:[^,\s]*,[!-~]*")
_LARGEST = 2**1024

# Keys of each part: those that it must have, then those that it may.
_PART: dict[str, tuple[set[str], set[str]]] = {
    "text": ({"text"}, {"providerOptions"}),
    "image": ({"image"}, {"mediaType", "providerOptions"}),
    "file": ({"data", "mediaType"}, {"filename", "providerOptions"}),
    "reasoning": ({"text"}, {"providerOptions"}),
    "tool-call": ({"toolCallId", "toolName", "input"}, {"providerOptions", "providerExecuted"}),
    "tool-result": ({"toolCallId", "toolName", "output"}, {"providerOptions"}),
    "tool-approval-request": (
        {"approvalId", "toolCallId"},
        {"signature", "inputSchemaInput", "reason", "isAutomatic"},
    ),
    "tool-approval-response": ({"approvalId", "approved"}, {"reason", "providerExecuted"}),
    "custom": ({"kind"}, {"providerOptions"}),
    "reasoning-file": ({"data", "mediaType"}, {"providerOptions"}),
}
_ROLES = {
    "user": {"text", "image", "file"},
    "assistant": {"text", "file", "reasoning", "tool-call", "tool-result"},
    "tool": {"tool-result"},
}
_FROM_V6 = {"assistant": {"tool-approval-request"}, "tool": {"tool-approval-response"}}
_FROM_V7 = {"assistant": {"custom", "reasoning-file"}}
_TEXTS = ("text", "toolCallId", "toolName", "mediaType", "filename", "approvalId", "reason", "kind")

# Items of an output of type `content`: version by version, the keys that each must have.
_LATER: dict[str, set[str]] = {
    "text": {"text"},
    "file-data": {"data", "mediaType"},
    "file-url": {"url"},
    "file-id": {"fileId"},
    "image-data": {"data", "mediaType"},
    "image-url": {"url"},
    "image-file-id": {"fileId"},
    "custom": set(),
}
_ITEMS: dict[str, dict[str, set[str]]] = {
    "v5": {"text": {"text"}, "media": {"data", "mediaType"}},
    "v6": {**_LATER, "media": {"data", "mediaType"}},
    "v7": {
        **_LATER,
        "file": {"data", "mediaType"},
        "file-reference": {"providerReference"},
        "image-file-reference": {"providerReference"},
    },
}


def parts_of(message: JsonObject) -> list[JsonObject]:
    """The parts of a message that are objects; anything else is another's finding."""
    content = message.get("content")
    return [part if isinstance(part, dict) else {} for part in content] if isinstance(content, list) else []


def shape(version: str, message: Json, where: str) -> Iterator[Found]:
    """What is wrong with one message on its own: V2, V11, V12, V15 and X6."""
    role = message.get("role") if isinstance(message, dict) else None
    if not isinstance(message, dict) or role not in ("system", "user", "assistant", "tool"):
        yield "V12", where, f"there is no role {role!r}"
        return
    if unknown := set(message) - {"role", "content", "providerOptions"}:
        yield "V12", where, f"unknown keys {sorted(unknown)}"
    yield from _options(message, where)
    content = message.get("content")
    if isinstance(content, str) and role != "tool":
        if not content.strip():
            yield "V2", where, "the text is blank"
    elif not isinstance(content, list) or role == "system":
        yield "V12", f"{where}.content", f"not what a {role} message holds"
    elif not content:
        yield "V2", where, "a message without content"
    else:
        for at, part in enumerate(content):
            yield from _part(version, str(role), part, f"{where}.content.{at}")


def _part(version: str, role: str, part: Json, where: str) -> Iterator[Found]:
    kind = part.get("type") if isinstance(part, dict) else None
    known = set(_ROLES[role])
    later = _FROM_V6.get(role, set())
    if version != "v5":
        known |= later
    if version == "v7":
        known |= _FROM_V7.get(role, set())
    if not isinstance(part, dict) or kind not in known:
        rule = "V11" if kind in later else "V12"
        yield rule, where, f"a {role} message of {version} has no part of type {kind!r}"
        return
    must, may = _PART[str(kind)]
    if missing := must - set(part):
        yield "V12", where, f"without {sorted(missing)}"
    if unknown := set(part) - must - may - {"type"}:
        yield "V12", where, f"unknown keys {sorted(unknown)}"
    for name in _TEXTS:
        if name in part and not isinstance(part[name], str):
            yield "V12", f"{where}.{name}", f"{name} is a string"
    for name in ("providerExecuted", "approved", "isAutomatic"):
        if name in part and not isinstance(part[name], bool):
            yield "V12", f"{where}.{name}", f"{name} is true or false"
    yield from _options(part, where)
    text = part.get("text")
    if (
        kind == "text"
        and isinstance(text, str)
        and not text.strip()
        and (text or "providerOptions" not in part)
    ):
        yield "V2", where, "the text is blank"
    if kind == "tool-call" and "input" in part:
        if not isinstance(part["input"], dict):
            yield "X6", f"{where}.input", "the input is no object"
        yield from _numbers(part["input"], f"{where}.input")
    if kind == "tool-result" and "output" in part:
        yield from _output(version, part["output"], f"{where}.output")
    for name in ("image", "data"):
        if name in part:
            yield from _data(version, part[name], f"{where}.{name}")


def _options(holder: JsonObject, where: str) -> Iterator[Found]:
    options = holder.get("providerOptions")
    if options is not None and not (
        isinstance(options, dict) and all(isinstance(one, dict) for one in options.values())
    ):
        yield "V12", f"{where}.providerOptions", "an object of objects by provider"


def _data(version: str, data: Json, where: str) -> Iterator[Found]:
    """Inline data or a URL in a string; from v7 on also tagged, or a provider's reference."""
    if isinstance(data, str):
        if not _BASE64.fullmatch(data) and not _URL.fullmatch(data):
            yield "V15", where, "neither base64 nor a URL"
    elif not isinstance(data, dict) or version != "v7":
        yield "V12", where, "data is a string"
    elif data.get("type") == "data":
        inner = data.get("data")
        if not isinstance(inner, str) or not _BASE64.fullmatch(inner):
            yield "V15", f"{where}.data", "not base64"
    elif data.get("type") == "url":
        yield "V12", where, "a tagged URL is an object of JavaScript: write the URL as a string"
    elif data.get("type") == "text":
        if not isinstance(data.get("text"), str):
            yield "V12", where, "the text is a string"
    else:
        named = data.get("reference") if data.get("type") == "reference" else data
        if not isinstance(named, dict) or not all(isinstance(one, str) for one in named.values()):
            yield "V12", where, "a reference is an object of strings by provider"


def _output(version: str, output: Json, where: str) -> Iterator[Found]:
    kind = output.get("type") if isinstance(output, dict) else None
    kinds = {"text", "json", "error-text", "error-json", "content"}
    if not isinstance(output, dict) or kind not in (kinds if version == "v5" else kinds | {"execution-denied"}):
        yield "V12", where, f"{version} has no output of type {kind!r}"
        return
    value = output.get("value")
    if kind == "execution-denied":
        if "value" in output or not isinstance(output.get("reason", ""), str):
            yield "V12", where, "a denial has a reason, a string, and no value"
        return
    if unknown := set(output) - {"type", "value"} - ({"providerOptions"} if version != "v5" else set()):
        yield "V12", where, f"unknown keys {sorted(unknown)}"
    if "value" not in output:
        yield "V12", where, "an output has a value"
    elif kind in ("text", "error-text"):
        if not isinstance(value, str):
            yield "V12", f"{where}.value", "a text is a string"
    elif kind == "content":
        if not isinstance(value, list):
            yield "V12", f"{where}.value", "content is a list"
        for at, item in enumerate(value if isinstance(value, list) else ()):
            yield from _item(version, item, f"{where}.value.{at}")
    else:
        yield from _numbers(value, f"{where}.value")


def _item(version: str, item: Json, where: str) -> Iterator[Found]:
    kind = str(item.get("type")) if isinstance(item, dict) else ""
    must = _ITEMS.get(version, _ITEMS["v7"]).get(kind)
    if not isinstance(item, dict) or must is None:
        yield "V12", where, f"{version} has no content of type {kind!r}"
        return
    if missing := must - set(item):
        yield "V12", where, f"without {sorted(missing)}"
    if unknown := set(item) - must - {"type", "filename", "mediaType", "providerOptions"}:
        yield "V12", where, f"unknown keys {sorted(unknown)}"
    for name in ("text", "mediaType", "url"):
        if name in item and not isinstance(item[name], str):
            yield "V12", f"{where}.{name}", f"{name} is a string"
    text, data, url = item.get("text"), item.get("data"), item.get("url")
    if kind == "text" and isinstance(text, str) and not text.strip():
        yield "V2", where, "the text is blank"
    if "data" in must:
        if kind == "file":
            if not isinstance(data, dict):
                yield "V12", f"{where}.data", "data is tagged"
            else:
                yield from _data(version, data, f"{where}.data")
        elif not isinstance(data, str) or not _BASE64.fullmatch(data):
            yield "V15", f"{where}.data", "not base64"
    if isinstance(url, str) and not _URL.fullmatch(url):
        yield "V15", f"{where}.url", "not a URL"


def _numbers(value: Json, where: str) -> Iterator[Found]:
    """JavaScript reads an integer past its largest number as infinity, which no schema takes."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers(item, f"{where}.{key}")
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _numbers(item, f"{where}.{at}")
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _LARGEST:
        yield "V12", where, "a number that JavaScript cannot read"
