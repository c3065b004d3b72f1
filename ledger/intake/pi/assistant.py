"""An assistant message: one step, its blocks in order, its usage, its end."""

from ledger.events import Json, JsonObject
from ledger.intake.mending import as_text
from ledger.intake.pi.blocks import blocks_of, counts_of, mapped_block, name_of
from ledger.intake.pi.maker import Maker
from ledger.intake.pi.state import State
from ledger.intake.times import time_of

MAPPED = frozenset({"role", "content", "api", "provider", "model", "usage", "responseId"})
FINISHED = frozenset({"stop", "length", "toolUse"})


def step_events(
    maker: Maker, message: JsonObject, turn_id: str, state: State, retry_of: str | None
) -> tuple[list[JsonObject], list[str]]:
    """The events of the step that this message is, terminals apart, and the ids of its tool calls.

    A message that was aborted or failed has no `step_finish`: the model's answer did not end (DESIGN.md 6).
    """
    api = name_of(message.get("api"))
    reason = stop_reason(message)
    rest = {name: value for name, value in message.items() if name not in MAPPED}
    if reason not in FINISHED and message.get("responseId") is not None:
        rest["responseId"] = message["responseId"]
    place: JsonObject = {"turn_id": turn_id, "step_id": maker.key}
    start: JsonObject = {
        **place,
        "provider": name_of(message.get("provider")),
        "api": api,
        "model": name_of(message.get("model")),
        "retry_of": retry_of,
        "context": state.digest,
    }
    events = [maker.event("step_start", "step", start, at=time_of(message.get("timestamp")), pi=rest)]
    calls: list[str] = []
    for at, block in enumerate(blocks_of(message.get("content"))):
        events.append(_block(maker, block, at, place, api, calls))
    usage = message.get("usage")
    if isinstance(usage, dict):
        known = counts_of(usage)
        events.append(maker.event("token_usage", "usage", {**place, "usage": known}, pi={"usage": usage}))
    if reason in FINISHED:
        end: JsonObject = {
            **place,
            "finish_reason": reason,
            "response_id": name_of(message.get("responseId")),
        }
        events.append(maker.event("step_finish", "finish", end))
    return events, calls


def _block(
    maker: Maker, block: Json, at: int, place: JsonObject, api: str | None, calls: list[str]
) -> JsonObject:
    where: JsonObject = {**place, "block_index": at}
    mapped = mapped_block(block, api)
    if mapped.event_type == "note":
        fields = mapped.fields
        return maker.note("block", as_text(fields["text"]), fields["entry"], block=str(at), fields=where)
    if mapped.event_type == "tool_start":
        calls.append(str(mapped.fields["tool_call_id"]))
    return maker.event(mapped.event_type, str(at), {**where, **mapped.fields}, pi=mapped.pi)


def stop_reason(message: JsonObject) -> str | None:
    """Why pi says the message ended; None when it does not say."""
    return name_of(message.get("stopReason"))
