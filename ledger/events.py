"""The vocabulary: every event a conversation can hold, as frozen pydantic models in one union.

Field names and meanings are those of DESIGN.md 3. Values that a runtime owns (arguments, results, metadata) are
plain JSON and come back as they were given; unknown fields and unknown types survive unchanged. The models
carry shape only: the limits of DESIGN.md 3.3 are checked once, at the door (`ledger.admission`), so that
reading back what is stored costs no more than decoding it.
"""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeGuard

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, core_schema

if TYPE_CHECKING:
    Json: TypeAlias = str | int | float | bool | list["Json"] | dict[str, "Json"] | None
    JsonObject: TypeAlias = dict[str, Json]
else:  # at run time plain containers: what comes out of a JSON reader needs no second walk
    Json = Any
    JsonObject = dict

SCHEMA = 1
"""The version of this vocabulary, stored with every event; `upcast` lifts older ones."""

MAX_EVENT_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 200
MAX_BATCH = 10_000
MAX_INT_DIGITS = 4_300
MAX_ID_LENGTH = 200


class _AnyString:
    """`str` that may hold lone surrogates: pydantic's own check refuses them, DESIGN.md 3.3 keeps them."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.json_or_python_schema(
            core_schema.str_schema(), core_schema.is_instance_schema(str, cls_repr="str")
        )


Text: TypeAlias = Annotated[str, _AnyString()]
Content: TypeAlias = Text | list[JsonObject]
"""A string, or blocks: `{"type": "text", "text"}`, `{"type": "image"|"file", ...}`, kept as recorded."""


class BaseEvent(BaseModel):
    """The envelope of DESIGN.md 3.1."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    type: Text
    id: Text | None = None
    conversation_id: Text
    turn_id: Text | None = None
    step_id: Text | None = None
    at: Text | None = None
    agent_id: Text | None = None
    parent_tool_call_id: Text | None = None
    visibility: Literal["visible", "hidden"] | None = None
    block_index: int | None = None
    provider_metadata: Json = None
    source: JsonObject | None = None
    normalized: list[Text] | None = None

    @property
    def hidden(self) -> bool:
        """True when the event is recorded and shown as hidden, and never sent to a model."""
        return self.visibility == "hidden"

    @property
    def fields(self) -> Mapping[str, Json]:
        """The fields this version does not know (all of a note's own), by name."""
        return self.__pydantic_extra__ or {}


class TurnEvent(BaseEvent):
    """An event that must name its turn."""

    turn_id: Text


class UserMessage(TurnEvent):
    type: Literal["user_message"] = "user_message"
    content: Content
    message_id: Text | None = None
    steering: bool | None = None  # sent into a running turn
    origin: Literal["person", "runtime"] | None = None  # runtime: injected context that nobody typed


class SystemMessage(BaseEvent):
    type: Literal["system_message"] = "system_message"
    content: Content


class Context(BaseEvent):
    """What the model is given beside the messages; written when it changes."""

    type: Literal["context"] = "context"
    digest: Text
    system: Json = None
    tools: Json = None
    settings: Json = None


class ToolApproval(TurnEvent):
    type: Literal["tool_approval"] = "tool_approval"
    tool_call_id: Text
    decision: Literal["requested", "approved", "denied", "expired"]
    by: Text | None = None
    args: Json = None  # as edited


class Erasure(BaseEvent):
    type: Literal["erasure"] = "erasure"
    event_ids: list[Text]
    reason: Text
    basis: Text | None = None
    skeletons: dict[Text, Text]  # event id -> SHA-256 of what is left of it


class TurnStart(TurnEvent):
    type: Literal["turn_start"] = "turn_start"
    runtime: Text | None = None
    parent_turn_id: Text | None = None


class StepStart(TurnEvent):
    type: Literal["step_start"] = "step_start"
    provider: Text | None = None
    api: Text | None = None
    model: Text | None = None
    retry_of: Text | None = None  # the step this attempt replaces
    context: Text | None = None  # digest of the context in force
    request_fingerprint: Text | None = None


class ThinkingComplete(TurnEvent):
    type: Literal["thinking_complete"] = "thinking_complete"
    text: Text
    signature: Text | None = None
    redacted_data: Text | None = None


class TextComplete(TurnEvent):
    type: Literal["text_complete"] = "text_complete"
    text: Text  # may be empty: the closer of a step without text


class ToolStart(TurnEvent):
    type: Literal["tool_start"] = "tool_start"
    tool_call_id: Text
    tool_name: Text
    args: Json  # a string that did not parse is kept as it is
    provider_executed: bool | None = None


class ToolResult(TurnEvent):
    type: Literal["tool_result"] = "tool_result"
    tool_call_id: Text
    content: Json
    is_error: bool | None = None
    tool_name: Text | None = None
    duration_ms: int | float | None = None
    final: bool | None = None  # absent = true
    provider_executed: bool | None = None
    structured: Json = None  # the runtime's richer twin of content, never replayed


class StepFinish(TurnEvent):
    type: Literal["step_finish"] = "step_finish"
    finish_reason: Text | None = None
    usage: JsonObject | None = None
    response_id: Text | None = None
    replay_state: Json = None
    dropped: Json = None  # what was left out and why


class TokenUsage(TurnEvent):
    """input, output, cache_read, cache_write, reasoning: disjoint, but reasoning is inside output."""

    type: Literal["token_usage"] = "token_usage"
    usage: JsonObject


class Complete(TurnEvent):
    type: Literal["complete"] = "complete"
    stop_reason: Text | None = None


class Error(TurnEvent):
    """Terminal unless `retryable`."""

    type: Literal["error"] = "error"
    message: Text
    code: Text | None = None
    reason: Text | None = None
    retryable: bool | None = None


