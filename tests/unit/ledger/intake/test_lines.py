"""Files are cut into lines at the newline byte alone, however their bytes arrive."""

from __future__ import annotations

import hashlib

import pytest

from ledger.intake.lines import Line, split_lines


def chunked(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


DATA = "\ufeffone\r\n\n  two\u2028still two\u0085\x1c \nthree".encode()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_do_not_depend_on_how_the_bytes_arrive(size: int) -> None:
    lines = list(split_lines(chunked(DATA, size)))
    assert [(line.number, line.raw, line.ended) for line in lines] == [
        (1, b"one", True),
        (3, "two\u2028still two\u0085\x1c".encode(), True),
        (4, b"three", False),
    ]
    for line in lines:
        assert line.raw is not None
        assert DATA[line.offset : line.offset + len(line.raw)] == line.raw


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_a_line_over_the_limit_is_passed_over_and_its_digest_kept(size: int) -> None:
    data = b"a" * 50 + b"\nshort\n" + b"b" * 51
    lines = list(split_lines(chunked(data, size), limit=20))
    assert [(line.number, line.raw) for line in lines] == [(1, None), (2, b"short"), (3, None)]
    assert [line.length for line in lines] == [50, 5, 51]
    assert lines[0].digest == hashlib.sha256(b"a" * 50).digest()
    assert lines[2] == Line(3, 57, 51, None, False, hashlib.sha256(b"b" * 51).digest())


@pytest.mark.parametrize("data", [b"", b"\n\n", b" \r\n\t"])
def test_nothing_is_no_line(data: bytes) -> None:
    assert list(split_lines([data])) == []
