"""Runners killed at any moment: whoever comes next goes on where rows and tracking stand, together."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ledger import Ledger
from projections import PROJECTIONS, Runner, rebuild, status
from tests.integration.projections.test_runner import turn

ROOT = Path(__file__).parents[3]

PROJECT = """
import sys, threading
from ledger import Ledger
from projections import PROJECTIONS, Runner
with Ledger.open(sys.argv[1], components=(PROJECTIONS,)) as ledger:
    print("ready", flush=True)
    for progress in Runner(ledger).follow(threading.Event()):
        print(progress.events, flush=True)
"""


@pytest.fixture
def crashes(long_run: bool) -> int:
    """How many times a runner is killed."""
    return int(os.environ.get("TURNLEDGER_CRASHES", 0)) or (100 if long_run else 6)


def test_a_killed_runner_leaves_rows_and_tracking_in_step(engine_url: str, crashes: int) -> None:
    choose = random.Random(7)
    number = 0
    with Ledger.open(engine_url, components=(PROJECTIONS,)) as ledger:
        for _ in range(crashes):
            runner = subprocess.Popen(
                [sys.executable, "-c", PROJECT, engine_url], cwd=ROOT, stdout=subprocess.PIPE, text=True
            )
            try:
                assert runner.stdout is not None
                assert runner.stdout.readline() == "ready\n"
                until = time.monotonic() + choose.uniform(0, 0.3)
                while time.monotonic() < until:
                    number += 1
                    ledger.append(choose.choice("abc"), turn(number, steps=choose.randint(0, 3)))
            finally:
                runner.send_signal(signal.SIGKILL)
                runner.wait(30)
                runner.stdout.close()
        list(Runner(ledger).catch_up())
        assert all(lag.taken == lag.last for lag in status(ledger).lags)
        assert [each.differing for each in rebuild(ledger)] == [[] for _ in ledger.conversations()]
