"""The shape of one Converse content block or tool: keys, types, words. Faults as (rule, where, message)."""

import re
from collections.abc import Iterator

from ledger.events import Json

Fault = tuple[str, str, str]

ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_DOCUMENT = re.compile(r"[A-Za-z0-9()\[\]-]+(?:\s[A-Za-z0-9()\[\]-]+)*")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_IMAGES = ("png", "jpeg", "gif", "webp")
_DOCUMENTS = ("pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md")
_USER = {
    "text",
    "image",
    "document",
    "video",
    "audio",
    "toolResult",
    "guardContent",
    "cachePoint",
    "searchResult",
}
_ASSISTANT = {"text", "toolUse", "reasoningContent", "citationsContent", "cachePoint", "image", "audio"}
_SYSTEM = {"text", "cachePoint", "guardContent", "toolAddition", "toolRemoval"}
_RESULT = {"json", "text", "image", "document", "video", "searchResult"}


def kind_of(block: Json) -> str:
    """The one key of a content block; empty where it has none or several."""
    return next(iter(block)) if isinstance(block, dict) and len(block) == 1 else ""


def is_hosted(block: Json) -> bool:
    """Whether a block is of a tool that the provider runs: its call and result stand in one message."""
    kind = kind_of(block)
    value = block[kind] if isinstance(block, dict) and kind in ("toolUse", "toolResult") else None
    return isinstance(value, dict) and value.get("type") is not None


def block_faults(block: Json, role: str, where: str) -> Iterator[Fault]:
    """What is wrong with one block of a message."""
    if not isinstance(block, dict):
        yield "S2", where, "a block is an object"
        return
    if len(block) != 1:
        yield "B13", where, f"a block has one key, not {sorted(map(str, block))}"
        return
    kind = kind_of(block)
    hosted = role == "assistant" and kind == "toolResult" and is_hosted(block)
    if kind not in {"user": _USER, "system": _SYSTEM}.get(role, _ASSISTANT) and not hosted:
        yield "S2", where, f"a {role} message has no block {kind!r}"
        return
    value = block[kind]
    if kind == "text":
        yield from _text(value, where)
    elif not isinstance(value, dict):
        yield "S2", f"{where}.{kind}", f"a {kind} is an object"
    elif kind == "image":
        yield from _source(value, _IMAGES, {"format", "source"}, f"{where}.{kind}")
    elif kind == "document":
        yield from _source(
            value, _DOCUMENTS, {"format", "name", "source", "context", "citations"}, f"{where}.{kind}"
        )
        name = value.get("name")
        if not isinstance(name, str) or len(name) > 200 or not _DOCUMENT.fullmatch(name):
            yield "B11", f"{where}.document.name", f"the name {name!r}"
    elif kind == "toolUse":
        yield from _use(value, f"{where}.{kind}")
    elif kind == "toolResult":
        yield from _result(value, f"{where}.{kind}")
    elif kind == "reasoningContent":
        yield from _reasoning(value, f"{where}.{kind}")


def _text(text: Json, where: str) -> Iterator[Fault]:
    if not isinstance(text, str):
        yield "S2", f"{where}.text", "a text is a string"
    elif not text.strip():
        yield "B5", f"{where}.text", "the text is blank"


def _keys(value: dict[str, Json], known: set[str], where: str) -> Iterator[Fault]:
    if unknown := set(value) - known:
        yield "S2", where, f"unknown keys {sorted(map(str, unknown))}"


def _source(value: dict[str, Json], formats: tuple[str, ...], known: set[str], where: str) -> Iterator[Fault]:
    yield from _keys(value, known, where)
    if value.get("format") not in formats and not ("format" not in value and formats is _DOCUMENTS):
        yield "S2", f"{where}.format", f"the format {value.get('format')!r}"
    source = value.get("source")
    if not isinstance(source, dict) or len(source) != 1:
        yield "B13", f"{where}.source", "a source has one key"
    elif "bytes" in source:
        data = source["bytes"]
        if not isinstance(data, str) or not data or not _BASE64.fullmatch(data):
            yield "S2", f"{where}.source.bytes", "bytes are base64 text"
    elif not set(source) <= {"s3Location", "text", "content"}:
        yield "S2", f"{where}.source", f"unknown keys {sorted(map(str, source))}"


