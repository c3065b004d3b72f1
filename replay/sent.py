"""Whether what was sent is what the ledger renders: fingerprints in `step_start`, checked by rendering again.

A runtime takes `Result.fingerprint` of the request that it is about to send and records it, with
`Result.target` as JSON under `request_target`, in the `step_start` that it writes before it sends.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ledger.errors import BadInput
from ledger.events import JsonObject, StepStart
from ledger.recorded import RecordedEvent
from replay.continued import Continued
from replay.options import Options, Target
from replay.parts import canonical
from replay.render import target_named, targets
from replay.result import Result, replay

Verdict: TypeAlias = Literal["same", "different", "unknown_target"]

EARLIER = 20  # versions before a step's start that are tried for a request that differs


@dataclass(slots=True)
class Sent:
    """One request on record, by its step's `step_start`.

    `recorded` is the fingerprint that the runtime had, `rendered` that of the render just before `version`
    (None where the target is not known). For a request that differs, `messages` says that it is the first so
    many messages of that render, `as_of` that it is the render of that earlier version; None where neither is.
    """

    version: int
    turn_id: str | None
    step_id: str | None
    target: Target | None
    recorded: str
    rendered: str | None
    verdict: Verdict
    messages: int | None = None
    as_of: int | None = None

    def as_json(self) -> JsonObject:
        """The check as a JSON object, `target` as in DESIGN.md 7.5."""
        return {
            "version": self.version,
            "turn_id": self.turn_id,
            "step_id": self.step_id,
            "target": None if self.target is None else self.target.as_json(),
            "recorded": self.recorded,
            "rendered": self.rendered,
            "verdict": self.verdict,
            "messages": self.messages,
            "as_of": self.as_of,
        }


def target_of(event: StepStart) -> JsonObject | None:
    """The target of a step's request in its JSON spelling; None where it cannot be told.

    It is `request_target`, where that was recorded; else it is told from api or provider, and the model.
    """
    given = event.fields.get("request_target")
    if isinstance(given, dict):
        return given
    named = target_named(event.provider, event.api)
    return None if named is None else {**named, "model": event.model}


def sent(events: Sequence[RecordedEvent], conversation_id: str, last: int | None = None) -> list[Sent]:
    """Check every fingerprint on record, in every lane, or the `last` so many; in version order. Pure.

    `events` are all of the conversation's, in version order. A check renders what came since the one before it
    (`replay.continued`); only where a request differs is more rendered, to find which one it was.
    """
    starts: list[tuple[int, StepStart]] = []
    for place, record in enumerate(events):
        if record.type != "step_start":
            continue
        try:
            event = record.event
        except ValueError:  # unreadable: the plan says so
            continue
        if isinstance(event, StepStart) and event.request_fingerprint is not None:
            starts.append((place, event))
    if last is not None:
        starts = starts[max(0, len(starts) - last) :]
    kept: dict[str, _Kept] = {}
    return [_check(events, conversation_id, place, event, kept) for place, event in starts]


class _Kept:
    """The replay of one lane to one target, as far as it was asked for."""

    def __init__(self, conversation_id: str, target: JsonObject, lane: str | None) -> None:
        self._going = Continued(conversation_id, target, Options(agent_id=lane))
        self._fed = 0

    def before(self, events: Sequence[RecordedEvent], place: int) -> Result:
        """What was to be sent just before the event of that index; indexes rise from call to call."""
        self._going.feed(events[self._fed : place])
        self._fed = place
        return self._going.result()


def _check(
    events: Sequence[RecordedEvent],
    conversation_id: str,
    place: int,
    event: StepStart,
    kept: dict[str, _Kept],
) -> Sent:
    record, recorded = events[place], event.request_fingerprint or ""
    target = target_of(event)
    found = Sent(record.version, record.turn_id, record.step_id, None, recorded, None, "unknown_target")
    if target is None:
        return found
    try:
        found.target = Target.of(target)
    except BadInput:
        return found
    if found.target.provider not in targets():
        return found

    def rendered(until: int) -> Result:
        return replay(events[:until], conversation_id, target, Options(agent_id=event.agent_id))

    key = canonical([target, event.agent_id])
    if key not in kept:
        kept[key] = _Kept(conversation_id, target, event.agent_id)
    now = kept[key].before(events, place)
    found.target, found.rendered = now.target, now.fingerprint
    found.verdict = "same" if now.fingerprint == recorded else "different"
    if found.verdict == "different":
        if recorded in now.fingerprints:
            found.messages = now.fingerprints.index(recorded)
        else:
            earlier = (at for at in range(place - 1, max(-1, place - 1 - EARLIER), -1))
            until = next((at for at in earlier if rendered(at).fingerprint == recorded), None)
            found.as_of = None if until is None else events[until - 1].version if until else 0
    return found
