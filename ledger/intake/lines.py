"""A file as numbered lines of bytes, cut at `\\n` only.

Text inside JSON strings may hold U+2028, U+0085 and every other character that Unicode calls a line end, so
lines are never cut by what a character means. Nothing here reads a file: chunks of bytes come in, in any
size.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Longest line that is read; of a longer one only length and digest are kept."""

BOM = b"\xef\xbb\xbf"
_BLANKS = b" \t\r\v\f"


class Line(NamedTuple):
    """One line without its `\\n` and without blanks around it.

    `number` counts from 1; `offset` is where `raw` begins in the file, in bytes; `length` is that of the
    line as it stands there, in bytes; `ended` is False for a last line that has no `\\n` (yet). `raw` is
    None for a line over the limit; `digest` is then the SHA-256 of the whole line.
    """

    number: int
    offset: int
    length: int
    raw: bytes | None
    ended: bool
    digest: bytes | None = None


def split_lines(chunks: Iterable[bytes], limit: int = MAX_LINE_BYTES) -> Iterator[Line]:
    """The non-blank lines of a file given in chunks; a byte order mark at the start is left out."""
    number = offset = 0
    pending = bytearray()  # the beginning of a line whose end has not come yet
    long: _LongLine | None = None
    for chunk in chunks:
        begin = 0
        while (end := chunk.find(b"\n", begin)) >= 0:
            piece = chunk[begin:end]
            number += 1
            if long is not None:
                long.add(piece)
                yield long.line(number, offset, ended=True)
                offset += long.length + 1
                long = None
            else:
                raw = bytes(pending) + piece if pending else piece
                pending.clear()
                if len(raw) > limit:
                    yield _LongLine(raw).line(number, offset, ended=True)
                elif (line := _line(number, offset, raw, ended=True)) is not None:
                    yield line
                offset += len(raw) + 1
            begin = end + 1
        rest = chunk[begin:]
        if long is not None:
            long.add(rest)
        else:
            pending += rest
            if len(pending) > limit:
                long = _LongLine(bytes(pending))
                pending.clear()
    if long is not None:
        yield long.line(number + 1, offset, ended=False)
    elif (line := _line(number + 1, offset, bytes(pending), ended=False)) is not None:
        yield line


def _line(number: int, offset: int, raw: bytes, *, ended: bool) -> Line | None:
    length = len(raw)
    if number == 1 and raw.startswith(BOM):
        raw = raw[len(BOM) :]
    stripped = raw.lstrip(_BLANKS)
    begin = offset + length - len(stripped)
    stripped = stripped.rstrip(_BLANKS)
    return Line(number, begin, length, stripped, ended) if stripped else None


class _LongLine:
    """Length and digest of a line too long to be held."""

    def __init__(self, beginning: bytes) -> None:
        self.length = len(beginning)
        self._hash = hashlib.sha256(beginning)

    def add(self, piece: bytes) -> None:
        self.length += len(piece)
        self._hash.update(piece)

    def line(self, number: int, offset: int, *, ended: bool) -> Line:
        return Line(number, offset, self.length, None, ended, self._hash.digest())
