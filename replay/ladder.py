"""The lower rungs of the ladder (DESIGN.md 7.4): the neutral messages with less and less in them to refuse.

`native` and `no-foreign` change nothing here: they differ in whose opaque data goes out, which the renderers
decide (`replay.providers.ownership`). `no-thinking` leaves thinking out. `flat-tools` tells tool calls and
their results as text: of the user, since a model that reads such text as its own goes on writing it instead
of calling tools. `text-only` has nothing but text of user and assistant, which every provider takes.

Each message is made from one neutral message and what was before it, so that lower rungs are as append-only
as the first.
"""

from collections.abc import Iterator, Sequence

from ledger.events import JsonObject
from replay.diagnostics import Code, Diagnostic, diagnostic, register
from replay.items import Answer, Block, Call, Entry, HostedResult, Step, Thinking
from replay.materialize import Message, Origin
from replay.options import RUNGS, Rung
from replay.parts import canonical, system_as_user, text_part, told_parts

register(
    Code(
        "rung_thinking_skipped",
        "info",
        "Thinking is left out: the request stands on a rung of the ladder that has none.",
        "Nothing; a request on the first rung sends it again.",
    )
)
register(
    Code(
        "rung_media_told",
        "info",
        "An image, a file or another block is told as text: the request stands on the ladder's last rung.",
        "Nothing; a request on a higher rung sends it again.",
    )
)
register(
    Code(
        "rung_system_told",
        "info",
        "A system message amid the history is told as tagged user text: the last rung has no such role.",
        "Nothing.",
    )
)


class FlatTool(Entry):
    """A call and its result, told as text of the user."""

    __slots__ = ("call", "told_from")

    def __init__(self, call: Call, answer: Answer | HostedResult | None) -> None:
        record = call.record if answer is None else answer.record
        super().__init__("flat_tool", record, _told(call, answer))
        self.call = call
        self.told_from = [call.version] if answer is None else sorted({call.version, *answer.versions})

    @property
    def versions(self) -> list[int]:
        """The call's version and those of its result."""
        return self.told_from


def lowered(messages: Sequence[Message], rung: Rung) -> tuple[list[Message], list[Diagnostic]]:
    """The messages for a rung, and what is to be said of what they lack. Pure; the input stays as it is."""
    level = RUNGS.index(rung)
    found: list[Diagnostic] = []
    if level < RUNGS.index("no-thinking"):
        return list(messages), found
    lower = list(_without_thinking(messages, found))
    if level >= RUNGS.index("flat-tools"):
        lower = list(_flat(lower))
    if level >= RUNGS.index("text-only"):
        lower = [_text_only(message, found) for message in lower]
    return lower, found


def _without_thinking(messages: Sequence[Message], found: list[Diagnostic]) -> Iterator[Message]:
    for message in messages:
        gone = [origin for origin in message.origins if isinstance(origin, Thinking)]
        if not gone:
            yield message
            continue
        found += [diagnostic("rung_thinking_skipped", one.record, one.step.step_id) for one in gone]
        kept = _kept(message, [not isinstance(origin, Thinking) for origin in message.origins])
        if kept.parts:
            yield kept


def _kept(message: Message, mask: list[bool]) -> Message:
    parts = [part for part, keep in zip(message.parts, mask, strict=True) if keep]
    origins = [origin for origin, keep in zip(message.origins, mask, strict=True) if keep]
    return Message(message.role, message.item, parts, origins)


def _flat(messages: Sequence[Message]) -> Iterator[Message]:
    """A step's texts, then its calls with their results; what a provider ran itself among them.

    Nothing of a step comes after its tool message, so that the calls can wait for it.
    """
    for message in messages:
        if message.role == "tool":
            continue  # its answers are told beside their calls
        if not isinstance(message.item, Step) or not any(map(_is_tool, message.origins)):
            yield message
            continue
        words = _kept(message, [not _is_tool(origin) for origin in message.origins])
        if words.parts:
            yield words
        told: set[Call] = set()
        for origin in message.origins:
            if not isinstance(origin, Call | HostedResult):
                continue
            # A result that another step recorded is told there, where it came.
            call = origin if isinstance(origin, Call) else origin.call
            if call in told:
                continue
            told.add(call)
            flat = FlatTool(call, _answer(call, message.origins))
            yield Message("user", flat, flat.parts, [flat] * len(flat.parts))


def _answer(call: Call, origins: Sequence[Origin]) -> Answer | HostedResult | None:
    for origin in origins:
        if isinstance(origin, HostedResult) and origin.call is call:
            return origin
    return call.answer


def _is_tool(origin: Origin) -> bool:
    return isinstance(origin, Call | HostedResult)


def _told(call: Call, answer: Answer | HostedResult | None) -> list[JsonObject]:
    name = call.event.tool_name or "a tool"
    head = f"[called {name} ({call.id}) with {canonical(call.event.args)}]"
    if answer is None:
        return [text_part(head)]
    if isinstance(answer, HostedResult):
        failed, content = bool(answer.event.is_error), answer.event.content
    else:
        failed, content = answer.is_error, answer.content
    return told_parts(f"{head}\n[{'error' if failed else 'result'}]", content)


def _text_only(message: Message, found: list[Diagnostic]) -> Message:
    parts = [_as_text(part, origin, found) for part, origin in zip(message.parts, message.origins, strict=True)]
    if message.role != "system":
        return Message(message.role, message.item, parts, message.origins)
    if isinstance(message.item, Entry):
        found.append(diagnostic("rung_system_told", message.item.record))
    tagged = [system_as_user(str(part["text"])) if _says(part) else part for part in parts]
    return Message("user", message.item, tagged, message.origins)


def _as_text(part: JsonObject, origin: Origin, found: list[Diagnostic]) -> JsonObject:
    if isinstance(part.get("text"), str) and part.get("type") == "text":
        return part
    step = origin.step.step_id if isinstance(origin, Block) else None
    found.append(diagnostic("rung_media_told", origin.record, step, type=part.get("type")))
    return text_part(f"[{part.get('type') or 'block'} left out: the request is text only]")


def _says(part: JsonObject) -> bool:
    text = part["text"]
    return isinstance(text, str) and bool(text.strip())
