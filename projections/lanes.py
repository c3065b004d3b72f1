"""A lane of a conversation: the main agent or a sub-agent, as the fold remembers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from projections.records import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ledger.events import Json
    from projections.pairing import Ids
    from projections.records import Call, Step, Turn


class Lane(Record):
    """The main agent (`agent` is None) or one sub-agent, and what its history looks like at this point."""

    __slots__ = (
        "agent",
        "attempts",
        "busy",
        "calls",
        "current",
        "group",
        "hidden_calls",
        "hidden_group",
        "other_user_at",
        "parent",
        "parents",
        "turns",
        "user_at",
        "user_turn",
        "waiting",
    )
    kind = "lane"
    KEPT: ClassVar[Mapping[str, Json]] = {
        "user_turn": None,
        "user_at": 0,
        "other_user_at": 0,
        "current": None,
        "parent": None,
    }

    def __init__(self, agent: str | None, first: int) -> None:
        super().__init__(first, b"")
        self.agent = agent
        self.turns: dict[str, Turn] = {}
        self.calls: dict[str, Call | Ids] = {}  # by their id; several of one id as `Ids`
        self.hidden_calls: dict[str, Call | Ids] = {}  # hidden events are as if absent: they pair apart
        self.busy: dict[Turn, None] = {}  # turns with calls that may still run
        self.waiting: list[tuple[int, Turn]] = []  # the same as a heap, by first version
        self.attempts: dict[
            str, int
        ] = {}  # turns (and their first versions) whose attempts a message may bring back
        self.user_turn: str | None = None  # the turn of the last visible user message, and its version
        self.user_at = 0
        self.other_user_at = 0  # version of the last one of another turn than that
        self.current: str | None = None  # turn id of the lane's last event that had one
        self.group: Step | None = None  # the open legacy group, and the hidden one
        self.hidden_group: Step | None = None
        self.parents: dict[str, int] = {}  # parent call id -> version of the call that started the lane
        self.parent: str | None = None
