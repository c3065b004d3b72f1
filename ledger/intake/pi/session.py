"""A session file as conversations of canonical events: the door of this package.

    session = Session.read(split_lines(chunks), file="2026-….jsonl")
    for stream in session.streams(fetch):
        for event in stream.events():
            ...

Two passes: the first finds the records and the tree and keeps no bodies; the second makes the events,
fetching one record's bytes at a time. Streams come sources first, and each must be exhausted before the
next one is begun.
"""

import hashlib
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from ledger.errors import NotASession, SourceChanged
from ledger.events import MAX_EVENT_BYTES, Json, JsonObject
from ledger.intake.identity import kept_id
from ledger.intake.lines import Line
from ledger.intake.mending import NotARecord, read_record
from ledger.intake.pi.maker import FORMAT, Maker
from ledger.intake.pi.path import Path, damaged
from ledger.intake.pi.records import read_records
from ledger.intake.pi.state import State
from ledger.intake.pi.table import DAMAGED, Record, Records
from ledger.intake.pi.tree import chain, leaf, link
from ledger.intake.problems import Problem
from ledger.intake.scribe import encoded_event
from ledger.intake.transcript import Source
from ledger.recorded import EncodedEvent

Fetch = Callable[[int, int], bytes]
"""The bytes of the file at an offset, of a length."""


@dataclass
class _Start:
    """Where a conversation begins: its first record, what it forks from, and the state there."""

    record: int
    state: State
    source: str | None = None
    version: int = 0
    seen: dict[str, int] = field(default_factory=dict)  # conversation -> last version of it on this path


class Session:
    """The records of one file and the conversations they make.

    The main conversation is named as the session (or `name`); a branch `{that name}~{entry id}` by the
    entry it begins with.
    """

    def __init__(self, found: Records, file: str, name: str | None = None, fetch: Fetch | None = None) -> None:
        self._found = found
        self._fetch = fetch
        self.file = file
        self.id = kept_id(found.session)
        self.conversation_id = name or self.id  # marked where it had to be replaced
        self._leaf = leaf(found)
        self._named: set[str] = set()
        self.current = str(self.conversation_id)
        self._conversations = [""]
        self._conversation = array("I", bytes(4 * len(found)))  # of each record, 0 while it is not known
        self._version = array("Q", bytes(8 * len(found)))  # of its first event

    @classmethod
    def read(cls, lines: Iterable[Line], file: str, name: str | None = None) -> "Session":
        """The session that the lines of `file` hold; `name` is another name for its main conversation.

        Raises `NotASession` when there is no session header with an id.
        """
        found = read_records(lines)
        if found.header is None:
            raise NotASession(file=file, runtime=FORMAT, problem=_why(found))
        link(found)
        return cls(found, file, name)

    @classmethod
    def of(cls, source: Source, name: str | None = None) -> "Session":
        """The session that a file holds; as `read`, and its bodies come from there."""
        session = cls.read(source.lines(), source.name, name)
        session._fetch = source.fetch
        return session

    @property
    def problems(self) -> list[Problem]:
        """What was not as it should be, in the order it was met."""
        return self._found.problems

    @property
    def repaired(self) -> int:
        """Records that were put right: found in spliced lines, doubled, given a parent."""
        return self._found.repaired

    @property
    def version(self) -> int:
        """The version of the format that the header names; 1 when it names none."""
        return self._found.version

    @property
    def lines(self) -> int:
        """Lines that hold something."""
        return self._found.lines

    def streams(self, fetch: Fetch | None = None) -> "Iterator[Stream]":
        """The session's conversations, sources before branches. `current` names the leaf's, at the end.

        `fetch` reads the bodies, where the session was not made from a source that can.
        """
        fetch = fetch or self._fetch or _no_bodies
        starts = deque([_Start(self._found.header or 0, State())])
        while starts:
            start = starts.popleft()
            name = self.conversation_id
            if start.source is not None:
                name = self._branch_name(self._found.key(start.record))
            yield Stream(self, start, name, fetch, starts)

    def begin(self, conversation_id: str) -> int:
        """The number of a conversation that is made now."""
        self._conversations.append(conversation_id)
        return len(self._conversations) - 1

    def put(self, index: int, conversation: int, version: int) -> None:
        """A record stands in a conversation, by its number, from a version on."""
        self._conversation[index], self._version[index] = conversation, version

    def place(self, index: int) -> tuple[str, int]:
        """The conversation and the version of the first event of a record; no name and 0 where it has none
        yet."""
        return self._conversations[self._conversation[index]], self._version[index]

    def _branch_name(self, key: str) -> str:
        name = kept_id(f"{self.conversation_id}~{key}")
        while name in self._named:
            name += "~"
        self._named.add(name)
        return name


