"""Damaged copies of the real files: no traceback, no lost good line, always conversations that replay."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.errors import NotASession
from ledger.events import JsonObject
from projections.conversation import rows
from replay import Target, replay
from replay.providers.violations import violations
from tests.conformance import SHARED, needs_shared
from tests.pi_files import Taken, take

pytestmark = needs_shared

PI = SHARED / "fixtures" / "pi"
SMALL = [PI / "sessions" / "v3-tree.jsonl", PI / "sessions" / "v3-clone.jsonl"]
SKELETON = PI / "skeleton" / "before-compaction.skeleton.jsonl"
TARGET = Target.of({"provider": "anthropic", "model": "claude-mock"})


def cuts(data: bytes, step: int) -> Iterator[bytes]:
    for at in range(0, len(data), step):
        yield data[:at]
        yield data[:at] + data[at + 40 :]  # a piece is missing


def mutated(data: bytes, seed: int) -> bytes:
    """Lines swapped, doubled, deleted, spliced, torn and overwritten, one to four times."""
    chance = random.Random(seed)
    lines = data.rstrip(b"\n").split(b"\n")
    for _ in range(chance.randint(1, 4)):
        at, other = (chance.randrange(1, len(lines)) for _ in range(2))
        match chance.choice(
            ["swap", "double", "delete", "splice", "tear", "overwrite", "header", "nul", "noise"]
        ):
            case "swap":
                lines[at], lines[other] = lines[other], lines[at]
            case "double":
                lines.insert(other, lines[at])
            case "delete" if len(lines) > 3:
                del lines[at]
            case "splice" if at + 1 < len(lines):
                lines[at : at + 2] = [lines[at] + lines[at + 1]]
            case "tear" if at + 1 < len(lines):
                lines[at : at + 2] = [lines[at][: chance.randrange(len(lines[at]) + 1)] + lines[at + 1]]
            case "overwrite":
                place = chance.randrange(len(lines[at]) + 1)
                lines[at] = lines[at][:place] + chance.randbytes(3).replace(b"\n", b"") + lines[at][place + 3 :]
            case "header":
                lines.insert(chance.randrange(len(lines)), lines.pop(0))
            case "nul":
                lines.insert(at, bytes(30))
            case "noise":
                lines.insert(at, chance.choice([b"{}", b"[]", b'{"type":"message"}', b"\xef\xbb\xbf{", b'"']))
    return b"\n".join(lines) + (b"\n" if chance.random() < 0.7 else b"")


def check(original: bytes, data: bytes) -> Taken | None:
    """Whatever became of the file, its whole lines are taken in, and what was can be shown and replayed."""
    good = {line for line in original.split(b"\n") if line}
    still = {line for line in data.split(b"\n") if line in good}
    try:
        taken = take(data)
    except NotASession:
        assert not any(json.loads(line)["type"] == "session" for line in still)
        return None
    digests = {(record.event.source or {})["sha256"] for own in taken.own.values() for record in own}
    lost = [line[:80] for line in still if hashlib.sha256(line).hexdigest() not in digests]
    assert not lost
    for name in taken.own:
        whole = taken.whole(name)
        assert rows(whole, name)
        answer = replay(whole, name, TARGET)
        request: JsonObject = {"messages": [*answer.messages], "system": answer.system, **answer.extra}
        assert violations(TARGET, request, sendable=answer.sendable) == []
    return taken


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.stem)
def test_cut_files(path: Path) -> None:
    original = path.read_bytes()
    for data in cuts(original, 331):
        check(original, data)


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.stem)
@pytest.mark.parametrize("batch", range(4))
def test_mutated_files(path: Path, batch: int, long_run: bool) -> None:
    original = path.read_bytes()
    many = 250 if long_run else 40
    for seed in range(batch * many, (batch + 1) * many):
        check(original, mutated(original, seed))


def test_the_large_file_cut_and_mutated(long_run: bool) -> None:
    original = SKELETON.read_bytes()
    for seed in range(30 if long_run else 3):
        chance = random.Random(seed)
        check(original, mutated(original[: chance.randrange(100_000, len(original))], seed))


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.stem)
def test_each_longer_version_adds_only_tails(path: Path) -> None:
    original = path.read_bytes()
    before: dict[str, list[str]] = {}
    for cut in [*range(200, len(original), 997), len(original)]:
        now = take(original[:cut]).ids() if b"\n" in original[:cut] else {}
        for name, ids in before.items():
            assert now[name][: len(ids)] == ids
        before = now
