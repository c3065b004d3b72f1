"""The answer of a replay (DESIGN.md 7.5): the request for a target, and everything needed to trust it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar, cast

from ledger.events import Json, JsonObject
from ledger.recorded import RecordedEvent
from replay.diagnostics import Diagnostic
from replay.fingerprint import fingerprints
from replay.growing import listed
from replay.ladder import lowered
from replay.materialize import Message, neutral
from replay.options import RUNGS, Options, Target
from replay.plan import Plan, plan
from replay.prefix import prefix_changes, told
from replay.render import Provenance, Rendered, renderer
from replay.rung_notes import is_rung_note, started

_T = TypeVar("_T")


class _Late(Generic[_T]):
    """A field that is given as it is, or as a function that makes it when it is first asked for."""

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, result: object | None, _owner: type) -> _T:
        if result is None:
            raise AttributeError(self._name)  # it has no default
        value = vars(result)[self._name]
        if callable(value):
            value = vars(result)[self._name] = value()
        return cast(_T, value)

    def __set__(self, result: object, value: _T | Callable[[], _T]) -> None:
        vars(result)[self._name] = value


@dataclass(kw_only=True, repr=False)
class Result:
    """A rendered request with its diagnostics and provenance.

    `messages`, `system` and `extra` are the target's wire JSON; `neutral` are the messages it was made from.
    `provenance[m][p]` are the versions behind part p of message m. `fingerprints` has one entry more than
    there are messages (`replay.fingerprint`), or none when the options leave them out; `fingerprint` is its
    last. What is as long as the history may be made when it is first asked for; nothing that comes later
    changes it.
    """

    conversation_id: str
    version: int
    target: Target
    system: Json
    context: JsonObject | None
    messages: _Late[list[JsonObject]] = _Late()
    sendable: bool
    diagnostics: _Late[list[Diagnostic]] = _Late()
    plan: _Late[Plan] = _Late()
    neutral: _Late[list[Message]] = _Late()
    extra: JsonObject = field(default_factory=dict)
    fingerprint: str | None = None
    fingerprints: _Late[list[str]] = _Late()
    rendered_from: Provenance | Callable[[], Provenance] | None = None
    messages_key: str = "messages"
    system_key: str | None = "system"
    events: _Late[list[RecordedEvent]] = _Late()
    _prefix_changed: list[Diagnostic] | None = None

    @property
    def prefix_changed(self) -> list[Diagnostic]:
        """Which events changed what earlier requests had held, and from which message on (DESIGN.md 7.4).

        Made in one pass when it is asked for; empty where every request sent before is a prefix of this one.
        """
        if self._prefix_changed is None:
            changes = prefix_changes(self.events, self.plan.options)
            self._prefix_changed = told(changes, self.events, self.provenance)
        return self._prefix_changed

    @property
    def provenance(self) -> Provenance:
        """The versions behind every part of every message."""
        if self.rendered_from is None:
            self.rendered_from = [
                [message.versions(part) for part in range(len(message.parts))] for message in self.neutral
            ]
        elif callable(self.rendered_from):
            self.rendered_from = self.rendered_from()
        return self.rendered_from

    @property
    def beside(self) -> JsonObject:
        """What the first fingerprint is made of: all that is sent beside the messages, and the context."""
        return {"system": self.system, "context": self.context, **self.extra}

    @property
    def request(self) -> JsonObject:
        """The body to send, as one JSON object (`max_tokens` and the like are the caller's)."""
        system: JsonObject = {self.system_key: self.system} if self.system and self.system_key else {}
        return {**self.extra, **system, self.messages_key: list(self.messages)}

    def as_json(self) -> JsonObject:
        """The shape of DESIGN.md 7.5; a target's further request keys stand under `request`."""
        answer: JsonObject = {
            "conversation_id": self.conversation_id,
            "version": self.version,
            "target": self.target.as_json(),
            "system": self.system,
            "context": self.context,
            "messages": list(self.messages),
            "sendable": self.sendable,
            "fingerprint": self.fingerprint,
            "diagnostics": [one.as_json() for one in self.diagnostics],
            "provenance": [
                {"message": number, "part": part, "versions": list(versions)}
                for number, parts in enumerate(self.provenance)
                for part, versions in enumerate(parts)
            ],
        }
        if self.prefix_changed:
            answer["prefix_changed"] = [one.as_json() for one in self.prefix_changed]
        if self.extra:
            answer["request"] = self.extra
        return answer


def replay(
    events: Iterable[RecordedEvent],
    conversation_id: str,
    target: Target | Mapping[str, Json] | str = "neutral",
    options: Options | None = None,
) -> Result:
    """The request that continues a conversation with `target`, from all its events in version order.

    Pure; nothing in the events makes it fail. To replay an earlier state give the events up to that version:
    every rule judges by what it is given. A target on the first rung that was refused before starts on a lower
    one (`Options.recorded_rungs`); a rung that a target's JSON spelling names stands. Raises `UnknownTarget`
    and `BadInput` for a target that cannot be rendered for.
    """
    options = options or Options()
    render = renderer(Target.of(target))
    events = events if isinstance(events, list) else list(events)
    planned = plan(events, options)
    target, known = starting(planned, target)
    messages, lost = lowered(neutral(planned), target.rung)
    rendered = render(planned, messages, target)
    result = answered(
        conversation_id,
        target,
        planned.version,
        planned.context,
        planned.sendable,
        rendered,
        plan=planned,
        neutral=messages,
        diagnostics=in_order(planned.diagnostics, [*lost, *known], rendered.diagnostics),
        events=events,
    )
    if options.fingerprints:
        result.fingerprints = fingerprints(result.beside, result.messages)
        result.fingerprint = result.fingerprints[-1]
    return result


def starting(planned: Plan, asked: Target | Mapping[str, Json] | str) -> tuple[Target, list[Diagnostic]]:
    """The target on the rung that its request starts on, and the diagnostic where that is a lower one than
    asked for."""
    named = isinstance(asked, Mapping) and asked.get("rung") is not None
    target = Target.of(asked)
    if named or not planned.options.recorded_rungs or target.rung != RUNGS[0] or not planned.notes:
        return target, []
    return started(target, filter(is_rung_note, planned.notes))


def in_order(
    planned: Iterable[Diagnostic], lost: Sequence[Diagnostic], rendered: Sequence[Diagnostic]
) -> list[Diagnostic]:
    """All diagnostics by version: the plan's (in order already), those of neither, and the renderer's."""
    found = [*planned, *lost, *rendered]
    if lost or rendered:
        found.sort(key=lambda one: one.version or 0)
    return found


def answered(
    conversation_id: str,
    target: Target,
    version: int,
    context: JsonObject | None,
    sendable: bool,
    rendered: Rendered,
    *,
    plan: Plan | Callable[[], Plan],
    neutral: list[Message] | Callable[[], list[Message]],
    diagnostics: list[Diagnostic] | Callable[[], list[Diagnostic]],
    events: list[RecordedEvent] | Callable[[], list[RecordedEvent]],
) -> Result:
    """What a replay answers, without fingerprints; `version`, `context` and `sendable` are the plan's."""
    return Result(
        conversation_id=conversation_id,
        version=version,
        target=target,
        system=rendered.system,
        context=context,
        messages=partial(listed, rendered.messages),
        sendable=sendable if rendered.sendable is None else rendered.sendable,
        diagnostics=diagnostics,
        plan=plan,
        neutral=neutral,
        extra=rendered.extra,
        fingerprints=[],
        rendered_from=rendered.provenance,
        messages_key=rendered.messages_key,
        system_key=rendered.system_key,
        events=events,
    )
