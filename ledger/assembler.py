"""Chunks of one model response in, its blocks out (specs/dsh.md 1.2 to 1.4 and 2.2, with the changes of
DESIGN.md 5).

Pure. Blocks come out in the order in which they were first seen; the first end of a block wins over its
deltas, the last finish over earlier ones. What is left out is decided once, for blocks and replay entries
together, and always said in `dropped`. Nothing here raises: a chunk or an open block of an unknown type is
dropped and said too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, cast

from ledger.events import Json, JsonObject
from ledger.growing import GrowingText

TEXT, REASONING, CALL = "text", "reasoning", "tool-call"
_ACCUMULATING = frozenset({TEXT, REASONING, CALL})
OUT_OF_TOKENS = "max-tokens"

LONG_TEXT = 64 * 1024
"""A longer text is given out once only: when its block ends."""

End = Literal["finished", "cancelled"]
Index = int | str


class Part:
    """One block as it grows. `place` is its place among the blocks first seen, from 0: its `block_index`."""

    __slots__ = ("block", "call_id", "growing", "index", "kind", "name", "place")

    def __init__(self, index: Index, place: int, kind: str) -> None:
        self.index = index
        self.place = place
        self.kind = kind
        self.growing = GrowingText()
        self.call_id: str | None = None
        self.name = ""
        self.block: JsonObject | None = None
        """The whole block, once it has ended."""

    @property
    def text(self) -> str:
        """The text so far; of a call its arguments, as they came."""
        return self.growing.text

    def add(self, piece: str) -> None:
        """Text or arguments that came; nothing after the block's end."""
        if self.block is None and piece:
            self.growing.add(piece)

    def close(self, block: JsonObject) -> None:
        """The whole block; what had accumulated is let go, but for names that a call does not give itself."""
        if block.get("type") == CALL:
            block = dict(block)
            if block.get("id") is None:
                block["id"] = f"call-{self.index}" if self.call_id is None else self.call_id
            if block.get("name") is None:
                block["name"] = self.name
        self.block = block
        self.growing.clear()

    def assembled(self) -> JsonObject | None:
        """The block as far as it came; None for an open one of a type that only its end could tell."""
        if self.block is not None:
            return self.block
        if self.kind == CALL:
            call_id = f"call-{self.index}" if self.call_id is None else self.call_id
            return {"type": CALL, "id": call_id, "name": self.name, "arguments": self.text}
        if self.kind in _ACCUMULATING:
            return {"type": self.kind, "text": self.text}
        return None


class Kept(NamedTuple):
    """A block that stays, with the replay entry that belongs to it (None when there is none)."""

    place: int
    block: JsonObject
    entry: Json


@dataclass(frozen=True)
class StepOutput:
    """What one response came to."""

    kept: list[Kept]
    finish: str
    """The last finish's kind; `stop` when none came."""
    failure: Json
    usage: JsonObject | None
    envelope: Json
    """The replay state as it is to be recorded: entries pruned like their blocks, or without entries."""
    entries_discarded: bool
    dropped: list[JsonObject] = field(default_factory=list)
    """`{what, id?, why}` for everything that was left out."""

    @property
    def blocks(self) -> list[JsonObject]:
        """The blocks that stay, in first-seen order."""
        return [kept.block for kept in self.kept]

    @property
    def replay_response(self) -> Json:
        """The response half of the replay state."""
        return self.envelope.get("response") if isinstance(self.envelope, dict) else None

    @property
    def replay_blocks(self) -> list[Json] | None:
        """The entries of the kept blocks; None when none are recorded."""
        blocks = self.envelope.get("blocks") if isinstance(self.envelope, dict) else None
        return blocks if isinstance(blocks, list) else None


