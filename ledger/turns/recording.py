"""The turns of one conversation as they happen: what a runtime, or the adapter of a stream, is given to
call."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from ledger.events import Json, JsonObject
from ledger.turns.lane import Lane
from ledger.turns.sheet import Sheet
from ledger.turns.stamps import Stamps
from ledger.turns.step import OpenBlock

MISSING_TERMINAL = "missing_terminal_event"
"""The code of an error that says only that a stream ended and its turn had not."""


class Turn(Lane):
    """One turn: its main lane, the lanes of its sub-agents, and its one end.

    What comes after the end is still recorded, as late; only a second end is not: it becomes a note.
    """

    def __init__(
        self,
        sheet: Sheet,
        turn_id: str,
        contexts: dict[str | None, str],
        agent_id: str | None = None,
        parent_tool_call_id: str | None = None,
    ) -> None:
        super().__init__(sheet, turn_id, agent_id, parent_tool_call_id, contexts)
        self.ended = False
        self._lanes: dict[str, Lane] = {}

    def lane(self, agent_id: str, parent_tool_call_id: str | None = None) -> Lane:
        """The lane of a sub-agent; made when it is first asked for, with the call that started it."""
        found = self._lanes.get(agent_id)
        if found is None:
            found = Lane(self.sheet, self.turn_id, agent_id, parent_tool_call_id, self._contexts)
            self._lanes[agent_id] = found
        return found

    def steer(self, content: str | list[JsonObject], message_id: str | None = None, **more: Json) -> None:
        """A user message sent into the running turn."""
        self.write(
            "user_message",
            {"content": cast(Json, content), "message_id": message_id, "steering": True, **more},
        )

    def complete(self, stop_reason: str | None = None, **more: Json) -> bool:
        """The turn is done: open steps are finished, then `complete`. False when it had ended already."""
        if not self.ended:
            for lane in self._all():
                lane.end_step()
        return self._end("complete", {"stop_reason": stop_reason, **more})

    def abort(self, reason: str | None = None, **more: Json) -> bool:
        """The turn was stopped (`user_stop`, `redirect`, `timeout`, `crash` …): what was streamed is kept,
        then `abort`."""
        return self._cut_off("abort", {"reason": reason, **more})

    def error(self, message: str, code: str | None = None, *, reason: str | None = None, **more: Json) -> bool:
        """The turn failed: what was streamed is kept, then a terminal `error`.

        One that only says that the stream is over is marked as inferred: it counts until more of the turn
        comes.
        """
        fields: dict[str, Json] = {"message": message, "code": code, "reason": reason, **more}
        if code == MISSING_TERMINAL and self.sheet.at_end:
            source = fields.get("source")
            fields["source"] = {**(source if isinstance(source, dict) else {}), "inferred": True}
        return self._cut_off("error", fields)

    def open_blocks(self) -> list[OpenBlock]:
        """What streams now in any lane and is no event yet; another thread may ask."""
        return [block for lane in self._all() for block in Lane.open_blocks(lane)]

    def _all(self) -> list[Lane]:
        return [*self._lanes.values(), self]  # sub-agents first: the turn's own last words come last

    def _cut_off(self, event_type: str, fields: dict[str, Json]) -> bool:
        if not self.ended:
            for lane in self._all():
                lane.cut_step()
        return self._end(event_type, fields)

    def _end(self, event_type: str, fields: dict[str, Json]) -> bool:
        if self.ended:
            told: dict[str, Json] = {name: value for name, value in fields.items() if value is not None}
            self.note(
                "extra terminal",
                f"A second end of the turn: {event_type}.",
                terminal={"type": event_type, **told},
            )
            return False
        self.write(event_type, fields)
        self.ended = True
        self.sheet.urgent()
        return True


class Recording:
    """What is recorded of one conversation. Events gather in `sheet`; the shell takes them from there."""

    def __init__(
        self,
        conversation_id: str,
        stamps: Stamps,
        contexts: dict[str | None, str] | None = None,
        sink: Callable[[JsonObject], None] | None = None,
        hurry: Callable[[], None] | None = None,
    ) -> None:
        self.sheet = Sheet(conversation_id, stamps, sink, hurry)
        self.turn: Turn | None = None
        """The turn under way, or the last one."""
        self.contexts: dict[str | None, str] = {} if contexts is None else contexts
        """The digest of the context in force, a lane (None = the main one)."""

    @property
    def running(self) -> Turn | None:
        """The turn under way; None between turns."""
        return self.turn if self.turn is not None and not self.turn.ended else None

    def begin_turn(
        self,
        turn_id: str | None = None,
        *,
        runtime: str | None = None,
        parent_turn_id: str | None = None,
        **more: Json,
    ) -> Turn:
        """A turn begins: writes `turn_start`. One that still runs is ended as aborted, with reason
        `redirect`."""
        if self.running is not None:
            self.running.abort("redirect")
        fields: dict[str, Json] = {
            "turn_id": turn_id or self.sheet.stamps.turn_id(),
            "runtime": runtime,
            "parent_turn_id": parent_turn_id,
        }
        written = self.sheet.write("turn_start", {**fields, **more})
        self.turn = Turn(self.sheet, cast(str, written["turn_id"]), self.contexts)
        return self.turn

    def note(self, kind: str, text: str | None = None, **more: Json) -> None:
        """A note of the running turn, or of none."""
        if self.running is not None:
            self.running.note(kind, text, **more)
        else:
            self.sheet.write("note", {"kind": kind, "text": text, **more})

    def open_blocks(self) -> list[OpenBlock]:
        """What streams now and is no event yet."""
        turn = self.turn
        return turn.open_blocks() if turn is not None and not turn.ended else []
