"""Strategies for single events: every type, every field, values at the edges of what is kept."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin

from hypothesis import strategies as st

from ledger.events import EVENT_TYPES, Event, from_json

_EDGES = ["", "\x00", "\ud800", "a\udfffb", "\u2028\u2029\x85", "  ", "é😀", '"\\/\b', "[erased]"]
text = st.one_of(st.sampled_from(_EDGES), st.text(max_size=12))
ids = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12)
numbers = st.one_of(
    st.integers(),
    st.sampled_from([0, -1, 2**53 + 1, 2**63, 10**4299, -(10**4299)]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([-0.0, 1e-320, 1.7976931348623157e308, 1.0]),
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, text),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(text, inner, max_size=3)),
    max_leaves=8,
)
json_objects = st.dictionaries(text, json_values, max_size=3)
blocks = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "file", "later"])}, optional={"text": text}
)
times = st.sampled_from(["2026-11-30T12:00:00Z", "2026-01-01t00:00:00.123456789+05:30", "2016-12-31T23:59:60Z"])

_BY_NAME = {
    "content": st.one_of(text, st.lists(blocks, max_size=3)),
    "at": times,
    "block_index": st.integers(0, 5),
    "source_version": st.integers(0, 9),
    "through_version": st.integers(0, 9),
    "usage": json_objects,
    "source": json_objects,
    "normalized": st.lists(text, max_size=2),
    "skeletons": st.dictionaries(ids, text, max_size=2),
    "duration_ms": st.one_of(st.integers(0, 10**6), st.floats(0, 1e6)),
    "event_ids": st.lists(ids, max_size=2),
    "turn_ids": st.lists(ids, max_size=2),
    "step_ids": st.lists(ids, max_size=2),
    "tool_call_id": st.one_of(st.just(""), ids),
}
_ID_NAMES = {"id", "conversation_id", "turn_id", "step_id", "agent_id", "parent_tool_call_id", "parent_turn_id"}
_ID_NAMES |= {"retry_of", "source_conversation_id"}


def _values(kind: str, name: str, annotation: Any) -> st.SearchStrategy[Any]:
    if kind == "tool_result" and name == "content":
        return json_values
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name in _ID_NAMES:
        return ids
    literals = [
        choice
        for part in (annotation, *get_args(annotation))
        if get_origin(part) is Literal
        for choice in get_args(part)
    ]
    if literals:
        return st.sampled_from(literals)
    if bool in (annotation, *get_args(annotation)):
        return st.booleans()
    if Any in (annotation, *get_args(annotation)):
        return (
            json_values
            if kind == "tool_start" and name == "args"
            else json_values.filter(lambda v: v is not None)
        )
    return text


@st.composite
def event_objects(draw: st.DrawFn) -> dict[str, Any]:
    """An event as a JSON object: any known type or an unknown one, with unknown fields."""
    kind = draw(st.sampled_from([*sorted(EVENT_TYPES), "hologram"]))
    if kind == "hologram":
        event: dict[str, Any] = {"type": kind, "conversation_id": draw(ids)}
    else:
        fields = EVENT_TYPES[kind].model_fields
        event = {"type": kind}
        for name, field in fields.items():
            if name != "type" and (field.is_required() or draw(st.booleans())):
                event[name] = draw(_values(kind, name, field.annotation))
    known = (
        set(EVENT_TYPES[kind].model_fields) if kind in EVENT_TYPES else set(EVENT_TYPES["note"].model_fields)
    )
    unknown = draw(
        st.dictionaries(st.sampled_from(["future_field", "x", "Ünknown", "a b"]), json_values, max_size=2)
    )
    event.update({name: value for name, value in unknown.items() if name not in known})
    return event


def events() -> st.SearchStrategy[Event]:
    """Any event, as its model."""
    return event_objects().map(from_json)
