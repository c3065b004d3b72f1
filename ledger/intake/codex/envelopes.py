"""The lines of a rollout, of three generations, in one shape; and what is whose in them."""

import json
import re
from typing import NamedTuple

from ledger.events import Json, JsonObject
from ledger.intake.mending import as_text

MADE_BY_MODEL = frozenset(
    {
        "reasoning",
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "web_search_call",
        "tool_search_call",
        "image_generation_call",
    }
)
"""Response items that a model call gives, beside its messages."""

_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md",
    "<skills_instructions>",
    "<turn_aborted>",
    "<permissions instructions>",
)
"""How text begins that Codex wrote in a message of the user."""

_EXITED = re.compile(r"(?:Process exited with code|Exit code:) (-?\d+)")


class Envelope(NamedTuple):
    """One line: `kind` and `payload` as today's generation writes them."""

    kind: str
    payload: JsonObject
    metadata: JsonObject
    at: Json
    ordinal: Json


def opened(value: JsonObject) -> Envelope:
    """A line of any generation. The oldest wrote the header and the response items bare."""
    payload = value.get("payload")
    metadata = value.get("metadata")
    beside = metadata if isinstance(metadata, dict) else {}
    if isinstance(payload, dict):
        kind = as_text(value.get("type"))
        return Envelope(kind, payload, beside, value.get("timestamp"), value.get("ordinal"))
    if "type" not in value and "id" in value:
        return Envelope("session_meta", value, {}, value.get("timestamp"), None)
    kind = "response_item" if "record_type" not in value else as_text(value.get("record_type"))
    return Envelope(kind, value, {}, value.get("timestamp"), None)


def item_type(item: JsonObject) -> str:
    """A response item's type; the oldest left it out of messages."""
    kind = as_text(item.get("type"))
    return kind or ("message" if "role" in item else "")


def is_made_by_model(item: JsonObject) -> bool:
    """Whether a response item came from a model call."""
    kind = item_type(item)
    return kind in MADE_BY_MODEL or (kind == "message" and item.get("role") == "assistant")


def is_person(item: JsonObject, text: str) -> bool:
    """Whether a message of role user was typed; newer files say of each part what it is."""
    passed = item.get("internal_chat_message_metadata_passthrough")
    kinds = passed.get("content_item_kinds") if isinstance(passed, dict) else None
    if isinstance(kinds, list) and kinds and item.get("role") == "user":
        return any(as_text(kind).startswith("user.") for kind in kinds)
    return item.get("role") == "user" and not text.lstrip().startswith(_INJECTED)


def text_of(content: Json) -> str:
    """The texts of a message or of a tool's output, joined."""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "\n".join(text for text in parts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def failed(output: str, twin: JsonObject | None) -> bool | None:
    """Whether a command failed, by its record or by what its output says; None where neither tells."""
    if twin is not None:
        code, status = twin.get("exit_code"), twin.get("status")
        if isinstance(code, int):
            return code != 0
        if status in ("failed", "declined"):
            return True
        if isinstance(success := twin.get("success"), bool):
            return not success
    said = _exit_code(output)
    return None if said is None else said != 0


def _exit_code(output: str) -> int | None:
    if (match := _EXITED.search(output)) is not None:
        return int(match[1])
    if output.startswith("{"):  # older ones: {"output": "...", "metadata": {"exit_code": 0}}
        try:
            value = json.loads(output)
        except (ValueError, RecursionError):
            return None
        metadata = value.get("metadata") if isinstance(value, dict) else None
        code = metadata.get("exit_code") if isinstance(metadata, dict) else None
        return code if isinstance(code, int) else None
    return None
