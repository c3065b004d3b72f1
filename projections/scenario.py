"""Given events, when more come, then these rows: a small aid for tests of views, no database needed.

given(
    {"type": "user_message", "turn_id": "t1", "content": "hi"},
).when(
    {"type": "text_complete", "turn_id": "t1", "step_id": "m1", "text": "Hello."},
).then({"row": "assistant", "text": "Hello."}, {"row": "turn", "status": "running"})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ledger.admission import parse_event
from ledger.events import Json, JsonObject
from ledger.recorded import RecordedEvent
from projections.conversation import apply, changes
from projections.records import Record
from projections.state import Found, State

CONVERSATION = "c"


class Scenario:
    """A conversation in memory. Events are as on the wire, without `conversation_id`; ids are `e1`, `e2` …."""

    def __init__(self) -> None:
        self._found: dict[str, Found] = {}
        self._state = State(CONVERSATION, self._found.get)
        self._records: dict[tuple[str, int], Record] = {}
        self._changed: list[Record] = []

    def when(self, *events: Mapping[str, Json]) -> Scenario:
        """Take more events; `changed` and `then` speak of what they did. Raises `BadInput` classes."""
        for event in events:
            version = self._state.version + 1
            parsed = parse_event({"id": f"e{version}", **event}, CONVERSATION)
            recorded = RecordedEvent.of(parsed, version)
            self._found[recorded.event_id] = Found(version, parsed)
            apply(self._state, recorded)
        self._changed = changes(self._state).rows
        self._records.update(((record.kind, record.first), record) for record in self._changed)
        return self

    def rows(self) -> list[JsonObject]:
        """All rows, in order."""
        return _rows(self._records.values())

    def changed(self) -> list[JsonObject]:
        """The rows that the last events made or changed, in order."""
        return _rows(self._changed)

    def then(self, *expected: Mapping[str, Json]) -> Scenario:
        """The rows that the last events made or changed, in order; only the keys named are compared.

        Raises `AssertionError` that shows the first row which is not as expected.
        """
        shown = self.changed()
        for number, (row, wanted) in enumerate(zip(shown, expected, strict=False)):
            for name, value in wanted.items():
                assert name in row, f"row {number} has no {name!r}: {row}"
                assert row[name] == value, f"row {number}: {name} is {row[name]!r}, not {value!r}: {row}"
        assert len(shown) == len(expected), f"{len(shown)} rows, not {len(expected)}: {shown}"
        return self


def given(*events: Mapping[str, Json]) -> Scenario:
    """A conversation that holds these events."""
    return Scenario().when(*events)


def _rows(records: Iterable[Record]) -> list[JsonObject]:
    ordered = sorted(records, key=_place)
    return [record.row for record in ordered if record.row is not None]


def _place(record: Record) -> bytes:
    return record.sort
