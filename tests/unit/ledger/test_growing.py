"""A text that grows by pieces: whole at the end, readable meanwhile, bounded whatever its length."""

from __future__ import annotations

import hashlib
import json
import random
import threading
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from ledger.events import json_bytes
from ledger.growing import GrowingText
from ledger.intake.mending import Mended


@given(st.lists(st.text(max_size=40) | st.integers(1, 3000).map("x".__mul__)), st.data())
def test_read_in_any_portions(pieces: list[str], data: st.DataObject) -> None:
    growing, read = GrowingText(), ""
    for piece in pieces:
        growing.add(piece)
        if data.draw(st.booleans()):
            read += growing.since(len(read))
        if data.draw(st.integers(0, 9)) == 0:
            assert growing.text.startswith(read)
    assert growing.size == len("".join(pieces))
    assert growing.text == "".join(pieces)
    assert read + growing.since(len(read)) == "".join(pieces)


def test_read_by_another_thread() -> None:
    growing, done, read = GrowingText(), threading.Event(), []

    def reader() -> None:
        size = 0
        while not done.is_set() or growing.since(size):
            part = growing.since(size)
            size += len(part)
            read.append(part)

    thread = threading.Thread(target=reader)
    thread.start()
    choose = random.Random(1)
    pieces = [f"{number}," * choose.randint(1, 3) for number in range(30_000)]
    for piece in pieces:
        growing.add(piece)
    done.set()
    thread.join(timeout=60)
    assert "".join(read) == "".join(pieces)


def test_what_stood_for_bytes_stays_marked() -> None:
    growing = GrowingText()
    growing.add("a")
    growing.add(Mended("\ufffd"))
    assert isinstance(growing.text, Mended)


def test_a_text_over_the_limit_is_told_by_size_and_digest() -> None:
    pieces = [f"piece {number} ü\n" * 100 for number in range(3_000)]
    growing = GrowingText(limit=2_000_000)
    for piece in pieces:
        growing.add(piece)
    whole = json_bytes("".join(pieces))
    assert json.loads(growing.text) == {
        "omitted_bytes": len(whole),
        "sha256": hashlib.sha256(whole).hexdigest(),
    }
    assert isinstance(growing.text, Mended)


def test_memory_is_that_of_the_text() -> None:
    tracemalloc.start()
    try:
        growing = GrowingText()
        for number in range(400_000):
            growing.add(f"{number % 10} word ")
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1.5 * growing.size
