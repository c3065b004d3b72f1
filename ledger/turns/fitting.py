"""Fields of the wrong type, from a provider that sent something else than it says: kept, and made to fit.

A runtime hands on what a provider sent; a number where a text belongs would be stored and then stop every
reader. What is given back here is an event that `ledger.events.decode` takes.
"""

from pydantic import ValidationError

from ledger.events import Json, JsonObject, from_json
from ledger.intake.identity import kept_id
from ledger.intake.mending import as_text, collect

_ENVELOPE = ("id", "conversation_id", "turn_id", "step_id", "at", "agent_id", "block_index", "source")


def fitted(event: JsonObject) -> JsonObject:
    """The event itself where readers take it; else a copy that they take, its changed fields in `normalized`.

    A value that should be a text becomes its JSON, a missing text the empty one; any other value that does not
    fit goes into `unfit`. What cannot be mended so is kept whole in a note.
    """
    try:
        from_json(event)
    except ValidationError as error:
        wrong = error
    else:
        return event
    mended = collect(_with_texts(event, _fields(wrong, event)))
    try:
        from_json(mended)
    except ValidationError as error:
        mended = _without(event, mended, _fields(error, event))
    try:
        from_json(mended)
    except ValidationError:
        return _as_note(event)
    return mended


def _fields(error: ValidationError, event: JsonObject) -> dict[str, None]:
    """The names of the fields that do not fit; pydantic puts the event's type before them."""
    names: dict[str, None] = {}
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        path = [step for step in one["loc"] if step != event.get("type")]
        if path:
            names[str(path[0])] = None
    return names


def _with_texts(event: JsonObject, names: dict[str, None]) -> JsonObject:
    texts = {name: as_text(event.get(name)) for name in names}
    for name in [name for name in texts if name.endswith("id")]:
        texts[name] = kept_id(texts[name], may_be_empty=True)
    return {**event, **texts}


def _without(event: JsonObject, mended: JsonObject, names: dict[str, None]) -> JsonObject:
    unfit: JsonObject = {name: event[name] for name in names if name in event}
    listed = mended.get("normalized")
    paths: list[Json] = [path for path in listed if path not in unfit] if isinstance(listed, list) else []
    kept = {name: value for name, value in mended.items() if name not in names}
    return {**kept, "unfit": unfit, "normalized": [*paths, *unfit]}


def _as_note(event: JsonObject) -> JsonObject:
    note: JsonObject = {"type": "note", "kind": "unfit event", "entry": event}
    note.update({name: event[name] for name in _ENVELOPE if name in event})
    note.update(_with_texts(note, {"id": None, "conversation_id": None}))
    try:
        from_json(note)
    except ValidationError as error:
        for name in _fields(error, note):
            note.pop(name, None)
    return note
