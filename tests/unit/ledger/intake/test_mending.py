"""What the ledger's limits refuse is changed to be kept, and its path is listed (DESIGN.md 3.3)."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.events import MAX_DEPTH, Json, JsonObject, json_bytes
from ledger.intake.mending import Mended, NotARecord, collect, collected, read_record, within_size

_TEXTS = st.text(st.characters(exclude_categories=()), max_size=8)  # halves of surrogate pairs too
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS
_VALUES: st.SearchStrategy[Json] = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=12,
)


def mended(raw: bytes) -> JsonObject:
    value, _ = read_record(raw)
    assert isinstance(value, dict)
    return collect(value)


@pytest.mark.parametrize(
    ("raw", "value", "paths"),
    [
        (b'{"a":{"b":[1,NaN]}}', {"a": {"b": [1, "NaN"]}}, ["a.b[1]"]),
        (b'{"a":-Infinity,"b":1e999}', {"a": "-Infinity", "b": "1e999"}, ["a", "b"]),
        (b'{"a":"ok \xff","b":"ok"}', {"a": "ok \ufffd", "b": "ok"}, ["a"]),
    ],
)
def test_values_become_strings_and_their_paths_are_listed(
    raw: bytes, value: JsonObject, paths: list[str]
) -> None:
    assert mended(raw) == {**value, "normalized": paths}


def test_a_number_of_4300_digits_is_kept_and_a_longer_one_becomes_a_string() -> None:
    most = "9" * 4300
    assert mended(b'{"a":%s}' % most.encode()) == {"a": int(most)}
    assert mended(b'{"a":%s9}' % most.encode()) == {"a": most + "9", "normalized": ["a"]}


def test_what_needs_no_mending_is_not_touched() -> None:
    raw = '{"a":"\\u0000\\ud800 \u2028","b":-0.0,"c":[],"d":null}'.encode()
    value, changed = read_record(raw)
    assert not changed
    assert isinstance(value, dict)
    assert collect(value) is value
    assert value == json.loads(raw)


@given(_VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_a_record_is_read_as_the_json_module_reads_it(
    value: Json, ascii_only: bool, indent: int | None
) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
    try:
        raw.decode()
    except UnicodeDecodeError:
        return  # mended
    read, changed = read_record(raw)
    assert not changed
    assert repr(read) == repr(json.loads(raw))  # types, the order of keys, and every digit


@pytest.mark.parametrize(
    "raw",
    [b"-0", b"1E5", b"1e-400", b"0.1000000000000000055511151231257827", b'{"a":1,"b":2,"a":3}', b" [ ]\r\n"],
)
def test_what_can_be_written_in_several_ways_is_read_as_the_json_module_reads_it(raw: bytes) -> None:
    assert repr(read_record(raw)[0]) == repr(json.loads(raw))


def test_a_number_too_large_is_found_wherever_it_stands() -> None:
    assert mended(b'{"a":[{"b":[0.5,-1e999]}],"c":1e308}') == {
        "a": [{"b": [0.5, "-1e999"]}],
        "c": 1e308,
        "normalized": ["a[0].b[1]"],
    }


@given(st.dictionaries(_TEXTS, _VALUES | _TEXTS.map(Mended) | st.lists(_TEXTS.map(Mended), max_size=2)))
def test_an_event_is_written_as_it_is_everywhere(event: JsonObject) -> None:
    plain, body = collected(event)
    assert plain == collect(event)
    assert body == json_bytes(plain)
    assert json.loads(body) == plain
    assert not any(type(item) is Mended for item in plain.values())


def test_deep_nesting_becomes_text() -> None:
    value, changed = read_record(b'{"a":' + b"[" * 500 + b"]" * 500 + b"}")
    assert changed
    depth, inner = 0, value
    while isinstance(inner, list | dict):
        depth, inner = depth + 1, inner["a"] if isinstance(inner, dict) else inner[0]
    assert depth < MAX_DEPTH
    assert isinstance(inner, str)
    assert inner == "[" * (501 - depth) + "]" * (501 - depth)


@pytest.mark.parametrize("raw", [b"", b"{", b"[" * 100_000, b'{"a":1}{"b":2}', b"\x00\x00"])
def test_what_is_not_json_says_so(raw: bytes) -> None:
    with pytest.raises(NotARecord):
        read_record(raw)


def test_content_over_the_limit_gives_way_largest_first() -> None:
    event: JsonObject = {"type": "tool_result", "content": "x" * 500, "structured": {"a": "y" * 200}}
    small = within_size(event, 400)
    digest = hashlib.sha256(b'"' + b"x" * 500 + b'"').hexdigest()
    assert small["content"] == {"omitted_bytes": 502, "sha256": digest}
    assert small["structured"] == event["structured"]
    assert small["normalized"] == ["content"]
    assert within_size(event, 10_000) is event


def test_content_that_must_be_text_stays_text() -> None:
    small = within_size({"type": "text_complete", "text": "x" * 500}, 400)
    assert isinstance(small["text"], str)
    assert json.loads(small["text"])["omitted_bytes"] == 502
