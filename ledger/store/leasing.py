"""Who may append to a lane, and how a turn whose holder died is closed (DESIGN.md 4, 5). Pure."""

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, cast

from ledger.errors import LeaseLost, TurnBusy
from ledger.events import Json, JsonObject, json_bytes
from ledger.intake.identity import made_id
from ledger.recorded import EncodedEvent
from ledger.store.receipts import Appended

MAIN = ""
"""The name of the main agent's lane in a lease."""

BESIDE = frozenset({"user_message", "tool_result", "tool_approval", "retraction", "note"})
"""What may be appended to a lane that somebody else holds."""


class Held(NamedTuple):
    """A lease as the database has it. Times are microseconds UTC."""

    lane: str
    fence: int
    turn_id: str
    holder: str
    process: str
    token: str
    since: int
    deadline: int
    first_version: int


@dataclass
class Lease:
    """The right to append to one lane of a conversation, for one turn, until `lapses_at` (this process's
    monotonic clock, in seconds). `Ledger.renew` moves that on; an append after it is refused, and so is one
    after somebody else took the lane over."""

    tenant: str
    conversation_id: str
    cid: int
    lane: str
    fence: int
    turn_id: str
    holder: str
    token: str
    seconds: float
    lapses_at: float
    opening: Appended | None = None
    """What storing the turn's opening answered; None for a lease that was taken before."""

    @property
    def lapsed(self) -> bool:
        """Whether it was not renewed in time."""
        return time.monotonic() >= self.lapses_at

    def lost(self, problem: str) -> LeaseLost:
        """The error that says so."""
        return LeaseLost(
            conversation_id=self.conversation_id,
            lane=self.lane or "main",
            turn_id=self.turn_id,
            problem=problem,
        )


def busy(conversation_id: str, held: Held) -> TurnBusy:
    """The error for who comes second: by whom the lane is held, and since when."""
    return TurnBusy(
        conversation_id=conversation_id,
        lane=held.lane or "main",
        turn_id=held.turn_id,
        holder=held.holder,
        since=time_of(held.since),
        until=time_of(held.deadline),
    )


def check_leases(
    conversation_id: str, events: Sequence[EncodedEvent], lease: Lease | None, held: Iterable[Held], now: int
) -> None:
    """Raises `LeaseLost` when the batch's own lease is gone, `TurnBusy` when a lane of its events is somebody
    else's.

    `held` are the conversation's leases, `now` microseconds UTC: one that lapsed holds nobody back.
    """
    others = []
    own = False
    for one in held:
        if lease is not None and one.fence == lease.fence and one.lane == lease.lane:
            own = True
        elif one.deadline > now:
            others.append(one)
    if lease is not None and not own:
        raise lease.lost("it was taken over, or given back")
    if not others:
        return
    lanes = {one.lane: one for one in others}
    for event in events:
        if event.type not in BESIDE and (other := lanes.get(lane_of(event))) is not None:
            raise busy(conversation_id, other)


def lane_of(event: EncodedEvent) -> str:
    """The lane of an event on its way into the store."""
    if b'"agent_id"' not in event.body:
        return MAIN
    named = json.loads(event.body).get("agent_id")
    return named if isinstance(named, str) else MAIN


class OpenText(NamedTuple):
    """A block that streamed when its recorder was last heard of: the event that it would have become, and its
    text."""

    block: int
    event: JsonObject
    text: str
    written_at: int

    @property
    def place(self) -> tuple[Json, Json, Json]:
        """What tells a block from all others of its turn."""
        return self.event.get("type"), self.event.get("step_id"), self.event.get("block_index")


def closing(
    conversation_id: str, held: Held, blocks: Sequence[OpenText], stored: Sequence[JsonObject], ended: bool
) -> list[EncodedEvent]:
    """What closes the turn of a dead holder: the texts that streamed, marked partial, and an `abort`.

    `stored` are the text and thinking events that its steps already have, `ended` says whether it has a
    terminal. A step that had only thought gets the empty text that closes it.
    """
    have = {(event.get("type"), event.get("step_id"), event.get("block_index")) for event in stored}
    spoke = {event.get("step_id") for event in stored if event.get("type") == "text_complete"}
    spoke |= {block.event.get("step_id") for block in blocks if block.event.get("type") == "text_complete"}
    made: list[JsonObject] = []
    thought: dict[Json, JsonObject] = {}
    for block in blocks:
        if block.place in have or not block.text.strip():
            continue
        made.append({**block.event, "text": block.text, "partial": True})
        if block.event.get("type") == "thinking_complete" and block.event.get("step_id") not in spoke:
            thought[block.event.get("step_id")] = block.event
    for event in thought.values():
        index = event.get("block_index")
        after = index + 1 if isinstance(index, int) else None
        made.append({**event, "type": "text_complete", "block_index": after, "text": ""})
    if not ended:
        made.append({"type": "abort", "turn_id": held.turn_id, "reason": "crash"})
        if held.lane != MAIN:
            made[-1]["agent_id"] = held.lane
    return [
        _encoded(event, conversation_id, f"{held.turn_id}\0{held.token}", number)
        for number, event in enumerate(made)
    ]


def _encoded(event: JsonObject, conversation_id: str, turn: str, number: int) -> EncodedEvent:
    event_id = made_id("recovered", conversation_id, turn, str(number))
    whole: JsonObject = {"type": event["type"], "id": event_id, "conversation_id": conversation_id}
    whole.update({name: value for name, value in event.items() if value is not None})
    turn_id, step_id = whole.get("turn_id"), whole.get("step_id")
    return EncodedEvent(
        event_id,
        cast(str, whole["type"]),
        turn_id if isinstance(turn_id, str) else None,
        step_id if isinstance(step_id, str) else None,
        json_bytes(whole),
    )


def time_of(microseconds: int) -> str:
    """An RFC 3339 time in UTC, to the millisecond."""
    moment = datetime.fromtimestamp(microseconds / 1_000_000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
