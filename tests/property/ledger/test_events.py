"""What is written is what is read: decode(encode(x)) == x for every event, and the bytes stand still."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import given

from ledger.admission import admit, parse_event, parse_line
from ledger.events import Event, decode, encode, to_json
from tests.property.ledger.events import event_objects, events


def equal(left: Any, right: Any) -> bool:
    """Equality that also tells 1 from 1.0 from true, and 0.0 from -0.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(equal(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, float):
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    return bool(left == right)


@given(events())
def test_decoding_gives_back_what_was_encoded(event: Event) -> None:
    again = decode(encode(event))
    assert again == event
    assert type(again) is type(event)
    assert equal(to_json(again), to_json(event))


@given(events())
def test_the_bytes_stand_still(event: Event) -> None:
    body = encode(event)
    body.decode()  # UTF-8, lone surrogates as escapes
    assert encode(decode(body)) == body


@given(event_objects())
def test_the_door_changes_no_value(given_object: dict[str, Any]) -> None:
    event = parse_event(given_object)
    assert equal(to_json(event), {name: to_json(event)[name] for name in given_object} | given_object)
    line = json.dumps(given_object).encode()
    assert parse_line(line) == event
    admitted = admit(event, event.conversation_id, "made")
    assert equal(to_json(decode(admitted.body)), {**to_json(event), "id": event.id or "made"})


@given(event_objects())
def test_camel_case_is_the_same_event(given_object: dict[str, Any]) -> None:
    def camel(name: str) -> str:
        head, *tail = name.split("_")
        return head + "".join(part.capitalize() for part in tail)

    known = parse_event(given_object).__dict__
    spelled = {camel(name) if name in known else name: value for name, value in given_object.items()}
    assert parse_event(spelled) == parse_event(given_object)
