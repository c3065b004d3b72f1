"""A refusal on record: the note that lets the next request to the same model start where the last one got to.

The note is an event of the lane like any other, so it holds from its version on: the replay of an earlier
version does not know it. The newest note for a target counts; one with the rung `native` takes it back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ledger.events import Json, JsonObject
from ledger.recorded import RecordedEvent
from replay.diagnostics import Code, Diagnostic, diagnostic, register
from replay.options import RUNGS, Rung, Target
from replay.refusals import Refusal, next_rung

KIND = "rung"
MAX_ERROR = 4000  # characters of a refusal that a note keeps

register(
    Code(
        "rung_lowered",
        "info",
        "This model refused an earlier request (detail.rules); this one starts on a lower rung (detail.rung).",
        "Nothing; give a rung to start elsewhere, or record a note with the rung native.",
    )
)


def refusal_note(
    target: Target | Mapping[str, Json] | str, error_text: str, agent_id: str | None = None
) -> tuple[JsonObject, Refusal]:
    """The event that records a refusal, ready to append, and what the refusal means.

    `target` is the one that refused, on the rung that the request stood on (`Result.target`); `error_text`
    whatever came back (`next_rung`); `agent_id` the lane. The note holds `kind` ("rung"), `target` (provider
    and model), `refused` (the rung that was), `rung` (where to start from now on: on the last rung the same
    again), `class`, `rules`, `mend`, and `error`: the text, its first 4,000 characters.

    Raises `BadInput` for a target that is none.
    """
    to = Target.of(target)
    found = next_rung(error_text, to.rung)
    note: JsonObject = {
        "type": "note",
        "kind": KIND,
        "target": {"provider": to.provider, "model": to.model},
        "refused": to.rung,
        "rung": found.rung or to.rung,
        "class": found.kind,
        "rules": list(found.rules),
        "mend": found.mend,
        "error": error_text[:MAX_ERROR],
    }
    if agent_id is not None:
        note["agent_id"] = agent_id
    return note, found


def is_rung_note(record: RecordedEvent) -> bool:
    """True for a note of the shape of `refusal_note`."""
    fields = record.event.fields
    return fields.get("kind") == KIND and isinstance(fields.get("target"), dict) and _rung(record) is not None


def started(target: Target, notes: Iterable[RecordedEvent]) -> tuple[Target, list[Diagnostic]]:
    """The target on the rung that the newest note for it names, and the diagnostic that says so."""
    newest: RecordedEvent | None = None
    for record in notes:
        about = record.event.fields.get("target")
        if isinstance(about, dict) and (about.get("provider"), about.get("model")) == (
            target.provider,
            target.model,
        ):
            newest = record
    rung = None if newest is None else _rung(newest)
    if newest is None or rung is None or rung == RUNGS[0]:
        return target, []
    rules = newest.event.fields.get("rules")
    return replace(target, rung=rung), [diagnostic("rung_lowered", newest, rung=rung, rules=rules)]


def _rung(record: RecordedEvent) -> Rung | None:
    named = record.event.fields.get("rung")
    return next((rung for rung in RUNGS if rung == named), None)
