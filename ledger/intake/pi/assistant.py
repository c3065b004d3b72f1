"""An assistant message: one step, its blocks in order, its usage, its end."""

from ledger.events import Json, JsonObject
from ledger.intake.mending import as_text
from ledger.intake.pi.maker import Maker, call_id, time_of
from ledger.intake.pi.state import State

_FIELD_NAMES_AS_SIGNATURE = frozenset({"openai-completions"})
"""Apis whose `thinkingSignature` names the response field and signs nothing (specs/pi.md 3.2)."""

_USAGE = {
    "input": "input",
    "output": "output",
    "cacheRead": "cache_read",
    "cacheWrite": "cache_write",
    "reasoning": "reasoning",
}
_MAPPED = frozenset({"role", "content", "api", "provider", "model", "usage", "responseId"})
FINISHED = frozenset({"stop", "length", "toolUse"})


def step_events(
    maker: Maker, message: JsonObject, turn_id: str, state: State, retry_of: str | None
) -> tuple[list[JsonObject], list[str]]:
    """The events of the step that this message is, terminals apart, and the ids of its tool calls.

    A message that was aborted or failed has no `step_finish`: the model's answer did not end (DESIGN.md 6).
    """
    api = _name(message.get("api"))
    reason = stop_reason(message)
    rest = {name: value for name, value in message.items() if name not in _MAPPED}
    if reason not in FINISHED and message.get("responseId") is not None:
        rest["responseId"] = message["responseId"]
    place: JsonObject = {"turn_id": turn_id, "step_id": maker.key}
    start: JsonObject = {
        **place,
        "provider": _name(message.get("provider")),
        "api": api,
        "model": _name(message.get("model")),
        "retry_of": retry_of,
        "context": state.digest,
    }
    events = [maker.event("step_start", "step", start, at=time_of(message.get("timestamp")), pi=rest)]
    calls: list[str] = []
    for at, block in enumerate(_blocks(message.get("content"))):
        events.append(_block(maker, block, at, place, api, calls))
    usage = message.get("usage")
    if isinstance(usage, dict):
        known: JsonObject = {
            ours: usage[theirs] for theirs, ours in _USAGE.items() if _is_count(usage.get(theirs))
        }
        events.append(maker.event("token_usage", "usage", {**place, "usage": known}, pi={"usage": usage}))
    if reason in FINISHED:
        end: JsonObject = {
            **place,
            "finish_reason": reason,
            "response_id": _name(message.get("responseId")),
        }
        events.append(maker.event("step_finish", "finish", end))
    return events, calls


def _blocks(content: Json) -> list[Json]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if isinstance(content, str) else []


def _block(
    maker: Maker, block: Json, at: int, place: JsonObject, api: str | None, calls: list[str]
) -> JsonObject:
    where: JsonObject = {**place, "block_index": at}
    name = str(at)
    if not isinstance(block, dict):
        return maker.note("block", "a block that is no object", block, block=name, fields=where)
    kind = block.get("type")
    if kind == "text" and "text" in block:
        said: JsonObject = {**where, "text": as_text(block["text"])}
        return maker.event("text_complete", name, said, pi=_rest(block, "text"))
    if kind == "thinking" and "thinking" in block:
        return _thinking(maker, block, name, where, api)
    if kind == "toolCall" and isinstance(block.get("name"), str):
        pi = _rest(block, "id", "name", "arguments")
        used = call_id(block.get("id"), pi)
        calls.append(str(used))
        call: JsonObject = {
            **where,
            "tool_call_id": used,
            "tool_name": block["name"],
            "args": block.get("arguments"),
        }
        return maker.event("tool_start", name, call, pi=pi)
    return maker.note("block", f"a block of type {as_text(kind)}", block, block=name, fields=where)


def _thinking(maker: Maker, block: JsonObject, name: str, where: JsonObject, api: str | None) -> JsonObject:
    thought: JsonObject = {**where, "text": as_text(block["thinking"])}
    mark = block.get("thinkingSignature")
    pi = _rest(block, "thinking", "thinkingSignature")
    if block.get("redacted") is True and isinstance(mark, str) and mark:
        pi["thinking"] = thought["text"]  # pi's placeholder, not what the model said
        thought["text"], thought["redacted_data"] = "", mark
    elif isinstance(mark, str) and mark and api not in _FIELD_NAMES_AS_SIGNATURE:
        thought["signature"] = mark
    elif mark is not None:
        pi["thinkingSignature"] = mark
    return maker.event("thinking_complete", name, thought, pi=pi)


def _rest(block: JsonObject, *mapped: str) -> JsonObject:
    return {name: value for name, value in block.items() if name != "type" and name not in mapped}


def stop_reason(message: JsonObject) -> str | None:
    """Why pi says the message ended; None when it does not say."""
    return _name(message.get("stopReason"))


def _is_count(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _name(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None
