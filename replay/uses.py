"""Which call a result answers (DESIGN.md 7.2 rule 4): the uses of one tool call id.

Calls of one step stand in the order of their block indexes, so that a step pairs alike in whatever order its
events came. The conversation view pairs by the same rule (`projections.pairing`).
"""

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import NamedTuple

from replay.items import Call, Turn


class _Use(NamedTuple):
    """An unanswered call, ordered as in its message."""

    step: int  # the step's place
    place: int  # its block_index, 0 without one
    version: int
    call: Call


class _Waiting:
    """The unanswered calls of one turn; they are taken from either end."""

    __slots__ = ("_head", "_uses")

    def __init__(self) -> None:
        self._uses: list[_Use] = []
        self._head = 0

    def __bool__(self) -> bool:
        return self._head < len(self._uses)

    def add(self, call: Call) -> None:
        use = _Use(call.step.version, call.event.block_index or 0, call.version, call)
        insort(self._uses, use, lo=self._head)

    @property
    def first(self) -> Call:
        return self._uses[self._head].call

    @property
    def last(self) -> Call:
        return self._uses[-1].call

    def remove(self, call: Call) -> None:
        if self.last is call:
            self._uses.pop()
            return
        self._head += 1
        if self._head * 2 > len(self._uses):
            del self._uses[: self._head]
            self._head = 0


class Uses:
    """All calls of one id, once there are several. A turn is named by the version where it was first seen."""

    __slots__ = ("_answered", "_answered_turns", "_waiting", "_waiting_turns")

    def __init__(self) -> None:
        self._waiting: dict[int, _Waiting] = {}
        self._waiting_turns: list[int] = []
        self._answered: dict[int, Call] = {}  # the last answered call of each turn
        self._answered_turns: list[int] = []

    def add(self, call: Call) -> None:
        """Take in a call."""
        turn = call.step.turn.version
        if call.answered:
            self._set_answered(turn, call)
            return
        waiting = self._waiting.get(turn)
        if waiting is None:
            waiting = self._waiting[turn] = _Waiting()
        if not waiting:
            insort(self._waiting_turns, turn)
        waiting.add(call)

    def answer(self, call: Call) -> None:
        """A call that `find` gave has its first final result."""
        turn = call.step.turn.version
        waiting = self._waiting[turn]
        waiting.remove(call)
        if not waiting:
            del self._waiting_turns[bisect_left(self._waiting_turns, turn)]
        self._set_answered(turn, call)

    def find(self, turn: int) -> Call | None:
        """The call that a result of `turn` belongs to.

        The earliest unanswered one of its own turn, else the last answered one there (the result is a double),
        else the latest unanswered one of the nearest turn first seen earlier, else the last answered one there.
        """
        waiting = self._waiting.get(turn)
        if waiting:
            return waiting.first
        own = self._answered.get(turn)
        if own is not None:
            return own
        place = bisect_left(self._waiting_turns, turn)
        if place:
            return self._waiting[self._waiting_turns[place - 1]].last
        place = bisect_left(self._answered_turns, turn)
        return self._answered[self._answered_turns[place - 1]] if place else None

    def _set_answered(self, turn: int, call: Call) -> None:
        if turn not in self._answered:
            insort(self._answered_turns, turn)
        self._answered[turn] = call


class Calls:
    """The calls of a lane by their ids."""

    __slots__ = ("_by_id",)

    def __init__(self) -> None:
        self._by_id: dict[str, Call | Uses] = {}  # most ids are used once

    @property
    def ids(self) -> Iterable[str]:
        """All ids."""
        return self._by_id

    def add(self, call: Call) -> None:
        """Take in a call that comes after all others."""
        name = call.event.tool_call_id
        known = self._by_id.get(name)
        if known is None:
            self._by_id[name] = call
        elif isinstance(known, Uses):
            known.add(call)
        else:
            uses = self._by_id[name] = Uses()
            uses.add(known)
            uses.add(call)

    def find(self, name: str, turn: Turn) -> Call | None:
        """The call that a result (or an approval) of `turn` for the id `name` belongs to; None without one."""
        known = self._by_id.get(name)
        if isinstance(known, Uses):
            return known.find(turn.version)
        return known if known is not None and known.step.turn.version <= turn.version else None

    def answer(self, call: Call) -> None:
        """A call that `find` gave has its first final result."""
        call.answered = True
        known = self._by_id[call.event.tool_call_id]
        if isinstance(known, Uses):
            known.answer(call)
