"""Opening, migrating, and all that can be wrong with a database: one clear error each, nothing lost."""

from __future__ import annotations

import os
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

import psycopg
import pytest

from ledger import Ledger
from ledger.errors import (
    DatabaseBusy,
    DatabaseError,
    DatabaseFull,
    DatabaseMissing,
    DatabaseReadOnly,
    DatabaseUnavailable,
    NotALedger,
    SchemaTooNew,
    TurnledgerError,
)
from ledger.store import sqlite_file
from tests.contract.material import assert_gapless, ids, several, stored
from tests.contract.rawstore import engine_of, execute, path_of, raw
from tests.postgres import PostgresServer
from tests.writer import ROOT, Order, running


def assert_one_clear_line(error: TurnledgerError) -> None:
    text = str(error)
    assert text
    assert "\n" not in text
    assert "{" not in text, "every attribute of the message is filled in"
    assert "Traceback" not in text


def assert_still_whole(url: str, expected: list[str]) -> None:
    """The ledger holds what was acknowledged, has no hole, and takes more."""
    with Ledger.open(url) as ledger:
        assert ids(ledger.read("c")) == expected
        ledger.append("c", several("c", "afterwards"))
        followed = list(ledger.follow())
        assert len(followed) == len(expected) + 1
        assert_gapless(followed)


# -- making and migrating


def test_a_fresh_database_is_made_on_first_use_and_found_again(engine_url: str) -> None:
    with Ledger.open(engine_url) as ledger:
        ledger.append("c", several("c", "a"))
    with Ledger.open(engine_url) as ledger:
        assert stored(ledger, "c") == [(1, "a")]


def test_several_threads_may_open_a_fresh_database_at_once(engine_url: str) -> None:
    problems: list[BaseException] = []
    start = threading.Barrier(8)

    def run(number: int) -> None:
        try:
            start.wait(timeout=60)
            with Ledger.open(engine_url) as ledger:
                ledger.append("c", several("c", f"e{number}"))
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert problems == []
    with Ledger.open(engine_url) as ledger:
        assert sorted(ids(ledger.read("c"))) == [f"e{number}" for number in range(8)]


def test_a_file_that_another_makes_between_two_looks_is_a_ledger(sqlite_url: str) -> None:
    file = sqlite_file.SqliteFile(Path(sqlite_url.removeprefix("sqlite:///")))
    file.make()

    class Looking:
        """A connection, and another process that makes the ledger after the first look."""

        def execute(self, statement: str) -> sqlite3.Cursor:
            row = reader.execute(statement).fetchone()
            Ledger.open(sqlite_url).close()
            return reader.execute("SELECT ?", row)

    with closing(file.reader()) as reader:
        file.check(cast(sqlite3.Connection, Looking()))


def test_several_processes_may_open_a_fresh_database_at_once(engine_url: str) -> None:
    orders = [Order(engine_url, f"w{n}", ["c"], batches=2, seed=n) for n in range(8)]
    with running(orders) as writers:
        for writer in writers:
            writer.go()
        for writer in writers:
            assert len(writer.collect()) == 2, writer.complaint()
    with Ledger.open(engine_url) as ledger:
        assert len(list(ledger.read("c"))) == 16
        assert_gapless(list(ledger.follow()))


def test_a_newer_schema_is_refused_and_left_alone(engine_url: str) -> None:
    with Ledger.open(engine_url) as ledger:
        ledger.append("c", several("c", "a"))
    ((known,),) = execute(engine_url, "SELECT max(number) FROM migration WHERE component = 'ledger'")
    (columns,) = [execute(engine_url, "SELECT * FROM migration WHERE number = ?", (known,))]
    assert columns
    execute(
        engine_url,
        "UPDATE migration SET number = ? WHERE component = 'ledger' AND number = ?",
        (known + 7, known),
    )
    with pytest.raises(SchemaTooNew) as refused:
        Ledger.open(engine_url)
    assert (refused.value.actual, refused.value.known) == (known + 7, known)
    assert_one_clear_line(refused.value)
    execute(
        engine_url,
        "UPDATE migration SET number = ? WHERE component = 'ledger' AND number = ?",
        (known, known + 7),
    )
    assert_still_whole(engine_url, ["a"])


def test_a_reader_does_not_make_a_database(engine_url: str, tmp_path: Path) -> None:
    with pytest.raises(DatabaseMissing) as missing:
        Ledger.open(engine_url, create=False)
    assert_one_clear_line(missing.value)
    assert list(tmp_path.iterdir()) == []
    if engine_of(engine_url) == "postgres":
        assert execute(engine_url, "SELECT 1 FROM pg_tables WHERE schemaname = 'public'") == []


