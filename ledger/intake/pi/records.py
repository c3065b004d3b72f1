"""The records of a session file: where each one lies, how it is named, and what stands on damaged lines.

One pass over the lines keeps a few words a record and no bodies; the bodies are read again, one at a time,
when their events are made. Damage is that of specs/pi.md 3.5: a line that does not parse is kept as a
record of its own, and whole records fused into it (a torn line and the next append, two lines without a
newline between) are found.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ledger.events import Json, JsonObject
from ledger.intake.lines import Line
from ledger.intake.mending import NotARecord, read_record
from ledger.intake.problems import Problem

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
HEADER = "session header"
"""The key of the session's own header: no entry id has a blank."""

DAMAGED = ""
"""The `kind` of a record whose bytes are not a JSON object."""

_LEGACY_HEADER = ("provider", "modelId", "thinkingLevel", "branchedFrom")
_START = re.compile(r'\{\s*"type"\s*:')
_NAMES = re.compile(rb'\{"type":"[^"\\]*","id":"([^"\\]+)","parentId":(?:"([^"\\]+)"|null)')
_NOTHING = " \t\r\0"  # what lies between records without meaning; NULs come from a file system's crash
_DECODER = json.JSONDecoder()
_MAX_STARTS = 1_000  # beginnings of records tried on one damaged line


@dataclass(slots=True)
class Record:
    """One record: `offset` and `length` in the file, in bytes; `key` names it for ids; `parent` as
    declared.

    `declared` is False where the record says nothing of a parent. `up`, `inferred` (the parent is our
    conclusion), `below` and `aside` are filled in by the tree.
    """

    index: int
    line: int
    offset: int
    length: int
    digest: bytes
    kind: str
    key: str
    id: str | None = None
    parent: str | None = None
    declared: bool = False
    up: int | None = None
    inferred: bool = False
    below: list[int] = field(default_factory=list)
    aside: list[int] = field(default_factory=list)


@dataclass
class Records:
    """All records of a file in file order; `header` is the index of the session's, None when there is none."""

    records: list[Record] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    header: int | None = None
    session: str = ""
    version: int = 1
    array: list[int] = field(default_factory=list)  # as pi counts them: what parsed, the header first
    repaired: int = 0
    lines: int = 0

    def problem(self, code: str, line: int | None, text: str, *, lost: bool = False) -> None:
        """Note a finding."""
        self.problems.append(Problem(code, line, text, lost))


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
        self._content_keys: list[str] = []
        self._seen: dict[tuple[str, bytes], int] = {}
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
        records = self._found.records
        if kind == "session" and self._found.header is None and _text(value.get("id")):
            self._head(value, number)
            self._found.header = len(records)
        else:
            name = _text(value.get("id"))
            before = self._seen.get((name, digest)) if name and kind != "session" else None
            if before is None and not name and records and records[-1].digest == digest:
                before = records[-1].line
            if before is not None:
                text = f"the same record as on line {before}, byte for byte; taken once"
                self._found.problem("doubled_line", number, text)
                self._found.repaired += 1
                return
            if name:
                self._seen.setdefault((name, digest), number)
            if kind == "session":
                text = (
                    "a second session header; kept as a note"
                    if self._found.header is not None
                    else ("a session header without an id; kept as a note")
                )
                self._found.problem("second_header", number, text)
        self._found.array.append(len(records))
        named = self._found.header is not None and not self._legacy and _text(value.get("id")) is not None
        self._add(number, offset, len(raw), digest, kind, value, "" if named else content_key(value))

    def _head(self, value: JsonObject, number: int) -> None:
        self._found.session = _text(value.get("id")) or ""
        version = value.get("version")
        self._found.version = version if isinstance(version, int) and version > 0 else 1
        # A file that pi lifted from version 1 keeps its old header: its entry ids were made when it was lifted,
        # so that only the content tells that a record was taken in before.
        self._legacy = self._found.version == 1 or any(name in value for name in _LEGACY_HEADER)
        if any(record.kind != DAMAGED for record in self._found.records):
            self._found.problem("header_not_first", number, "the session header does not stand first")

    def _add(
        self, number: int, offset: int, length: int, digest: bytes, kind: str, value: JsonObject, content: str
    ) -> None:
        records = self._found.records
        record = Record(len(records), number, offset, length, digest, kind, "")
        record.id = _text(value.get("id")) if kind != "session" else None
        record.declared = "parentId" in value
        record.parent = _text(value.get("parentId"))
        records.append(record)
        self._content_keys.append(content)

    def name(self) -> None:
        """Give every record its key: the entry's id, or a digest of its content; `#n` from the n-th on."""
        used: Counter[str] = Counter()
        for record, content in zip(self._found.records, self._content_keys, strict=True):
            content = content or record.digest.hex()[:16]
            key = content if self._legacy or record.id is None or record.kind == DAMAGED else record.id
            if record.index == self._found.header:
                key = HEADER  # pi rewrites it when it lifts a file
            used[key] += 1
            record.key = key if used[key] == 1 else f"{key}#{used[key]}"
            if used[key] == 2 and record.id is not None and not self._legacy and record.kind != DAMAGED:
                text = (
                    f"entry id {record.id} is used again with other content; the last one counts, both are kept"
                )
                self._found.problem("duplicate_id", record.line, text)


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
