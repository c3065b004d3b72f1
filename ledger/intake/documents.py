"""JSON documents that hold one conversation: a list of its messages, or an object with that list."""

from collections.abc import Callable, Iterator

from ledger.intake.found import Findings, Found, elements
from ledger.intake.linear import Linear, Mapper, first_records
from ledger.intake.scribe import Scribe
from ledger.intake.transcript import Source


def messages_of(source: Source, findings: Findings) -> Iterator[Found]:
    """The messages of a document, one by one: of the list that it is, or of its `messages`."""
    first = next((chunk for chunk in source.chunks() if chunk.strip()), b"").lstrip(b"\xef\xbb\xbf \t\r\n")
    return elements(source.chunks(), "item" if first.startswith(b"[") else "messages.item", findings)


def document(
    source_format: str,
    source: Source,
    name: str | None,
    session: Callable[[Found], str],
    begin: Callable[[Scribe], Mapper],
) -> Linear:
    """The conversation of a document; `session` names it from its first message, or gives "" for its file's
    name.

    Raises `NotASession` where it holds no message.
    """

    def found(findings: Findings) -> Iterator[Found]:
        return messages_of(source, findings)

    first = first_records(found, source_format, source.name, upto=1)[0]
    named = session(first) or source.name.removesuffix(".json")
    return Linear(source_format, source.name, named, name, found, begin)