def _use(value: dict[str, Json], where: str) -> Iterator[Fault]:
    yield from _keys(value, {"toolUseId", "name", "input", "type"}, where)
    if not _fits(ID, value.get("toolUseId")):
        yield "B4", f"{where}.toolUseId", f"the id {value.get('toolUseId')!r}"
    if not _fits(NAME, value.get("name")):
        yield "B4", f"{where}.name", f"the name {value.get('name')!r}"
    if not isinstance(value.get("input"), dict):
        yield "S2", f"{where}.input", "an input is an object"


def _result(value: dict[str, Json], where: str) -> Iterator[Fault]:
    yield from _keys(value, {"toolUseId", "content", "status", "type"}, where)
    if not _fits(ID, value.get("toolUseId")):
        yield "B4", f"{where}.toolUseId", f"the id {value.get('toolUseId')!r}"
    if "status" in value and value["status"] not in ("success", "error"):
        yield "S2", f"{where}.status", f"the status {value['status']!r}"
    content = value.get("content")
    if not isinstance(content, list) or not content:
        yield "B12", f"{where}.content", "a result has content"
        return
    for at, block in enumerate(content):
        place = f"{where}.content.{at}"
        if isinstance(block, dict) and len(block) != 1:
            yield "B13", place, f"a block has one key, not {sorted(map(str, block))}"
        elif kind_of(block) not in _RESULT:
            yield "S2", place, "a result has no such block"
        elif kind_of(block) != "json":
            yield from block_faults(block, "user", place)


def _reasoning(value: dict[str, Json], where: str) -> Iterator[Fault]:
    kind = kind_of(value)
    if kind == "redactedContent":
        data = value[kind]
        if not isinstance(data, str) or not data or not _BASE64.fullmatch(data):
            yield "S2", f"{where}.{kind}", "bytes are base64 text"
        return
    told = value.get("reasoningText")
    if kind != "reasoningText" or not isinstance(told, dict):
        yield "B13", where, "reasoningText or redactedContent"
        return
    yield from _keys(told, {"text", "signature"}, f"{where}.reasoningText")
    if not isinstance(told.get("text"), str):
        yield "S2", f"{where}.reasoningText.text", "a text is a string"
    if not isinstance(told.get("signature"), str) or not told["signature"]:
        yield "B6", f"{where}.reasoningText", "reasoning without a signature"


def _fits(pattern: re.Pattern[str], value: Json) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def tool_faults(config: Json) -> Iterator[Fault]:
    """What is wrong with a toolConfig."""
    tools = config.get("tools") if isinstance(config, dict) else None
    if not isinstance(config, dict) or not isinstance(tools, list) or not tools:
        yield "S2", "toolConfig.tools", "a toolConfig has tools"
        return
    yield from _keys(config, {"tools", "toolChoice"}, "toolConfig")
    names: list[Json] = []
    for at, tool in enumerate(tools):
        where = f"toolConfig.tools.{at}"
        if kind_of(tool) not in ("toolSpec", "systemTool", "cachePoint"):
            yield "B13", where, "a tool has one key"
            continue
        spec = tool["toolSpec"] if isinstance(tool, dict) and "toolSpec" in tool else None
        if spec is None and kind_of(tool) != "toolSpec":
            continue
        if not isinstance(spec, dict):
            yield "S2", where, "a toolSpec is an object"
            continue
        yield from _keys(spec, {"name", "description", "inputSchema", "strict"}, where)
        if not _fits(NAME, spec.get("name")):
            yield "B4", f"{where}.toolSpec.name", f"the name {spec.get('name')!r}"
        if spec.get("name") in names:
            yield "S2", f"{where}.toolSpec.name", "two tools have this name"
        names.append(spec.get("name"))
        if "description" in spec and (not isinstance(spec["description"], str) or not spec["description"]):
            yield "S2", f"{where}.toolSpec.description", "a description is not empty"
        schema = spec.get("inputSchema")
        if not isinstance(schema, dict) or set(schema) != {"json"}:
            yield "B13", f"{where}.toolSpec.inputSchema", "a schema stands under json"
