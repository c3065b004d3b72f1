"""Tool items of the Responses API as calls and results.

Functions and custom tools are the client's. Searches, code, images and MCP calls are run by the provider: one
item is the call and its result. Shells, patches, computers and programs may be either: the provider ran them
where their output is an item of the same response.
"""

from __future__ import annotations

from typing import NamedTuple

from ledger.events import Json, JsonObject
from ledger.intake.mending import as_text
from ledger.turns.blocks import arguments_of

HOSTED = frozenset(
    {
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_call",
    }
)
OUTPUTS = {
    "function_call_output": "function_call",
    "custom_tool_call_output": "custom_tool_call",
    "local_shell_call_output": "local_shell_call",
    "shell_call_output": "shell_call",
    "apply_patch_call_output": "apply_patch_call",
    "computer_call_output": "computer_call",
    "tool_search_output": "tool_search_call",
    "program_output": "program",
}
"""Items that are a tool's output, and the type of their call."""

MAYBE_HOSTED = frozenset(OUTPUTS.values())

# What a tool is called with, by item type: one field that holds it all, or the fields that it is made of.
_WHOLE = {
    "function_call": "arguments",
    "mcp_call": "arguments",
    "mcp_approval_request": "arguments",
    "tool_search_call": "arguments",
    "web_search_call": "action",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
}
_MADE_OF = {
    "custom_tool_call": ("input",),
    "file_search_call": ("queries",),
    "code_interpreter_call": ("code", "container_id"),
    "image_generation_call": ("revised_prompt", "action"),
    "computer_call": ("action", "actions"),
    "program": ("code",),
}
_RESULT = {
    "file_search_call": ("results",),
    "code_interpreter_call": ("outputs",),
    "image_generation_call": ("result", "error"),
    "mcp_call": ("output", "error"),
}


class CallItem(NamedTuple):
    """A call as the ledger has it; `beside` is the rest of the item."""

    id: str
    name: str
    args: Json
    beside: JsonObject


class ResultItem(NamedTuple):
    """What the provider's own tool gave."""

    content: Json
    is_error: bool | None
    beside: JsonObject


class OutputItem(NamedTuple):
    """An output item."""

    call_id: str
    content: Json
    is_error: bool | None
    beside: JsonObject


def is_call(kind: str) -> bool:
    """Whether an item of this type calls a tool; of types that are not known yet, the name says it."""
    return kind in HOSTED or kind in MAYBE_HOSTED or kind.endswith("_call")


def is_hosted(item: JsonObject) -> bool:
    """Whether the provider runs this call: of types that are not known yet, all that name no call to answer."""
    kind = as_text(item.get("type"))
    return kind in HOSTED or (kind not in MAYBE_HOSTED and item.get("call_id") is None)


def call_of(item: JsonObject, index: int) -> CallItem:
    """The call in an item. Without any id of its own it is named by its place."""
    kind = as_text(item.get("type"))
    call_id = as_text(item.get("call_id")) or as_text(item.get("id")) or f"call-{index}"
    name = as_text(item.get("name")) or kind.removesuffix("_call")
    used = {"call_id", *_RESULT.get(kind, ())}
    if kind in _WHOLE:
        used.add(_WHOLE[kind])
        args = item.get(_WHOLE[kind])
        if isinstance(args, str):
            args = arguments_of(args) if args.strip() else {}
    elif kind in _MADE_OF:
        used.update(_MADE_OF[kind])
        args = {key: item[key] for key in _MADE_OF[kind] if item.get(key) is not None}
    else:
        args = {key: value for key, value in item.items() if key not in ("id", "call_id", "type", "status")}
        used.update(args)
    beside: JsonObject = {} if kind == "function_call" else {"type": kind}
    for key, value in item.items():
        if key == "id":
            beside["item_id"] = value
        elif key not in used and key not in ("type", "name") and value is not None and value != "completed":
            beside[key] = value
    return CallItem(call_id, name, args, beside)


def result_of(item: JsonObject) -> ResultItem:
    """The result in an item of a tool that the provider ran."""
    kind = as_text(item.get("type"))
    error = item.get("error")
    failed = True if error is not None or item.get("status") == "failed" else None
    content: Json
    if error is not None:
        content = error
    elif kind == "image_generation_call" and isinstance(item.get("result"), str):
        form = as_text(item.get("output_format")) or "png"
        content = [{"type": "image", "media_type": f"image/{form}", "data": item["result"]}]
    else:
        content = next((item[key] for key in _RESULT.get(kind, ()) if item.get(key) is not None), None)
    return ResultItem(content, failed, {"type": kind})


def output_of(item: JsonObject, otherwise: str) -> OutputItem:
    """The output in an item, of the call it names; of the call `otherwise` where it names none."""
    content = next((item[key] for key in ("output", "result", "tools") if key in item), None)
    failed = True if item.get("status") in ("failed", "incomplete") else None
    beside: JsonObject = {}
    for key, value in item.items():
        if key == "id":
            beside["item_id"] = value
        elif key not in ("call_id", "output", "result", "tools") and value is not None:
            beside[key] = value
    return OutputItem(as_text(item.get("call_id")) or otherwise, content, failed, beside)
