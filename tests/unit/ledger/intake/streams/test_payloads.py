"""Framing: server-sent events and lines, and what is none."""

from __future__ import annotations

import base64
import json

import pytest

from tests.streams import lines, sse, take

START = {"type": "message_start", "message": {"id": "m1", "model": "claude-x", "usage": {"input_tokens": 3}}}
OPEN = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
STOP = {"type": "content_block_stop", "index": 0}
END = [
    STOP,
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]


def delta(text: str) -> dict[str, object]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


MESSAGE = [START, OPEN, delta("Hi"), delta(" there"), *END]


@pytest.mark.parametrize(
    "data",
    [
        lines(MESSAGE),
        sse(MESSAGE),
        sse(MESSAGE, named=True, done=True),
        sse(MESSAGE).replace(b"\n", b"\r\n"),
        sse(MESSAGE).replace(b"data: ", b"data:"),
        b": hello\nid: 7\nretry: 10\n\n" + sse(MESSAGE) + b"data:\n\ndata\n",
        b"\xef\xbb\xbf" + sse(MESSAGE, named=True),
        sse(MESSAGE, named=True).replace(b"\n\n", b"\n"),  # a log that lost its blank lines
        lines(MESSAGE).rstrip(b"\n"),
        lines([MESSAGE[:3], MESSAGE[3:]]),  # lists of records
    ],
    ids=["lines", "sse", "named", "crlf", "tight", "comments", "bom", "no blanks", "no newline", "lists"],
)
def test_the_same_message_in_any_framing(data: bytes) -> None:
    these = take("anthropic", data)
    assert these.texts == ["Hi there"]
    assert these.ends == [("complete", "end_turn")]
    assert these.notes() == []


def test_a_name_that_only_the_event_line_gives() -> None:
    data = sse(MESSAGE, named=True).replace(b'"type": "message_stop"', b'"x": 1')
    assert take("anthropic", data).ends == [("complete", "end_turn")]


def test_an_event_in_several_data_lines_and_json_printed_for_people() -> None:
    spread = (
        b'data: {"type":\ndata: "content_block_delta", "index": 0,\ndata: "delta": {"type": "text_delta",\n'
    )
    spread += b'data: "text": "Hi"}}\n\n'
    data = sse([START, OPEN]) + spread + sse(END)
    assert take("anthropic", data).texts == ["Hi"]
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}
    body = json.dumps(error, indent=2).encode() + b"\n"
    these = take("anthropic", body)
    assert these.ends == [("error", "invalid_request_error")]
    assert these.notes() == []


def test_records_spliced_into_one_line() -> None:
    data = lines(MESSAGE).replace(b"}\n{", b"}{")
    assert take("anthropic", data).texts == ["Hi there"]
    torn = data[:-40]
    these = take("anthropic", torn)
    assert these.texts == ["Hi there"]
    (note,) = these.notes("broken line")
    assert torn.endswith(note["bytes"].encode())


def test_a_broken_line_is_a_note_with_its_number_and_its_bytes() -> None:
    data = lines([START, OPEN, delta("Hi"), b"HTTP/1.1 200 OK", b"{]", b"17", b'{"a": \xff}x', *END])
    these = take("anthropic", data)
    assert these.texts == ["Hi"]
    notes = these.notes("broken line")
    assert [(note["line"], note["bytes"]) for note in notes] == [
        (4, "HTTP/1.1 200 OK"),
        (5, "{]"),
        (6, "17"),
        (7, '{"a": �}x'),
    ]
    assert notes[3]["normalized"] == ["bytes"]
    assert base64.b64decode(notes[3]["base64"]) == b'{"a": \xff}x'
    assert [data[note["offset"] :].startswith(note["bytes"].encode()) for note in notes[:3]] == [True] * 3


def test_a_line_that_never_ends_is_length_and_digest() -> None:
    import hashlib

    from ledger.intake.lines import split_lines
    from ledger.intake.stream import Stream
    from ledger.intake.streams import STREAMS

    long = b'{"type": "' + b"x" * 1000 + b'"}'
    written: list[dict[str, object]] = []
    stream = Stream(STREAMS["anthropic"], "anthropic", "c", sink=written.append)  # type: ignore[arg-type]
    for line in split_lines([lines(MESSAGE[:3]), long, b"\n", lines(MESSAGE[3:])], limit=900):
        stream.line(line)
    stream.end("eof")
    (note,) = [event for event in written if event["type"] == "note"]
    assert note["bytes"] == {"omitted_bytes": len(long), "sha256": hashlib.sha256(long).hexdigest()}
    assert note["line"] == 4
    assert [event["text"] for event in written if event["type"] == "text_complete"] == ["Hi there"]


def test_bytes_that_are_not_utf_8_are_replaced_and_said() -> None:
    data = lines([START, OPEN, delta("Hi"), delta("A?B"), *END]).replace(b"A?B", b"A\xffB")
    text = take("anthropic", data).only("text_complete")
    assert text["text"] == "HiA�B"
    assert text["normalized"] == ["text"]


def test_line_ends_inside_strings_are_no_line_ends() -> None:
    words = "a\u2028b\u2029c\x85d\x0be\x0cf"
    assert take("anthropic", lines([START, OPEN, delta(words), *END])).texts == [words]


def test_lone_surrogates_and_nul_are_kept() -> None:
    data = lines(
        [
            START,
            OPEN,
            b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ud800\\u0000"}}',
            *END,
        ]
    )
    assert take("anthropic", data).texts == ["\ud800\x00"]


def test_unknown_records_are_kept_whole() -> None:
    future = {"type": "message_dream", "depth": 3}
    these = take("anthropic", lines([START, future, OPEN, delta("Hi"), *END]))
    (note,) = these.notes("raw")
    assert note["entry"] == future
    assert these.texts == ["Hi"]


@pytest.mark.parametrize("runtime", ["anthropic", "openai-responses", "openai-chat", "ai-sdk"])
@pytest.mark.parametrize(
    "data", [b"", b"\n\n\n", b"\x00" * 50, b"null\n[]\n{}\n3\n", b'{"type": 3}\n{"type": null}\n{"type": {}}\n']
)
def test_nothing_and_nonsense_make_no_turn(runtime: str, data: bytes) -> None:
    these = take(runtime, data)
    assert set(these.kinds) <= {"note"}
