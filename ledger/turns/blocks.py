"""Blocks of a response as events: what each kind of block becomes."""

from __future__ import annotations

from ledger.assembler import CALL, REASONING, TEXT, StepOutput
from ledger.events import Json, JsonObject
from ledger.intake.mending import Mended, NotARecord, mark_replaced, read_record


def event_of(block: JsonObject) -> tuple[str, dict[str, Json]]:
    """The type and the own fields of the event that a block of specs/dsh.md 1.1 becomes; a note for others."""
    match block.get("type"):
        case "reasoning":
            told = {name: block.get(name) for name in ("signature", "redacted_data")}
            return "thinking_complete", {"text": block.get("text") or "", **told}
        case "text":
            return "text_complete", {"text": block.get("text") or ""}
        case "tool-call":
            return "tool_start", {
                "tool_call_id": block.get("id"),
                "tool_name": block.get("name"),
                "args": arguments_of(block.get("arguments")),
                "provider_executed": block.get("provider_executed"),
            }
        case "tool-result":
            return "tool_result", {
                "tool_call_id": block.get("toolCallId"),
                "content": block.get("content"),
                "is_error": block.get("isError"),
                "provider_executed": True,
            }
        case other:
            return "note", {"kind": "block", "text": f"A block of type {other}.", "block": block}


def arguments_of(arguments: Json) -> Json:
    """A call's arguments as a value: a text is parsed where it is JSON, and kept as it is where it is not."""
    if not isinstance(arguments, str) or not arguments:
        return arguments
    try:
        value, _ = read_record(arguments.encode("utf-8", "surrogatepass"))
    except NotARecord:
        return arguments
    return mark_replaced(value) if isinstance(arguments, Mended) else value


def replay_state_of(output: StepOutput) -> Json:
    """The replay envelope, with the entries of exactly the blocks that are content of the step."""
    envelope, entries = output.envelope, output.replay_blocks
    if entries is None or not isinstance(envelope, dict):
        return envelope
    content = [one.entry for one in output.kept if one.block.get("type") in (TEXT, REASONING, CALL)]
    return envelope if len(content) == len(entries) else {**envelope, "blocks": content}
