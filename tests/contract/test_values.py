"""What is accepted comes back exactly; what is refused leaves nothing. Both engines alike (DESIGN.md 3.3)."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import Ledger
from ledger.admission import parse_event
from ledger.errors import EventTooLarge, IntegerTooLong, NestingTooDeep, NotFinite
from ledger.events import MAX_DEPTH, MAX_EVENT_BYTES, MAX_INT_DIGITS, Json, encode
from tests.contract.material import result, said, stored
from tests.contract.rawstore import overwrite, raw_events


def nested(levels: int) -> Json:
    value: Json = []
    for _ in range(levels - 1):
        value = [value]
    return value


KEPT: dict[str, Json] = {
    "nothing": None,
    "empty": "",
    "blank": "  \n",
    "nul": "a\x00b",
    "lone high surrogate": "\ud83d",
    "lone low surrogate": "x\udc00y",
    "surrogates the wrong way round": "\udc00\ud83d",
    "a pair": "\U0001f600",
    "surrogate in a key": {"\ud800": 1},
    "nul in a key": {"\x00": 1},
    "an escape in the text": "\\ud800 \\u0000",
    "line separators": "a\u2028b\u2029c\x85d",
    "bom": "\ufeff",
    "not a character": "\uffff\U0010ffff",
    "control characters": "".join(map(chr, range(32))) + "\x7f",
    "combining": "e\u0301 é",
    "2^53+1": 2**53 + 1,
    "2^64": [2**63, 2**64 - 1, 2**64, -(2**63) - 1],
    "4300 digits": 10**MAX_INT_DIGITS - 1,
    "minus 4300 digits": 1 - 10**MAX_INT_DIGITS,
    "floats": [0.1, -0.0, 1e308, 5e-324, 1e22, 1.0, 1e-7, 123456789.12345678],
    "int and float and bool": [1, 1.0, True, 0, 0.0, False],
    "keys out of order": {"b": 1, "a": 2, "": 3, "A": 4},
    "empty containers": [{}, [], {"a": {}, "b": []}],
    "deep": nested(MAX_DEPTH - 1),
    "json in a string": '{"a": [1, 2',
    "html": "</script><!-- &amp; ' \" `",
    "sql": "'; DROP TABLE event; -- $1 %s ? :a",
}


def exact(value: Json) -> object:
    """A value with its types spelled out: 1, 1.0 and true are not the same, nor 0.0 and -0.0."""
    if isinstance(value, dict):
        return [(key, exact(inner)) for key, inner in value.items()]
    if isinstance(value, list):
        return [exact(inner) for inner in value]
    return type(value).__name__, value if isinstance(value, int) else repr(value)


@pytest.mark.parametrize("name", KEPT)
def test_a_value_comes_back_exactly(ledger: Ledger, name: str) -> None:
    event = result("c", "a", KEPT[name])
    ledger.append("c", [event])
    for (recorded,) in (list(ledger.read("c")), list(ledger.follow())):
        assert recorded.body == encode(event), "stored bytes are never rewritten"
        assert exact(recorded.event.content) == exact(KEPT[name])
        assert recorded.event == event
    assert ledger.append("c", [event]).replayed


def test_unknown_types_and_fields_come_back_as_they_were(ledger: Ledger) -> None:
    data: dict[str, Json] = {
        "type": "from_the_future",
        "id": "a",
        "conversation_id": "c",
        "stepId": "kept as it is?",
        "payload": {"x": [1, None, "\ud800"]},
    }
    known: dict[str, Json] = {
        "type": "user_message",
        "id": "b",
        "conversation_id": "c",
        "turn_id": "t",
        "content": "x",
        "extra": {"deep": [0.5]},
    }
    events = [parse_event(data), parse_event(known)]
    ledger.append("c", events)
    first, second = ledger.read("c")
    assert first.type == first.event.type == "from_the_future"
    assert first.event.fields["payload"] == data["payload"]
    assert second.event.fields["extra"] == known["extra"]
    assert [first.event, second.event] == events


def sized(size: int) -> Any:
    """An event of exactly that many bytes."""
    empty = len(encode(said("c", "a", "")))
    event = said("c", "a", "x" * (size - empty))
    assert len(encode(event)) == size
    return event


def test_the_largest_event(ledger: Ledger) -> None:
    event = sized(MAX_EVENT_BYTES)
    ledger.append("c", [event])
    (recorded,) = ledger.read("c")
    assert recorded.body == encode(event)
    assert ledger.append("c", [event]).replayed


def test_several_large_events_in_one_batch(ledger: Ledger) -> None:
    batch = [said("c", f"e{n}", chr(97 + n) * 4_000_000) for n in range(6)]
    ledger.append("c", batch)
    assert [each.event for each in ledger.read("c")] == batch


REFUSED: dict[str, tuple[Any, type[Exception], object, object]] = {
    "a byte too many": (
        lambda: sized(MAX_EVENT_BYTES + 1),
        EventTooLarge,
        MAX_EVENT_BYTES,
        MAX_EVENT_BYTES + 1,
    ),
    "a level too many": (lambda: result("c", "a", nested(MAX_DEPTH)), NestingTooDeep, MAX_DEPTH, MAX_DEPTH + 1),
    "100,000 levels": (lambda: result("c", "a", nested(100_000)), NestingTooDeep, MAX_DEPTH, None),
    "a digit too many": (
        lambda: result("c", "a", 10**MAX_INT_DIGITS),
        IntegerTooLong,
        MAX_INT_DIGITS,
        MAX_INT_DIGITS + 1,
    ),
    "a digit too many below nought": (
        lambda: result("c", "a", [-(10**MAX_INT_DIGITS)]),
        IntegerTooLong,
        MAX_INT_DIGITS,
        MAX_INT_DIGITS + 1,
    ),
    "not a number": (lambda: result("c", "a", float("nan")), NotFinite, None, None),
    "infinity": (lambda: result("c", "a", [{"x": float("inf")}]), NotFinite, None, None),
    "minus infinity": (lambda: result("c", "a", {"x": float("-inf")}), NotFinite, None, None),
    "nan in an unknown field": (lambda: said("c", "a", "x", extra=float("nan")), NotFinite, None, None),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_value_over_a_limit_is_refused_by_name(ledger: Ledger, name: str) -> None:
    make, error, limit, actual = REFUSED[name]
    with pytest.raises(error) as refused:
        ledger.append("c", [said("c", "fine"), make()])
    problem: Any = refused.value
    assert problem.field
    assert str(problem)
    assert limit is None or problem.limit == limit
    assert actual is None or problem.actual == actual
    assert ledger.head("c") is None
    ledger.append("c", [said("c", "fine")])
    assert stored(ledger, "c") == [(1, "fine")]


def test_an_event_of_a_newer_schema_names_itself_and_harms_no_other(engine_url: str) -> None:
    """Stored bytes are lifted on read by `upcast`; what this version cannot lift is an error of that event."""
    with Ledger.open(engine_url) as ledger:
        ledger.append("c", [said("c", "a"), said("c", "b"), said("c", "d")])
    (header,) = [event.header for event in raw_events(engine_url) if event.version == 2]
    newer = header.replace(b'"schema":1', b'"schema":2')
    assert newer != header
    overwrite(engine_url, "c", 2, "header", newer)
    with Ledger.open(engine_url) as ledger:
        first, second, third = ledger.read("c")
        assert (first.event.id, third.event.id) == ("a", "d")
        assert second.schema == 2
        with pytest.raises(ValueError, match="schema 2"):
            second.event  # noqa: B018
