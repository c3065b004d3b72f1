"""The door: what comes from outside becomes an event here, or is refused with a clear error.

The limits are those of DESIGN.md 3.3, checked once; what the store gives back was checked when it came in.
Nothing here changes a value: recorders and importers that may not lose an event mend it before they knock.
"""

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import NoReturn, cast

from pydantic import ValidationError

from ledger.errors import (
    BadInput,
    EventTooLarge,
    IntegerTooLong,
    InvalidEvent,
    NestingTooDeep,
    NotFinite,
    NotJson,
    NotUtf8,
)
from ledger.events import (
    EVENT_TYPES,
    MAX_DEPTH,
    MAX_EVENT_BYTES,
    MAX_ID_LENGTH,
    MAX_INT_DIGITS,
    BaseEvent,
    Event,
    Json,
    JsonObject,
    SystemMessage,
    UserMessage,
    from_json,
    json_bytes,
    null_is_value,
    to_json,
)
from ledger.recorded import EncodedEvent

_ID_FIELDS = (
    "id",
    "conversation_id",
    "turn_id",
    "step_id",
    "agent_id",
    "parent_tool_call_id",
    "parent_turn_id",
    "retry_of",
    "source_conversation_id",
)
_ID_LISTS = ("turn_ids", "step_ids", "event_ids")
_BAD_IN_ID = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_TIMESTAMP = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)  # RFC 3339 section 5.6
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_LEAST_LONG_INT = 10**MAX_INT_DIGITS
_MAX_PATH = 100


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


_SNAKE_OF: dict[str, dict[str, str]] = {
    kind: {_camel(name): name for name in model.model_fields if "_" in name}
    for kind, model in EVENT_TYPES.items()
}
_ENVELOPE_SNAKE = {_camel(name): name for name in BaseEvent.model_fields if "_" in name}


def parse_line(line: bytes) -> Event:
    """The event that one line of JSON spells (UTF-8, with or without its newline).

    Raises the `BadInput` class of what is wrong with it: `NotUtf8`, `NotJson`, a limit, or `InvalidEvent`.
    """
    if len(line) > MAX_EVENT_BYTES + 2:  # room for a line end
        raise EventTooLarge(field="event", limit=MAX_EVENT_BYTES, actual=len(line))
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise NotUtf8(offset=error.start, byte=f"{line[error.start]:02x}") from None
    try:
        data = json.loads(text, parse_constant=_refuse_constant, parse_int=_parse_int)
    except json.JSONDecodeError as error:
        raise NotJson(problem=f"{error.msg} at column {error.pos + 1}") from None
    except RecursionError:
        raise NestingTooDeep(field="event", limit=MAX_DEPTH, actual=_nesting(line)) from None
    if not isinstance(data, dict):
        raise InvalidEvent(field="event", problem=f"must be a JSON object, not {_kind(data)}")
    return parse_event(data)


def parse_event(data: Mapping[str, Json], conversation_id: str | None = None) -> Event:
    """The event that a JSON object spells; camelCase spellings of known fields are accepted.

    `conversation_id` fills in an absent one. Raises `InvalidEvent` naming the field and the problem, or the
    class of the limit that was passed (`NestingTooDeep`, `NotFinite`, `IntegerTooLong`).
    """
    kind = data.get("type")
    if not isinstance(kind, str) or not kind:
        problem = "is missing" if kind is None else f"must be a non-empty string, not {_kind(kind)}"
        raise InvalidEvent(field="type", problem=problem)
    spelled = _snake_cased(data, _SNAKE_OF.get(kind, _ENVELOPE_SNAKE))
    if conversation_id is not None:
        spelled.setdefault("conversation_id", conversation_id)
    checked = cast(JsonObject, _checked(spelled, 1))
    model = EVENT_TYPES.get(kind, BaseEvent)
    for name in [name for name, value in checked.items() if value is None]:
        if name in model.model_fields and not model.model_fields[name].is_required():
            del checked[name]  # null in an optional field is the same as absent
        elif name in model.model_fields and not null_is_value(kind, name):
            raise InvalidEvent(field=name, problem="is required and must not be null")
    try:
        event = from_json(checked)
    except ValidationError as error:
        raise _invalid(error, kind) from None
    _check_meaning(event)
    return event


