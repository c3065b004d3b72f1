"""What an importer is: the file of a runtime as conversations of events. Pure; files come as a `Source`.

`Format.read` looks a source through once, far enough to name its conversations; a conversation's events are
made as they are asked for, a record at a time, so that memory does not grow with the file. What a record means
may depend on those before it, never on those after: the events of a longer version of a file begin with those
of the shorter one, with the same ids (DESIGN.md 4).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from ledger.events import JsonObject
from ledger.intake.lines import Line
from ledger.intake.problems import Problem
from ledger.recorded import EncodedEvent


class Source(Protocol):
    """One file as it stood when it was opened, read as often as needed."""

    @property
    def name(self) -> str:
        """The file's name, without its folder."""

    @property
    def size(self) -> int:
        """Bytes."""

    def chunks(self) -> Iterator[bytes]:
        """Its bytes from the beginning."""

    def lines(self) -> Iterator[Line]:
        """Its lines that are not blank."""

    def fetch(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`; fewer at the end of the file."""

    def rows(self, query: str) -> Iterator[JsonObject]:
        """The rows of a query to a SQLite database, read only; blobs as their text.

        Raises `NotASession` where the source is none, or the query names what it has not.
        """

    def beside(self, pattern: str) -> Iterable["Source"]:
        """The files that a glob names, from the folder of this one, by name; none for stdin."""


class ConversationStream(Protocol):
    """One conversation of a source: named `conversation_id`; one that forks from `source` after
    `source_version`, where it is not None."""

    @property
    def conversation_id(self) -> str: ...

    @property
    def source(self) -> str | None: ...

    @property
    def source_version(self) -> int: ...

    def events(
        self, stored: Mapping[str, int] | None = None, head: int | None = None
    ) -> Iterator[EncodedEvent]:
        """The events in order.

        `stored` says which event ids the ledger already holds in this conversation and at which versions,
        `head` its last version: new ones count on from it.
        """
        ...


class Transcript(Protocol):
    """What a source holds. `version`, `lines`, `problems` and `repaired` are whole once all is read."""

    @property
    def id(self) -> str:
        """What its first event's `source.session` says."""

    @property
    def version(self) -> int | str | None:
        """Of the format or of the runtime that wrote it; None where it does not say."""

    @property
    def lines(self) -> int:
        """Records that it holds: lines, rows, elements."""

    @property
    def repaired(self) -> int: ...

    @property
    def problems(self) -> list[Problem]: ...

    @property
    def current(self) -> str:
        """The conversation that the runtime goes on with."""

    def streams(self) -> Iterator[ConversationStream]:
        """Its conversations, sources before branches; each must be read to its end before the next."""


@dataclass(frozen=True)
class Format:
    """A format that can be taken in.

    `title` says what it is; `suffixes` are how its files end. `read(source, name)` makes the transcript; `name`
    is another name for its (main) conversation. It raises `NotASession` for what is none of its own.
    `looks_like` tells a file from its name and its first 64 KiB. `part_of(path, head)` names the file that
    takes one in as a part of itself, where its path or beginning says so: with that one it is not read alone.
    The events of `own` files are the ledger's: they keep their ids and sources. `recorded`: the stream of the
    same run, recorded live, gives the same ids of steps and blocks, so that a file is taken in beside it.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    read: Callable[[Source, str | None], Transcript]
    looks_like: Callable[[str, bytes], bool]
    part_of: Callable[[str, Callable[[], bytes]], str | None] = lambda _path, _head: None
    own: bool = False
    recorded: bool = False
