"""Large session files of runtimes, made from samples of real ones: each repeated under names of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.conformance import SHARED

FIXTURES = SHARED / "fixtures"
_CLAUDE_CODE = (
    "v1.0.98-large-774k",
    *(f"v2.1.332-{name}" for name in ("edit-resume-compact", "fork-of-edit", "max-turns", "stream-cut")),
    *(f"v2.1.332-{name}" for name in ("interrupt-then-next-turn", "max-tokens-resume")),
)
_SESSION = b"5e551017-0000-4000-8000-000000000000"
_UUID = re.compile(rb"[0-9a-f]{8}(?=-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
_NAME = re.compile(rb"\b((?:msg|toolu|req|prt|ses|call|resp)_\w{6,}|(?:fc|rs)_\w{6,})")
_PI_ID = re.compile(rb'("(?:id|parentId)":")([0-9a-f]{8})"')
_SPREAD = 2_654_435_761  # odd: no two rounds give the same


class Sample(NamedTuple):
    """How a large file of a format is made; `suffix` is how its name ends."""

    suffix: str
    write: Callable[[Path, int], None]


def available() -> bool:
    """Whether the samples are there."""
    return FIXTURES.is_dir()


def write_claude_code(path: Path, size: int) -> None:
    """One session of about `size` bytes: records of version 1.0.98 and 2.1.332 in turn, each going on from the
    last."""
    samples = [(FIXTURES / "claude-code" / f"{name}.jsonl").read_bytes() for name in _CLAUDE_CODE]
    last = b""
    with path.open("wb") as file:
        for number, raw in _rounds(samples):
            sessions = set(re.findall(rb'"sessionId":"([^"]*)"', raw))
            for line in _renamed(raw, number, sessions).splitlines(keepends=True):
                if last and b"compact_boundary" not in line:
                    line = line.replace(b'"parentUuid":null', b'"parentUuid":"' + last + b'"', 1)
                if b'"parentUuid"' in line and (name := re.search(rb'"uuid":"([^"]*)"', line)):
                    last = name[1]
                file.write(line)
            if file.tell() >= size:
                return


def write_codex(path: Path, size: int) -> None:
    """One rollout: the first sample's header, then its turns again and again."""
    raw = (FIXTURES / "codex" / "v0.171.0-edit-then-resume.jsonl").read_bytes()
    head, _, rest = raw.partition(b"\n")
    with path.open("wb") as file:
        file.write(head + b"\n")
        for number, again in _rounds([rest]):
            file.write(_renamed(again, number, set()))
            if file.tell() >= size:
                return


def write_pi(path: Path, size: int) -> None:
    """One session, each round a child of the last one's end."""
    raw = (FIXTURES / "pi" / "sessions" / "v3-clone.jsonl").read_bytes()
    head, _, rest = raw.partition(b"\n")
    last = b""
    with path.open("wb") as file:
        file.write(head + b"\n")
        for number, again in _rounds([rest]):
            text = _PI_ID.sub(lambda found: found[1] + _moved(found[2], number) + b'"', again)  # noqa: B023
            if last:
                text = text.replace(b'"parentId":null', b'"parentId":"' + last + b'"', 1)
            last = re.findall(rb'"id":"([0-9a-f]{8})"', text)[-1]
            file.write(text)
            if file.tell() >= size:
                return


def write_opencode(path: Path, size: int) -> None:
    """One export, its messages again and again."""
    whole = json.loads((FIXTURES / "opencode" / "v1.18.33-export.json").read_text())
    raw = b",".join(json.dumps(one).encode() for one in whole["messages"])
    with path.open("wb") as file:
        file.write(b'{"info":' + json.dumps(whole["info"]).encode() + b',"messages":[')
        session = {whole["info"]["id"].encode()}
        for number, again in _rounds([raw]):
            file.write((b"," if number > 1 else b"") + _renamed(again, number, session, keep=True))
            if file.tell() >= size:
                break
        file.write(b"]}")


SAMPLES = {
    "claude-code": Sample(".jsonl", write_claude_code),
    "codex": Sample(".jsonl", write_codex),
    "pi": Sample(".jsonl", write_pi),
    "opencode": Sample(".json", write_opencode),
}
"""By format."""


def _rounds(samples: list[bytes]) -> Iterator[tuple[int, bytes]]:
    number = 0
    while True:
        for raw in samples:
            number += 1
            yield number, raw


def _renamed(raw: bytes, number: int, sessions: set[bytes], *, keep: bool = False) -> bytes:
    """The sample with other ids; those of `sessions` become one and the same, or stay."""
    for session in () if keep else sessions:
        raw = raw.replace(session, _SESSION)
    raw = _UUID.sub(
        lambda found: found[0] if found[0] == _SESSION[:8] else _moved(found[0], number),
        raw,
    )
    return _NAME.sub(lambda found: found[0] if found[0] in sessions else found[0] + b"%05x" % number, raw)


def _moved(name: bytes, number: int) -> bytes:
    return b"%08x" % ((int(name, 16) + number * _SPREAD) & 0xFFFFFFFF)
