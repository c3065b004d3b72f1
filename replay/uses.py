"""Which call a result answers (DESIGN.md 7.2 rule 4): the uses of one tool call id, in the order of the ledger."""

from replay.items import Call, Turn


class Uses:
    """All calls of one id, once there is more than one."""

    __slots__ = ("calls", "heads", "in_turn", "open")

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.open: list[Call] = []  # those that had no final result yet; answered ones are weeded out lazily
        self.in_turn: dict[str, list[Call]] = {}
        self.heads: dict[str, int] = {}  # per turn: the first call that may be unanswered

    def add(self, call: Call) -> None:
        """Take in a call that comes after all others of this id."""
        self.calls.append(call)
        self.open.append(call)
        self.in_turn.setdefault(call.step.turn.turn_id, []).append(call)

    def answered_by(self, turn: Turn) -> Call | None:
        """The call that a result of `turn` belongs to: in its own turn the earliest unanswered one, else the last.

        Without one in its own turn: the latest unanswered call of a turn first seen earlier, else the latest
        answered one of such a turn (the result is a double of its answer).
        """
        own = self.in_turn.get(turn.turn_id)
        if own is not None:
            head = self.heads.get(turn.turn_id, 0)
            while head < len(own) and own[head].answered:
                head += 1
            self.heads[turn.turn_id] = head
            return own[head] if head < len(own) else own[-1]
        while self.open and self.open[-1].answered:
            self.open.pop()
        for call in reversed(self.open):
            if not call.answered and call.step.turn.version < turn.version:
                return call
        for call in reversed(self.calls):
            if call.step.turn.version < turn.version:
                return call
        return None


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
    """The call that a result (or an approval) of `turn` for the id `name` belongs to, None where there is none."""
    known = calls.get(name)
    if known is None or isinstance(known, Uses):
        return None if known is None else known.answered_by(turn)
    owner = known.step.turn
    return known if owner is turn or owner.version < turn.version else None
