"""Reading a conversation view: whatever was acknowledged is in it, projected yet or not (DESIGN.md 6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast
from weakref import WeakKeyDictionary

from ledger import Ledger
from ledger.errors import UnknownConversation
from ledger.events import JsonObject
from ledger.recorded import RecordedEvent
from ledger.store.engine import Engine
from projections.conversation import Changes, changes
from projections.finding import finder, statements
from projections.pause import Pause, take
from projections.runner import names_in
from projections.state import Move, State
from projections.store import PROJECTIONS, codec
from projections.store.recorder import Standing, ViewRecorder
from projections.store.shelf import SHIFT, Table
from projections.turns import turn_messages

TRIES = 3
"""How often a reader looks again when a runner commits meanwhile, before it folds the events itself."""

LONGEST_TAIL = 5_000
"""Events that a reader folds onto projected rows; when more are missing it folds the conversation itself."""


@dataclass(frozen=True)
class View:
    """The rows of a conversation, in order, as they stand after `version`."""

    conversation_id: str
    version: int
    rows: list[JsonObject]
    pause: Pause | None = None

    def as_json(self) -> JsonObject:
        """`{"conversation_id", "version", "rows": [...]}`, and `pause` where the fold stopped at an event."""
        shown: JsonObject = {
            "conversation_id": self.conversation_id,
            "version": self.version,
            "rows": [*self.rows],
        }
        if self.pause is not None:
            shown["pause"] = self.pause.as_json()
        return shown


def view(
    ledger: Ledger,
    conversation_id: str,
    *,
    at: int | None = None,
    last: int | None = None,
    turns: bool = False,
) -> View:
    """The view of a conversation as it stands now, or as it stood after version `at`.

    Now: projected rows, and on them the events that the runner has not taken yet, folded here and not
    written. `at` folds the events themselves. `last` gives the last so many rows; `turns` folds each turn's
    steps into one message. A branch shows its source's events up to the fork, then its own. Where the fold
    met an event that it cannot take, the rows stand before it and `pause` names it.

    Raises `UnknownConversation`, and `DatabaseError` classes.
    """
    head = ledger.head(conversation_id)
    if head is None:
        raise UnknownConversation(conversation_id=conversation_id, hint="")
    found: View | None = None
    if at is None and has_tables(ledger.engine):
        found = _projected(ledger, conversation_id, None if turns else last)
    if found is None:
        found = folded_view(ledger, conversation_id, head.version if at is None else min(at, head.version))
    rows = turn_messages(found.rows) if turns else found.rows
    if last is not None:
        rows = rows[max(0, len(rows) - last) :]
    return View(conversation_id, found.version, rows, found.pause)


def folded_view(ledger: Ledger, conversation_id: str, upto: int) -> View:
    """The view after version `upto`, folded straight from the events."""
    pause: Pause | None = None
    while True:
        state = State(conversation_id, finder(ledger, conversation_id))
        met = take(state, ledger.read(conversation_id, 0, upto))
        pause = pause or met
        if state.version >= 0:
            break
        assert met is not None
        upto = met.version - 1  # the fold broke inside that event: the same again without it
    rows = sorted(changes(state).rows, key=lambda record: record.sort)
    return View(
        conversation_id, state.version, [record.row for record in rows if record.row is not None], pause
    )


_tables: WeakKeyDictionary[Engine, bool] = WeakKeyDictionary()


def has_tables(engine: Engine) -> bool:
    """Whether the database has this room's tables: a ledger may be opened without them."""
    if not _tables.get(engine):
        _tables[engine] = engine.applied().get(PROJECTIONS.name, 0) > 0
    return _tables[engine]


def _projected(ledger: Ledger, conversation_id: str, last: int | None) -> View | None:
    """The view from projected rows; None when there are none, or they are of little help."""
    recorder = ViewRecorder(ledger.engine)
    for _ in range(TRIES):
        standing = recorder.standing(ledger.tenant, conversation_id)
        head = ledger.head(conversation_id)
        if standing is None or head is None or head.version - standing.version > LONGEST_TAIL:
            return None
        found = _on_top(ledger, conversation_id, standing, head.version, last)
        if found is None:
            return None
        now = recorder.standing(ledger.tenant, conversation_id)
        if now is not None and (now.vid, now.revision) == (standing.vid, standing.revision):
            return found
    return None


def _on_top(
    ledger: Ledger, conversation_id: str, standing: Standing, head: int, last: int | None
) -> View | None:
    """Projected rows with the missing events folded onto them; None when the fold broke inside one."""
    engine, pause = ledger.engine, standing.pause
    if pause is not None or standing.version >= head:
        rows = _rows(engine, standing.vid, last)
        return View(conversation_id, standing.version, [codec.load_json(data) for _, _, data in rows], pause)
    table = Table(engine, standing.vid)
    state = State(conversation_id, finder(ledger, conversation_id), table)
    state.version = standing.version
    pause = _fold_tail(state, table, ledger.read(conversation_id, standing.version, head))
    if state.version < 0:
        return None
    tail = changes(state)
    stored = _rows(engine, standing.vid, None if last is None or tail.moves else last + len(tail.rows))
    return View(conversation_id, state.version, _merged(standing.vid, stored, tail), pause)


def _fold_tail(state: State, table: Table, events: Iterator[RecordedEvent]) -> Pause | None:
    tail = list(events)
    table.expect(names_in(tail))
    return take(state, tail)


def _rows(engine: Engine, vid: int, last: int | None) -> list[tuple[int, bytes, bytes]]:
    """Key, place and JSON of projected rows, in order."""
    named = statements(engine.name)
    if last is None:
        return cast("list[tuple[int, bytes, bytes]]", engine.fetch(named["all_rows"], {"vid": vid}))
    rows = engine.fetch(named["last_rows"], {"vid": vid, "limit": last})
    return cast("list[tuple[int, bytes, bytes]]", rows[::-1])


def _merged(vid: int, stored: list[tuple[int, bytes, bytes]], tail: Changes) -> list[JsonObject]:
    """Projected rows with what changed since in their place."""
    places: dict[int, tuple[bytes, bytes | JsonObject | None]] = {
        key: (_moved(bytes(place), tail.moves), data) for key, place, data in stored
    }
    for record in tail.rows:
        key = (vid << SHIFT) + (record.first << 3) + codec.KINDS[record.kind]
        places[key] = (record.sort, record.row)
    ordered = sorted(places.values(), key=lambda entry: entry[0])
    return [
        data if isinstance(data, dict) else codec.load_json(data) for _, data in ordered if data is not None
    ]


def _moved(place: bytes, moves: list[Move]) -> bytes:
    for move in moves:
        if place.startswith(move.old):
            place = move.new + place[len(move.old) :]
    return place
