"""JSON that is kept whatever it holds: what the ledger's limits refuse is changed, and marked as changed.

Live recording and imports may not lose an event because a number is not finite or a byte is not UTF-8
(DESIGN.md 3.3). The reader here turns such values into strings of the class `Mended`; they travel through a
mapping like any string, and `collect` takes the marks off an event and lists their paths for its
`normalized` field.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from typing import cast

from pydantic_core import from_json, to_json

from ledger.events import MAX_EVENT_BYTES, MAX_INT_DIGITS, Json, JsonObject, json_bytes

MAX_RECORD_DEPTH = 190
"""Levels of nesting that a record keeps: an event has a few of its own around it and may have 200."""


class NotARecord(ValueError):
    """The bytes are not JSON; the text says why."""


class Mended(str):
    """A string that stands for a value which could not be kept as it was."""

    __slots__ = ()


def read_record(raw: bytes) -> tuple[Json, bool]:
    """The JSON value of one record, and whether anything in it had to be mended.

    Raises `NotARecord` when the bytes are not JSON or nest too deep to be read at all.
    """
    try:
        # Reads what is sound as `json` does, in half the time. It refuses what is to be mended, but for numbers
        # that are too large.
        value: Json = from_json(raw, allow_inf_nan=False)
    except ValueError:
        return _read_with_marks(raw)
    containers: list[list[Json]] = [[value]]
    for container in containers:
        for item in container:
            kind = type(item)
            if kind is dict:
                containers.append(item.values())  # type: ignore[arg-type, union-attr]
            elif kind is list:
                containers.append(item)  # type: ignore[arg-type]
            elif kind is float and math.isinf(item):  # type: ignore[arg-type]
                return _read_with_marks(raw)
    if len(containers) > MAX_RECORD_DEPTH and deeper(value, MAX_RECORD_DEPTH):
        return _cut(value, MAX_RECORD_DEPTH), True
    return value, False


def _read_with_marks(raw: bytes) -> tuple[Json, bool]:
    mended = False
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode(errors="replace")
        mended = True
    marks = _Marks()
    try:
        value = marks.loads(text)
        if mended:
            value = mark_replaced(value)
        if raw.count(b"[") + raw.count(b"{") > MAX_RECORD_DEPTH and deeper(value, MAX_RECORD_DEPTH):
            value = _cut(value, MAX_RECORD_DEPTH)
            mended = True
    except json.JSONDecodeError as error:
        raise NotARecord(f"{error.msg} at byte {len(text[: error.pos].encode(errors='replace'))}") from None
    except RecursionError:
        raise NotARecord("nested too deep to be read") from None
    return value, mended or marks.used


class _Marks:
    """A JSON reader that turns numbers the ledger cannot hold into marked strings."""

    def __init__(self) -> None:
        self.used = False

    def loads(self, text: str) -> Json:
        try:
            return cast(Json, json.loads(text, parse_float=self._float, parse_constant=self._text))
        except json.JSONDecodeError:
            raise
        except ValueError:  # an integer over the interpreter's own limit of digits
            return cast(
                Json,
                json.loads(text, parse_float=self._float, parse_constant=self._text, parse_int=self._integer),
            )

    def _text(self, spelled: str) -> str:
        self.used = True
        return Mended(spelled)

    def _float(self, spelled: str) -> float | str:
        number = float(spelled)
        return number if math.isfinite(number) else self._text(spelled)

    def _integer(self, spelled: str) -> int | str:
        return int(spelled) if len(spelled.lstrip("-")) <= MAX_INT_DIGITS else self._text(spelled)


def mark_replaced(value: Json) -> Json:
    """The value with every string that holds U+FFFD marked: what was read from bytes that were not UTF-8."""
    if isinstance(value, str):
        return Mended(value) if "\ufffd" in value else value
    if isinstance(value, list):
        return [mark_replaced(item) for item in value]
    if isinstance(value, dict):
        return {name: mark_replaced(item) for name, item in value.items()}
    return value


def deeper(value: Json, levels: int) -> bool:
    """Whether `value` nests deeper than so many levels, itself included."""
    level: list[Json] = [value]
    while level := [item for item in level if isinstance(item, list | dict)]:
        levels -= 1
        if levels < 0:
            return True
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return False


def _cut(value: Json, levels: int) -> Json:
    if not isinstance(value, list | dict):
        return value
    if levels == 0:
        return Mended(json.dumps(value, ensure_ascii=False))
    if isinstance(value, list):
        return [_cut(item, levels - 1) for item in value]
    return {name: _cut(item, levels - 1) for name, item in value.items()}


def as_text(value: Json) -> str:
    """`value` where a string must stand: itself, nothing for null, else its JSON, marked as mended."""
    if isinstance(value, str):
        return value
    return "" if value is None else Mended(json.dumps(value, ensure_ascii=False))


def collect(event: JsonObject) -> JsonObject:
    """The event with its marks taken off and their paths listed in `normalized`; itself when there are
    none."""
    if not _is_marked(event):
        return event
    paths: list[Json] = []
    plain = cast(JsonObject, _plain(event, "", paths))
    if paths:
        listed = plain.get("normalized")
        plain["normalized"] = [*(listed if isinstance(listed, list) else ()), *paths]
    return plain


def collected(event: JsonObject) -> tuple[JsonObject, bytes]:
    """The event as `collect` gives it, and its `json_bytes`."""
    if _is_plain(event):
        try:
            return event, to_json(event)
        except ValueError:  # half of a surrogate pair
            pass
    plain = collect(event)
    return plain, json_bytes(plain)


_PLAIN = frozenset({str, int, bool, type(None)})


def _is_plain(event: JsonObject) -> bool:
    """Whether nothing in it is marked, or a number with a fraction: those are spelled in more than one way."""
    containers: list[list[Json] | JsonObject] = [event]
    for container in containers:
        for item in container if type(container) is list else container.values():  # type: ignore[union-attr]
            kind = type(item)
            if kind in _PLAIN:
                continue
            if kind is not dict and kind is not list:
                return False
            containers.append(item)  # type: ignore[arg-type]
    return True


_UNMARKED = frozenset({str, int, float, bool, type(None)})


def _is_marked(value: Json) -> bool:
    if isinstance(value, dict):
        return any(type(item) not in _UNMARKED and _is_marked(item) for item in value.values())
    if isinstance(value, list):
        return any(type(item) not in _UNMARKED and _is_marked(item) for item in value)
    return isinstance(value, Mended)


def _plain(value: Json, path: str, paths: list[Json]) -> Json:
    if isinstance(value, Mended):
        paths.append(path)
        return str.__str__(value)
    if isinstance(value, dict):
        return {
            str.__str__(name): _plain(item, f"{path}.{name}" if path else name, paths)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_plain(item, f"{path}[{at}]", paths) for at, item in enumerate(value)]
    return value


_CONTENT: dict[str, tuple[str, ...]] = {
    "user_message": ("content",),
    "system_message": ("content",),
    "thinking_complete": ("text", "signature", "redacted_data"),
    "text_complete": ("text",),
    "tool_start": ("args",),
    "tool_result": ("content", "structured"),
    "compaction": ("summary",),
    "error": ("message",),
    "note": ("entry", "text", "bytes", "base64"),
}
_KEPT = frozenset(
    (
        "type",
        "id",
        "conversation_id",
        "turn_id",
        "step_id",
        "at",
        "agent_id",
        "parent_tool_call_id",
        "visibility",
        "block_index",
        "provider_metadata",
        "normalized",
        "tool_call_id",
        "digest",
        "kind",
        "decision",
        "source_conversation_id",
        "source_version",
        "through_version",
        "event_ids",
        "skeletons",
    )
)
_MUST_BE_TEXT = frozenset({"text", "signature", "redacted_data", "summary", "message"})


def within_size(event: JsonObject, limit: int = MAX_EVENT_BYTES) -> JsonObject:
    """The event itself, or, over `limit` bytes of JSON, a copy whose content is `{"omitted_bytes",
    "sha256"}`.

    Content fields go first, largest first, then `provider_metadata`, only as many as it takes; fields that
    must be text hold the same object as JSON text. When even that is not enough, other fields go, but ids and
    what tells the event's kind. The paths are in `normalized` (DESIGN.md 3.3).
    """
    if len(json_bytes(event)) <= limit:
        return event
    small = dict(event)
    names = [name for name in _CONTENT.get(str(event["type"]), ()) if name in event]
    others = [name for name in event if name not in _KEPT and name not in names]
    for name in (*_largest_first(event, names), "provider_metadata", *_largest_first(event, others)):
        if name in small and len(json_bytes(small)) > limit:
            body = json_bytes(small[name])
            gone: JsonObject = {"omitted_bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
            message = name == "content" and small["type"] in ("user_message", "system_message")
            as_string = name in _MUST_BE_TEXT or message or (name in others and isinstance(small[name], str))
            small[name] = json.dumps(gone) if as_string else gone
            listed = small.get("normalized")
            small["normalized"] = [*(listed if isinstance(listed, list) else ()), name]
    return small


def _largest_first(event: JsonObject, names: list[str]) -> Iterator[str]:
    sizes = {name: len(json_bytes(event[name])) for name in names}
    return iter(sorted(names, key=lambda name: -sizes[name]))


def plain_json(value: object) -> Json:
    """`value` of a Python program as JSON that the ledger takes, whatever it is; what had to be changed is
    marked.

    Tuples become lists; numbers that are not finite or too long, bytes and other objects become strings; so
    do keys that are none, and what nests too deep.
    """
    return _plain_json(value, MAX_RECORD_DEPTH)


def _plain_json(value: object, levels: int) -> Json:
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return cast(Json, value)
    if isinstance(value, str):
        return value if isinstance(value, Mended) else str.__str__(value)
    if isinstance(value, int):
        return int(value) if abs(value) < _LEAST_LONG_INT else Mended(hex(value))
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else Mended(_SPELLED.get(str(float(value)), "NaN"))
    if isinstance(value, bytes | bytearray | memoryview):
        return Mended(bytes(value).decode(errors="replace"))
    if not isinstance(value, Mapping | list | tuple | set | frozenset):
        return Mended(repr(value))
    if levels == 0:
        return Mended(_shown(value))
    if isinstance(value, Mapping):
        return {_key(name): _plain_json(item, levels - 1) for name, item in value.items()}
    return [_plain_json(item, levels - 1) for item in value]


def _shown(value: object) -> str:
    try:
        return repr(value)[:10_000]
    except RecursionError:
        return "nested too deep to be shown"


def _key(name: object) -> str:
    return str.__str__(name) if isinstance(name, str) else str(name)


_LEAST_LONG_INT = 10**MAX_INT_DIGITS
_SPELLED = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
