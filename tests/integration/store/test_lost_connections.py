"""Connections that the server ended: the next append or read finds a new one, and nothing is doubled."""

import threading
from contextlib import suppress

import psycopg

from ledger import Ledger
from ledger.errors import DatabaseUnavailable
from replay.audit import verify
from tests.contract.material import assert_gapless, ids, several


def end_all(url: str) -> int:
    """End every other connection to the database, as a restart of the server would."""
    with psycopg.connect(url, autocommit=True) as connection:
        ended = connection.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        ).fetchone()
    assert ended is not None
    return int(ended[0])


def test_appends_and_reads_go_on_with_new_connections(postgres_url: str) -> None:
    with Ledger.open(postgres_url) as ledger:
        ledger.append("c", several("c", "a"))
        for n in range(3):
            assert end_all(postgres_url) >= 1
            assert ledger.append("c", several("c", f"b{n}")).replayed is False
            assert end_all(postgres_url) >= 1
            assert ids(ledger.read("c"))[-1] == f"b{n}"
            assert end_all(postgres_url) >= 1
            ledger.append("c", several("c", f"b{n}", f"s{n}"), known="skip")
        assert_gapless(list(ledger.follow()))
        assert len(list(ledger.read("c"))) == 7


def test_connections_ended_under_load_double_nothing(postgres_url: str) -> None:
    with Ledger.open(postgres_url) as ledger:
        ledger.append("c", several("c", "first"))

        def write(writer: int) -> None:
            for n in range(60):
                conversation, batch = f"c{writer % 2}", several(f"c{writer % 2}", f"{writer}-{n}")
                for _ in range(50):  # ended twice in a row, an append says so, and its caller sends it again
                    with suppress(DatabaseUnavailable):
                        ledger.append(conversation, batch)
                        break

        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
        for thread in threads:
            thread.start()
        while threads[0].is_alive():
            end_all(postgres_url)
            threads[0].join(timeout=0.05)
        for thread in threads:
            thread.join(timeout=60)
        stored = ids(ledger.read("c0")) + ids(ledger.read("c1"))
        assert sorted(stored) == sorted(f"{writer}-{n}" for writer in range(4) for n in range(60))
        assert_gapless(list(ledger.follow()))
        assert verify(ledger).ok
