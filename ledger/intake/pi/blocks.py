"""The blocks and counts of an assistant message, as events hold them: the same from a session file and a
stream."""

from typing import NamedTuple

from ledger.events import Json, JsonObject
from ledger.intake.mending import as_text
from ledger.intake.pi.maker import call_id

_FIELD_NAMES_AS_SIGNATURE = frozenset({"openai-completions"})
"""Apis whose `thinkingSignature` names the response field and signs nothing (specs/pi.md 3.2)."""

_USAGE = {
    "input": "input",
    "output": "output",
    "cacheRead": "cache_read",
    "cacheWrite": "cache_write",
    "reasoning": "reasoning",
}


class Mapped(NamedTuple):
    """A block as an event: its type, its fields, and what goes into `provider_metadata.pi`."""

    event_type: str
    fields: JsonObject
    pi: JsonObject


def blocks_of(content: Json) -> list[Json]:
    """The blocks of a message's content; a text stands for one block, anything else for none."""
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if isinstance(content, str) else []


def mapped_block(block: Json, api: str | None) -> Mapped:
    """One block; a `note` of kind `block` where it is of no known kind."""
    if not isinstance(block, dict):
        return _note("a block that is no object", block)
    kind = block.get("type")
    if kind == "text" and "text" in block:
        return Mapped("text_complete", {"text": as_text(block["text"])}, _rest(block, "text"))
    if kind == "thinking" and "thinking" in block:
        return _thinking(block, api)
    if kind == "toolCall" and isinstance(block.get("name"), str):
        pi = _rest(block, "id", "name", "arguments")
        call: JsonObject = {
            "tool_call_id": call_id(block.get("id"), pi),
            "tool_name": block["name"],
            "args": block.get("arguments"),
        }
        return Mapped("tool_start", call, pi)
    return _note(f"a block of type {as_text(kind)}", block)


def _thinking(block: JsonObject, api: str | None) -> Mapped:
    thought: JsonObject = {"text": as_text(block["thinking"])}
    mark = block.get("thinkingSignature")
    pi = _rest(block, "thinking", "thinkingSignature")
    if block.get("redacted") is True and isinstance(mark, str) and mark:
        pi["thinking"] = thought["text"]  # pi's placeholder, not what the model said
        thought["text"], thought["redacted_data"] = "", mark
    elif isinstance(mark, str) and mark and api not in _FIELD_NAMES_AS_SIGNATURE:
        thought["signature"] = mark
    elif mark is not None:
        pi["thinkingSignature"] = mark
    return Mapped("thinking_complete", thought, pi)


def _note(text: str, block: Json) -> Mapped:
    return Mapped("note", {"kind": "block", "text": text, "entry": block}, {})


def _rest(block: JsonObject, *mapped: str) -> JsonObject:
    return {name: value for name, value in block.items() if name != "type" and name not in mapped}


def counts_of(usage: JsonObject) -> JsonObject:
    """The counts of pi's usage that the ledger has names for: disjoint; but reasoning is inside output."""
    return {ours: usage[theirs] for theirs, ours in _USAGE.items() if _is_count(usage.get(theirs))}


def _is_count(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def name_of(value: Json) -> str | None:
    """`value` where it names something: a text that is not empty."""
    return value if isinstance(value, str) and value else None
