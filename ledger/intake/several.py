"""Transcripts of many conversations: the sessions of a database, each read when its turn comes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from ledger.errors import ManySessions
from ledger.intake.found import Findings, HasFindings
from ledger.intake.identity import kept_id
from ledger.intake.scribe import Scribe
from ledger.recorded import EncodedEvent


class Places:
    """At which versions the events of a conversation stand, as far as they were made."""

    def __init__(self, stored: Mapping[str, int], last: int) -> None:
        self._stored = stored
        self._next = last + 1
        self._marks: dict[str, int] = {}
        self._waiting: list[str] = []
        self.collected: list[str] | None = None
        """Where it is a list, the ids of events are gathered in it."""
        self.last = 0
        """The version of the event that was made last."""

    def mark(self, name: str) -> None:
        """What comes next is the beginning of `name`."""
        self._waiting.append(name)

    def of(self, name: str) -> int | None:
        """The version at which `name` began; None where it did not, or gave no event yet."""
        return self._marks.get(name)

    def take(self, event_id: str) -> None:
        """The next event."""
        version = self._stored.get(event_id)
        if version is None:
            version, self._next = self._next, self._next + 1
        for name in self._waiting:
            self._marks.setdefault(name, version)
        self._waiting.clear()
        if self.collected is not None:
            self.collected.append(event_id)
        self.last = version


class Writer(Protocol):
    """Writes the events of one session with a scribe, record by record."""

    def __call__(self, scribe: Scribe, places: Places, findings: Findings, /) -> Iterator[None]:
        """Yields when a record is done: what it gave is taken from the scribe then."""


class Several(HasFindings):
    """The sessions of one source, each a conversation named as the session; with `name` the only one has that
    name.

    `begin(session)` makes the writer of one. `id` is the session of the conversation that was given last.
    Raises `ManySessions` where there is a name for more than one.
    """

    def __init__(
        self,
        source_format: str,
        file: str,
        sessions: Sequence[str],
        current: str,
        name: str | None,
        begin: Callable[[str], Writer],
        version: int | str | None = None,
    ) -> None:
        if name is not None and len(sessions) > 1:
            raise ManySessions(file=file, count=len(sessions), name=name)
        self.version = version
        self.id = ""
        self.current = str(name or kept_id(current))
        self.findings = Findings()
        self._format = source_format
        self._file = file
        self._sessions = sessions
        self._name = name
        self._begin = begin

    def streams(self) -> "Iterator[_One]":
        """Its conversations."""
        for session in self._sessions:
            self.id = kept_id(session)
            yield _One(self._format, self._file, self.id, self._name, self._begin(session), self.findings)


class _One:
    """One session."""

    source = None
    source_version = 0

    def __init__(
        self,
        source_format: str,
        file: str,
        session: str,
        name: str | None,
        write: Writer,
        findings: Findings,
    ) -> None:
        self.conversation_id = str(name or session)
        self._format = source_format
        self._file = file
        self._session = session
        self._write = write
        self.findings = findings

    def events(
        self, stored: Mapping[str, int] | None = None, head: int | None = None
    ) -> Iterator[EncodedEvent]:
        """Its events, in order. What is stored and no longer in the source is said."""
        gone = set(stored or ())
        places = Places(stored or {}, head or 0)
        scribe = Scribe(self._format, self._session, self._file, self.conversation_id)
        for _ in self._write(scribe, places, self.findings):
            for event in scribe.encoded():
                gone.discard(event.id)
                places.take(event.id)
                yield event
        gone = {event_id for event_id in gone if event_id.startswith(f"{self._format}:")}
        if gone:
            text = (
                f"{len(gone):,} events of {self.conversation_id} that were taken in before come from records "
                "that are no longer there; they stay in the ledger"
            )
            self.findings.problem("records_gone", None, text)
