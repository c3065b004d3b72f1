"""The test server itself: no server outlives its run, and no run goes without one in silence."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from tests import postgres as servers
from tests.postgres import NoPostgres, PostgresServer

ROOT = Path(__file__).parents[2]
OWNER = """
import os, sys
from tests.postgres import PostgresServer
server = PostgresServer.start(fsync=False)
print(server.admin, server.folder, server.guard.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _own_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(servers.SERVER_VARIABLE, raising=False)


def gone(folder: Path, seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return not folder.exists()


@pytest.mark.parametrize("victim", ["owner", "guard"])
def test_a_killed_owner_or_guard_takes_the_server_along(victim: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        admin, folder, guard = owner.stdout.readline().split()
        with psycopg.connect(admin) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        os.kill(owner.pid if victim == "owner" else int(guard), signal.SIGKILL)
        if victim == "owner":
            assert gone(Path(folder))
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                psycopg.connect(admin, connect_timeout=5).close()
            except psycopg.OperationalError:
                break
            time.sleep(0.05)
        else:
            pytest.fail("the server still answers")
        owner.kill()
    if victim == "guard":  # nobody is left to clear up but us, once the last of the server has gone
        deadline = time.monotonic() + 30
        while Path(folder).exists() and time.monotonic() < deadline:
            shutil.rmtree(folder, ignore_errors=True)
            time.sleep(0.05)
        assert not Path(folder).exists()


@pytest.mark.parametrize("kind", ["system", "wheel"])
def test_both_sources_of_binaries_work(kind: str) -> None:
    try:
        servers.find_binaries(kind)
    except NoPostgres as missing:
        pytest.skip(f"only one of the two is needed: {missing}")
    with PostgresServer.start(fsync=True, binaries=kind) as server, server.database() as url:
        with psycopg.connect(url) as connection:
            assert connection.execute("SHOW fsync").fetchone() == ("on",)
        folder = server.folder
    assert folder is not None
    assert gone(folder)


def test_binaries_in_a_closed_home_are_copied_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        _, package = servers.find_binaries("wheel")
    except NoPostgres as missing:
        pytest.skip(str(missing))
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    for part in package.parent.glob(f"{package.name}*"):
        if part.is_dir():
            shutil.copytree(part, home / part.name)
    monkeypatch.syspath_prepend(str(home))
    assert servers.find_binaries("wheel")[0].is_relative_to(home)
    with (
        PostgresServer.start(fsync=False, binaries="wheel") as server,
        psycopg.connect(server.admin) as connection,
    ):
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_no_binaries_is_a_clear_failure(tmp_path: Path) -> None:
    with pytest.raises(NoPostgres, match=r"no server binaries in '.*'.*\.\[test\].*TURNLEDGER_TEST_POSTGRES"):
        PostgresServer.start(fsync=False, binaries=str(tmp_path))