def admit(event: BaseEvent | Mapping[str, Json], conversation_id: str, made_id: str) -> EncodedEvent:
    """What the store keeps of an event given to a conversation; `made_id` names it when it has no id.

    Raises as `parse_event` does, `InvalidEvent` when the event says it belongs to another conversation, and
    `EventTooLarge` over 16 MiB of stored JSON.
    """
    data = to_json(event) if isinstance(event, BaseEvent) else event
    checked = parse_event(data, conversation_id)
    if checked.conversation_id != conversation_id:
        raise InvalidEvent(
            field="conversation_id", problem=f"is {checked.conversation_id!r}, given to {conversation_id!r}"
        )
    stored = to_json(checked)
    event_id = stored.setdefault("id", made_id)
    body = json_bytes(stored)
    if len(body) > MAX_EVENT_BYTES:
        raise EventTooLarge(field="event", limit=MAX_EVENT_BYTES, actual=len(body))
    return EncodedEvent(cast(str, event_id), checked.type, checked.turn_id, checked.step_id, body)


def check_id(field: str, value: object, *, may_be_empty: bool = False) -> None:
    """Check that `value` is an id: 1-200 characters, no control characters, no surrogates (DESIGN.md 3.1).

    Raises `InvalidEvent` naming `field`.
    """
    if not isinstance(value, str):
        raise InvalidEvent(field=field, problem=f"must be a string, not {_kind(value)}")
    if not value and not may_be_empty:
        raise InvalidEvent(field=field, problem="must not be empty")
    if len(value) > MAX_ID_LENGTH:
        raise InvalidEvent(
            field=field, problem=f"has {len(value)} characters, over the limit of {MAX_ID_LENGTH}"
        )
    if bad := _BAD_IN_ID.search(value):
        raise InvalidEvent(field=field, problem=f"holds U+{ord(bad[0]):04X}, which an id may not")


def _snake_cased(data: Mapping[str, Json], names: Mapping[str, str]) -> dict[str, Json]:
    spelled = dict(data)
    for camel in [key for key in spelled if key in names]:
        if names[camel] not in spelled:  # else both spellings were given: the second one stays an unknown field
            spelled[names[camel]] = spelled.pop(camel)
    return spelled


def _checked(value: object, depth: int) -> Json:
    """`value` as plain JSON within the limits, in new containers: no caller can change what was admitted."""
    if isinstance(value, str):
        # The two halves of a pair that stand apart are one character in JSON, to any reader: joined here.
        if _SURROGATE_PAIR.search(value):
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return value if type(value) is str else str.__str__(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Mapping):
        if depth > MAX_DEPTH:
            raise NestingTooDeep(field="", limit=MAX_DEPTH, actual=depth - 1 + _depth(value))
        checked: JsonObject = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidEvent(field="", problem=f"has the key {key!r}; keys of JSON objects are strings")
            try:
                checked[key] = _checked(item, depth + 1)
            except BadInput as error:
                raise _inside(key, error) from None
        return checked
    if isinstance(value, list | tuple):
        if depth > MAX_DEPTH:
            raise NestingTooDeep(field="", limit=MAX_DEPTH, actual=depth - 1 + _depth(value))
        items: list[Json] = []
        for at, item in enumerate(value):
            try:
                items.append(_checked(item, depth + 1))
            except BadInput as error:
                raise _inside(f"[{at}]", error) from None
        return items
    if isinstance(value, int):
        if abs(value) >= _LEAST_LONG_INT:
            digits = int(value.bit_length() * math.log10(2)) + 1
            raise IntegerTooLong(field="", limit=MAX_INT_DIGITS, actual=digits)
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotFinite(field="", limit="finite numbers", actual=str(float(value)))
        return float(value)
    raise InvalidEvent(field="", problem=f"a Python {type(value).__name__} is not JSON")


