"""Why a request is as it is: which events made a message, and what became of any event."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ledger.errors import BadInput
from ledger.events import EVENT_TYPES, Json, JsonObject
from ledger.recorded import RecordedEvent
from replay.diagnostics import Diagnostic, meaning
from replay.items import Answer, Step
from replay.result import Result

Outcome: TypeAlias = Literal["sent", "beside", "left_out", "compacted", "control", "other_lane"]


@dataclass(slots=True)
class Fate:
    """What became of one event.

    `outcome`: `sent` (it stands in the request at `places`), `beside` (system or context, given apart),
    `left_out` (the diagnostics say why), `compacted` (a summary stands for it), `control` (it makes no message
    of its own), or `other_lane`. `places` are (message, part) from 0; `steps_message` is where its step stands.
    """

    record: RecordedEvent
    outcome: Outcome
    places: list[tuple[int, int]] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    steps_message: int | None = None

    def as_json(self) -> JsonObject:
        """The fate as a JSON object; names of the event first."""
        return {
            "version": self.record.version,
            "event_id": self.record.event_id,
            "type": self.record.type,
            "turn_id": self.record.turn_id,
            "step_id": self.record.step_id,
            "outcome": self.outcome,
            "places": [{"message": message, "part": part} for message, part in self.places],
            "step_message": self.steps_message,
            "diagnostics": [one.as_json() for one in self.diagnostics],
        }

    def text(self) -> str:
        """One line for people, and one more for every diagnostic."""
        record = self.record
        names = [
            f"{kind} {name}" for kind, name in (("turn", record.turn_id), ("step", record.step_id)) if name
        ]
        head = f"v{record.version} {record.type} {record.event_id}" + (
            f" ({', '.join(names)})" if names else ""
        )
        lines = [f"{head}: {self._words()}"]
        lines += (f"  {one.severity} {one.code}: {meaning(one.code)}" for one in self.diagnostics)
        return "\n".join(lines)

    def _words(self) -> str:
        if self.outcome == "sent":
            return "in " + ", ".join(f"message {message} part {part}" for message, part in self.places)
        if self.outcome == "control" and self.steps_message is not None:
            return f"says something about the step in message {self.steps_message}"
        return _WORDS[self.outcome]


@dataclass(slots=True)
class Explanation:
    """The fates of the events that were asked about, with what replay itself added (`notes`)."""

    subject: str
    fates: list[Fate]
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> JsonObject:
        """`{"subject", "notes", "events": [...]}`."""
        notes: list[Json] = [*self.notes]
        return {"subject": self.subject, "notes": notes, "events": [fate.as_json() for fate in self.fates]}

    def text(self) -> str:
        """Lines for people."""
        return "\n".join(
            [self.subject, *(f"  note: {note}" for note in self.notes), *map(Fate.text, self.fates)]
        )


_WORDS: dict[str, str] = {
    "beside": "given beside the messages",
    "left_out": "not in the request",
    "compacted": "a compaction's summary stands for it",
    "control": "makes no message",
    "other_lane": "of another lane, which replays on its own",
}
_ANSWERS = {
    "stand_in": "a stand-in: no result was recorded for it",
    "denied": "a stand-in: it was denied",
    "progress": "its last progress: no final result was recorded in time",
}
_CONTENT = frozenset(
    {"user_message", "system_message", "thinking_complete", "text_complete", "tool_start", "tool_result"}
)
_LEAVES_OUT = frozenset({"model_hidden_skipped", "retracted_skipped", "empty_text_skipped"})


def explain_message(
    result: Result, events: Iterable[RecordedEvent], message: int, part: int | None = None
) -> Explanation:
    """Which events made a message of the request (from 0), or one part of it.

    `events` are those that `result` was made from. Raises `BadInput` when there is no such message or part.
    """
    if not 0 <= message < len(result.provenance):
        raise BadInput(
            problem=f"there is no message {message}: the request has {len(result.provenance)}, from 0"
        )
    parts = result.provenance[message]
    if part is not None and not 0 <= part < len(parts):
        raise BadInput(problem=f"there is no part {part}: message {message} has {len(parts)}, from 0")
    subject = f"message {message}" + ("" if part is None else f" part {part}")
    wanted = {version for versions in (parts if part is None else [parts[part]]) for version in versions}
    return Explanation(subject, _Fates(result).of(events, wanted), _notes(result, wanted))


def explain_versions(
    result: Result, events: Iterable[RecordedEvent], first: int, last: int | None = None
) -> Explanation:
    """What became of the events of a row, or of any versions from `first` to `last` (`first` alone without it).

    Raises `BadInput` when the conversation holds none of them.
    """
    last = first if last is None else last
    subject = f"version {first}" if first == last else f"versions {first} to {last}"
    fates = _Fates(result).of(events, range(first, last + 1))
    if not fates:
        raise BadInput(problem=f"there is no {subject}: the conversation ends at version {result.version}")
    return Explanation(subject, fates, _notes(result, range(first, last + 1)))


def explain_event(result: Result, events: Sequence[RecordedEvent], event_id: str) -> Explanation:
    """What became of one event.

    Raises `BadInput` when the conversation has no event of that id.
    """
    for record in events:
        if record.event_id == event_id:
            found = explain_versions(result, [record], record.version)
            return Explanation(f"event {event_id}", found.fates, found.notes)
    raise BadInput(problem=f"there is no event {event_id} up to version {result.version}")


class _Fates:
    """Where every version of a result ended up, looked up both ways."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self._places: dict[int, list[tuple[int, int]]] = {}
        self._steps: dict[Step, int] = {}
        self._said: dict[int, list[Diagnostic]] = {}
        for message, parts in enumerate(result.provenance):
            for part, versions in enumerate(parts):
                for version in versions:
                    self._places.setdefault(version, []).append((message, part))
        for item in result.plan.items:
            if isinstance(item, Step):
                places = [place for block in item.blocks for place in self._places.get(block.version, ())]
                if places:
                    self._steps[item] = min(places)[0]
        for one in result.diagnostics:
            about = set(_versions(one.detail.get("versions")))
            if one.version is not None:
                about.add(one.version)
            for version in about:
                self._said.setdefault(version, []).append(one)

    def of(self, events: Iterable[RecordedEvent], versions: "range | set[int]") -> list[Fate]:
        return [self._fate(record) for record in events if record.version in versions]

    def _fate(self, record: RecordedEvent) -> Fate:
        places = self._places.get(record.version, [])
        said = self._said.get(record.version, [])
        outcome = self._outcome(record, places, said)
        changed = [one for one in self._result.prefix_changed if one.version == record.version]
        return Fate(record, outcome, places, [*said, *changed], self._steps_message(record))

    def _outcome(self, record: RecordedEvent, places: list[tuple[int, int]], said: list[Diagnostic]) -> Outcome:
        plan = self._result.plan
        try:
            lane = record.event.agent_id
        except ValueError:  # unreadable: the diagnostics say so
            return "left_out"
        if places:
            return "sent"
        if lane != plan.options.agent_id:
            return "other_lane"
        if record is plan.context_record or any(entry.record is record for entry in plan.system):
            return "beside"
        if any(one.code in _LEAVES_OUT for one in said):
            return "left_out"
        if record.type in _CONTENT or record.type not in EVENT_TYPES:
            return "compacted" if record.version <= plan.cut and not said else "left_out"
        return "control"

    def _steps_message(self, record: RecordedEvent) -> int | None:
        turn = self._result.plan.turns.get(record.turn_id or "")
        step = turn.named.get(record.step_id or "") if turn is not None else None
        return self._steps.get(step) if step is not None else None


def _versions(value: Json) -> list[int]:
    return [one for one in value if isinstance(one, int)] if isinstance(value, list) else []


def _notes(result: Result, versions: "range | set[int]") -> list[str]:
    """What replay itself put into the request for these events: stand-ins, other names, late texts."""
    notes: list[str] = []
    for item in result.plan.items:
        if not isinstance(item, Step):
            continue
        for call in item.calls:
            name, answer = call.event.tool_call_id, call.answer
            if call.version in versions and call.id != name:
                notes.append(f"call {name} (v{call.version}) is named {call.id} in the request")
            if answer is not None and answer.kind != "result" and _meet(answer, versions):
                notes.append(f"call {name} (v{call.version}) is answered by {_ANSWERS[answer.kind]}")
    return notes


def _meet(answer: Answer, versions: "range | set[int]") -> bool:
    """True when an answer was made from one of these versions."""
    return any(version in versions for version in answer.versions)