class Abort(TurnEvent):
    type: Literal["abort"] = "abort"
    reason: Text | None = None


class Compaction(BaseEvent):
    """Replay shows `summary` in place of all up to `through_version`; views keep everything."""

    type: Literal["compaction"] = "compaction"
    summary: Text
    through_version: int


class Retraction(BaseEvent):
    """A rewind or an undo: what it names stays in the ledger, marked, and is left out of replay."""

    type: Literal["retraction"] = "retraction"
    turn_ids: list[Text] | None = None
    step_ids: list[Text] | None = None
    event_ids: list[Text] | None = None


class Fork(BaseEvent):
    """First event of a branch; reads continue into the source."""

    type: Literal["fork"] = "fork"
    source_conversation_id: Text
    source_version: int


class Note(BaseEvent):
    """Free-form; also what an importer could not map, verbatim, with its source line."""

    type: Literal["note"] = "note"


class TextDelta(BaseEvent):
    type: Literal["text_delta"] = "text_delta"


class ThinkingDelta(BaseEvent):
    type: Literal["thinking_delta"] = "thinking_delta"


class ToolOutputDelta(BaseEvent):
    type: Literal["tool_output_delta"] = "tool_output_delta"


class UnknownEvent(BaseEvent):
    """An event of a type this version does not know: stored as it is, shown as a note, skipped by replay."""


KnownEvent: TypeAlias = (
    UserMessage
    | SystemMessage
    | Context
    | ToolApproval
    | Erasure
    | TurnStart
    | StepStart
    | ThinkingComplete
    | TextComplete
    | ToolStart
    | ToolResult
    | StepFinish
    | TokenUsage
    | Complete
    | Error
    | Abort
    | Compaction
    | Retraction
    | Fork
    | Note
    | TextDelta
    | ThinkingDelta
    | ToolOutputDelta
)
Event: TypeAlias = KnownEvent | UnknownEvent

_ADAPTER: TypeAdapter[KnownEvent] = TypeAdapter(Annotated[KnownEvent, Field(discriminator="type")])

EVENT_TYPES: dict[str, type[BaseEvent]] = {
    model.model_fields["type"].default: model for model in KnownEvent.__args__
}
DELTA_TYPES = frozenset({"text_delta", "thinking_delta", "tool_output_delta"})

# Fields where null is a value and not "absent".
_NULL_IS_A_VALUE: dict[str, frozenset[str]] = {
    "tool_start": frozenset({"args"}),
    "tool_result": frozenset({"content"}),
}
_NOTHING: frozenset[str] = frozenset()


def is_delta(event: BaseEvent) -> bool:
    """True for the live-display types, which are broadcast and never stored."""
    return event.type in DELTA_TYPES


def is_terminal(event: BaseEvent) -> TypeGuard[Complete | Abort | Error]:
    """True for `complete`, `abort`, and `error` without `retryable` (DESIGN.md 3.2)."""
    return isinstance(event, Complete | Abort) or (isinstance(event, Error) and not event.retryable)


def is_terminal_type(event_type: str, retryable: object) -> bool:
    """The same for an event that is only JSON yet."""
    return event_type in ("complete", "abort") or (event_type == "error" and retryable is not True)


def null_is_value(event_type: str, field: str) -> bool:
    """True where a field of this type keeps a null that was given (`args`, a result's `content`)."""
    return field in fields_with_null(event_type)


def fields_with_null(event_type: str) -> frozenset[str]:
    """The fields of a type that keep a null that was given."""
    return _NULL_IS_A_VALUE.get(event_type, _NOTHING)


def to_json(event: BaseEvent) -> JsonObject:
    """The event as the JSON object that is stored: declared order, no absent fields, unknown ones last."""
    keep = _NULL_IS_A_VALUE.get(event.type, _NOTHING)
    data = {name: value for name, value in event.__dict__.items() if value is not None or name in keep}
    if event.__pydantic_extra__:
        data.update(event.__pydantic_extra__)
    return data


def from_json(data: JsonObject) -> Event:
    """The event that a JSON object of this schema spells.

    Raises pydantic's `ValidationError` when the fields do not fit; `ledger.admission` turns it into ours.
    """
    if data.get("type") in EVENT_TYPES:
        return _ADAPTER.validate_python(data)
    return UnknownEvent.model_validate(data)


_SURROGATE = re.compile("[\ud800-\udfff]")
_dump = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def json_bytes(data: Json) -> bytes:
    """Compact UTF-8 JSON; lone surrogates as `\\uXXXX` escapes, everything else as it is.

    Raises `ValueError` for NaN and infinity, `TypeError` for what is not JSON.
    """
    text = _dump(data)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()


def encode(event: BaseEvent) -> bytes:
    """The bytes that are stored for an event; `decode(encode(event)) == event`."""
    return json_bytes(to_json(event))


def decode(body: bytes, schema: int = SCHEMA) -> Event:
    """The event whose stored bytes are given, lifted from an older schema where need be.

    Raises `ValueError` (pydantic's `ValidationError` is one) when the bytes are not an event.
    """
    if schema == SCHEMA:
        try:
            return _ADAPTER.validate_json(body)
        except ValidationError:
            pass  # an unknown type, a lone surrogate or deep nesting: the slower reader takes them all
    data = json.loads(body)
    if not isinstance(data, dict):
        raise ValueError(f"a stored event is a JSON object, not {type(data).__name__}")
    return from_json(upcast(schema, data))


def upcast(schema: int, data: JsonObject) -> JsonObject:
    """Lift an event's JSON from the schema it was stored with to the current one; pure.

    There is one schema so far. Raises `ValueError` for one that this version does not know.
    """
    if schema != SCHEMA:
        raise ValueError(f"events of schema {schema} need a newer turnledger (this one reads up to {SCHEMA})")
    return data