def _inside(step: str, error: BadInput) -> BadInput:
    """The same error with its path one level further out; the middle of a very long path is left out."""
    inner = str(error.attributes["field"])
    path = f"{step}{inner}" if not inner or inner.startswith("[") else f"{step}.{inner}"
    if len(path) > _MAX_PATH:
        path = path[: _MAX_PATH // 2] + "…" + path[-_MAX_PATH // 2 :]
    return type(error)(**{**error.attributes, "field": path})


def _check_meaning(event: Event) -> None:
    given = event.__dict__  # a model answers slowly for a field that it does not have
    for name in _ID_FIELDS:
        if (value := given.get(name)) is not None:
            check_id(name, value)
    for name in _ID_LISTS:
        for at, value in enumerate(given.get(name) or ()):
            check_id(f"{name}[{at}]", value)
    if (call := given.get("tool_call_id")) is not None:
        check_id("tool_call_id", call, may_be_empty=True)  # providers do send empty ones; replay copes
    if event.at is not None:
        _check_timestamp(event.at)
    for name in ("block_index", "source_version", "through_version"):
        if (number := given.get(name)) is not None and number < 0:
            raise InvalidEvent(field=name, problem="must be 0 or more")
    if isinstance(event, UserMessage | SystemMessage) and not isinstance(event.content, str):
        for at, block in enumerate(event.content):
            if not isinstance(block.get("type"), str):
                raise InvalidEvent(
                    field=f"content[{at}].type", problem="a block needs a type: text, image or file"
                )


def _check_timestamp(at: str) -> None:
    if not _TIMESTAMP.fullmatch(at):
        raise InvalidEvent(
            field="at", problem=f"{at[:40]!r} is not an RFC 3339 time with offset, e.g. 2026-11-30T12:00:00Z"
        )
    try:
        datetime.fromisoformat(at[:10])
    except ValueError as error:
        raise InvalidEvent(field="at", problem=f"{at!r}: {error}") from None
    hour, minute, second = (int(part) for part in (at[11:13], at[14:16], at[17:19]))
    if hour > 23 or minute > 59 or second > 60:  # 60: a leap second
        raise InvalidEvent(field="at", problem=f"{at!r} names no time of day")


def _invalid(error: ValidationError, kind: str) -> BadInput:
    """Pydantic's first complaint as ours: the path without the union's own tags, and a plain sentence."""
    first = error.errors(include_url=False, include_context=False)[0]
    field = ""
    for part in first["loc"][1:] if first["loc"][:1] == (kind,) else first["loc"]:
        if isinstance(part, int):
            field += f"[{part}]"
        elif part.isidentifier() and part not in ("str", "int", "float"):
            field += f".{part}" if field else part
    if first["type"] == "missing":
        return InvalidEvent(field=field, problem=f"is required in {kind}")
    said = first["msg"].removeprefix("Input ").replace("an instance of str", "a string")
    if field == "content":
        said = "should be a string or a list of blocks"
    return InvalidEvent(field=field or "event", problem=f"{said}, not {_kind(first['input'])}")


def _refuse_constant(name: str) -> NoReturn:
    raise NotFinite(field="event", limit="finite numbers", actual=name)


def _parse_int(digits: str) -> int:
    count = len(digits.lstrip("-"))
    if count > MAX_INT_DIGITS:
        raise IntegerTooLong(field="event", limit=MAX_INT_DIGITS, actual=count)
    return int(digits)


def _nesting(line: bytes) -> int:
    """The deepest nesting of JSON text too deep to be parsed."""
    depth = deepest = 0
    for byte in _STRINGS.sub(b"", line):
        if byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def _depth(value: object) -> int:
    """How many levels of containers `value` has, itself included; without recursion."""
    deepest, level = 0, [value]
    while level := [item for item in level if isinstance(item, list | tuple | Mapping)]:
        deepest += 1
        level = [inner for item in level for inner in (item.values() if isinstance(item, Mapping) else item)]
    return deepest


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return f"{value[:40]!r}"
    names = {bool: "a boolean", int: "an integer", float: "a number", list: "an array", dict: "an object"}
    return names.get(type(value), f"a Python {type(value).__name__}")
