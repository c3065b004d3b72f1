"""Damaged copies of the samples: no traceback, no lost good line, damage named, and what is left replays."""

from __future__ import annotations

import functools
import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.errors import NotASession
from ledger.events import TextComplete, ToolResult, ToolStart, UserMessage
from projections.conversation import rows
from replay import replay
from replay.ailments import of_problem
from replay.providers.violations import violations
from tests.conformance import needs_shared
from tests.corpus.pi.test_mutations import mutated
from tests.imports import FIXTURES, SAMPLES, Taken, take_bytes
from tests.property.replay.test_targets import PAIRING

pytestmark = needs_shared

VARIANTS = 2_000  # of a long run, over all samples
MOST_BYTES = 150_000  # of a sample's beginning
TWICE = {"codex", "dsh"}  # say much in two records: whichever of them comes first gives the event
LINES = [(name, path) for name, path in SAMPLES if path.endswith(".jsonl")]
DOCUMENTS = [(name, path) for name, path in SAMPLES if path.endswith(".json")]
TARGET = {"provider": "anthropic", "model": "claude-opus-4-5"}


@functools.cache
def beginning(path: str) -> bytes:
    """A sample's whole lines, as many as are tried."""
    data = (FIXTURES / path).read_bytes()
    if len(data) <= MOST_BYTES:
        return data
    cut = data.rfind(b"\n", 0, MOST_BYTES)
    return data[: cut + 1] if cut > 0 else data[: data.find(b"\n") + 1]


def digests(taken: Taken) -> set[str]:
    """The records that events name as their source."""
    found = set()
    for own in taken.own.values():
        for record in own:
            digest = (record.event.source or {}).get("sha256")
            if isinstance(digest, str):
                found.add(digest)
    return found


def said(taken: Taken) -> set[tuple[str, str]]:
    """The texts that were said and the calls that were made and answered: each once, wherever it stands."""
    found = set()
    for own in taken.own.values():
        for record in own:
            event = record.event
            if isinstance(event, ToolStart | ToolResult):
                found.add((event.type, event.tool_call_id))
            elif isinstance(event, UserMessage | TextComplete):
                body = event.content if isinstance(event, UserMessage) else event.text
                parts = body if isinstance(body, list) else [{"text": body}]
                found.add((event.type, "".join(str(part.get("text")) for part in parts)))
    return {one for one in found if one[1]}


@functools.cache
def told(name: str, path: str) -> frozenset[bytes]:
    """The lines of the undamaged beginning that events came of."""
    data = beginning(path)
    known = digests(take_bytes(data, FIXTURES / path, name))
    return frozenset(line for line in data.split(b"\n") if line and hashlib.sha256(line).hexdigest() in known)


def check(name: str, path: str, data: bytes) -> Taken | None:
    """Whatever became of the file: what it gives is whole, shown and sent."""
    try:
        taken = take_bytes(data, FIXTURES / path, name)
    except NotASession:
        return None
    for conversation in taken.own:
        whole = taken.whole(conversation)
        rows(whole, conversation)
        answer = replay(whole, conversation, TARGET)
        broken = violations(TARGET, answer.request, sendable=answer.sendable)
        if answer.plan.pending:  # where steps overlap the judge cannot know whose calls are waited for
            broken = [one for one in broken if one.rule not in PAIRING]
        assert broken == []
    return taken


def variants(path: str, long_run: bool) -> Iterator[int]:
    """Seeds: a sample's share of all that are tried."""
    many = VARIANTS // len(LINES) + 1 if long_run else 3
    yield from (hash_of(path) + number for number in range(many))


def hash_of(path: str) -> int:
    return int(hashlib.sha256(path.encode()).hexdigest()[:6], 16)


@pytest.mark.parametrize(("name", "path"), LINES, ids=[path for _, path in LINES])
def test_lines_damaged_in_any_way(name: str, path: str, long_run: bool) -> None:
    original = beginning(path)
    if original.count(b"\n") < 4:
        pytest.skip("too few lines to be changed")
    for seed in variants(path, long_run):
        data = mutated(original, seed)
        taken = check(name, path, data)
        if taken is None:
            continue
        known, lines = digests(taken), data.split(b"\n")
        if lines[-1] and not lines[-1].startswith(b"{"):
            del lines[-1]  # no record, and not ended: more of it may be written
        good = [line for line in lines if line in told(name, path)]
        if name not in TWICE:
            assert [line[:80] for line in good if hashlib.sha256(line).hexdigest() not in known] == [], seed
        whole = set(original.split(b"\n"))
        alone = check(name, path, b"".join(line + b"\n" for line in lines if line in whole))
        if alone is not None and name not in TWICE:
            assert digests(alone) <= known, f"seed {seed}: what is damaged takes nothing with it"
        elif alone is not None:
            assert said(alone) <= said(taken), seed


@pytest.mark.parametrize(("name", "path"), LINES, ids=[path for _, path in LINES])
def test_a_file_cut_anywhere_begins_like_the_whole_and_its_damage_is_named(
    name: str, path: str, long_run: bool
) -> None:
    original = beginning(path)
    step = 997 if long_run else max(997, len(original) // 6)
    before: dict[str, list[str]] = {}
    for cut in [*range(step, len(original), step), len(original)]:
        data = original[:cut]
        taken = check(name, path, data)
        if taken is None:
            assert not before, "what was a transcript stays one"
            continue
        ids = taken.ids()
        for conversation, some in before.items():
            assert ids[conversation][: len(some)] == some
        before = ids
        torn = not data.endswith(b"\n") and original[cut : cut + 1] != b"\n" and cut < len(original)
        named = {of_problem(problem).ailment.name for problem in taken.session.problems}
        assert not torn or "torn tail" in named, cut


@pytest.mark.parametrize(("name", "path"), LINES, ids=[path for _, path in LINES])
def test_lines_fused_into_one_are_named_and_taken_apart(name: str, path: str) -> None:
    lines = beginning(path).rstrip(b"\n").split(b"\n")
    chance = random.Random(hash_of(path))
    if len(lines) < 4:
        pytest.skip("too few lines to be fused")
    for _ in range(3):
        at = chance.randrange(1, len(lines) - 1)
        half = len(lines[at]) // 2
        if b'"type"' not in lines[at + 1]:
            continue  # nothing that could be known for a record
        data = b"\n".join([*lines[:at], lines[at][:half] + lines[at + 1], *lines[at + 2 :]]) + b"\n"
        taken = check(name, path, data)
        assert taken is not None
        named = {of_problem(problem).ailment.name for problem in taken.session.problems}
        assert named & {"spliced lines", "lines that are no records"}, at
        whole = take_bytes(b"\n".join([*lines[:at], *lines[at + 1 :]]) + b"\n", FIXTURES / path, name)
        assert digests(whole) <= digests(taken)


@pytest.mark.parametrize(("name", "path"), DOCUMENTS, ids=[path for _, path in DOCUMENTS])
def test_documents_cut_anywhere(name: str, path: str, long_run: bool) -> None:
    original = (FIXTURES / path).read_bytes()
    step = 331 if long_run else max(997, len(original) // 8)
    for cut in range(0, len(original), step):
        taken = check(name, path, original[:cut])
        if taken is not None and original[cut:].strip():
            assert taken.session.problems, cut
        check(name, path, original[:cut] + original[cut + 40 :])


def test_every_sample_that_has_lines_or_is_a_document_is_damaged() -> None:
    rest = {Path(path).suffix for name, path in SAMPLES if (name, path) not in (*LINES, *DOCUMENTS)}
    assert rest <= {".db"}
