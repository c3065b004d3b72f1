"""The blocks of one step on their way into events: each is written once, at its own place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from ledger.assembler import REASONING, TEXT, Assembler, Kept, Part
from ledger.events import Json, JsonObject
from ledger.turns.blocks import event_of

if TYPE_CHECKING:
    from ledger.turns.lane import Lane

_ORDER = {REASONING: 0, TEXT: 1}
_LAST = 2
_NOTHING: Mapping[str, Json] = {}


class BlockWriter:
    """What of a step is written already. `more` are further fields of blocks that are written later, by
    place."""

    def __init__(self, lane: Lane, step_id: str, assembler: Assembler) -> None:
        self.written: set[int] = set()
        """Places of blocks that are events."""
        self.more: dict[int, Mapping[str, Json]] = {}
        self._lane = lane
        self._step_id = step_id
        self._assembler = assembler
        self._thought = self._spoke = False

    def event(
        self,
        event_type: str,
        fields: Mapping[str, Json],
        more: Mapping[str, Json] = _NOTHING,
        place: int | None = None,
    ) -> None:
        """An event of the step; `place` where it is a block."""
        self._lane.write(event_type, {"step_id": self._step_id, "block_index": place, **fields, **more})

    def write(self, place: int, block: JsonObject, more: Mapping[str, Json] = _NOTHING) -> None:
        """The event of a block."""
        self.written.add(place)
        more = {**self.more.pop(place, {}), **more}
        metadata = more.get("provider_metadata", block.get("provider_metadata"))
        event_type, fields = event_of(block)
        self._thought = self._thought or event_type == "thinking_complete"
        self._spoke = self._spoke or event_type == "text_complete"
        self.event(event_type, fields, {**more, "provider_metadata": metadata}, place)
        self._assembler.let_go(place)
        if event_type == "tool_start":
            self._lane.called(cast(str, block.get("id")), self._step_id)

    def complete(self, part: Part) -> None:
        """A block that ended: written, unless it may still be dropped, or is blank and may be nothing."""
        block = part.block
        if block is None or part.place in self.written or part.kind not in (TEXT, REASONING):
            return
        text = block.get("text")
        if (isinstance(text, str) and text.strip()) or self._carries(part.place, block):
            self.write(part.place, block)

    def flush(self, kept: list[Kept], open_places: frozenset[int] = frozenset()) -> None:
        """What is kept and not written yet: thinking, then text, then calls. Those that were open are
        marked."""
        waiting = [one for one in kept if one.place not in self.written and self._is_something(one)]
        for one in sorted(waiting, key=lambda one: _ORDER.get(str(one.block.get("type")), _LAST)):
            if one.block.get("type") not in _ORDER:
                self._close_thinking()
            self.write(one.place, one.block, {"partial": True} if one.place in open_places else _NOTHING)
        self._close_thinking()

    def _is_something(self, one: Kept) -> bool:
        block = one.block
        if block.get("type") not in _ORDER or block.get("text") or one.entry is not None:
            return True
        return self._carries(one.place, block)

    def _carries(self, place: int, block: JsonObject) -> bool:
        """Whether a block is something even without text: it has a signature, or data that belongs to it."""
        more = self.more.get(place, _NOTHING)
        return any(block.get(name) for name in ("signature", "redacted_data", "provider_metadata")) or bool(
            more.get("provider_metadata")
        )

    def _close_thinking(self) -> None:
        """A step that thought and said nothing is closed by an empty text (DESIGN.md 5)."""
        if self._thought and not self._spoke:
            self.event("text_complete", {"text": ""}, place=len(self._assembler.parts))
            self._spoke = True
