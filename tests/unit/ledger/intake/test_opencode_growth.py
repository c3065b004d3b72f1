"""OpenCode's database while anything happens in it: what was taken in is not changed or moved by what comes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ledger.events import to_json
from replay import replay
from replay.providers.violations import violations
from tests.imports import take_file
from tests.opencode_files import OpenCodeFile, completed, tokens

SEEDS, LOOKS = 5, 0.1  # walks, and the share of changes that are looked at
LONG_SEEDS, LONG_LOOKS = 200, 1.0


class Walk:
    """A way that OpenCode may go; every step of it is one change of the database."""

    def __init__(self, file: OpenCodeFile, seed: int) -> None:
        self.file = file
        self.chance = random.Random(seed)
        self.session = file.session()

    def changes(self) -> Iterator[None]:
        for _ in range(4):
            prompt = self.file.prompt(self.session)
            yield
            self.file.put(self.session, prompt, type="text", text="go on")
            yield
            for _ in self.turn(self.session, prompt, 0):
                yield
                if self.chance.random() < 0.03:
                    break  # OpenCode was killed
                if self.chance.random() < 0.03:
                    self.file.prompt(self.session, "meanwhile")
                    yield

    def turn(self, session: str, prompt: str, depth: int) -> Iterator[None]:
        for number in range(self.chance.randint(1, 3)):
            yield from self.answer(session, prompt, depth, last=number == 2 or self.chance.random() < 0.3)

    def answer(self, session: str, prompt: str, depth: int, *, last: bool) -> Iterator[None]:
        file = self.file
        name = file.answer(session, prompt)
        yield
        file.put(session, name, type="step-start")
        yield
        under_way = [self.text(session, name), self.text(session, name)]
        if not last:
            under_way += [self.tool(session, name, depth) for _ in range(self.chance.randint(1, 2))]
        while under_way:
            one = self.chance.choice(under_way)
            if next(one, self) is self:
                under_way.remove(one)
            else:
                yield
        if self.chance.random() < 0.15:
            file.answer(
                session, prompt, name, completed=True, error={"name": "MessageAbortedError", "data": {}}
            )
            yield
            return
        reason = "stop" if last else "tool-calls"
        file.put(session, name, type="step-finish", reason=reason, tokens=tokens(), cost=0)
        yield
        file.answer(session, prompt, name, completed=True, finish=reason)
        yield

    def text(self, session: str, message: str) -> Iterator[Any]:
        kind = self.chance.choice(("text", "reasoning"))
        part = self.file.put(session, message, type=kind, text="", time={"start": 1})
        yield
        self.file.put(session, message, part, type=kind, text="so it is", time={"start": 1, "end": 2})
        yield

    def tool(self, session: str, message: str, depth: int) -> Iterator[Any]:
        file = self.file
        task = depth < 2 and self.chance.random() < 0.4
        tool = "task" if task else "read"
        part = file.call(session, message, tool, {"status": "pending", "input": {}, "raw": ""})
        yield
        child = file.session(parent=session) if task else None
        metadata = {"sessionId": child} if child else {}
        running = {"status": "running", "input": {"n": 1}, "metadata": metadata, "time": {"start": 3}}
        file.call(session, message, tool, running, part)
        yield
        if child:
            prompt = file.prompt(child, "look")
            yield
            yield from self.turn(child, prompt, depth + 1)
        done: dict[str, Any] = completed("out", metadata=metadata)
        if self.chance.random() < 0.2:
            done = {"status": "error", "input": {"n": 1}, "error": "no", "metadata": metadata}
        file.call(session, message, tool, done, part)
        yield


def walked(path: Path, seed: int, looks: float) -> None:
    file = OpenCodeFile(path)
    walk = Walk(file, seed)
    look = random.Random(seed)
    before: list[Any] = []
    for _ in walk.changes():
        if look.random() > looks:
            continue
        taken = take_file(path)
        assert list(taken.own) == [walk.session], "every sub-agent is a lane"
        now = [to_json(event) for event in taken.events()]
        assert now[: len(before)] == before, seed
        before = now
    taken = take_file(path)
    ids = [event.id for event in taken.events()]
    assert len(set(ids)) == len(ids)
    found = replay(taken.whole(), walk.session, {"provider": "anthropic", "model": "claude-opus-4-5"})
    target = {"provider": "anthropic", "model": "claude-opus-4-5"}
    assert violations(target, found.request, sendable=found.sendable) == []
    file.connection.close()


def test_whatever_happens_a_later_look_begins_as_the_one_before(tmp_path: Path, long_run: bool) -> None:
    seeds, looks = (LONG_SEEDS, LONG_LOOKS) if long_run else (SEEDS, LOOKS)
    for seed in range(seeds):
        walked(tmp_path / f"opencode-{seed}.db", seed, looks)
