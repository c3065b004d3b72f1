"""The seam between a plan and the wire formats: a registry of renderers, the neutral form among them."""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from ledger.errors import UnknownTarget
from ledger.events import Json, JsonObject
from replay.diagnostics import Diagnostic
from replay.growing import Growing, listed
from replay.materialize import Message
from replay.options import Target
from replay.plan import Plan

Provenance: TypeAlias = list[list[list[int]]]


@dataclass(slots=True)
class Rendered:
    """A request in one provider's shape.

    `messages` and `system` are wire JSON. `messages` and `diagnostics` are lists where a renderer gives them,
    `Growing` where a render in progress does. `provenance[m][p]` are the versions behind part p of message m,
    parts counted as they stand in the message's content, or a function that makes it when it is asked for;
    None where messages and parts are the neutral ones.
    `diagnostics` are the renderer's own; `sendable` is None where the plan's answer stands. `extra` are further
    top-level keys of the request (tools, betas …). `messages_key` and `system_key` say where messages and
    system stand in the request's body; without a `system_key` the system prompt is among the messages.
    """

    messages: Sequence[JsonObject]
    system: Json
    provenance: Provenance | Callable[[], Provenance] | None
    diagnostics: Sequence[Diagnostic] = field(default_factory=list)
    sendable: bool | None = None
    extra: JsonObject = field(default_factory=dict)
    messages_key: str = "messages"
    system_key: str | None = "system"


class Writing(Protocol):
    """One render in progress: messages go in one by one, in their order, and nothing that was written changes.

    Its state is plain: attributes that are values, or lists, dicts and sets of values that never change, or
    objects with a `fork`; so a copy can go on apart from the original. What gets longer with the history is
    `Growing` or `Known`, so that a copy costs the same after any.
    """

    def write(self, message: Message) -> None:
        """Write the next neutral message (read-only, also inside)."""

    def rendered(self) -> Rendered:
        """The request as it stands; nothing is written afterwards."""
        ...

    def fork(self) -> "Writing":
        """A copy that goes on apart: what is written to either, or rendered, does not show in the other."""
        ...


def written(writing: Writing, messages: Iterable[Message]) -> Rendered:
    """The request that `writing` makes of all `messages`."""
    for message in messages:
        writing.write(message)
    rendered = writing.rendered()
    rendered.messages, rendered.diagnostics = listed(rendered.messages), listed(rendered.diagnostics)
    return rendered


Renderer: TypeAlias = Callable[[Plan, Sequence[Message], Target], Rendered]
"""Gets the plan, its neutral messages (read-only, also inside) and the target; pure."""

Begin: TypeAlias = Callable[[Plan, Target], Writing]
"""Begins a render: gets a plan, of which the messages to be written may be only the first; pure."""

_RENDERERS: dict[str, Renderer] = {}
_BEGIN: dict[str, Begin] = {}
_BY_API: dict[str, JsonObject] = {}
_BY_PROVIDER: dict[str, JsonObject] = {}


def register(
    provider: str,
    renderer: Renderer,
    apis: Iterable[str] = (),
    providers: Iterable[str] = (),
    begin: Begin | None = None,
) -> None:
    """Name the renderer for `Target.provider == provider`; a provider module does it once, when imported.

    `apis` are the names under which runtimes record the wire format, `providers` those of providers that have
    no other. `begin` begins the same render to be written message by message, where it can be.
    """
    _RENDERERS[provider] = renderer
    if begin is not None:
        _BEGIN[provider] = begin
    name(apis, providers, {"provider": provider})


def name(apis: Iterable[str], providers: Iterable[str], target: JsonObject) -> None:
    """Say which target (in its JSON spelling, without a model) recorded names of apis and providers mean."""
    _BY_API.update(dict.fromkeys(apis, target))
    _BY_PROVIDER.update(dict.fromkeys(providers, target))


def target_named(provider: str | None, api: str | None) -> JsonObject | None:
    """The target whose format a step's api or provider names, as JSON; None where none is known."""
    return _BY_API.get(api) if api is not None else _BY_PROVIDER.get(provider or "")


def targets() -> list[str]:
    """The providers that can be rendered for, by name."""
    return sorted(_RENDERERS)


def renderer(target: Target) -> Renderer:
    """The renderer for a target.

    Raises `UnknownTarget` naming what there is.
    """
    try:
        return _RENDERERS[target.provider]
    except KeyError:
        raise UnknownTarget(target=target.provider, known=", ".join(targets())) from None


def beginning(target: Target) -> Begin | None:
    """What begins a render for a target message by message; None where it is rendered at once."""
    return _BEGIN.get(target.provider)


class _NeutralWriting:
    def __init__(self, plan: Plan, _target: Target) -> None:
        self._system: list[Json] = [part for entry in plan.system for part in entry.parts]
        self._messages: Growing[JsonObject] = Growing()

    def write(self, message: Message) -> None:
        self._messages.append({"role": message.role, "content": message.parts})  # type: ignore[dict-item]

    def rendered(self) -> Rendered:
        return Rendered(self._messages, list(self._system), None)

    def fork(self) -> "_NeutralWriting":
        twin = copy(self)
        twin._messages = self._messages.fork()
        return twin


def _neutral(plan: Plan, messages: Sequence[Message], target: Target) -> Rendered:
    return written(_NeutralWriting(plan, target), messages)


register("neutral", _neutral, begin=_NeutralWriting)