class Stream:
    """The events of one conversation, made as they are asked for."""

    def __init__(
        self, session: Session, start: _Start, conversation_id: str, fetch: Fetch, starts: deque[_Start]
    ) -> None:
        self.conversation_id = str(conversation_id)
        self.source = start.source
        self.source_version = start.version
        self._name = conversation_id  # marked where it had to be replaced
        self._session = session
        self._found = session._found
        self._start = start
        self._fetch = fetch
        self._starts = starts

    def events(
        self, stored: Mapping[str, int] | None = None, head: int | None = None
    ) -> Iterator[EncodedEvent]:
        """The conversation's events in order.

        `stored` says which event ids the ledger already holds in this conversation and at which versions,
        `head` its last version: events that are not there yet count on from it, so that forks and
        compactions name the versions that the ledger gives. Raises `SourceChanged` when the file is no longer
        what was read first.
        """
        known = stored or {}
        self._next = (self.source_version if head is None else head) + 1
        session, found, start = self._session, self._found, self._start
        path = Path(self._name, session.id, session.file, start.state, found.key)
        self._last = start.version
        number = session.begin(self.conversation_id)
        for links in chain(found, start.record):
            for index in links:
                first: int | None = None
                for event in self._of_record(path, index, index == start.record):
                    self._last = known.get(event.id) or self._take()
                    if event.type != "fork":
                        first = first or self._last
                    yield event
                session.put(index, number, first or self._last)
                if index == session._leaf:
                    session.current = self.conversation_id
            for branch in islice(found.below(links[0]), 1, None):
                seen = {**start.seen, self.conversation_id: self._last}
                here = _Start(branch, path.state.copy(), self.conversation_id, self._last, seen)
                self._starts.append(here)

    def _take(self) -> int:
        version = self._next
        self._next += 1
        return version

    def _of_record(self, path: Path, index: int, is_first: bool) -> Iterator[EncodedEvent]:
        record, raw = self._read(index)
        value: Json = None
        if raw is not None and record.kind != DAMAGED:
            try:
                value, _ = read_record(raw)
            except NotARecord:
                raise SourceChanged(file=self._session.file, at=record.line) from None
        entry = value if isinstance(value, dict) else None
        maker = path.maker(record, entry)
        events: list[JsonObject] = []
        if is_first and self.source is not None:
            fork: JsonObject = {
                "source_conversation_id": self.source,
                "source_version": self.source_version,
            }
            events.append(maker.event("fork", "fork", fork))
        if entry is None:
            events.append(damaged(maker, raw, record.length))
        else:
            events += path.events(record, entry, self._boundary(len(events)))
        for event in events:
            yield self._encoded(event, maker, entry)

    def _boundary(self, before: int) -> Callable[[JsonObject], int]:
        """Where a compaction cuts: before the record that it keeps first, else right before itself.

        `before` is how many events of its record come before the compaction's own.
        """

        def through(value: JsonObject) -> int:
            for kept in self._kept(value):
                conversation, version = self._session.place(kept)
                last = (
                    self._last
                    if conversation == self.conversation_id
                    else self._start.seen.get(conversation, 0)
                )
                if 0 < version <= last:  # it stands on this path
                    return version - 1
            return self._last + before

        return through

    def _kept(self, value: JsonObject) -> Iterator[int]:
        """The records that a compaction may mean as first to keep: by id, or by place in pi's array."""
        name = value.get("firstKeptEntryId")
        place = value.get("firstKeptEntryIndex")
        if isinstance(name, str):
            yield from self._found.all_of(name)
        elif isinstance(place, int) and 0 <= place < len(self._found.array):
            yield self._found.array[place]

    def _read(self, index: int) -> tuple[Record, bytes | None]:
        place = self._found.place(index)
        if place is None:
            return self._found.record(index, b""), None
        raw = self._fetch(*place)
        digest = hashlib.sha256(raw).digest()
        if not self._found.is_as_read(index, digest):
            raise SourceChanged(file=self._session.file, at=self._found.line[index])
        return self._found.record(index, digest), raw

    def _encoded(self, event: JsonObject, maker: Maker, entry: JsonObject | None) -> EncodedEvent:
        """The event as it is stored; its shape is right as it was made, and tests hold it to the door."""

        def oversize(plain: JsonObject) -> JsonObject:
            text = f"{plain['type']}: over {MAX_EVENT_BYTES:,} bytes"
            return maker.note("oversize", text, entry, block=f"{plain['type']}!")

        return encoded_event(event, maker.record.length, oversize)


def _no_bodies(_offset: int, _length: int) -> bytes:
    raise TypeError("a session of lines alone needs `fetch`")


def _why(found: Records) -> str:
    if not found.lines:
        return "it is empty"
    kinds = [found.kind(index) for index in range(len(found))]
    whole = len(kinds) - kinds.count(DAMAGED)
    if not whole:
        return f"no line of {found.lines} is a JSON object"
    if "session" in kinds:
        return "its session header has no id"
    return f"no session header among {whole} records"
