"""The process that owns a test server: makes the cluster, runs it, and stops it when its owner is gone.

Run by `postgres.py` with one JSON argument; answers one JSON line, `{"port": N}` or `{"error": "..."}`.
Standard library only, so that it starts quickly.
"""

from __future__ import annotations

import ctypes
import json
import os
import pwd
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

ATTEMPTS = 5  # another process may take the free port between looking and starting
START_SECONDS = 60.0
PR_SET_PDEATHSIG = 1


class Stopped(Exception):
    """Asked to stop."""


def on_signal(_number: int, _frame: FrameType | None) -> None:
    raise Stopped


def die_with_parent() -> None:
    """Linux: the server gets SIGQUIT when even the guard is killed. Elsewhere the guard alone has to do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def identity(user: str | None) -> dict[str, Any]:
    """What `subprocess` needs to run as `user`, root's groups left behind; nothing when it is ourselves."""
    if user is None:
        return {}
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


def make_cluster(binaries: Path, folder: Path, user: str | None) -> None:
    """`initdb` without syncing: a test cluster does not outlive the machine."""
    done = subprocess.run(
        [
            str(binaries / "initdb"),
            f"--pgdata={folder / 'data'}",
            "--username=postgres",
            "--encoding=UTF8",
            "--locale=C",
            "--auth-local=trust",  # the socket's folder admits its owner alone
            "--auth-host=scram-sha-256",
            f"--pwfile={folder / 'password'}",
            "--no-sync",
            "--no-instructions",
        ],
        cwd=folder,
        env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
        capture_output=True,
        text=True,
        **identity(user),
    )
    if done.returncode:
        raise RuntimeError(f"initdb failed: {' '.join(done.stderr.split())[-500:]}")


def start_server(
    binaries: Path, folder: Path, user: str | None, fsync: bool
) -> tuple[subprocess.Popen[bytes], int]:
    """Start on a free port and wait until the server says that it is ready."""
    log = folder / "log"
    for _ in range(ATTEMPTS):
        port = free_port()
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": port,
            "unix_socket_directories": folder / "socket",
            "fsync": "on" if fsync else "off",
            "max_connections": 200,
            "log_min_messages": "warning",
            "log_timezone": "UTC",
            "timezone": "UTC",
        }
        with log.open("wb") as output:
            server = subprocess.Popen(
                [str(binaries / "postgres"), "-D", str(folder / "data")]
                + [word for name, value in settings.items() for word in ("-c", f"{name}={value}")],
                cwd=folder,
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                **identity(user),
                preexec_fn=die_with_parent,
            )
        deadline = time.monotonic() + START_SECONDS
        while server.poll() is None and time.monotonic() < deadline:
            # The last line of the pid file is the server's own state; it is padded with blanks.
            state = folder / "data" / "postmaster.pid"
            if state.exists() and state.read_text().rstrip().endswith("ready"):
                return server, port
            time.sleep(0.01)
        stop_server(server)
    raise RuntimeError(f"the server did not start: {' '.join(log.read_text(errors='replace').split())[-500:]}")


def stop_server(server: subprocess.Popen[bytes]) -> None:
    """Immediate shutdown: nothing of the cluster is kept."""
    if server.poll() is None:
        server.send_signal(signal.SIGQUIT)
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def wait_for_end(owner: int, server: subprocess.Popen[bytes]) -> None:
    """Return when the owner has ended (a zombie counts) or the server has."""
    watch: int | None = None
    if hasattr(os, "pidfd_open"):
        try:
            watch = os.pidfd_open(owner)
        except ProcessLookupError:
            return
    while server.poll() is None:
        if watch is not None:
            if select.select([watch], [], [], 1.0)[0]:
                return
            continue
        try:
            os.kill(owner, 0)
        except ProcessLookupError:
            return
        time.sleep(0.5)


def main() -> None:
    order = json.loads(sys.argv[1])
    folder, binaries, user = Path(order["folder"]), Path(order["binaries"]), order["user"]
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, on_signal)
    server: subprocess.Popen[bytes] | None = None
    try:
        try:
            make_cluster(binaries, folder, user)
            server, port = start_server(binaries, folder, user, order["fsync"])
        except (RuntimeError, OSError) as problem:
            print(json.dumps({"error": str(problem)}), flush=True)
            return
        print(json.dumps({"port": port}), flush=True)
        wait_for_end(order["owner"], server)
    except Stopped:
        pass
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if server is not None:
            stop_server(server)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
