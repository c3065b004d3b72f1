"""The runner: follows the books, folds page by page, commits rows and tracking together (DESIGN.md 6).

Any number of runners may work at once: a commit is conditional on the book's position, so one of them wins
a page and the others throw theirs away. A crash at any point loses only what was not committed, and the
same events fold to the same rows again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Event as StopHandle
from typing import NamedTuple, cast

from ledger import Ledger, RecordedEvent
from ledger.events import JsonObject
from projections.conversation import changes
from projections.finding import finder
from projections.pause import Pause, take
from projections.records import Record
from projections.state import Move, State
from projections.store.recorder import Folded, Overtaken, Standing, ViewRecorder
from projections.store.shelf import Table

IDLE = 0.2
"""Seconds after which a quiet live runner looks whether it should stop."""

MOST_KEPT = 50_000
"""Records kept in memory between pages; conversations beyond are loaded by key when they go on."""

_NAMING = ("turn_id", "step_id", "tool_call_id", "retry_of", "parent_tool_call_id")


class Progress(NamedTuple):
    """What a page did: its events, and the rows written for them."""

    events: int
    rows: int
    book: int


@dataclass
class _Kept:
    """A conversation as it is known between pages."""

    state: State
    standing: Standing | None
    size: int = 0


class Runner:
    """One worker over one ledger (all its tenants). Not thread-safe; run several for more."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.recorder = ViewRecorder(ledger.engine)
        self._kept: dict[tuple[str, str], _Kept] = {}
        self._size = 0

    def catch_up(self) -> Iterator[Progress]:
        """Fold what the ledger holds now; one `Progress` a page committed. Raises `DatabaseError` classes."""
        return self._run(live=False, stop=None)

    def follow(self, stop: StopHandle) -> Iterator[Progress]:
        """The same, and then whatever comes, until `stop` is set."""
        return self._run(live=True, stop=stop)

    def refold(self, tenant: str, conversation_id: str) -> tuple[int, int, list[str], Pause | None] | None:
        """Fold a projected conversation anew and put it in the place of its rows.

        Gives version, number of rows, ids of the rows that differed, and pause; None when it is not projected.
        Raises `DatabaseError` classes."""
        key = (tenant, conversation_id)
        while True:
            standing = self.recorder.standing(*key)
            if standing is None:
                return None
            head = self.ledger.scoped(tenant).head(conversation_id)
            if head is None:
                self.recorder.drop(standing.vid)
                return standing.version, 0, [], None
            upto = standing.version if standing.pause is None else head.version
            folded = self._anew(key, upto, head.book, standing)
            shown = sorted((each for each in folded.records if each.row is not None), key=_sort)
            rows = [each.row for each in shown if each.row is not None]
            differing = differences(self.recorder.rows(standing.vid), rows)
            self._forget()
            try:
                self.recorder.commit([folded], None)
            except Overtaken:
                continue
            return folded.version, len(rows), differing, folded.pause

    def _run(self, live: bool, stop: StopHandle | None) -> Iterator[Progress]:
        again = True
        while again:
            again = False
            cursor = self.recorder.cursor()
            for page in self.ledger.follow_pages(cursor, live=live, all_tenants=True, idle=IDLE):
                if stop is not None and stop.is_set():
                    return
                moved = [book for book in page.cursor if page.cursor[book] != cursor[book]]
                if not moved:
                    continue
                (book,) = moved
                try:
                    rows = self._take(page.events, book, cursor[book], page.cursor[book])
                except Overtaken:
                    self._forget()
                    again = True
                    break
                cursor = page.cursor
                yield Progress(len(page.events), rows, book)

    def _take(self, events: Sequence[RecordedEvent], book: int, before: int, position: int) -> int:
        """Fold a page of one book and commit it. Raises `Overtaken`."""
        groups: dict[tuple[str, str], list[RecordedEvent]] = {}
        for recorded in events:
            groups.setdefault((recorded.tenant, recorded.conversation_id), []).append(recorded)
        folded = []
        for key, group in groups.items():
            found = self._fold(key, group, book)
            if found is not None:
                folded.append(found)
        try:
            standings = self.recorder.commit(folded, book, before, position)
        except BaseException:
            self._forget()  # the states are ahead of the table
            raise
        for each, standing in zip(folded, standings, strict=True):
            self._keep(each, standing)
        return sum(len(each.records) for each in folded)

    def _fold(self, key: tuple[str, str], group: Sequence[RecordedEvent], book: int) -> Folded | None:
        """Fold one conversation's events of a page; None when there is nothing to write."""
        kept = self._kept.get(key) or self._load(key, group)
        standing = kept.standing
        if standing is not None and standing.pause is not None:
            return None  # it waits for a rebuild; the book goes on
        fresh = [recorded for recorded in group if recorded.version > kept.state.version]
        if not fresh:
            return None
        if any(recorded.type == "erasure" for recorded in fresh):  # rows may hold what was erased: fold anew
            return self._anew(key, fresh[-1].version, book, standing)
        missing = kept.state.version + 1 < fresh[0].version  # a branch begins with its source's events
        pause = None
        if missing:
            earlier = self.ledger.scoped(key[0]).read(key[1], kept.state.version, fresh[0].version - 1)
            pause = take(kept.state, earlier)
        if pause is None:
            pause = take(kept.state, fresh)
        if kept.state.version < 0 and pause is not None:
            return self._anew(key, pause.version - 1, book, standing, pause)
        self._kept[key] = kept
        return self._folded(key, book, standing, kept.state, pause, whole=standing is None)

    def _load(self, key: tuple[str, str], group: Sequence[RecordedEvent]) -> _Kept:
        tenant, conversation_id = key
        find = finder(self.ledger.scoped(tenant), conversation_id)
        standing = self.recorder.standing(tenant, conversation_id)
        if standing is None:
            return _Kept(State(conversation_id, find), None)
        table = Table(self.ledger.engine, standing.vid)
        table.expect(names_in(group))
        state = State(conversation_id, find, table)
        state.version = standing.version
        return _Kept(state, standing)

    def _anew(
        self, key: tuple[str, str], upto: int, book: int, standing: Standing | None, pause: Pause | None = None
    ) -> Folded:
        """Fold a conversation from its first event, in place of all that is stored of it."""
        state, found = self._whole(key, upto)
        self._kept[key] = _Kept(state, standing)
        return self._folded(key, book, standing, state, pause or found, whole=True)

    def _whole(self, key: tuple[str, str], upto: int) -> tuple[State, Pause | None]:
        ledger = self.ledger.scoped(key[0])
        state = State(key[1], finder(ledger, key[1]))
        pause = take(state, ledger.read(key[1], 0, upto))
        if state.version < 0 and pause is not None:  # it broke inside the event: the same again without it
            state = State(key[1], finder(ledger, key[1]))
            take(state, ledger.read(key[1], 0, pause.version - 1))
        return state, pause

    def _folded(
        self,
        key: tuple[str, str],
        book: int,
        standing: Standing | None,
        state: State,
        pause: Pause | None,
        whole: bool,
    ) -> Folded:
        rows, moves = changes(state)
        records: list[Record] = [*rows, *(lane for lane in state.lanes.values() if lane.first)]
        moved: Sequence[Move] = () if whole else moves
        return Folded(*key, book, standing, state.version, pause, records, moved, whole)

    def _keep(self, folded: Folded, standing: Standing) -> None:
        """Remember a conversation as it was committed, while there is room."""
        key = (folded.tenant, folded.conversation_id)
        kept = self._kept.get(key)
        if kept is None:
            return
        for record in folded.records:
            record.stored = True
            record.row = None
        kept.standing = standing
        kept.size += len(folded.records)
        self._size += len(folded.records)
        if kept.state.shelf is not None:
            self._drop(key)  # loaded by key: the next page asks for its own keys
        while self._size > MOST_KEPT and self._kept:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: tuple[str, str]) -> None:
        kept = self._kept.pop(key)
        self._size -= kept.size

    def _forget(self) -> None:
        self._kept.clear()
        self._size = 0


def _sort(record: Record) -> bytes:
    return record.sort


def differences(old: Sequence[JsonObject], new: Sequence[JsonObject]) -> list[str]:
    """Ids of the rows that are in one list only, or not alike, or not in the same order."""
    before = {cast(str, row["id"]): row for row in old}
    after = {cast(str, row["id"]): row for row in new}
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if not names and [*before] != [*after]:
        return [left for left, right in zip(before, after, strict=True) if left != right]
    return names


def names_in(events: Sequence[RecordedEvent]) -> set[str]:
    """The turn, step and call ids that events name."""
    names: set[str] = set()
    for recorded in events:
        try:
            given = recorded.event.__dict__  # a model answers slowly for a field that it does not have
        except ValueError:
            break  # the fold pauses there
        names.update(name for field in _NAMING if isinstance(name := given.get(field), str))
    return names
