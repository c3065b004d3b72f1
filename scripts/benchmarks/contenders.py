"""Who appends: the ledger, and its peers on the same database. Each is made in its writer's own process."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Protocol
from urllib.parse import urlsplit
from uuid import UUID, uuid5

import psycopg

from ledger import EncodedEvent, Ledger

Batch = Sequence[EncodedEvent]
NAMESPACE = UUID(int=7)

RAW_TABLE = """
    CREATE TABLE IF NOT EXISTS raw_event (
        stream text NOT NULL, version bigint NOT NULL, position bigserial UNIQUE, type text NOT NULL,
        body bytea NOT NULL, PRIMARY KEY (stream, version))
"""
RAW_INSERT = """
    INSERT INTO raw_event (stream, version, type, body)
    SELECT %s, e.version, e.type, e.body
    FROM unnest(%b::bigint[], %t::text[], %b::bytea[]) AS e (version, type, body)
"""
RAW_COPY = "COPY raw_event (stream, version, type, body) FROM STDIN (FORMAT binary)"
RAW_SQLITE_TABLE = """
    CREATE TABLE IF NOT EXISTS raw_event (
        position INTEGER PRIMARY KEY, stream TEXT NOT NULL, version INTEGER NOT NULL, type TEXT NOT NULL,
        body BLOB NOT NULL, UNIQUE (stream, version))
"""
RAW_SQLITE_INSERT = "INSERT INTO raw_event (stream, version, type, body) VALUES (?, ?, ?, ?)"


class Contender(Protocol):
    """Appends batches to one stream; each append is durable when it returns."""

    def append(self, batch: Batch) -> None: ...

    def close(self) -> None: ...


class OurLedger:
    """The ledger: chain, idempotency, versions and books included."""

    def __init__(self, url: str, stream: str) -> None:
        self.ledger = Ledger.open(url)
        self.stream = stream

    def append(self, batch: Batch) -> None:
        self.ledger.append_encoded(self.stream, batch)

    def close(self) -> None:
        self.ledger.close()


class RawUnnest:
    """One INSERT from plain parallel arrays with binary parameters: the fastest plain statement there is."""

    def __init__(self, url: str, stream: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True, prepare_threshold=1)
        self.stream = f"unnest-{stream}"
        self.version = 0

    def append(self, batch: Batch) -> None:
        versions = list(range(self.version + 1, self.version + len(batch) + 1))
        types = [event.type for event in batch]
        bodies = [event.body for event in batch]
        self.connection.execute(RAW_INSERT, (self.stream, versions, types, bodies))
        self.version += len(batch)

    def close(self) -> None:
        self.connection.close()


class RawCopy:
    """COPY in binary into the same table."""

    def __init__(self, url: str, stream: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True)
        self.stream = f"copy-{stream}"
        self.version = 0

    def append(self, batch: Batch) -> None:
        with self.connection.cursor() as cursor, cursor.copy(RAW_COPY) as copy:
            copy.set_types(["text", "int8", "text", "bytea"])
            for version, event in enumerate(batch, self.version + 1):
                copy.write_row((self.stream, version, event.type, event.body))
        self.version += len(batch)

    def close(self) -> None:
        self.connection.close()


class RawExecutemany:
    """SQLite's executemany in one transaction: write-ahead log, every commit synced."""

    def __init__(self, url: str, stream: str) -> None:
        self.connection = raw_sqlite(url)
        self.stream = stream
        self.version = 0

    def append(self, batch: Batch) -> None:
        rows = [(self.stream, version, e.type, e.body) for version, e in enumerate(batch, self.version + 1)]
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany(RAW_SQLITE_INSERT, rows)
        self.connection.execute("COMMIT")
        self.version += len(batch)

    def close(self) -> None:
        self.connection.close()


class StockRecorder:
    """The library's own application recorder, as it is configured by default, over TCP."""

    def __init__(self, url: str, stream: str, create: bool = False) -> None:
        from eventsourcing.persistence import StoredEvent

        self.recorder, self._close = stock_recorder(url, create)
        self.make = StoredEvent
        self.stream = uuid5(NAMESPACE, stream)
        self.version = 0

    def append(self, batch: Batch) -> None:
        version = self.version
        self.recorder.insert_events(
            [self.make(self.stream, version + n, event.type, event.body) for n, event in enumerate(batch, 1)]
        )
        self.version += len(batch)

    def close(self) -> None:
        self._close()


def raw_sqlite(url: str) -> sqlite3.Connection:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, timeout=60)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def stock_recorder(url: str, create: bool):
    """The recorder and how to close it. Its table cannot be made by several at once."""
    if url.startswith("sqlite"):
        from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

        store = SQLiteDatastore(url.removeprefix("sqlite:///"), lock_timeout=60)
        recorder = SQLiteApplicationRecorder(store)
        if create:
            recorder.create_table()
        return recorder, store.close
    from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore

    parts = urlsplit(url)
    datastore = PostgresDatastore(
        dbname=parts.path[1:],
        host=parts.hostname or "",
        port=str(parts.port),
        user=parts.username or "",
        password=parts.password or "",
    )
    recorder = PostgresApplicationRecorder(datastore, events_table_name="stock_events")
    if create:
        recorder.create_table()
    return recorder, datastore.close


CONTENDERS: dict[str, dict[str, Callable[[str, str], Contender]]] = {
    "postgres": {"ledger": OurLedger, "raw unnest": RawUnnest, "raw copy": RawCopy, "stock": StockRecorder},
    "sqlite": {"ledger": OurLedger, "raw executemany": RawExecutemany, "stock": StockRecorder},
}
RAW = {"postgres": "raw unnest", "sqlite": "raw executemany"}


def make_tables(engine: str, urls: dict[str, str]) -> None:
    """Make every contender's tables before its writers come."""
    Ledger.open(urls["ledger"]).close()
    _, close = stock_recorder(urls["stock"], create=True)
    close()
    if engine == "postgres":
        with psycopg.connect(urls["raw unnest"]) as connection:
            connection.execute(RAW_TABLE)
    else:
        connection = raw_sqlite(urls["raw executemany"])
        connection.execute(RAW_SQLITE_TABLE)
        connection.close()
