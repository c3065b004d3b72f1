"""A session's file beside what was recorded live of the same session: what of the file is new, and what the
recording told already, perhaps under another id (DESIGN.md 4).

Both doors make the same ids for blocks, results and messages, and name steps as the model's messages are named.
Turns, and the starts and ends of steps, they name apart: a turn of the file is the recorded one with which it
shares a step or an event. What is new can only be appended. So a message that has its place before what was
recorded is kept as a `note`, which no model is sent; a model call that has it there is refused.

Two passes: `Places` looks the file's events through for where what is recorded stands, then `Beside` says of
each what becomes of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast

from ledger.errors import RecordedElsewhere
from ledger.events import Json, JsonObject, is_terminal_type
from ledger.intake.identity import made_id
from ledger.intake.live import ERASED, KEPT, Block, Live, Step, Turn, lane_of, said, text_of
from ledger.intake.mending import as_text
from ledger.intake.scribe import encoded_event, oversize
from ledger.recorded import EncodedEvent

_SHOWN = 500
"""Characters of a kept message that its note's text repeats."""
_BLOCKS = frozenset({"text_complete", "thinking_complete", "tool_start"})
_PLACED = frozenset({"user_message", "compaction"})
"""What means something else where it stands later."""


class Places:
    """Where the file's events stand that were recorded live, and which of the recorded turns its turns are."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._shared: set[str] = set()  # recorded turns that the file has, too
        self._count = 0
        self._after: list[str] = []  # the file's turns, none of them recorded, since the last one that was
        self.turns: dict[str, str] = {}
        """Recorded turns by the file's; where one is in several, the first."""
        self.last: dict[str, int] = {}
        """By lane: the number (from 0) of the last event that was recorded."""

    def take(self, event: EncodedEvent) -> None:
        """The file's next event."""
        number, self._count = self._count, self._count + 1
        turn = event.turn_id
        if event.type == "turn_start" and turn is not None:
            self._after.append(turn)
        found = self._live.find(event)
        if found is None:
            return
        if event.type != "note":
            self.last[found.lane] = number
        if turn is not None and found.turn:
            self._shared.add(found.turn)
            self.turns.setdefault(turn, found.turn)
            self._after.clear()

    def end(self) -> bool:
        """The file's end; whether it is of a session that was recorded.

        A recording that was cut off before the model answered shares nothing with the turn that it is of: that
        is the next one of the file.
        """
        begun = self._live.last_turn
        if begun is not None and begun not in self._shared and self._live.turns[begun].bare and self._after:
            self.turns[self._after[0]] = begun
        return bool(self.turns)


