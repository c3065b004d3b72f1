"""Transcripts whose records stand in the order in which they happened: one conversation, no branches."""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from ledger.errors import NotASession
from ledger.intake.found import Findings, Found, HasFindings
from ledger.intake.identity import kept_id
from ledger.intake.scribe import Scribe
from ledger.recorded import EncodedEvent


class Mapper(Protocol):
    """Maps the records of one conversation, in order, nothing looked ahead."""

    def record(self, found: Found) -> None:
        """Write the events of the next record; it may be a damaged one."""

    def end(self) -> None:
        """There are no more records in the file as it stands. It may still grow: only what its end proves."""


class Linear(HasFindings):
    """One file, one conversation. A conversation's id is the session's, or `name`.

    `read` gives the records, noting in the findings what is wrong with them; `begin` makes the mapper.
    """

    source = None
    source_version = 0

    def __init__(
        self,
        source_format: str,
        file: str,
        session: str,
        name: str | None,
        read: Callable[[Findings], Iterator[Found]],
        begin: Callable[[Scribe], Mapper],
        version: int | str | None = None,
    ) -> None:
        self.id = kept_id(session)
        self.conversation_id = self.current = str(name or self.id)
        self.version = version
        self.findings = Findings()
        self._format = source_format
        self._file = file
        self._read = read
        self._begin = begin

    def streams(self) -> "Iterator[Linear]":
        """The one conversation."""
        yield self

    def events(
        self,
        stored: Mapping[str, int] | None = None,  # noqa: ARG002 - nothing here names versions
        head: int | None = None,  # noqa: ARG002
    ) -> Iterator[EncodedEvent]:
        """Its events, in order."""
        self.findings = Findings()
        scribe = Scribe(self._format, self.id, self._file, self.conversation_id)
        mapper = self._begin(scribe)
        for found in self._read(self.findings):
            if found.value is None:
                scribe.damaged(found)
            else:
                mapper.record(found)
            yield from scribe.encoded()
        mapper.end()
        yield from scribe.encoded()


def first_records(
    read: Callable[[Findings], Iterator[Found]], runtime: str, file: str, upto: int = 50
) -> list[Found]:
    """The first whole records of a file, for naming what it is.

    Raises `NotASession` when there are none.
    """
    whole: list[Found] = []
    findings = Findings()
    for found in read(findings):
        if found.value is not None:
            whole.append(found)
        if findings.lines >= upto:
            break
    if not whole:
        if findings.lines:
            why = f"no JSON object among the first {findings.lines} records"
        else:
            why = findings.problems[0].text.splitlines()[0] if findings.problems else "no message is in it"
        raise NotASession(file=file, runtime=runtime, problem=why)
    return whole
