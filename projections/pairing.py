"""Which call a result answers, and which occurrence of its id a call is (DESIGN.md 7.2, rules 4 and 9)."""

from __future__ import annotations

from bisect import bisect_left, insort
from operator import attrgetter

from projections.records import Call

_sort = attrgetter("sort")


def message_order(call: Call) -> bytes:
    """Order of a lane's calls in a request: steps by first event, then the calls of each message."""
    return call.sort[len(call.turn.prefix) :]


def match(named: Call | Ids | None, turn: int) -> Call | None:
    """The call that a result of the turn with this first version belongs to; None makes it an orphan.

    The earliest unanswered call of its own turn, else an answered one there (a double), else the latest
    unanswered call of an earlier turn, else the last answered one there.
    """
    if isinstance(named, Ids):
        return named.match(turn)
    return named if named is not None and named.turn.first <= turn else None


class Ids:
    """The calls of one lane that carry one id, visible or hidden ones."""

    def __init__(self, first: Call) -> None:
        self.count = 0
        self.top = b""  # message order of the last one
        self.latest: Call | None = None  # by version
        self.calls: list[Call] = []
        self.open: dict[int, list[Call]] = {}  # unanswered, in message order, by their turn's first version
        self.open_turns: list[int] = []
        self.answered: dict[int, Call] = {}  # the last answered one of each turn
        self.answered_turns: list[int] = []
        self.restore(first)

    def add(self, call: Call) -> bool:
        """A new call, unanswered. True when it stands before an earlier one: all are to be numbered anew."""
        self.count += 1
        call.occurrence = self.count
        self.calls.append(call)
        self.latest = call
        self.hold(call)
        place = message_order(call)
        if place < self.top:
            return True
        self.top = place
        return False

    def restore(self, call: Call) -> None:
        """A call that was there before, loaded in any order."""
        self.count += 1
        self.calls.append(call)
        if self.latest is None or self.latest.first < call.first:
            self.latest = call
        self.top = max(self.top, message_order(call))
        if not call.final:
            self.hold(call)
            return
        done = self.answered.get(call.turn.first)
        if done is None or done.last_final < call.last_final:
            self.close(call)

    def hold(self, call: Call) -> None:
        """Take an unanswered call into the ones that wait."""
        first = call.turn.first
        calls = self.open.get(first)
        if calls is None:
            self.open[first] = [call]
            insort(self.open_turns, first)
        elif calls[-1].sort < call.sort:
            calls.append(call)
        else:
            insort(calls, call, key=_sort)

    def answer(self, call: Call) -> None:
        """A final result came for this call."""
        first = call.turn.first
        calls = self.open.get(first)
        if calls:  # `match` gives the first or the last of them
            if calls[0] is call:
                del calls[0]
            elif calls[-1] is call:
                calls.pop()
            if not calls:
                del self.open[first]
                del self.open_turns[bisect_left(self.open_turns, first)]
        self.close(call)

    def close(self, call: Call) -> None:
        """Take an answered call as its turn's last answered one."""
        first = call.turn.first
        if first not in self.answered:
            insort(self.answered_turns, first)
        self.answered[first] = call

    def match(self, turn: int) -> Call | None:
        """See the function."""
        own = self.open.get(turn)
        if own is not None:
            return own[0]
        done = self.answered.get(turn)
        if done is not None:
            return done
        place = bisect_left(self.open_turns, turn)
        if place:
            return self.open[self.open_turns[place - 1]][-1]
        place = bisect_left(self.answered_turns, turn)
        return self.answered[self.answered_turns[place - 1]] if place else None

    def number(self) -> list[Call]:
        """Number all calls in message order; returns those whose occurrence changed."""
        self.calls.sort(key=message_order)
        changed = []
        for place, call in enumerate(self.calls, start=1):
            if call.occurrence != place:
                call.occurrence = place
                changed.append(call)
        if self.calls:
            self.top = message_order(self.calls[-1])
        for waiting in self.open.values():
            waiting.sort(key=_sort)
        return changed
