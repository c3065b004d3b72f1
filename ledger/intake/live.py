"""What a conversation holds that was recorded live, as an importer of the same session looks for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ledger.events import Json, JsonObject, is_terminal_type
from ledger.intake.mending import as_text
from ledger.recorded import EncodedEvent, RecordedEvent
from ledger.turns.recording import MISSING_TERMINAL

KEPT = "unplaced"
"""The kind of a note that keeps a message whose place is before what was recorded."""

ERASED = 0
"""Stands for the digest of an erased message's content, which may be any."""

_COMPARED = (
    "text",
    "signature",
    "args",
    "tool_name",
    "is_error",
    "content",
    "summary",
    "through_version",
    "model",
)


class Found(NamedTuple):
    """A recorded event or step that the file has, too: its turn ("" for none) and its lane."""

    turn: str
    lane: str


class Block(NamedTuple):
    """A block of a recorded step. `pieces`: it has no name of its own, since it was put together; `half`: the
    recording was cut off there, or had nothing to say."""

    id: str
    version: int
    type: str
    said: tuple[int, ...]
    pieces: bool
    half: bool


@dataclass
class Step:
    """A recorded step."""

    turn: str
    lane: str
    version: int
    said: tuple[int, ...]
    finished: int | None = None
    usage: int | None = None
    blocks: dict[int, Block] = field(default_factory=dict)


@dataclass
class Turn:
    """A recorded turn. `ended` is the version of its end, where that came from the runtime; `bare` while it has
    neither a step nor a message."""

    version: int
    ended: int | None = None
    usage: int | None = None
    bare: bool = True


class Live:
    """Versions, ids and digests of a conversation's events that come from no file."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        self.said: dict[str, tuple[int, ...]] = {}
        self.steps: dict[str, Step] = {}
        self.turns: dict[str, Turn] = {}
        self.results: dict[tuple[str, str], int] = {}
        self.messages: dict[tuple[str, str, int], int] = {}
        self.lanes: dict[str, str] = {}
        """Names of lanes by the calls that began them."""
        self.kept: set[str] = set()
        """Ids of messages that an earlier import kept as notes."""
        self.last_turn: str | None = None
        self._where: dict[str, Found] = {}

    def take(self, recorded: RecordedEvent) -> None:
        """The conversation's next event."""
        value: JsonObject = json.loads(recorded.body)
        kind, version = recorded.type, recorded.version
        source = value.get("source")
        if isinstance(source, dict) and source.get("format"):
            if kind == "note" and value.get("kind") == KEPT:
                self.kept.add(recorded.event_id)
            return
        turn_id, lane = recorded.turn_id or "", as_text(value.get("agent_id"))
        told = (0,) * len(_COMPARED) if recorded.erased else said(value)
        self.versions[recorded.event_id], self.said[recorded.event_id] = version, told
        self._where[recorded.event_id] = Found(turn_id if turn_id in self.turns else "", lane)
        parent = as_text(value.get("parent_tool_call_id"))
        if parent and lane:
            self.lanes.setdefault(parent, lane)
        if kind == "turn_start":
            self.turns[turn_id] = Turn(version)
            self.last_turn = turn_id
            return
        turn = self.turns.get(turn_id)
        if turn is None:
            return
        turn.bare = turn.bare and kind not in ("step_start", "user_message", "compaction")
        if is_terminal_type(kind, value.get("retryable")):
            if value.get("code") != MISSING_TERMINAL and turn.ended is None and not _is_crash(value):
                turn.ended = version
        elif kind == "tool_result" and value.get("final") is not False:
            self.results[turn_id, as_text(value.get("tool_call_id"))] = version
        elif kind == "user_message":
            self.messages[turn_id, lane, ERASED if recorded.erased else text_of(value.get("content"))] = version
        elif kind == "token_usage" and recorded.step_id is None:
            turn.usage = version
        elif recorded.step_id is not None:
            self._of_step(recorded, recorded.step_id, value, told, lane)

    def find(self, event: EncodedEvent) -> Found | None:
        """Where an event of the file was recorded: by its own id, or by that of the step that it begins."""
        found = self._where.get(event.id)
        if found is None and event.type == "step_start" and (step := self.steps.get(event.step_id or "")):
            return Found(step.turn, step.lane)
        return found

    def _of_step(
        self, recorded: RecordedEvent, name: str, value: JsonObject, told: tuple[int, ...], lane: str
    ) -> None:
        step = self.steps.get(name)
        if step is None:
            step = self.steps[name] = Step(recorded.turn_id or "", lane, recorded.version, told)
        place = value.get("block_index")
        if recorded.type == "step_finish":
            step.finished = recorded.version
            step.usage = recorded.version if value.get("usage") else step.usage
        elif recorded.type == "token_usage":
            step.usage = recorded.version
        elif isinstance(place, int) and not isinstance(place, bool):
            half = value.get("partial") is True or (
                recorded.type == "text_complete" and not value.get("text") and not recorded.erased
            )
            pieces = ":line:" in recorded.event_id  # see `StreamStamps`
            step.blocks[place] = Block(recorded.event_id, recorded.version, recorded.type, told, pieces, half)


def said(value: JsonObject) -> tuple[int, ...]:
    """Digests of what an event says, field by field; 0 where it says nothing. Good in this process only."""
    found = []
    for name in _COMPARED:
        it = value.get(name)
        digest = text_of(it) if name == "content" and value.get("type") == "user_message" else _digest(it)
        found.append(0 if it is None else digest)
    return tuple(found)


def text_of(content: Json) -> int:
    """The digest of a message's content, the same for a text and for one block of it."""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        block = content[0]
        if block.get("type") == "text" and isinstance(block.get("text"), str):
            return _digest(block["text"])
    return _digest(content)


def lane_of(value: JsonObject, lanes: Mapping[str, str]) -> str:
    """The lane of an event, by the name that the recording gave it."""
    parent = as_text(value.get("parent_tool_call_id"))
    return lanes.get(parent, as_text(value.get("agent_id"))) if parent else as_text(value.get("agent_id"))


def _digest(value: Json) -> int:
    return hash(json.dumps(value, sort_keys=True)) or 1


def _is_crash(value: JsonObject) -> bool:
    """Whether it was the recorder that ended, and not the turn."""
    return value.get("type") == "abort" and value.get("reason") in ("crash", "terminated")
