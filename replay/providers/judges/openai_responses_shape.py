"""Shapes of items and parts of the Responses API, from an allow-list."""

import re
from collections.abc import Iterator

from ledger.events import Json, JsonObject

REFERENCE = "item_reference"
OUTPUT_OF = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
    "tool_search_call": "tool_search_output",
}
"""Items that want an output, and its type."""
LOCAL_OUTPUT = "local_shell_call_output"
"""The one output that names its call by `id`."""
APPROVAL = "mcp_approval_response"

Fault = tuple[str, str, str]
_KEYS = {
    "message": {"type", "id", "role", "status", "content", "phase"},
    "reasoning": {"type", "id", "summary", "content", "encrypted_content", "status"},
    "function_call": {
        "type", "id", "call_id", "name", "arguments", "status", "namespace", "caller", "async",
    },
    "function_call_output": {
        "type", "id", "call_id", "output", "status", "name", "namespace", "caller",
    },
    "custom_tool_call": {"type", "id", "call_id", "name", "input", "namespace", "caller", "async"},
    "custom_tool_call_output": {"type", "id", "call_id", "output", "caller"},
    "compaction": {"type", "id", "encrypted_content"},
    REFERENCE: {"type", "id"},
}  # fmt: skip
_OTHERS = frozenset(
    {
        "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call",
        "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "program", "program_output",
        "compaction_trigger", "additional_tools", *OUTPUT_OF, *OUTPUT_OF.values(),
    }
)  # fmt: skip
_GIVEN = {"input_text": "text", "input_image": None, "input_file": None, "input_audio": None}
_HOLDS = {"input_image": {"image_url", "file_id"}, "input_file": {"file_data", "file_id", "file_url"}}
_MADE = {"output_text": "text", "refusal": "refusal"}
_ROLES = ("user", "system", "developer", "assistant")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def kind_of(item: JsonObject) -> str:
    """An item's type; a message need not say it."""
    kind = item.get("type")
    if kind is None and "role" in item:
        return "message"
    if kind is None and set(item) == {"id"}:
        return REFERENCE
    return kind if isinstance(kind, str) else ""


def role_of(item: JsonObject) -> str:
    """A message's role; empty for what is none."""
    role = item.get("role")
    return role if isinstance(role, str) and kind_of(item) == "message" else ""


def shape_faults(item: JsonObject, where: str) -> Iterator[Fault]:
    """What is wrong with an item by itself: rule, place, words."""
    kind = kind_of(item)
    known = _KEYS.get(kind)
    if known is None:
        if kind not in _OTHERS:
            yield "S2", where, f"there is no item of type {kind!r}"
        return
    if unknown := set(item) - known:
        yield "S2", where, f"unknown keys {sorted(unknown)}"
    if kind == "message":
        yield from _message(item, where)
    elif kind == "reasoning":
        yield from _summary(item.get("summary"), f"{where}.summary")
    elif kind in ("function_call", "custom_tool_call"):
        field = "arguments" if kind == "function_call" else "input"
        if not isinstance(item.get(field), str):
            yield "R15", f"{where}.{field}", "it is a string"
        if not _NAME.fullmatch(str(item.get("name"))):
            yield "S2", f"{where}.name", f"the name {item.get('name')!r}"
        if item.get("status") not in (None, "completed"):
            yield "R16", f"{where}.status", f"a call that is {item.get('status')!r}"
        if "call_id" not in item:
            yield "R9", where, "a call has a call_id"
    elif kind.endswith("_output"):
        yield from _output(item, where)


def _message(item: JsonObject, where: str) -> Iterator[Fault]:
    role, content = item.get("role"), item.get("content")
    if role not in _ROLES:
        yield "S2", f"{where}.role", f"there is no role {role!r}"
        return
    if item.get("phase") is not None and item["phase"] not in ("commentary", "final_answer"):
        yield "R13", f"{where}.phase", f"there is no phase {item['phase']!r}"
    if isinstance(content, str):
        return
    if not isinstance(content, list) or not content:
        yield "R14", f"{where}.content", "content is a string, or parts"
        return
    allowed = _MADE if role == "assistant" else _GIVEN
    for at, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(part, dict) or kind not in allowed:
            yield "R14", f"{where}.content.{at}", f"a message of role {role} has no part {kind!r}"
            continue
        if not _HOLDS.get(str(kind), set(part)) & set(part):
            yield "S2", f"{where}.content.{at}", f"a {kind} without what it shows"
        held = allowed[str(kind)]
        if held is not None and not isinstance(part.get(held), str):
            yield "S2", f"{where}.content.{at}.{held}", "it is a string"
    if role == "assistant" and (item.get("id") is None or item.get("status") is None):
        yield "R14", where, "parts of the assistant stand in a message with id and status"


def _summary(summary: Json, where: str) -> Iterator[Fault]:
    if not isinstance(summary, list):
        yield "R10", where, "reasoning has a summary"
        return
    for at, part in enumerate(summary):
        if not isinstance(part, dict) or not isinstance(part.get("text"), str):
            yield "S2", f"{where}.{at}", "a summary holds texts"


def _output(item: JsonObject, where: str) -> Iterator[Fault]:
    output = item.get("output")
    if "call_id" not in item:
        yield "R9", where, "an output has a call_id"
    if isinstance(output, str):
        return
    if not isinstance(output, list) or not output:
        yield "R15", f"{where}.output", "an output is a string, or parts"
        return
    for at, part in enumerate(output):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in _GIVEN:
            yield "R15", f"{where}.output.{at}", f"an output has no part {kind!r}"


def tool_faults(tools: Json) -> Iterator[Fault]:
    """What is wrong with declared functions."""
    if tools is not None and not isinstance(tools, list):
        yield "S2", "tools", "tools is a list"
        return
    for at, tool in enumerate(tools or []):
        if not isinstance(tool, dict):
            yield "S2", f"tools.{at}", "a tool is an object"
        elif tool.get("type") in ("function", "custom") and not _NAME.fullmatch(str(tool.get("name"))):
            yield "S2", f"tools.{at}.name", f"the name {tool.get('name')!r}"