# -- an address that leads nowhere


@pytest.mark.parametrize(
    "url", ["", "mysql://localhost/x", "sqlite://", "http://example.org", "sqlite:///", "sqlite:///:memory:"]
)
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(TurnledgerError) as refused:
        Ledger.open(url)
    assert_one_clear_line(refused.value)


@pytest.mark.parametrize("create", [True, False])
def test_a_folder_that_is_not_there(tmp_path: Path, create: bool) -> None:
    with pytest.raises(DatabaseError) as refused:
        Ledger.open(f"sqlite:///{tmp_path}/no/such/ledger.db", create=create)
    assert_one_clear_line(refused.value)
    assert "no/such/ledger.db" in str(refused.value)


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError) as refused:
        Ledger.open(f"sqlite:///{tmp_path}")
    assert_one_clear_line(refused.value)


def test_a_postgres_database_that_is_not_there(postgres: PostgresServer) -> None:
    with pytest.raises(DatabaseError) as refused:
        Ledger.open(postgres.url("no_such_database"))
    assert_one_clear_line(refused.value)
    assert "no_such_database" in str(refused.value)


def test_a_postgres_server_that_is_not_there() -> None:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for url in (
        f"postgresql://someone:s3cret@127.0.0.1:{port}/x",
        f"postgresql://127.0.0.1:{port}/x?user=someone&password=s3cret",
        f"postgresql://someone:s3cret%40x@127.0.0.1:{port},127.0.0.1:{port}/x",
    ):
        with pytest.raises(DatabaseUnavailable) as refused:
            Ledger.open(url)
        assert_one_clear_line(refused.value)
        assert "s3cret" not in str(refused.value), "no password in a message"


def test_a_wrong_password_stays_out_of_the_message(postgres_url: str) -> None:
    wrong = postgres_url.replace("postgres:", "postgres:wr0ng", 1)
    with pytest.raises(DatabaseError) as refused:
        Ledger.open(wrong)
    assert_one_clear_line(refused.value)
    assert "wr0ng" not in str(refused.value)


# -- something else at that address


@pytest.mark.parametrize("content", [b"this is not a database, " * 100, b"x", bytes(4096), os.urandom(8192)])
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(content)
    with pytest.raises(NotALedger) as refused:
        Ledger.open(f"sqlite:///{path}")
    assert_one_clear_line(refused.value)
    assert path.read_bytes() == content, "left as it was"


def test_a_database_of_somebody_else(engine_url: str) -> None:
    """SQLite: a file is ours or not. PostgreSQL: what lies in the schema that ours has."""
    table = "event" if engine_of(engine_url) == "sqlite" else "turnledger.event"
    with raw(engine_url) as connection:
        if engine_of(engine_url) == "postgres":
            connection.execute("CREATE SCHEMA turnledger")
        connection.execute(f"CREATE TABLE {table} (id integer, text text)")
        connection.execute(f"INSERT INTO {table} VALUES (1, 'mine')")
    for create in (True, False):
        with pytest.raises(NotALedger) as refused:
            Ledger.open(engine_url, create=create)
        assert_one_clear_line(refused.value)
    assert execute(engine_url, f"SELECT * FROM {table}") == [(1, "mine")]


def test_tables_of_others_beside_ours_are_left_alone(postgres_url: str) -> None:
    names = ("event", "conversation", "batch", "book", "ledger", "migration")
    with psycopg.connect(postgres_url) as connection:
        for name in names:
            connection.execute(f"CREATE TABLE {name} (theirs text)")
    with Ledger.open(postgres_url) as ledger:
        ledger.append("c", several("c", "a"))
        assert ids(ledger.follow()) == ["a"]
    with psycopg.connect(postgres_url) as connection:
        for name in names:
            assert connection.execute(f"SELECT count(*) FROM {name}").fetchone() == (0,)


