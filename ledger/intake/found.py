"""Records of a file, whole or damaged, where they stand: lines of JSON, elements of a document, rows.

Damage is what every runtime's files were seen with: torn tails, records fused into one line, runs of NUL
bytes, lines too long to be held, bytes that are not UTF-8 (specs/formats.md 0, rule 7). What cannot be read is
given as it stands, and said in `problems`; nothing is dropped.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import ijson

from ledger.events import Json, JsonObject, json_bytes
from ledger.intake.lines import MAX_LINE_BYTES, Line
from ledger.intake.mending import NotARecord, as_text, read_record
from ledger.intake.problems import Problem

_NOTHING = b" \t\r\0"  # what lies between records without meaning; NULs come from a file system's crash
_DECODER = json.JSONDecoder()
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_MAX_STARTS = 1_000  # beginnings of records tried on one damaged line


class Found(NamedTuple):
    """One record. `line` counts lines (or elements, or rows) from 1; `offset` is where it begins, in bytes,
    None where that is not known. `value` is None for what is no JSON object: then `raw` are its bytes, None for
    a line too long to be held, of which `length` and `digest` are told.
    """

    line: int
    offset: int | None
    length: int
    digest: bytes
    value: JsonObject | None
    raw: bytes | None = None


@dataclass
class Findings:
    """What was met while reading: counted, mended, and said."""

    lines: int = 0
    repaired: int = 0
    problems: list[Problem] = field(default_factory=list)

    def problem(self, code: str, line: int | None, text: str, *, lost: bool = False) -> None:
        """Note a finding."""
        self.problems.append(Problem(code, line, text, lost))


class HasFindings:
    """What a transcript says of its reading: whole once all is read."""

    findings: Findings

    @property
    def lines(self) -> int:
        """Records that it holds."""
        return self.findings.lines

    @property
    def repaired(self) -> int:
        """Records that were put right."""
        return self.findings.repaired

    @property
    def problems(self) -> list[Problem]:
        """What was not as it should be, in the order it was met."""
        return self.findings.problems


def records(lines: Iterable[Line], findings: Findings) -> Iterator[Found]:
    """The records in lines of JSON, in file order. A last line without its end that is no record (yet) is
    said, and not given: a longer version of the file may complete it."""
    for line in lines:
        findings.lines += 1
        if line.raw is None:
            text = f"{line.length:,} bytes in one line, too long to be read; its length and digest are kept"
            findings.problem("line_too_long", line.number, text, lost=True)
            yield Found(line.number, line.offset, line.length, line.digest or b"", None)
            continue
        try:
            value, _ = read_record(line.raw)
        except NotARecord as error:
            yield from _damaged(line, line.raw, str(error), findings)
            continue
        if not isinstance(value, dict):
            text = "JSON, but not an object; kept as a note"
            findings.problem("not_an_object", line.number, text, lost=True)
            yield _piece(line, 0, line.raw, None)
        else:
            yield _piece(line, 0, line.raw, value)


def elements(chunks: Iterable[bytes], path: str, findings: Findings) -> Iterator[Found]:
    """The elements of one JSON document at an `ijson` path (`item`, `messages.item`), numbered from 1, as they
    are read. Where the document is damaged those before are given, and the place is said."""
    number = 0
    try:
        for value in ijson.items(_Reading(chunks), path, use_float=True):
            number += 1
            findings.lines += 1
            yield element(number, value, findings)
    except (ijson.JSONError, ValueError, RecursionError) as error:
        text = f"the document is damaged after element {number}: {_why(error)}; what stands before was taken in"
        findings.problem("damaged_document", number or None, text, lost=True)


def _why(error: Exception) -> str:
    """What a parser said, without the drawing of the place: some say it in bytes."""
    said = error.args[0] if error.args else ""
    text = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    return text.partition("\n")[0].strip() or type(error).__name__


def first_value(chunks: Iterable[bytes], path: str) -> Json:
    """The value at an `ijson` path of one JSON document; None where there is none before it is damaged."""
    try:
        value: Json = next(ijson.items(_Reading(chunks), path, use_float=True), None)
    except (ijson.JSONError, ValueError, RecursionError):
        return None
    return value


def element(number: int, value: Json, findings: Findings) -> Found:
    """One element of a document or a database as a record."""
    raw = json_bytes(value)
    digest = hashlib.sha256(raw).digest()
    if not isinstance(value, dict):
        findings.problem("not_an_object", number, "not an object; kept as a note", lost=True)
        return Found(number, None, len(raw), digest, None, raw)
    mended, _ = read_record(raw)  # what the ledger cannot hold is marked
    return Found(number, None, len(raw), digest, mended if isinstance(mended, dict) else value)


def row(number: int, text: Json, what: str, findings: Findings) -> Found:
    """A record that stands as JSON text in a row of a database; `what` names it where it is damaged."""
    raw = as_text(text).encode(errors="surrogatepass")
    digest = hashlib.sha256(raw).digest()
    findings.lines += 1
    try:
        value, _ = read_record(raw)
        why = "not an object"
    except NotARecord as error:
        value, why = None, str(error)
    if isinstance(value, dict):
        return Found(number, None, len(raw), digest, value)
    findings.problem("malformed_row", number, f"{what} is damaged: {why}; kept as a note", lost=True)
    return Found(number, None, len(raw), digest, None, raw)


def _damaged(line: Line, raw: bytes, why: str, findings: Findings) -> Iterator[Found]:
    pieces = list(_pieces(raw, line.ended))
    if pieces and pieces[-1][2] is None and not line.ended:
        start, end, _ = pieces.pop()
        text = f"the last line is cut off ({why}); {end - start:,} bytes not taken in, more may be written"
        findings.problem("torn_tail", line.number, text, lost=True)
    if not pieces:
        return
    whole = sum(value is not None for _, _, value in pieces)
    if whole:
        several = f"{whole} whole record{'s'[: whole > 1]}"
        torn = len(pieces) - whole
        what = (
            f"{several} and {torn} torn piece{'s'[: torn > 1]} in one line"
            if torn
            else f"{several} in one line"
        )
        findings.problem("spliced_line", line.number, f"{what}; taken apart", lost=torn > 0)
        findings.repaired += whole
    else:
        findings.problem("malformed_line", line.number, f"not JSON: {why}; kept as a note", lost=True)
    for start, end, value in pieces:
        yield _piece(line, start, raw[start:end], value)


def _piece(line: Line, start: int, raw: bytes, value: JsonObject | None) -> Found:
    digest = hashlib.sha256(raw).digest()
    return Found(line.number, line.offset + start, len(raw), digest, value, None if value is not None else raw)


def _pieces(raw: bytes, ended: bool) -> Iterator[tuple[int, int, JsonObject | None]]:
    """A damaged line cut into whole records (with their value) and the fragments between them (with None).

    A record is an object that begins where one may: at the line's start, after another record, or at a `{"`
    inside a fragment whose object says a `type` and reaches the next record or the line's end. At the end of a
    line that may go on it is rather a value of the fragment's own record, where one may stand.
    """
    text = raw.decode("latin-1")  # one character a byte: places in it are places in the bytes
    begin = at = 0
    for _ in range(_MAX_STARTS):
        at = text.find('{"', at)
        if at < 0:
            break
        end = _end_of_record(text, at)
        if end is None or (not ended and end == len(text) and _is_value(text[begin:at])):
            at += 1
            continue
        if raw[begin:at].strip(_NOTHING):
            yield begin, at, None
        value, _ = read_record(raw[at:end])
        yield at, end, value if isinstance(value, dict) else None
        begin = at = end
    if raw[begin:].strip(_NOTHING):
        yield begin, len(raw), None


def _is_value(before: str) -> bool:
    """Whether what follows this beginning of a record is one of its values, and no record of its own."""
    if not before.lstrip().startswith("{"):
        return False
    told = _STRING.sub("0", before)
    return '"' not in told and told.rstrip().endswith((":", ",", "["))


def _end_of_record(text: str, start: int) -> int | None:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    rest = text[end:].lstrip(_NOTHING.decode())
    whole = isinstance(value, dict) and "type" in value
    return end if whole and (not rest or rest.startswith("{")) else None


class _Reading:
    """Chunks as a file that `ijson` reads. Raises `ValueError` where one text goes on for more than a line may
    hold: a parser holds it, and looks at all of it again with every chunk."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._held = b""
        self._text = 0  # bytes since the last quotation mark

    def read(self, size: int = -1) -> bytes:
        if size == 0:
            return b""
        while not self._held:
            chunk = next(self._chunks, None)
            if chunk is None:
                return b""
            self._held = chunk
            quoted = chunk.rfind(b'"')
            self._text = self._text + len(chunk) if quoted < 0 else len(chunk) - quoted - 1
            if self._text > MAX_LINE_BYTES:
                raise ValueError(f"a text of more than {MAX_LINE_BYTES:,} bytes, too long to be read")
        if size < 0:
            size = len(self._held)
        given, self._held = self._held[:size], self._held[size:]
        return given
