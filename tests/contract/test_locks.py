"""PostgreSQL: who waits for whom. Writers to different books never wait; a late commit is never skipped."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from ledger import Cursor, Ledger
from ledger.errors import DatabaseBusy, DatabaseError
from ledger.store import postgres_server
from tests.contract.material import assert_gapless, ids, several, stored
from tests.contract.rawstore import execute, raw

GATE = 42


@pytest.fixture
def gate(postgres_url: str) -> str:
    """A database where an append stops after it took its positions, while somebody holds the gate."""
    Ledger.open(postgres_url, books=1).close()
    execute(
        postgres_url,
        "CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN PERFORM pg_advisory_xact_lock_shared({GATE}); RETURN NEW; END $$",
    )
    execute(postgres_url, "CREATE TRIGGER gate BEFORE INSERT ON batch EXECUTE FUNCTION gate()")
    return postgres_url


@contextmanager
def shut(url: str) -> Iterator[None]:
    with psycopg.connect(url) as keeper:
        keeper.execute("SELECT pg_advisory_lock(%s)", (GATE,))
        yield


def appending(ledger: Ledger, name: str) -> threading.Thread:
    thread = threading.Thread(target=lambda: ledger.append(name, several(name, f"of {name}")))
    thread.start()
    return thread


def test_an_event_that_commits_late_is_not_skipped(gate: str) -> None:
    with Ledger.open(gate) as writer, Ledger.open(gate) as reader:
        with shut(gate):
            slow = appending(writer, "slow")
            slow.join(timeout=0.5)
            quick = appending(writer, "quick")
            quick.join(timeout=0.5)
            assert slow.is_alive()
            assert quick.is_alive(), "it may not overtake in the same book"
            assert list(reader.follow()) == []
            assert reader.cursor() == Cursor()
        slow.join(timeout=30)
        quick.join(timeout=30)
        followed = list(reader.follow())
        assert sorted(ids(followed)) == ["of quick", "of slow"]
        assert_gapless(followed)


def test_a_reader_beside_a_slow_commit_sees_none_of_it(gate: str) -> None:
    with Ledger.open(gate) as writer, Ledger.open(gate) as reader:
        writer.append("c", several("c", "a"))
        with shut(gate):
            slow = appending(writer, "c")
            slow.join(timeout=0.5)
            assert slow.is_alive()
            assert stored(reader, "c") == [(1, "a")]
            head = reader.head("c")
            assert head is not None
            assert head.version == 1
        slow.join(timeout=30)
        assert stored(reader, "c") == [(1, "a"), (2, "of c")]


def test_writers_to_other_books_do_not_wait(postgres_url: str) -> None:
    with Ledger.open(postgres_url) as ledger:
        books = {}
        for n in range(40):
            name = f"c{n}"
            books[name] = ledger.append(name, several(name, "a")).book
        held = "c0"
        others = [name for name, book in books.items() if book != books[held]]
        assert len(others) > 20, "conversations are spread over the books"
        with raw(postgres_url) as stranger:
            stranger.execute("SELECT * FROM conversation WHERE id = %s FOR UPDATE", (held,))
            stranger.execute("SELECT * FROM book WHERE book = %s FOR UPDATE", (books[held],))
            for name in others:
                ledger.append(name, several(name, "b"))
            stranger.rollback()


def test_nobody_takes_a_table_lock(postgres_url: str) -> None:
    """A foreign transaction that has written to the tables holds nobody up."""
    with Ledger.open(postgres_url) as ledger, raw(postgres_url) as stranger:
        ledger.append("c", several("c", "a"))
        for table in ("event", "conversation", "batch", "book"):
            stranger.execute(f"LOCK TABLE {table} IN ROW EXCLUSIVE MODE")
        ledger.append("c", several("c", "b"))
        ledger.append("d", several("d", "a"))
        assert len(list(ledger.follow())) == 3


@pytest.mark.parametrize("by", ["us", "the server"])
def test_a_lock_that_stays_is_one_clear_error(
    postgres_url: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """We give up after a while; so may the server, by its own statement timeout."""
    with Ledger.open(postgres_url) as ledger:
        ledger.append("c", several("c", "a"))
    if by == "us":
        monkeypatch.setattr(postgres_server, "BUSY_SECONDS", 0.3)
    else:
        name = psycopg.conninfo.conninfo_to_dict(postgres_url)["dbname"]
        execute(postgres_url, f"ALTER DATABASE {name} SET statement_timeout = '300ms'")
    with Ledger.open(postgres_url) as ledger:
        with raw(postgres_url) as stranger:
            stranger.execute("SELECT * FROM conversation FOR UPDATE")
            with pytest.raises(DatabaseError) as refused:
                ledger.append("c", several("c", "b"))
            assert isinstance(refused.value, DatabaseBusy) or by == "the server"
            assert "\n" not in str(refused.value)
            assert stored(ledger, "c") == [(1, "a")]
            stranger.rollback()
        assert ledger.append("c", several("c", "b")).first_version == 2
        assert_gapless(list(ledger.follow()))
