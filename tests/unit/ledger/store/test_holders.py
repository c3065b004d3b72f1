"""Whether the holder of a lease still lives: said only where it is certain."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ledger.store.holders import holder_name, is_dead, this_process

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/ns/pid"), reason="this system does not tell which processes live"
)


def of_child() -> tuple[subprocess.Popen[str], str]:
    program = "from ledger.store.holders import this_process; print(this_process(), flush=True); input()"
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    return child, child.stdout.readline().strip()


def test_a_process_that_lives_and_then_does_not() -> None:
    child, told = of_child()
    with child:
        assert not is_dead(told)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert is_dead(told), "also while nobody has waited for it"
    assert is_dead(told)


def test_this_process_lives() -> None:
    assert not is_dead(this_process())
    assert str(os.getpid()) in holder_name()


@pytest.mark.parametrize(
    "changed", [{"boot": "another"}, {"namespace": "pid:[1]"}], ids=["another boot", "another container"]
)
def test_what_cannot_be_told_from_here_counts_as_alive(changed: dict[str, str]) -> None:
    told = {**json.loads(this_process()), "pid": 2**22 + 1, **changed}
    assert not is_dead(json.dumps(told))


def test_a_process_id_that_was_given_out_again() -> None:
    told = {**json.loads(this_process()), "started": 1}
    assert is_dead(json.dumps(told))


@pytest.mark.parametrize("told", ["", "{}", "not JSON", "[1]", '{"boot": "x"}'])
def test_what_says_nothing_counts_as_alive(told: str) -> None:
    assert not is_dead(told)
