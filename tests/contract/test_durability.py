"""Durable when it returns, and reading goes on when the server drops its connections."""

from __future__ import annotations

import sqlite3
import threading

import pytest

from ledger import Ledger
from tests.contract.material import assert_gapless, ids, several
from tests.contract.rawstore import execute


def test_sqlite_commits_are_synced(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every connection that may write has a write-ahead log and full synchronisation."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def remembered(*args: object, **options: object) -> sqlite3.Connection:
        opened.append(connect(*args, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", remembered)
    with Ledger.open(sqlite_url) as ledger:
        ledger.append("c", several("c", "a"))
        writing = 0
        for connection in opened:
            try:
                ((read_only,),) = connection.execute("PRAGMA query_only").fetchall()
            except sqlite3.ProgrammingError:
                continue  # closed again
            if not read_only:
                writing += 1
                assert connection.execute("PRAGMA synchronous").fetchall() == [(2,)], "FULL"
                assert connection.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
        assert writing == 1


def dropped(url: str) -> int:
    """Drop every other connection to the database; how many there were."""
    ((count,),) = execute(
        url,
        "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    return int(count)


def test_a_live_follower_survives_dropped_connections(postgres_url: str) -> None:
    with Ledger.open(postgres_url) as reader, Ledger.open(postgres_url) as writer:
        following = reader.follow(live=True)
        met = []
        for n in range(6):
            threading.Timer(0.05, lambda n=n: writer.append("c", several("c", f"e{n}"))).start()
            met.append(next(following))
            assert dropped(postgres_url) > 0
        assert ids(met) == [f"e{n}" for n in range(6)]
        assert_gapless(met)
        following.close()


def test_reading_and_appending_survive_dropped_connections(postgres_url: str) -> None:
    with Ledger.open(postgres_url) as ledger:
        for n in range(5):
            ledger.append("c", several("c", f"e{n}"))
            assert dropped(postgres_url) > 0
            assert len(list(ledger.read("c"))) == n + 1
            assert dropped(postgres_url) > 0
            head = ledger.head("c")
            assert head is not None
            assert head.version == n + 1
            assert dropped(postgres_url) > 0


def test_an_append_whose_answer_was_lost_is_stored_once(postgres_url: str) -> None:
    """The server commits and then the connection breaks: the client cannot know, and asks again."""
    with Ledger.open(postgres_url) as ledger:
        ledger.append("c", several("c", "a"))
        execute(
            postgres_url,
            "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$",
        )
        execute(
            postgres_url,
            "CREATE CONSTRAINT TRIGGER die AFTER INSERT ON batch DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION die()",
        )
        with pytest.raises(Exception, match=r".+") as refused:
            ledger.append("c", several("c", "b"))
        assert "\n" not in str(refused.value)
        execute(postgres_url, "DROP TRIGGER die ON batch")
        ledger.append("c", several("c", "b"))
        assert ids(ledger.read("c")) == ["a", "b"]
        assert_gapless(list(ledger.follow()))
