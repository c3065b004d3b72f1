"""An event of a turn in progress as the store takes it: what the ledger's limits refuse is mended, not lost."""

from ledger.events import MAX_DEPTH, MAX_EVENT_BYTES, JsonObject, json_bytes
from ledger.intake.mending import collect, deeper, plain_json, within_size
from ledger.recorded import EncodedEvent
from ledger.turns.fitting import fitted


def encoded(event: JsonObject) -> EncodedEvent:
    """The event's key columns and JSON bytes; what had to be changed is listed in its `normalized` (DESIGN.md
    3.3).

    Its ids must be ids already (`Sheet.write` sees to that).
    """
    try:
        plain = collect(event)
        body = json_bytes(plain)
    except (ValueError, TypeError, RecursionError):  # not finite, too long, not JSON, or too deep to be written
        plain = collect(_plain(event))
        body = json_bytes(plain)
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and deeper(plain, MAX_DEPTH):
        plain = collect(_plain(event))
        body = json_bytes(plain)
    fit = fitted(plain)
    if fit is not plain:
        plain, body = fit, json_bytes(fit)
    if len(body) > MAX_EVENT_BYTES:
        body = json_bytes(within_size(plain))
    turn_id, step_id = plain.get("turn_id"), plain.get("step_id")
    return EncodedEvent(
        str(plain["id"]),
        str(plain["type"]),
        turn_id if isinstance(turn_id, str) else None,
        step_id if isinstance(step_id, str) else None,
        body,
    )


def _plain(event: JsonObject) -> JsonObject:
    return {name: plain_json(value) for name, value in event.items()}


def as_note(event: EncodedEvent, conversation_id: str) -> EncodedEvent:
    """A note that keeps an event which may not be stored as itself, because its turn is over."""
    note: JsonObject = {
        "type": "note",
        "id": event.id,
        "conversation_id": conversation_id,
        "kind": "late event",
        "event": event.body.decode(),
    }
    if event.turn_id is not None:
        note["turn_id"] = event.turn_id
    return encoded(note)
