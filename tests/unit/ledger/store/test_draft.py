"""Batches on their way in: what is checked, what counts as the same body, how they are sealed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import chain
from ledger.errors import BatchTooLarge, IdConflict, InvalidEvent
from ledger.events import MAX_BATCH
from ledger.recorded import EncodedEvent
from ledger.store.draft import Draft, Standing, draft, same_value, seal

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


def encoded(name: str, kind: str = "note", body: bytes = b"{}", turn: str | None = None) -> EncodedEvent:
    return EncodedEvent(name, kind, turn, None, body)


def drafted(*events: EncodedEvent, known: str = "conflict") -> Draft:
    return draft("t", "c", "a", list(events), None, known)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (b"1", b"1.0", False),
        (b"1", b"true", False),
        (b"0", b"false", False),
        (b"1.0", b"1.00", True),
        (b'{"a":1,"b":[2]}', b'{ "b": [2], "a": 1 }', True),
        (b'{"a":[{"b":1}]}', b'{"a":[{"b":1.0}]}', False),
        (b'{"a":1}', b'{"a":1,"b":null}', False),
        (b"[1,2]", b"[2,1]", False),
        (b'"\\u00e9"', '"é"'.encode(), True),
        (b'"\\ud800"', b'"\\ud801"', False),
        (b"null", b"{}", False),
        (b"not json", b"not json", True),
        (b"not json", b"neither", False),
    ],
)
def test_bodies_are_the_same_by_value(one: bytes, other: bytes, same: bool) -> None:
    assert same_value(one, other) is same
    assert same_value(other, one) is same


@given(values)
def test_a_value_is_itself_however_it_is_spelled(value: object) -> None:
    compact = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    roomy = json.dumps(value, indent=1, sort_keys=True).encode()
    assert same_value(compact, roomy)
    assert not same_value(compact, json.dumps([value]).encode())


def test_deltas_are_left_out_and_counted() -> None:
    batch = drafted(encoded("a"), encoded("b", "text_delta"), encoded("c"), encoded("d", "thinking_delta"))
    assert [event.id for event in batch.events] == ["a", "c"]
    assert batch.live == 2


def test_an_empty_batch_is_one() -> None:
    assert drafted().events == []
    assert drafted(encoded("b", "text_delta")).live == 1


def test_an_id_twice_is_a_conflict_or_known() -> None:
    twice = (encoded("a", body=b"1"), encoded("b"), encoded("a", body=b"1"), encoded("a", body=b"2"))
    with pytest.raises(IdConflict, match="events 1 and 3"):
        drafted(*twice)
    batch = drafted(*twice, known="skip")
    assert [event.id for event in batch.events] == ["a", "b"]
    assert (batch.skipped, batch.differing) == (2, 1)


@pytest.mark.parametrize("bad", ["", "x" * 201, "a\n", "\x00", "\x7f", "\ud800"])
def test_what_cannot_be_an_id_or_a_type_is_refused(bad: str) -> None:
    for event in (encoded(bad), encoded("a", kind=bad), encoded("a", turn=bad)):
        with pytest.raises(InvalidEvent):
            drafted(encoded("first"), event)


@pytest.mark.parametrize("good", ["x" * 200, "é\u2028😀", "a b", "\u200b", "\xa0", "\ue000"])
def test_what_may_be_an_id_is_taken(good: str) -> None:
    assert drafted(encoded(good, kind=good, turn=good)).events[0].id == good


def test_known_ids_are_a_conflict_or_skipped() -> None:
    with pytest.raises(ValueError, match="known"):
        drafted(encoded("a"), known="ignore")


def test_too_many_events_are_refused() -> None:
    with pytest.raises(BatchTooLarge):
        drafted(*(encoded(f"e{n}") for n in range(MAX_BATCH + 1)))


def test_a_fork_is_first_or_refused() -> None:
    fork = encoded("f", "fork", b'{"source_conversation_id":"s","source_version":3}')
    assert drafted(fork, encoded("a")).fork == ("s", 3)
    assert drafted(encoded("a")).fork is None
    with pytest.raises(InvalidEvent):
        drafted(encoded("a"), fork)
    assert drafted(fork, encoded("a")).without({0}, 0).fork is None


def standing(**changed: object) -> Standing:
    fresh = Standing(7, "t", "c", 0, 4, bytes(32), 5, 1_000, 0, None, None)
    return fresh._replace(**changed)  # type: ignore[arg-type]


def test_a_sealed_batch_follows_where_its_conversation_stood() -> None:
    batch = drafted(encoded("a", body=b'{"x":1}'), encoded("b", turn="t1"))
    salts = bytes(range(32))
    sealed = seal(batch, standing(), 2_000, salts)
    assert [json.loads(header)["version"] for header in sealed.headers] == [5, 6]
    assert {json.loads(header)["recorded_at"] for header in sealed.headers} == {2_000}
    assert sealed.states == [salts[:16] + b'{"x":1}', salts[16:] + b"{}"]
    assert sealed.heads == chain.heads(bytes(32), sealed.headers, sealed.states)
    after = sealed.after(7)
    assert (after.version, after.head, after.recorded_at, after.created_at) == (6, sealed.heads[-1], 2_000, 5)


def test_time_never_runs_backwards_in_a_conversation() -> None:
    assert seal(drafted(encoded("a")), standing(), 10, bytes(16)).recorded_at == 1_000


@given(st.integers(1, 9), st.integers(1, 9))
def test_parts_of_a_sealed_batch_are_the_batch(count: int, cut: int) -> None:
    batch = drafted(*(encoded(f"e{n}") for n in range(count)))
    sealed = seal(batch, standing(), 2_000, bytes(16 * count))
    first, second = sealed.part(0, min(cut, count)), sealed.part(min(cut, count), count)
    assert first.heads + second.heads == sealed.heads
    assert second.before.version == first.before.version + len(first.heads)
    assert second.before.head == (first.heads[-1])
