"""Which call a result answers (DESIGN.md 7.2 rule 4): the uses of one tool call id, in ledger order."""

from replay.items import Call, Turn


class Uses:
    """All calls of one id, once there is more than one."""

    __slots__ = ("_calls", "_heads", "_in_turn", "_open", "_overlapping")

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._open: list[
            Call
        ] = []  # those without a final result; answered ones are weeded out at the end only
        self._in_turn: dict[str, list[Call]] = {}
        self._heads: dict[str, int] = {}  # per turn: the first call that may be unanswered
        self._overlapping: Overlapping | None = None

    def add(self, call: Call) -> None:
        """Take in a call that comes after all others of this id."""
        self._calls.append(call)
        self._open.append(call)
        self._in_turn.setdefault(call.step.turn.turn_id, []).append(call)
        if self._overlapping is not None:
            self._overlapping.add(call)

    def answered_by(self, turn: Turn) -> Call | None:
        """The call that a result of `turn` belongs to: in its own turn the earliest unanswered, else the last.

        Without one in its own turn: the latest unanswered call of a turn first seen earlier, else the latest
        answered one of such a turn (the result is a double of its answer).
        """
        own = self._in_turn.get(turn.turn_id)
        if own is not None:
            head = self._heads.get(turn.turn_id, 0)
            while head < len(own) and own[head].answered:
                head += 1
            self._heads[turn.turn_id] = head
            return own[head] if head < len(own) else own[-1]
        while self._open and self._open[-1].answered:
            self._open.pop()
        latest = self._open[-1] if self._open else self._calls[-1]
        if latest.step.turn.version < turn.version:
            return latest
        if self._overlapping is None:
            self._overlapping = Overlapping(self._calls)
        return self._overlapping.latest_before(turn)


class Overlapping:
    """The calls of one id by turn, for results of a turn that began before the latest calls' turns.

    Turns overlap only where something went wrong, but then it may be for thousands of events: the latest
    call of the turns before a given one is found in logarithmic time.
    """

    __slots__ = ("_any", "_open", "_unanswered")

    def __init__(self, calls: list[Call]) -> None:
        self._unanswered: dict[int, list[Call]] = {}  # by the version where the turn was first seen
        self._open = _LatestByTurn()
        self._any = _LatestByTurn()
        for call in calls:
            self.add(call)

    def add(self, call: Call) -> None:
        """Take in a call that comes after all others."""
        place = call.step.turn.version
        self._any.put(place, call)
        self._unanswered.setdefault(place, []).append(call)
        self._open.put(place, call)

    def latest_before(self, turn: Turn) -> Call | None:
        """The latest unanswered call of turns first seen before `turn`, else the latest of all their calls."""
        while (found := self._open.before(turn.version)) is not None:
            if not found.answered:
                return found
            place = found.step.turn.version
            waiting = self._unanswered[place]
            while waiting and waiting[-1].answered:
                waiting.pop()
            self._open.put(place, waiting[-1] if waiting else None)
        return self._any.before(turn.version)


class _LatestByTurn:
    """The latest call below any place: a sparse tree of maxima over the places where turns were first seen."""

    __slots__ = ("_best",)
    _LEAVES = 1 << 40  # places are versions

    def __init__(self) -> None:
        self._best: dict[int, Call] = {}

    def put(self, place: int, call: Call | None) -> None:
        """Set the latest call of the turn at `place`."""
        best, node = self._best, self._LEAVES + place
        while True:
            if call is None:
                best.pop(node, None)
            else:
                best[node] = call
            if node == 1:
                return
            node >>= 1
            call = _later(best.get(2 * node), best.get(2 * node + 1))

    def before(self, place: int) -> Call | None:
        """The latest call of all turns below `place`."""
        left, right = self._LEAVES, self._LEAVES + place
        found: Call | None = None
        while left < right:
            if left & 1:
                found = _later(found, self._best.get(left))
                left += 1
            if right & 1:
                right -= 1
                found = _later(found, self._best.get(right))
            left >>= 1
            right >>= 1
        return found


def _later(one: Call | None, other: Call | None) -> Call | None:
    if one is None or other is None:
        return other if one is None else one
    return one if one.version > other.version else other


def add_use(calls: dict[str, Call | Uses], call: Call) -> None:
    """Enter a call into the table of a lane's calls by id."""
    name = call.event.tool_call_id
    known = calls.get(name)
    if known is None:
        calls[name] = call
    elif isinstance(known, Uses):
        known.add(call)
    else:
        uses = calls[name] = Uses()
        uses.add(known)
        uses.add(call)


def call_of(calls: dict[str, Call | Uses], name: str, turn: Turn) -> Call | None:
    """The call that a result (or an approval) of `turn` for the id `name` belongs to; None without one."""
    known = calls.get(name)
    if known is None or isinstance(known, Uses):
        return None if known is None else known.answered_by(turn)
    owner = known.step.turn
    return known if owner is turn or owner.version < turn.version else None
