"""Rows and tracking, committed together: a read model on eventsourcing's tracking recorder interface."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

from eventsourcing.persistence import IntegrityError, Tracking, TrackingRecorder

from ledger.events import JsonObject
from ledger.store.cursor import Cursor
from ledger.store.engine import Connection, Engine, Value
from projections.finding import statements
from projections.lanes import Lane
from projections.pause import Pause
from projections.records import Call, Plain, Record, Step, Turn
from projections.state import Move
from projections.store import codec
from projections.store.shelf import SHIFT, beyond

_BOOK = "book:"


class Overtaken(Exception):
    """Another runner was quicker: what was folded here is to be thrown away, its rows are there already."""


class Standing(NamedTuple):
    """How far a conversation is folded in the table."""

    vid: int
    version: int
    revision: int
    pause: Pause | None


class Folded(NamedTuple):
    """What is to be written of one conversation. `standing` is how it stood when read, None for a new one."""

    tenant: str
    conversation_id: str
    book: int
    standing: Standing | None
    version: int
    pause: Pause | None
    records: Sequence[Record]
    moves: Sequence[Move]
    whole: bool  # the records are all there are: what was there goes


class ViewRecorder(TrackingRecorder):
    """The table of conversation rows. An application name is a book, a notification id a position in it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def insert_tracking(self, tracking: Tracking) -> None:
        """Raises the library's `IntegrityError` when the position is not after the last one."""
        values: dict[str, Value] = {"name": tracking.application_name, "new": tracking.notification_id}
        with self.engine.transaction() as connection:
            connection.execute(self._text("make_tracking"), {"name": tracking.application_name})
            if connection.execute(self._text("raise_tracking"), values).rowcount != 1:
                raise IntegrityError(f"{tracking.application_name} was tracked at {tracking.notification_id}")

    def max_tracking_id(self, application_name: str) -> int | None:
        """The last position taken of a book; None before the first."""
        rows = self.engine.fetch(self._text("tracking"), {"name": application_name})
        return cast(int, rows[0][0]) or None if rows else None

    def cursor(self) -> Cursor:
        """The last position taken of every book."""
        rows = self.engine.fetch(self._text("trackings"))
        return Cursor(
            {
                int(cast(str, name).removeprefix(_BOOK)): cast(int, at)
                for name, at in rows
                if cast(str, name).startswith(_BOOK)
            }
        )

    def standing(self, tenant: str, conversation_id: str) -> Standing | None:
        """How far a conversation is folded; None when it is not."""
        rows = self.engine.fetch(self._text("view_by_id"), {"tenant": tenant, "id": conversation_id})
        if not rows:
            return None
        vid, version, revision, at, event_id, reason = cast(
            "tuple[int, int, int, int | None, str, str]", rows[0]
        )
        pause = None if at is None else Pause(at, event_id, reason)
        return Standing(vid, version, revision, pause)

    def rows(self, vid: int) -> list[JsonObject]:
        """The rows of a conversation, in order."""
        lines = self.engine.fetch(self._text("all_rows"), {"vid": vid})
        return [codec.load_json(cast(bytes, data)) for _, _, data in lines]

    def commit(
        self, folded: Iterable[Folded], book: int | None, before: int = 0, position: int = 0
    ) -> list[Standing]:
        """Write what was folded, and that `book` is taken from `before` up to `position`, in one transaction.

        Raises `Overtaken` when the book or a conversation does not stand any more where the reader found it.
        """
        with self.engine.transaction() as connection:
            if book is not None:
                self._track(connection, f"{_BOOK}{book}", before, position)
            return [self._write(connection, each) for each in folded]

    def drop(self, vid: int) -> None:
        """Forget a conversation."""
        with self.engine.transaction() as connection:
            connection.execute(self._text("drop_rows"), {"vid": vid})
            connection.execute(self._text("drop_view"), {"vid": vid})

    def reset(self) -> None:
        """Forget everything: all rows, and what was taken of every book."""
        with self.engine.transaction() as connection:
            for name in ("reset_tracking", "drop_all_rows", "drop_all_views"):
                connection.execute(self._text(name), {})

    def _text(self, name: str) -> str:
        return statements(self.engine.name)[name]

    def _track(self, connection: Connection, name: str, before: int, position: int) -> None:
        connection.execute(self._text("make_tracking"), {"name": name})
        values: dict[str, Value] = {"name": name, "old": before, "new": position}
        if connection.execute(self._text("move_tracking"), values).rowcount != 1:
            raise Overtaken

    def _write(self, connection: Connection, folded: Folded) -> Standing:
        pause = folded.pause
        values: dict[str, Value] = {
            "tenant": folded.tenant,
            "id": folded.conversation_id,
            "book": folded.book,
            "version": folded.version,
            "pause_version": pause.version if pause is not None else None,
            "pause_event": pause.event_id if pause is not None else None,
            "pause_reason": pause.reason if pause is not None else None,
        }
        before = folded.standing
        if before is None:
            made = connection.execute(self._text("make_view"), values).fetchone()
            if made is None:
                raise Overtaken
            standing = Standing(cast(int, made[0]), folded.version, 1, pause)
        else:
            values |= {"vid": before.vid, "revision": before.revision}
            if connection.execute(self._text("move_view"), values).rowcount != 1:
                raise Overtaken
            standing = Standing(before.vid, folded.version, before.revision + 1, pause)
        if folded.whole and before is not None:
            connection.execute(self._text("drop_rows"), {"vid": before.vid})
        for move in folded.moves:
            connection.execute(
                self._text("move_rows"),
                {
                    "vid": standing.vid,
                    "old": move.old,
                    "beyond": beyond(move.old),
                    "new": move.new,
                    "length": len(move.old),
                },
            )
        lines = [_line(standing.vid, record) for record in folded.records]
        if not lines:
            return standing
        if self.engine.name == "sqlite":
            connection.executemany(self._text("put_row"), lines)
        else:
            arrays = {f"{column}_list": [line[column] for line in lines] for column in lines[0]}
            connection.execute(self._text("put_rows"), cast("dict[str, Value]", arrays))
        return standing


def _line(vid: int, record: Record) -> dict[str, Value]:
    """A record as a line of the table, by column."""
    kind = codec.KINDS[record.kind]
    turn: Turn | None = None
    name: str | None = None
    lane: str | None = None
    watch = 0
    if isinstance(record, Turn):
        name, lane = record.turn_id, record.lane.agent
    elif isinstance(record, Step):
        turn, name, lane = record.turn, record.step_id, record.turn.lane.agent
        ended = record.turn.ended()
        open_end = ended is None or ended.inferred
        watch = int(record.named or (open_end and bool(record.low) and not record.finished))
    elif isinstance(record, Call):
        turn, name, lane = record.turn, record.call_id, record.turn.lane.agent
        watch = 2 if record.turn.running and record in record.turn.running else 0
    elif isinstance(record, Lane):
        lane = record.agent
        name = lane or ""
    elif isinstance(record, Plain):
        turn = record.turn
    return {
        "key": (vid << SHIFT) + (record.first << 3) + kind,
        "vid": vid,
        "kind": kind,
        "first": record.first,
        "place": record.sort,
        "turn": turn.first if turn is not None else None,
        "lane": lane or "",
        "name": name,
        "watch": watch,
        "data": codec.dump_json(record.row) if record.row is not None else None,
        "state": codec.dump_json(codec.state_of(record)),
    }
