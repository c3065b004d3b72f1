"""The records of a session file: where each one lies, how it is named, and what stands on damaged lines.

One pass over the lines keeps a few words a record and no bodies; the bodies are read again, one at a time,
when their events are made. Damage is that of specs/pi.md 3.5: a line that does not parse is kept as a
record of its own, and whole records fused into it (a torn line and the next append, two lines without a
newline between) are found.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator

from ledger.events import Json, JsonObject
from ledger.intake.lines import Line
from ledger.intake.mending import NotARecord, read_record
from ledger.intake.pi.index import Index
from ledger.intake.pi.table import DAMAGED, Records, mark_of

ENTRY_TYPES = frozenset(
    {
        "session",
        "message",
        "model_change",
        "thinking_level_change",
        "compaction",
        "branch_summary",
        "custom",
        "custom_message",
        "label",
        "session_info",
        "context_edit",
    }
)
_LEGACY_HEADER = ("provider", "modelId", "thinkingLevel", "branchedFrom")
_START = re.compile(r'\{\s*"type"\s*:')
_NAMES = re.compile(rb'\{"type":"[^"\\]*","id":"([^"\\]+)","parentId":(?:"([^"\\]+)"|null)')
_NOTHING = " \t\r\0"  # what lies between records without meaning; NULs come from a file system's crash
_DECODER = json.JSONDecoder()
_MAX_STARTS = 1_000  # beginnings of records tried on one damaged line


def read_records(lines: Iterable[Line]) -> Records:
    """The records of a session file.

    Reads every line once; raises nothing for what it finds, see `Records.problems` and `Records.header`.
    """
    found = Records()
    reader = _Reader(found)
    for line in lines:
        found.lines += 1
        reader.take(line)
    reader.name()
    return found


class _Reader:
    """Takes lines in file order. Keys are given at the end: a header further down decides how."""

    def __init__(self, found: Records) -> None:
        self._found = found
        self._seen = Index(lambda index: _hash(found.mark[index]))  # records with an id, by their bytes
        self._legacy = False

    def take(self, line: Line) -> None:
        if line.raw is None:
            text = f"{line.length:,} bytes in one line, too long to be read; its length and digest are kept"
            self._found.problem("line_too_long", line.number, text, lost=True)
            self._add(line.number, line.offset, line.length, line.digest or b"", DAMAGED, {}, "")
            return
        try:
            value, _ = read_record(line.raw)
        except NotARecord as error:
            self._damaged(line, str(error))
            return
        self._whole(line.number, line.offset, line.raw, value)

    def _damaged(self, line: Line, why: str) -> None:
        raw = line.raw or b""
        pieces = list(_pieces(raw))
        if pieces and pieces[-1][2] is None and not line.ended:  # a longer version of the file may complete it
            start, end, _ = pieces.pop()
            text = f"the last line is cut off ({why}); {end - start:,} bytes not taken in, more may be written"
            self._found.problem("torn_tail", line.number, text, lost=True)
        whole = sum(value is not None for _, _, value in pieces)
        if not pieces:
            return
        if whole:
            what = (
                f"{len(pieces)} records written into one line"
                if whole == len(pieces)
                else (
                    f"a line that was cut off and {whole} whole record{'s'[: whole > 1]} written into one line"
                )
            )
            self._found.problem("spliced_line", line.number, f"{what}; taken apart", lost=whole < len(pieces))
            self._found.repaired += whole
        else:
            self._found.problem("malformed_line", line.number, f"not JSON: {why}; kept as a note", lost=True)
        for start, end, value in pieces:
            if value is not None:
                self._whole(line.number, line.offset + start, raw[start:end], value)
            else:
                piece = raw[start:end]
                names: JsonObject = {}
                if match := _NAMES.match(piece):
                    names["id"] = match[1].decode(errors="replace")
                    names["parentId"] = match[2].decode(errors="replace") if match[2] else None
                digest = hashlib.sha256(piece).digest()
                self._add(line.number, line.offset + start, len(piece), digest, DAMAGED, names, "")

    def _whole(self, number: int, offset: int, raw: bytes, value: Json) -> None:
        digest = hashlib.sha256(raw).digest()
        if not isinstance(value, dict):
            self._found.problem("not_an_object", number, "JSON, but not an object; kept as a note", lost=True)
            self._add(number, offset, len(raw), digest, DAMAGED, {}, "")
            return
        kind = value.get("type")
        kind = kind if isinstance(kind, str) and kind else "unknown"
        found, name = self._found, _text(value.get("id"))
        if kind == "session" and found.header is None and name:
            self._head(value, number)
            found.header = len(found)
        else:
            before = self._before(kind, name, len(raw), digest)
            if before is not None:
                text = f"the same record as on line {found.line[before]}, byte for byte; taken once"
                found.problem("doubled_line", number, text)
                found.repaired += 1
                return
            if kind == "session":
                text = (
                    "a second session header; kept as a note"
                    if found.header is not None
                    else "a session header without an id; kept as a note"
                )
                found.problem("second_header", number, text)
        found.array.append(len(found))
        named = found.header is not None and not self._legacy and name is not None
        self._add(number, offset, len(raw), digest, kind, value, "" if named else content_key(value))
        if name and kind != "session":
            self._seen.put(_hash(mark_of(digest)), lambda _: False, len(found) - 1)

    def _before(self, kind: str, name: str | None, length: int, digest: bytes) -> int | None:
        """The record that one says again, byte for byte: any one with an id, else the one right before it."""
        found = self._found
        if name:
            if kind == "session":
                return None
            return self._seen.find(
                _hash(mark_of(digest)),
                lambda index: found.is_as_read(index, digest) and found.has_length(index, length),
            )
        last = len(found) - 1
        return last if last >= 0 and found.is_as_read(last, digest) else None

    def _head(self, value: JsonObject, number: int) -> None:
        self._found.session = _text(value.get("id")) or ""
        version = value.get("version")
        self._found.version = version if isinstance(version, int) and version > 0 else 1
        # A file that pi lifted from version 1 keeps its old header: its entry ids were made when it was lifted,
        # so that only the content tells that a record was taken in before.
        self._legacy = self._found.version == 1 or any(name in value for name in _LEGACY_HEADER)
        if self._found.array:
            self._found.problem("header_not_first", number, "the session header does not stand first")

    def _add(
        self, number: int, offset: int, length: int, digest: bytes, kind: str, value: JsonObject, content: str
    ) -> None:
        name = _text(value.get("id")) if kind != "session" else None
        parent, declared = _text(value.get("parentId")), "parentId" in value
        self._found.add(number, offset, length, digest, kind, name, parent, content, declared=declared)

    def name(self) -> None:
        """Give every record its key."""
        found, self._seen = self._found, Index(hash)
        for index in found.name(legacy=self._legacy):
            name = found.id(index)
            if name is not None and not self._legacy and found.kind(index) != DAMAGED:
                text = f"entry id {name} is used again with other content; the last one counts, both are kept"
                found.problem("duplicate_id", found.line[index], text)


def content_key(value: JsonObject) -> str:
    """16 hex digits of the digest of what a record says, without what pi's migrations add or rename."""
    said = {
        name: item
        for name, item in value.items()
        if name not in ("id", "parentId", "firstKeptEntryId", "firstKeptEntryIndex")
    }
    message = said.get("message")
    if isinstance(message, dict) and message.get("role") == "hookMessage":
        said["message"] = {**message, "role": "custom"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def _hash(mark: int) -> int:
    return hash(mark.to_bytes(8, "big"))  # that of a number can be foreseen, and a table made slow with it


def _text(value: Json | None) -> str | None:
    return value if isinstance(value, str) and value else None


def _pieces(raw: bytes) -> Iterator[tuple[int, int, Json | None]]:
    """A damaged line cut into whole records (with their value) and the fragments between them (with None)."""
    text = raw.decode(errors="surrogateescape")

    def place(at: int) -> int:
        return len(text[:at].encode(errors="surrogateescape"))

    begin = at = 0  # of the fragment that is open; where to look on
    for _ in range(_MAX_STARTS):
        match = _START.search(text, at)
        if match is None:
            break
        end = _end_of_record(text, match.start())
        if end is None:
            at = match.start() + 1
            continue
        if text[begin : match.start()].strip(_NOTHING):
            yield place(begin), place(match.start()), None
        start = place(match.start())
        value, _ = read_record(raw[start : place(end)])
        yield start, place(end), value
        begin = at = end
    if text[begin:].strip(_NOTHING):
        yield place(begin), len(raw), None


def _end_of_record(text: str, start: int) -> int | None:
    """Where the JSON object at `start` ends, when it is a record of a session file, no block inside one."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    is_record = isinstance(value, dict) and str(value.get("type")) in ENTRY_TYPES and "timestamp" in value
    return end if is_record else None