class Assembler:
    """The chunks of one response. Feed it by `push`, or by `start`, `add`, `end`; ask it any time, as often
    as wanted."""

    def __init__(self) -> None:
        self.parts: dict[Index, Part] = {}
        """In first-seen order."""
        self.usage: JsonObject | None = None
        self.finish = "stop"
        self.has_finish = False
        self.failure: Json = None
        self.drop_calls: str | None = None
        """Why calls that did not start are dropped, beside running out of tokens."""
        self._envelope: Json = None
        self._unknown: list[JsonObject] = []

    def push(self, chunk: Mapping[str, Json]) -> None:
        """Take one chunk of the vocabulary of specs/dsh.md 1.1; of any other, say so in `dropped`."""
        kind = chunk.get("type")
        index = chunk.get("index")
        if not isinstance(index, int | str):
            index = 0
        match kind:
            case "text-delta":
                self.add(index, TEXT, _text(chunk.get("text")))
            case "reasoning-delta":
                self.add(index, REASONING, _text(chunk.get("text")))
            case "tool-call-delta":
                self.add_arguments(
                    index,
                    _text(chunk.get("argumentsDelta")),
                    _maybe(chunk.get("id")),
                    _maybe(chunk.get("name")),
                )
            case "block-start":
                self.start(index, _text(chunk.get("blockType")))
            case "block-end" if isinstance(block := chunk.get("block"), dict):
                self.end(index, block)
            case "usage" if isinstance(usage := chunk.get("usage"), dict):
                self.usage = usage
            case "finish":
                reason = chunk.get("reason")
                told = reason if isinstance(reason, dict) else {"kind": reason}
                self.finished(_maybe(told.get("kind")) or "stop", told.get("failure"), chunk.get("replayState"))
            case _:
                self._unknown.append(
                    {"what": "chunk", "why": f"unknown chunk {str(kind)[:80]!r}", "chunk": dict(chunk)}
                )

    def start(self, index: Index, kind: str) -> Part:
        """Open the block `index`; one that is known stays as it is."""
        part = self.parts.get(index)
        if part is None:
            part = self.parts[index] = Part(index, len(self.parts), kind)
        return part

    def add(self, index: Index, kind: str, piece: str) -> Part:
        """Text or reasoning for the block `index`. Its type does not change: for a call it is lost."""
        part = self.start(index, kind)
        if part.kind != CALL:
            part.add(piece)
        return part

    def add_arguments(
        self, index: Index, piece: str, call_id: str | None = None, name: str | None = None
    ) -> Part:
        """Arguments for the call `index`; the last id and the last name that is not empty count."""
        part = self.start(index, CALL)
        if part.kind == CALL and part.block is None:
            if call_id is not None:
                part.call_id = call_id
            if name:
                part.name = name
            part.add(piece)
        return part

    def end(self, index: Index, block: JsonObject) -> Part:
        """The whole block `index`, whatever was accumulated; the first end counts."""
        part = self.start(index, _text(block.get("type")))
        if part.block is None:
            part.close(block)
            part.kind = _text(block.get("type"))
        return part

    def let_go(self, place: int) -> None:
        """The block at `place` is stored: a long text of it need not be kept here as well."""
        for part in self.parts.values():
            if (
                part.place == place
                and part.block is not None
                and len(_text(part.block.get("text"))) > LONG_TEXT
            ):
                part.block = {**part.block, "text": ""}

    def finished(self, kind: str, failure: Json = None, replay_state: Json = None) -> None:
        """The response's end; the last one counts, its replay state (or that it has none) included."""
        self.finish, self.failure, self._envelope = kind, failure, replay_state
        self.has_finish = True

    def output(self, end: End = "finished", started: frozenset[int] = frozenset()) -> StepOutput:
        """The response so far; `cancelled` keeps what a person could have read and drops the calls.

        `started` are the places of calls that ran already: they happened, so they stay whatever the finish
        says.
        """
        dropped = list(self._unknown)
        kept: list[tuple[int, int, JsonObject]] = []
        for place, part in enumerate(self.parts.values()):
            block = part.assembled()
            if block is None:
                dropped.append({"what": part.kind or "block", "why": "unknown type, and it never ended"})
            elif (why := self._why_not(part, block, end)) is None or part.place in started:
                kept.append((place, part.place, block))
            else:
                dropped.append(_told(block, why))
        envelope = self._envelope if end == "finished" else None
        pruned, entries = _prune(envelope, len(self.parts), [place for place, _, _ in kept])
        if pruned is not envelope and entries is None:
            dropped.append({"what": "replay_entries", "why": "their number is not that of the blocks"})
        return StepOutput(
            [
                Kept(place, block, entries[at] if entries is not None else None)
                for at, (_, place, block) in enumerate(kept)
            ],
            self.finish,
            self.failure,
            self.usage,
            pruned,
            pruned is not envelope and entries is None,
            dropped,
        )

    def _why_not(self, part: Part, block: JsonObject, end: End) -> str | None:
        if end == "cancelled":
            if part.kind == CALL:
                return "cancelled before it was started"
            if part.kind not in (TEXT, REASONING):
                return "cancelled, and of a type that is not shown"
            if not _text(block.get("text")).strip() and not (
                block.get("signature") or block.get("redacted_data")
            ):
                return "cancelled while blank"
        elif part.kind == CALL:
            return "out of tokens" if self.finish == OUT_OF_TOKENS else self.drop_calls
        return None


def _prune(envelope: Json, count: int, kept: list[int]) -> tuple[Json, list[Json] | None]:
    """The envelope for the kept blocks, and their entries; without entries where their number is wrong."""
    if not isinstance(envelope, dict) or not isinstance(entries := envelope.get("blocks"), list):
        return envelope, None
    if len(entries) != count:
        return {name: value for name, value in envelope.items() if name != "blocks"}, None
    remaining = [entries[place] for place in kept]
    if len(kept) == count:
        return envelope, remaining
    return {**envelope, "blocks": cast(Json, remaining)}, remaining


def _told(block: JsonObject, why: str) -> JsonObject:
    told: JsonObject = {"what": block.get("type"), "why": why}
    if block.get("type") == CALL:
        told["id"] = block.get("id")
    return told


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _maybe(value: Json) -> str | None:
    return value if isinstance(value, str) else None
