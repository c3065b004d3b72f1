"""`turnledger append`: batches, receipts, and what is refused by line number."""

from __future__ import annotations

import json

import pytest

from ledger.events import MAX_BATCH, MAX_EVENT_BYTES
from tests.integration.cli.desk import Desk, lines


def said(conversation: str, text: str, **more: object) -> dict[str, object]:
    return {"conversation_id": conversation, "type": "user_message", "turn_id": "t1", "content": text, **more}


def stored(desk: Desk) -> dict[str, int]:
    return {one["conversation_id"]: one["version"] for one in desk("list", "--json").json["conversations"]}


def test_a_batch_is_a_run_of_lines_of_one_conversation(desk: Desk) -> None:
    receipts = desk.append(said("a", "1"), said("a", "2"), said("b", "3"), said("a", "4")).lines
    spans = [(one["conversation_id"], one["first_version"], one["last_version"]) for one in receipts]
    assert spans == [("a", 1, 2), ("b", 1, 1), ("a", 3, 3)]


def test_runs_are_cut_on_request(desk: Desk) -> None:
    answer = desk("append", "-", "--json", "--batch", "2", input=lines([said("a", str(n)) for n in range(5)]))
    assert [one["last_version"] for one in answer.lines] == [2, 4, 5]


def test_people_read_receipts_too(desk: Desk) -> None:
    answer = desk("append", "-", input=lines([said("a", "1", id="x")]))
    assert (answer.code, answer.out) == (0, "a: versions 1–1\n")
    assert desk("append", "-", input=lines([said("a", "1", id="x")])).out == "a: versions 1–1, known already\n"


def test_deltas_are_counted_and_not_stored(desk: Desk) -> None:
    delta = {"conversation_id": "a", "type": "text_delta", "turn_id": "t1", "text": "h"}
    assert desk.append(said("a", "1"), delta).lines[0]["live"] == 1
    assert stored(desk) == {"a": 1}


def test_known_events_can_be_skipped(desk: Desk) -> None:
    desk.append(said("a", "1", id="x"))
    batch = lines([said("a", "other", id="x"), said("a", "2", id="y")])
    assert desk("append", "-", input=batch).code == 1
    answer = desk("append", "-", "--known", "skip", "--json", input=batch).lines[0]
    assert (answer["known"], answer["differing"], answer["last_version"]) == (1, 1, 2)


def test_an_expected_version_is_kept_or_refused(desk: Desk) -> None:
    assert desk("append", "-", "--expected-version", "0", input=lines([said("a", "1")])).code == 0
    answer = desk("append", "-", "--expected-version", "0", input=lines([said("a", "2")]))
    assert answer.code == 1
    assert "at version 1, not 0" in answer.err


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (b"{not json", "NotJson"),
        (b'{"conversation_id":"a","type":"user_message","turn_id":"t1","content":"\xff"}', "NotUtf8"),
        (b'{"conversation_id":"a","type":"user_message","turn_id":"t1"}', "InvalidEvent"),
        (b'{"conversation_id":"a","type":"note","x":NaN}', "NotFinite"),
        (b'{"conversation_id":"a","type":"note","x":' + b"[" * 5000 + b"]" * 5000 + b"}", "NestingTooDeep"),
        (b'{"conversation_id":"a","type":"note","x":' + b"9" * 4301 + b"}", "IntegerTooLong"),
        (b'{"conversation_id":"a","type":"note","x":"' + b"x" * MAX_EVENT_BYTES + b'"}', "EventTooLarge"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_line_spoils_its_batch_alone(desk: Desk, bad: bytes, fault: str) -> None:
    text = lines([said("a", "1")]) + bad + b"\n" + lines([said("a", "2"), said("b", "3")])
    answer = desk("append", "-", "--json", input=text)
    assert answer.code == 1
    errors = [one for one in answer.lines if "error" in one]
    assert [(one["error"]["class"], one["error"]["line"]) for one in errors] == [(fault, 2)]
    assert "line 2: " in answer.err
    assert stored(desk) == {"b": 1}


def test_nothing_more_of_a_refused_conversation_is_stored(desk: Desk) -> None:
    text = lines([said("a", "1")]) + b"{\n" + lines([said("b", "2"), said("a", "3")])
    answer = desk("append", "-", input=text)
    assert "line 4: 1 events of a not stored" in answer.err
    assert stored(desk) == {"b": 1}


def test_every_bad_line_is_reported(desk: Desk) -> None:
    answer = desk("append", "-", input=b"{\n\n[]\n" + lines([said("a", "1")]) + b"]\n")
    assert [line[:7] for line in answer.err.splitlines()[:3]] == ["line 1:", "line 3:", "line 5:"]
    assert stored(desk) == {}


def test_lines_end_at_newlines_only(desk: Desk) -> None:
    text = json.dumps(said("a", "one\u2028two\u0085three"), ensure_ascii=False).encode()
    assert desk("append", "-", input=text + b"\r\n\r\n" + text).code == 0
    assert stored(desk) == {"a": 2}


def test_a_batch_over_the_limit_is_refused_whole(desk: Desk) -> None:
    batch = lines([said("a", "x")] * (MAX_BATCH + 1))
    answer = desk("append", "-", input=batch)
    assert answer.code == 1
    assert "10,001 events, over the limit of 10,000" in answer.err
    assert stored(desk) == {}
    assert desk("append", "-", "--batch", str(MAX_BATCH), input=batch).code == 0
    assert stored(desk) == {"a": MAX_BATCH + 1}


def test_a_missing_file_is_one_clear_line(desk: Desk) -> None:
    answer = desk("append", "/nowhere/at/all.jsonl")
    assert answer.code == 2
    assert "/nowhere/at/all.jsonl" in answer.err
