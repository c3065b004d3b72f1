"""Recording processes killed at any moment: each turn ends once, what was kept is there, nothing is doubled."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress

import pytest

from ledger import Ledger
from ledger.events import is_terminal
from ledger.store.leasing import OpenText
from tests.integration.store.test_crashes import assert_verified
from tests.writer import ROOT

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/ns/pid"), reason="this system does not tell which processes live"
)


@pytest.fixture
def kills(long_run: bool) -> int:
    """How many recording processes are killed."""
    return int(os.environ.get("TURNLEDGER_KILLS", 0)) or (200 if long_run else 6)


def killed_recorder(url: str, conversation_id: str, choose: random.Random) -> list[str]:
    """Run a recorder, kill it at a random moment; the steps that it was told are stored."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.recording_worker", url, conversation_id, str(choose.randrange(2**32))],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        time.sleep(choose.random() ** 2 * 3)
        process.kill()
        told = process.stdout.read()
    return [json.loads(line)["step"] for line in told.splitlines(keepends=True) if line.endswith("\n")]


def killed_pipe(url: str, conversation_id: str, choose: random.Random) -> list[str]:
    """The same for `turnledger record`, fed as a model streams; it says nothing."""
    program = "from turnledger.cli import main; main()"
    arguments = ["--db", url, "record", "anthropic", "--conversation", conversation_id]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )
    assert process.stdin is not None
    pipe = process.stdin

    def feed() -> None:
        with suppress(BrokenPipeError, ValueError):
            for number in range(1_000_000):
                for frame in frames(f"{conversation_id}-{number}", choose.choice([5, 40, 400])):
                    pipe.write(frame)
                    if choose.random() < 0.3:
                        time.sleep(choose.random() * 0.01)

    feeder = threading.Thread(target=feed, daemon=True)
    with process:
        feeder.start()
        time.sleep(0.7 + choose.random() * 2)
        process.kill()
        feeder.join(timeout=30)
    return []


def frames(name: str, words: int) -> list[bytes]:
    """One message of a model as it streams."""

    def frame(kind: str, **fields: object) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()

    message = {
        "id": f"msg_{name}",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": {"input_tokens": 1},
    }
    return [
        frame("message_start", message=message),
        frame("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        *(
            frame("content_block_delta", index=0, delta={"type": "text_delta", "text": f"word{number} "})
            for number in range(words)
        ),
        frame("content_block_stop", index=0),
        frame("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 2}),
        frame("message_stop"),
    ]


def test_killed_while_recording(engine: str, engine_url: str, kills: int) -> None:
    seed = int(os.environ.get("TURNLEDGER_SEED", 0)) or random.SystemRandom().randrange(2**32)
    choose = random.Random(seed)
    found = Counter[str]()
    try:
        with Ledger.open(engine_url) as ledger:
            for number in range(kills):
                name = f"c{number}"
                kill = killed_pipe if number % 3 == 2 else killed_recorder
                told = kill(engine_url, name, choose)
                if ledger.head(name) is None:
                    continue  # before its first turn began
                kept = ledger.leases.open_texts(name)
                ledger.recover()
                found += Counter({"checkpoints": len(kept), "steps": len(told), "kills": 1})
                assert ledger.leases.running() == []
                assert ledger.leases.open_texts(name) == []
                check(ledger, name, kept, told)
            assert_verified(ledger)
    except BaseException:
        print(f"\nseed: TURNLEDGER_SEED={seed}")
        raise
    print(
        f"\n{engine}: {found['kills']} recorders killed, {found['checkpoints']} open blocks kept (seed {seed})"
    )


def check(ledger: Ledger, name: str, kept: list[OpenText], told: list[str]) -> None:
    events = [recorded.event for recorded in ledger.read(name)]
    turns = {event.turn_id for event in events}
    ends = Counter(event.turn_id for event in events if is_terminal(event))
    assert ends == dict.fromkeys(turns, 1), "each turn ends once"
    finished = {event.step_id for event in events if event.type == "step_finish"}
    assert set(told) <= finished, "what was acknowledged is there"
    texts = {
        (event.type, event.step_id, event.block_index): event
        for event in events
        if event.block_index is not None
    }
    blocks = [event for event in events if event.block_index is not None]
    assert len(texts) == len(blocks), "nothing is doubled"
    for text in kept:
        stored = texts[text.place]  # type: ignore[index]
        assert stored.text.startswith(text.text), "what was checkpointed is there"  # type: ignore[union-attr]
    for event in blocks:
        if event.type == "text_complete" and event.text:  # type: ignore[union-attr]
            words = event.text.split()  # type: ignore[union-attr]
            assert words == [f"word{number}" for number in range(len(words))], (
                "and it is whole as far as it goes"
            )
