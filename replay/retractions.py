"""What rewinds and undos have taken back: events, steps and turns that are left out of a replay."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping

from ledger.events import Retraction
from ledger.recorded import RecordedEvent
from replay.items import Step, Turn


class Retracted:
    """The events of one lane that some retraction names.

    Event and turn ids hold in the whole conversation, step ids in the retraction's own lane: there its own
    turn first, else the latest step of that name before it. A named turn or step goes with all its events,
    late ones too; but when a retraction names its own turn, what the turn records afterwards stays.
    """

    __slots__ = ("_events", "_steps", "_turns")

    def __init__(self, records: Iterable[RecordedEvent], turns: Mapping[str, Turn], lane: str | None) -> None:
        self._events: set[str] = set()
        self._turns: dict[str, int] = {}  # turn id -> up to which version
        self._steps: set[Step] = set()
        named: dict[str, list[Step]] | None = None
        for record in records:
            event = record.event
            if not isinstance(event, Retraction):
                continue
            self._events.update(event.event_ids or ())
            for turn_id in event.turn_ids or ():
                limit = record.version if turn_id == event.turn_id else _FOR_EVER
                self._turns[turn_id] = max(limit, self._turns.get(turn_id, 0))
            if event.agent_id != lane or not event.step_ids:
                continue
            own = turns.get(event.turn_id) if event.turn_id is not None else None
            for step_id in event.step_ids:
                step = own.named.get(step_id) if own is not None else None
                if step is None:
                    if named is None:
                        named = _by_name(turns)
                    earlier = named.get(step_id, [])
                    place = bisect_left(earlier, record.version, key=lambda one: one.version)
                    step = earlier[place - 1] if place else None
                if step is not None:
                    self._steps.add(step)

    def __bool__(self) -> bool:
        return bool(self._events or self._turns or self._steps)

    def holds(self, record: RecordedEvent, step: Step | None = None) -> bool:
        """True when the event, its turn or the step that it belongs to was taken back."""
        if record.event_id in self._events or (step is not None and step in self._steps):
            return True
        return record.turn_id is not None and record.version <= self._turns.get(record.turn_id, -1)


_FOR_EVER = 1 << 62


def _by_name(turns: Mapping[str, Turn]) -> dict[str, list[Step]]:
    """All named steps by their step id, in order of place."""
    named: dict[str, list[Step]] = {}
    for turn in turns.values():
        for step_id, step in turn.named.items():
            named.setdefault(step_id, []).append(step)
    for steps in named.values():
        steps.sort(key=lambda one: one.version)
    return named