class Beside:
    """What becomes of each of the file's events, given in order, once `places` is whole.

    `stored` are the ids that the ledger has of the conversation. `told` is filled with those of the file that
    need no event, because one of that version tells the same.
    """

    def __init__(self, live: Live, places: Places, stored: Mapping[str, int], conversation_id: str) -> None:
        self._live = live
        self._places = places
        self._stored = stored
        self._conversation_id = conversation_id
        self._end = max(places.last.values(), default=-1)
        self._count = 0
        self._version = 0
        self._turns: dict[str, str] = dict(places.turns)  # where a turn of the file is in the recorded ones now
        self._moved: dict[str, str] = {}  # events that go into a recorded turn, or ("") into none
        self._kept: set[str] = set()
        self._crowded: set[str] = set()  # blocks whose place another one has, as a line of the stream was lost
        self._begun: set[str] = set()  # turns of the file that were taken in before
        self._replaced: dict[str, str] = {}  # halves that were recorded, by the file's turn
        self.told: dict[str, int] = {}
        self.differing = 0
        """How many of those that are told say something else in the file."""

    @property
    def kept(self) -> int:
        """How many messages are kept as notes."""
        return len(self._kept)

    def take(self, event: EncodedEvent) -> None:
        """The file's next event. Raises `RecordedElsewhere` for a model call that would come too late."""
        number, self._count = self._count, self._count + 1
        found = self._live.find(event)
        if found is not None and event.turn_id is not None and found.turn and event.turn_id in self._turns:
            self._turns[event.turn_id] = found.turn
        if event.id in self._live.said:
            self._tell(event, self._live.versions[event.id], self._live.said[event.id])
            return
        if event.type == "turn_start" and event.turn_id is not None and event.id in self._stored:
            self._begun.add(event.turn_id)
        turn = self._turns.get(event.turn_id or "")
        if turn is not None:
            self._within(event, number, turn)
        elif event.turn_id is not None and number < self._end and event.id not in self._stored:
            self._before(event, number)
        elif event.id in self._live.kept:
            self._kept.add(event.id)

    def written(self, event: EncodedEvent) -> EncodedEvent:
        """An event that is not told, as it is stored."""
        turn = self._moved.get(event.id)
        if turn is None and event.id not in self._kept:
            return event
        value: JsonObject = json.loads(event.body)
        if turn == "":
            value.pop("turn_id", None)
        elif turn is not None:
            value["turn_id"] = turn
        lane = self._live.lanes.get(as_text(value.get("parent_tool_call_id")))
        if lane:
            value["agent_id"] = lane
        if event.id in self._crowded:
            value.pop("block_index", None)  # then the order is that of kinds of blocks
        if event.id in self._kept:
            value = _note(value)
        return encoded_event(value, len(event.body), oversize)

    def rest(self, source_format: str) -> Iterator[EncodedEvent]:
        """What follows the file's last event: the halves of which the file has the whole are taken back."""
        by_turn: dict[str, list[str]] = {}
        for event_id, turn in self._replaced.items():
            by_turn.setdefault(turn, []).append(event_id)
        for turn, names in by_turn.items():
            value: JsonObject = {
                "type": "retraction",
                "id": made_id(source_format, self._conversation_id, "\0".join(names), "retraction"),
                "conversation_id": self._conversation_id,
                "turn_id": turn,
                "event_ids": cast(Json, names),
            }
            yield encoded_event(value, 0, oversize)

    # -- inside

    def _tell(self, event: EncodedEvent, version: int, recorded: tuple[int, ...] | None) -> None:
        self.told[event.id] = self._version = version
        if recorded is not None:
            pairs = zip(said(json.loads(event.body)), recorded, strict=True)
            self.differing += any(one and other and one != other for one, other in pairs)

    def _within(self, event: EncodedEvent, number: int, turn: str) -> None:
        """An event of a turn that was recorded."""
        kind, at = event.type, self._live.turns[turn]
        step = self._live.steps.get(event.step_id or "")
        if kind == "turn_start":
            self._tell(event, at.version, None)
        elif kind == "step_start" and step is not None:
            self._tell(event, step.version, step.said)
        elif kind == "step_start" and number < self._end:
            self._late(event, number)
            self._moved[event.id] = turn
        elif kind in _BLOCKS and step is not None:
            self._block(event, step, turn)
        elif (version := self._told(event, at, step, turn)) is not None:
            self._tell(event, version, None)
        else:
            self._moved[event.id] = turn
            if kind in _PLACED:
                self._place(event, number)

    def _told(self, event: EncodedEvent, at: Turn, step: Step | None, turn: str) -> int | None:
        """The version that tells the same as an event of a recorded turn."""
        kind = event.type
        if kind == "step_finish":
            return step.finished if step is not None else None
        if kind == "token_usage":
            return at.usage or (step.usage if step is not None else None)
        if kind not in ("tool_result", "user_message", "error", "complete", "abort"):
            return None
        value: JsonObject = json.loads(event.body)
        if is_terminal_type(kind, value.get("retryable")):
            return at.ended
        if kind == "tool_result":
            return self._live.results.get((turn, as_text(value.get("tool_call_id"))))
        if kind == "user_message":
            lane = lane_of(value, self._live.lanes)
            found = self._live.messages.get((turn, lane, text_of(value.get("content"))))
            # What was erased must not come back: any message there may be that one.
            return found or self._live.messages.get((turn, lane, ERASED))
        return None

    def _block(self, event: EncodedEvent, step: Step, turn: str) -> None:
        """A block of a step that was recorded: the same one may have come in pieces, or only half of it."""
        value: JsonObject = json.loads(event.body)
        place = value.get("block_index")
        found = step.blocks.get(place) if isinstance(place, int) else None
        if found is None:
            self._moved[event.id] = turn
        elif self._same(found, value):
            self._tell(event, found.version, found.said)
        else:
            self._moved[event.id] = turn
            if found.half:
                self._replaced[found.id] = turn
            else:
                self._crowded.add(event.id)

    def _same(self, found: Block, value: JsonObject) -> bool:
        if not found.pieces or found.type != value.get("type"):
            return False
        return not found.half or found.said == said(value)

    def _place(self, event: EncodedEvent, number: int) -> None:
        """A message, or a summary of the history: only what follows on all that was recorded has its place."""
        if event.id in self._stored and event.id not in self._live.kept:
            return
        value: JsonObject = json.loads(event.body)
        lane = "" if event.type == "compaction" else lane_of(value, self._live.lanes)
        if number < self._places.last.get(lane, -1):
            self._kept.add(event.id)

    def _before(self, event: EncodedEvent, number: int) -> None:
        """A new event of a turn that was not recorded, before others that were; the turn itself may have been
        taken in before those were recorded."""
        begun = event.turn_id in self._begun
        if event.type == "step_start" or (event.type in _BLOCKS and not begun):
            self._late(event, number)
        elif event.type in _PLACED:
            self._kept.add(event.id)
        elif event.type in ("turn_start", "complete", "abort", "error") and not begun:
            self.told[event.id] = self._version
            self.differing += 1
            return
        if not begun:
            self._moved[event.id] = ""

    def _late(self, event: EncodedEvent, number: int) -> None:
        if event.id in self._stored:
            return
        value: JsonObject = json.loads(event.body)
        if number > self._places.last.get(lane_of(value, self._live.lanes), -1):
            return
        problem = (
            f"model call {event.step_id} comes before others that were recorded live, and is not among them"
        )
        raise RecordedElsewhere(conversation_id=self._conversation_id, problem=problem)


def _note(value: JsonObject) -> JsonObject:
    """A message as a note that keeps it whole."""
    kept: JsonObject = {"type": "note"}
    outside = ("id", "conversation_id", "turn_id", "agent_id", "parent_tool_call_id", "at", "source")
    kept |= {name: value[name] for name in outside if name in value}
    entry: JsonObject = {name: it for name, it in value.items() if name not in kept or name == "type"}
    content = value.get("content", value.get("summary"))
    blocks = content if isinstance(content, list) else [content]
    texts = [as_text(block.get("text") if isinstance(block, dict) else block) for block in blocks]
    text = f"Said before what was recorded live: {' '.join(texts)[:_SHOWN]}"
    return {**kept, "kind": KEPT, "text": text, "entry": entry}
