"""Where the events of one conversation gather until the shell takes them."""

from collections.abc import Callable, Mapping

from ledger.events import Json, JsonObject, fields_with_null
from ledger.intake.identity import kept_id
from ledger.turns.stamps import Stamps

_IDS = ("id", "turn_id", "step_id", "agent_id", "parent_tool_call_id", "parent_turn_id", "retry_of")


class Sheet:
    """Makes events, in order, and holds them. `urgent` says that they should be stored before the runtime
    goes on."""

    def __init__(
        self,
        conversation_id: str,
        stamps: Stamps,
        sink: Callable[[JsonObject], None] | None = None,
        hurry: Callable[[], None] | None = None,
    ) -> None:
        self.conversation_id = conversation_id
        self.stamps = stamps
        self.at_end = False
        """The stream is over: what is concluded from that alone is an inference."""
        self._events: list[JsonObject] = []
        self._sink = self._events.append if sink is None else sink
        self._hurry = hurry

    def urgent(self) -> None:
        """Say that what was written should be stored soon: a step ended, a tool begins."""
        if self._hurry is not None:
            self._hurry()

    def write(self, event_type: str, fields: Mapping[str, Json]) -> JsonObject:
        """One more event. Fields that are None are absent, but where null is a value.

        `id` and `at` are made where `fields` has none; an id that cannot stand as one is replaced by its
        digest.
        """
        event: JsonObject = {
            "type": event_type,
            "id": fields.get("id") or self.stamps.event_id(event_type),
            "conversation_id": self.conversation_id,
        }
        nullable = fields_with_null(event_type)
        for name, value in fields.items():
            if value is not None or name in nullable:
                event[name] = value
        for name in _IDS:
            if isinstance(value := event.get(name), str):
                event[name] = kept_id(value)
        if isinstance(call_id := event.get("tool_call_id"), str):
            event["tool_call_id"] = kept_id(call_id, may_be_empty=True)
        if "at" not in event and (at := self.stamps.at()) is not None:
            event["at"] = at
        self._sink(event)
        return event

    def take(self) -> list[JsonObject]:
        """The events since the last time, in order."""
        events = self._events[:]
        self._events.clear()
        return events
