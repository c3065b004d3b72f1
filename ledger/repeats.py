"""Streams that begin like one that was recorded before: the same again, one that goes on, or another one.

Ids that a stream's bytes gave are the same as far as the bytes are. So what is known already is held back
until the stream says something new, or ends. Then either it only goes on where the earlier recording stopped,
and is added to it; or the earlier one went on differently, and this is another run that began alike: it gets
ids of its own.
"""

import hashlib
import json
from collections.abc import Callable
from typing import cast

from ledger.events import Json, JsonObject
from ledger.store import Ledger
from ledger.turns.recording import MISSING_TERMINAL

HELD_BYTES = 32 * 1024 * 1024
_LOOK_EVERY = 256
_IDS = ("id", "turn_id", "step_id", "parent_turn_id", "retry_of")
_ID_LISTS = ("turn_ids", "step_ids", "event_ids")


class Repeats:
    """Stands between a stream's recording and the outbox. `prefix` is that of ids made from the stream's
    bytes."""

    def __init__(
        self, ledger: Ledger, conversation_id: str, prefix: str, put: Callable[[JsonObject], None]
    ) -> None:
        self._ledger = ledger
        self._conversation_id = conversation_id
        self._prefix = prefix
        self._put = put
        self._run = 0  # how many other runs began like this one
        self._held: list[JsonObject] = []
        self._size = 0
        self._checked = 0  # how many of those held are known
        self._last: int | None = None  # the version of the last one of them
        self._cut_off: list[str] = []
        self._comparing = ledger.head(conversation_id) is not None

    @property
    def held(self) -> int:
        """How many events are held back: at the end of a stream, those of a recording that is there
        already."""
        return len(self._held)

    def take(self, event: JsonObject) -> None:
        """The next event of the stream."""
        if not self._comparing:
            self._put(self.renamed(event))
            return
        self._held.append(event)
        self._size += 200 + sum(len(value) for value in event.values() if isinstance(value, str))
        if self._size > HELD_BYTES:
            self._release()
        elif len(self._held) - self._checked >= _LOOK_EVERY:
            self.look()

    def look(self, idle: bool = False) -> None:
        """Compare what came with what is stored. `idle`: the stream pauses, so it is alive and no
        repetition."""
        while self._comparing and self._held:
            names = [str(self.renamed(event)["id"]) for event in self._held[self._checked :]]
            versions = self._ledger.stored_versions(self._conversation_id, names)
            known = next((at for at, name in enumerate(names) if name not in versions), len(names))
            if known:
                self._checked += known
                self._last = versions[names[known - 1]]
            if self._checked == len(self._held) and not idle:
                return
            if not self._checked:
                self._release()
            elif self._went_on():
                self._run += 1
                self._checked = 0
            elif self._checked < len(self._held):
                self._release(self._cut_off)
            else:
                return

    def renamed(self, event: JsonObject) -> JsonObject:
        """The event under the ids of this run."""
        if not self._run:
            return event
        renamed = dict(event)
        for name in _IDS:
            if name in renamed:
                renamed[name] = self._name(renamed[name])
        for name in _ID_LISTS:
            if isinstance(values := renamed.get(name), list):
                renamed[name] = [self._name(value) for value in values]
        return renamed

    def _name(self, value: Json) -> Json:
        if not isinstance(value, str) or not value.startswith(self._prefix):
            return value
        digest = hashlib.sha256(f"{value}\0{self._run}".encode()).hexdigest()
        return f"{self._prefix}{digest[:32]}"

    def _went_on(self) -> bool:
        """Whether the earlier recording's turn has something of its own, beside what cutting it off left
        there."""
        own = {self.renamed(event)["id"] for event in self._held}
        turns = {self.renamed(event).get("turn_id") for event in self._held}
        self._cut_off = []
        for recorded in self._ledger.read(self._conversation_id):
            if recorded.turn_id not in turns or recorded.turn_id is None or recorded.event_id in own:
                continue
            told = json.loads(recorded.body)
            if told.get("partial") is True or (
                told["type"] == "token_usage" and recorded.event_id.startswith(self._prefix)
            ):
                self._cut_off.append(recorded.event_id)
            elif recorded.event_id.startswith(self._prefix) and not _is_cut(told):
                return True
        return False

    def _release(self, taken_back: list[str] | None = None) -> None:
        """Let go of what was held: it goes on. Texts that were cut off come whole now, so the halves are
        taken back."""
        self._comparing = False
        held, self._held = self._held, []
        for event in held:
            self._put(self.renamed(event))
        if taken_back:
            turn_id = self.renamed(held[-1]).get("turn_id")
            digest = hashlib.sha256("\0".join(taken_back).encode()).hexdigest()
            self._put(
                {
                    "type": "retraction",
                    "id": f"{self._prefix}{digest[:32]}",
                    "conversation_id": self._conversation_id,
                    "turn_id": turn_id,
                    "event_ids": cast(Json, taken_back),
                }
            )


def _is_cut(event: JsonObject) -> bool:
    """Whether an event is there only because a recording was cut off."""
    if event.get("type") in ("abort", "token_usage") or event.get("kind") in ("dropped", "broken line"):
        return True
    if event.get("at_stream_end") is True:
        return True
    return event.get("code") == MISSING_TERMINAL or event.get("text") == ""