@pytest.mark.parametrize(
    "setting",
    [
        "default_transaction_isolation = 'serializable'",
        "default_transaction_isolation = 'repeatable read'",
        "search_path = pg_catalog",
        "bytea_output = 'escape'",
        "timezone = 'Asia/Kathmandu'",
        "standard_conforming_strings = off",
        "synchronous_commit = off",
        "client_encoding = 'LATIN1'",
        "plan_cache_mode = 'force_generic_plan'",
    ],
)
def test_the_settings_of_a_server_do_not_matter(postgres_url: str, setting: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(postgres_url)["dbname"]
    execute(postgres_url, f"ALTER DATABASE {name} SET {setting}")
    with Ledger.open(postgres_url) as one, Ledger.open(postgres_url) as other:
        start = threading.Barrier(2)
        problems: list[BaseException] = []

        def write(ledger: Ledger, number: int) -> None:
            try:
                start.wait(timeout=30)
                for n in range(15):
                    ledger.append("é\u2028", several("é\u2028", f"{number}-{n}-😀"))
            except BaseException as problem:
                problems.append(problem)

        threads = [threading.Thread(target=write, args=pair) for pair in ((one, 0), (other, 1))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert problems == []
        followed = list(one.follow())
        assert len(followed) == 30
        assert_gapless(followed)
        assert ids(other.read("é\u2028")) == ids(followed)


def test_a_commit_waits_for_the_disk_whatever_the_server_says(postgres_url: str) -> None:
    """Durable when it returns (DESIGN.md 4): the connection that appends has synchronous commit on."""
    name = psycopg.conninfo.conninfo_to_dict(postgres_url)["dbname"]
    execute(postgres_url, f"ALTER DATABASE {name} SET synchronous_commit = off")
    with Ledger.open(postgres_url) as ledger:
        ledger.append("c", several("c", "a"))
        execute(
            postgres_url,
            "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'it is %', current_setting('synchronous_commit'); END $$",
        )
        execute(postgres_url, "CREATE TRIGGER tell BEFORE INSERT ON batch EXECUTE FUNCTION tell()")
        with pytest.raises(DatabaseError, match="it is on"):
            ledger.append("c", several("c", "b"))


def test_a_truncated_file_is_one_clear_error(sqlite_url: str) -> None:
    with Ledger.open(sqlite_url) as ledger:
        for n in range(50):
            ledger.append("c", several("c", f"e{n}"))
    path = Path(path_of(sqlite_url))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    def use() -> None:
        with Ledger.open(sqlite_url) as ledger:
            list(ledger.follow())
            list(ledger.read("c"))

    with pytest.raises(DatabaseError) as refused:
        use()
    assert_one_clear_line(refused.value)


# -- no room


def test_a_full_disk_under_sqlite(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`max_page_count` makes SQLite itself report a full disk; it binds a connection, so every one is bound."""
    with Ledger.open(sqlite_url) as ledger:
        ledger.append("c", several("c", "a"))
    connect = sqlite3.connect

    def small(*args: object, **options: object) -> sqlite3.Connection:
        connection = connect(*args, **options)
        connection.execute("PRAGMA max_page_count = 60").fetchall()
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", small)
        with Ledger.open(sqlite_url) as ledger:
            ledger.append("c", several("c", "b"))
            with pytest.raises(DatabaseFull) as refused:
                ledger.append("c", several("c", *(f"big{n}" for n in range(5000))))
            assert_one_clear_line(refused.value)
            assert ids(ledger.read("c")) == ["a", "b"]
            ledger.append("c", several("c", "small"))
    assert_still_whole(sqlite_url, ["a", "b", "small"])


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A file system of 1 MB, where we may make one."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only root may make a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root on Linux may make a small disk"
)
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    with small_disk(tmp_path):
        url = f"sqlite:///{tmp_path}/ledger.db"
        acknowledged = []
        with Ledger.open(url) as ledger:

            def fill() -> None:
                for n in range(2000):
                    ledger.append("c", several("c", f"e{n}"))
                    acknowledged.append(f"e{n}")

            with pytest.raises(DatabaseError) as refused:
                fill()
            assert_one_clear_line(refused.value)
            assert isinstance(refused.value, DatabaseFull)
            assert ids(ledger.read("c")) == acknowledged
            assert_gapless(list(ledger.follow()))
        assert len(acknowledged) > 10
        with Ledger.open(url) as ledger:
            assert ids(ledger.read("c")) == acknowledged


def test_a_full_disk_under_postgres(postgres_url: str) -> None:
    """The server reports a full disk late in the append, after events were inserted."""
    with Ledger.open(postgres_url) as ledger:
        ledger.append("c", several("c", "a"))
        execute(
            postgres_url,
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100';"
            " END $$",
        )
        execute(postgres_url, "CREATE TRIGGER full_disk BEFORE INSERT ON batch EXECUTE FUNCTION full_disk()")
        for name in ("c", "new"):
            with pytest.raises(DatabaseFull) as refused:
                ledger.append(name, several(name, "b"))
            assert_one_clear_line(refused.value)
        assert ledger.head("new") is None
        assert stored(ledger, "c") == [(1, "a")]
        execute(postgres_url, "DROP TRIGGER full_disk ON batch")
        assert ledger.append("c", several("c", "b")).first_version == 2
    assert_still_whole(postgres_url, ["a", "b"])


# -- locked


def test_a_sqlite_file_that_stays_locked(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.open(sqlite_url) as ledger:
        ledger.append("c", several("c", "a"))
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.3)
    with Ledger.open(sqlite_url) as ledger, closing(sqlite3.connect(path_of(sqlite_url))) as stranger:
        stranger.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseBusy) as refused:
            ledger.append("c", several("c", "b"))
        assert_one_clear_line(refused.value)
        assert ids(ledger.read("c")) == ["a"], "readers are not held up"
        stranger.rollback()
        assert ledger.append("c", several("c", "b")).first_version == 2
    assert_still_whole(sqlite_url, ["a", "b"])


def test_a_lock_that_goes_away_in_time_is_waited_for(engine_url: str) -> None:
    with Ledger.open(engine_url) as ledger:
        ledger.append("c", several("c", "a"))
        with raw(engine_url) as stranger:
            if engine_of(engine_url) == "sqlite":
                stranger.execute("BEGIN IMMEDIATE")
            else:
                stranger.execute("SELECT * FROM conversation FOR UPDATE")
            done: list[object] = []
            thread = threading.Thread(target=lambda: done.append(ledger.append("c", several("c", "b"))))
            thread.start()
            thread.join(timeout=0.5)
            assert thread.is_alive()
            assert done == []
        thread.join(timeout=30)
        assert len(done) == 1
        assert stored(ledger, "c") == [(1, "a"), (2, "b")]


# -- not to be written

READ_ONLY = """
import os, sys
from ledger import Ledger
from ledger.errors import DatabaseReadOnly
from tests.contract.material import ids, several
with Ledger.open(sys.argv[2]) as ledger:  # everything is imported before the interpreter is out of reach
    ledger.append("c", several("c", "a"))
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    with Ledger.open(sys.argv[1]) as ledger:
        print(ids(ledger.read("c")))
        ledger.append("c", several("c", "b"))
except DatabaseReadOnly as refused:
    assert "\\n" not in str(refused)
    print("refused")
"""


@pytest.mark.parametrize("writable_folder", [True, False])
def test_a_file_that_may_not_be_written(tmp_path: Path, writable_folder: bool) -> None:
    """Run as a user who may only read (root may write anything): what may be read is read."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    url = f"sqlite:///{folder / 'ledger.db'}"
    with Ledger.open(url) as ledger:
        ledger.append("c", several("c", "a"))
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o777 if writable_folder else 0o555)
    closed = [parent for parent in folder.parents if parent.stat().st_mode & stat.S_IXOTH == 0]
    for parent in closed:
        parent.chmod(parent.stat().st_mode | stat.S_IXOTH)
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, url, f"sqlite:///{tmp_path / 'other.db'}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    folder.chmod(0o755)
    for parent in closed:
        parent.chmod(parent.stat().st_mode & ~stat.S_IXOTH)
    assert done.stdout.splitlines() == ["['a']", "refused"], done.stderr[-1500:]


def test_a_postgres_database_that_may_not_be_written(postgres_url: str) -> None:
    with Ledger.open(postgres_url) as ledger:
        ledger.append("c", several("c", "a"))
    name = psycopg.conninfo.conninfo_to_dict(postgres_url)["dbname"]
    execute(postgres_url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with Ledger.open(postgres_url) as ledger:
        assert ids(ledger.read("c")) == ["a"]
        with pytest.raises(DatabaseReadOnly) as refused:
            ledger.append("c", several("c", "b"))
        assert_one_clear_line(refused.value)
        assert ids(ledger.read("c")) == ["a"]


# -- a process's own affairs


def test_a_forked_child_is_told_to_open_its_own(engine_url: str) -> None:
    """A connection shared across a fork would mix two conversations with the server."""
    script = """
import os, sys
from ledger import Ledger
from ledger.errors import TurnledgerError
from tests.contract.material import ids, several
url = sys.argv[1]
with Ledger.open(url) as ledger:
    ledger.append("c", several("c", "a"))
    if (child := os.fork()) == 0:
        try:
            ledger.append("c", several("c", "b"))
            code = 3
        except TurnledgerError:
            with Ledger.open(url) as own:
                own.append("c", several("c", "child"))
            code = 0
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    ledger.append("c", several("c", "parent"))
    print(ids(ledger.read("c")))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, engine_url],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout == "['a', 'child', 'parent']\n", done.stderr[-1500:]
