"""Bad input is refused at the door: one class a limit, naming the field, the limit and what was found."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.admission import admit, parse_event, parse_line
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
from ledger.events import MAX_DEPTH, MAX_EVENT_BYTES, TextComplete, ToolStart, UnknownEvent, encode, to_json

CALL = {"type": "tool_start", "conversation_id": "c", "turn_id": "t", "tool_call_id": "x", "tool_name": "f"}
TEXT = {"type": "text_complete", "conversation_id": "c", "turn_id": "t", "text": "hi"}


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("line", "problem", "message"),
    [
        (b"{", NotJson, "column"),
        (b"", NotJson, "column 1"),
        (b'{"type":"note"}{"type":"note"}', NotJson, "column 16"),
        (b'{"type":"note","conversation_id":"\xe4\xbd"}', NotUtf8, "byte 34"),
        (b"[1]", InvalidEvent, "an array"),
        (b"{}", InvalidEvent, "field type: is missing"),
        (b'{"type":3}', InvalidEvent, "an integer"),
        (
            b'{"type":"text_complete","conversation_id":"c","turn_id":"t"}',
            InvalidEvent,
            "field text: is required",
        ),
        (b'{"type":"text_complete","turn_id":"t","text":""}', InvalidEvent, "field conversation_id"),
        (b'{"type":"text_complete","conversation_id":"c","text":""}', InvalidEvent, "field turn_id"),
        (b'{"type":"text_complete","conversation_id":"c","turn_id":"t","text":null}', InvalidEvent, "null"),
        (b'{"type":"text_complete","conversation_id":"c","turn_id":"t","text":1}', InvalidEvent, "a string"),
        (b'{"type":"complete","conversation_id":"","turn_id":"t"}', InvalidEvent, "must not be empty"),
        (b'{"type":"complete","conversation_id":"c","turn_id":"t\\n"}', InvalidEvent, "U+000A"),
        (b'{"type":"complete","conversation_id":"c","turn_id":"\\ud800"}', InvalidEvent, "U+D800"),
        (b'{"type":"complete","conversation_id":"c","turn_id":"' + b"x" * 201 + b'"}', InvalidEvent, "201"),
        (b'{"type":"complete","conversation_id":"c","turn_id":"t","visibility":"odd"}', InvalidEvent, "hidden"),
        (
            b'{"type":"complete","conversation_id":"c","turn_id":"t","at":"2026-01-01T00:00:00"}',
            InvalidEvent,
            "offset",
        ),
        (
            b'{"type":"complete","conversation_id":"c","turn_id":"t","at":"2026-02-30T00:00:00Z"}',
            InvalidEvent,
            "at",
        ),
        (
            b'{"type":"complete","conversation_id":"c","turn_id":"t","at":"2026-02-03T25:00:00Z"}',
            InvalidEvent,
            "time",
        ),
        (
            b'{"type":"complete","conversation_id":"c","turn_id":"t","block_index":-1}',
            InvalidEvent,
            "0 or more",
        ),
        (
            b'{"type":"error","conversation_id":"c","turn_id":"t","message":"m","retryable":"no"}',
            InvalidEvent,
            "boolean",
        ),
        (
            b'{"type":"user_message","conversation_id":"c","turn_id":"t","content":[{}]}',
            InvalidEvent,
            "content[0]",
        ),
        (
            b'{"type":"user_message","conversation_id":"c","turn_id":"t","content":{"a":1}}',
            InvalidEvent,
            "blocks",
        ),
    ],
)
def test_a_bad_line_is_refused_with_its_reason(line: bytes, problem: type[BadInput], message: str) -> None:
    with pytest.raises(problem) as caught:
        parse_line(line)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value.at_line(7)).startswith("line 7: ")


def limits(error: BadInput) -> tuple[object, object, object]:
    return tuple(error.attributes[name] for name in ("field", "limit", "actual"))  # type: ignore[return-value]


def test_nesting_counts_the_event_as_level_one() -> None:
    assert parse_event({**CALL, "args": nested(MAX_DEPTH - 1)}).type == "tool_start"
    with pytest.raises(NestingTooDeep) as caught:
        parse_event({**CALL, "args": nested(MAX_DEPTH)})
    assert limits(caught.value)[1:] == (200, 201)
    assert str(limits(caught.value)[0]).startswith("args[0]")


@pytest.mark.parametrize("levels", [5_000, 100_000])
def test_nesting_that_no_parser_takes_is_measured(levels: int) -> None:
    line = b'{"type":"note","conversation_id":"c","x":' + b"[" * levels + b'"]]"' + b"]" * levels + b"}"
    with pytest.raises(NestingTooDeep) as caught:
        parse_line(line)
    assert limits(caught.value)[1:] == (200, levels + 1)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_only_finite_numbers(value: float) -> None:
    with pytest.raises(NotFinite) as caught:
        parse_event({**CALL, "args": {"a": [1, value]}})
    assert limits(caught.value)[0] == "args.a[1]"


@pytest.mark.parametrize("spelled", [b"NaN", b"Infinity", b"-Infinity", b"1e400"])
def test_only_finite_numbers_in_text(spelled: bytes) -> None:
    with pytest.raises(NotFinite):
        parse_line(b'{"type":"note","conversation_id":"c","x":' + spelled + b"}")


def test_integers_up_to_4300_digits() -> None:
    kept = parse_line(b'{"type":"note","conversation_id":"c","x":-' + b"9" * 4300 + b"}")
    assert kept.fields["x"] == -(10**4300 - 1)
    with pytest.raises(IntegerTooLong) as caught:
        parse_line(b'{"type":"note","conversation_id":"c","x":' + b"9" * 4301 + b"}")
    assert limits(caught.value)[1:] == (4300, 4301)
    with pytest.raises(IntegerTooLong) as caught:
        parse_event({**CALL, "args": {"n": 10**4300}})
    assert limits(caught.value) == ("args.n", 4300, 4301)


def test_an_event_may_be_16_mib_and_no_more() -> None:
    bare = len(admit({**TEXT, "text": ""}, "c", "i").body)
    assert len(admit({**TEXT, "text": "x" * (MAX_EVENT_BYTES - bare)}, "c", "i").body) == MAX_EVENT_BYTES
    with pytest.raises(EventTooLarge) as caught:
        admit({**TEXT, "text": "x" * (MAX_EVENT_BYTES - bare + 1)}, "c", "i")
    assert limits(caught.value) == ("event", MAX_EVENT_BYTES, MAX_EVENT_BYTES + 1)


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", object(), {3: 4}])
def test_python_values_that_are_not_json_are_refused(value: object) -> None:
    with pytest.raises(InvalidEvent) as caught:
        parse_event({**CALL, "args": {"a": value}})  # type: ignore[dict-item]
    assert caught.value.field == "args.a"


def test_an_event_given_to_another_conversation_is_refused() -> None:
    with pytest.raises(InvalidEvent, match="conversation_id"):
        admit(TEXT, "other", "i")


def test_null_is_absent_where_a_field_is_optional_and_a_value_where_any_json_goes() -> None:
    assert parse_event({**TEXT, "step_id": None, "block_index": None}) == parse_event(TEXT)
    assert to_json(parse_event({**CALL, "args": None}))["args"] is None
    result = {
        "type": "tool_result",
        "conversation_id": "c",
        "turn_id": "t",
        "tool_call_id": "x",
        "content": None,
    }
    assert to_json(parse_event({**result, "structured": None})) == result
    assert to_json(parse_event({**TEXT, "future": None}))["future"] is None


def test_both_spellings_of_a_field_keep_both_values() -> None:
    event = parse_event({**TEXT, "step_id": "a", "stepId": "b"})
    assert (event.step_id, event.fields) == ("a", {"stepId": "b"})


def test_camel_case_envelope_on_an_unknown_type() -> None:
    event = parse_event({"type": "hologram", "conversationId": "c", "turnId": "t", "innerField": 1})
    assert isinstance(event, UnknownEvent)
    assert (event.conversation_id, event.turn_id, event.fields) == ("c", "t", {"innerField": 1})


def test_the_halves_of_a_pair_are_joined_as_any_reader_would() -> None:
    event = parse_event({**TEXT, "text": "\ud83d\ude00 \ud83d"})
    assert isinstance(event, TextComplete)
    assert event.text == "\U0001f600 \ud83d"
    assert encode(event).endswith('"text":"\U0001f600 \\ud83d"}'.encode())


def test_what_was_admitted_does_not_follow_its_giver() -> None:
    args = {"a": [1]}
    event = parse_event({**CALL, "args": args})
    args["a"].append(2)
    assert isinstance(event, ToolStart)
    assert event.args == {"a": [1]}
    with pytest.raises(Exception, match="frozen"):
        event.tool_name = "g"  # type: ignore[misc]


def test_a_call_id_may_be_empty_but_no_other_id() -> None:
    assert parse_event({**CALL, "tool_call_id": "", "args": 1}).type == "tool_start"
    with pytest.raises(InvalidEvent):
        parse_event({**CALL, "args": 1, "step_id": ""})
