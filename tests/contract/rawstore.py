"""The tables as they lie on disk, past the public door: to recompute what they hold, and to damage it.

The one place in the tests that knows table names. Each engine's statements stand here side by side.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import psycopg

PLACE = {"sqlite": "(e.place >> 32) = c.cid", "postgres": "e.cid = c.cid"}
VERSION = {"sqlite": "(e.place & 4294967295)", "postgres": "e.version"}


class RawEvent(NamedTuple):
    tenant: str
    conversation_id: str
    version: int
    header: bytes
    head: bytes
    body: bytes  # salt and JSON


def engine_of(url: str) -> str:
    return url.partition(":")[0].replace("postgresql", "postgres")


def path_of(url: str) -> str:
    return url.removeprefix("sqlite:///")


@contextmanager
def raw(url: str) -> Iterator[Any]:
    """A connection of the engine's own driver; commits at the end."""
    if engine_of(url) == "sqlite":
        connection = sqlite3.connect(path_of(url))
        try:
            with connection:
                yield connection
        finally:
            connection.close()
    else:
        with psycopg.connect(url, options="-c search_path=turnledger,public") as other:
            yield other


def execute(url: str, statement: str, parameters: Sequence[object] = ()) -> list[Any]:
    """Run one statement with `?` for parameters; the rows, if it gives any."""
    with raw(url) as connection:
        text = statement if engine_of(url) == "sqlite" else statement.replace("?", "%s")
        cursor = connection.execute(text, parameters) if parameters else connection.execute(text)
        return list(cursor.fetchall()) if cursor.description else []


def raw_events(url: str) -> list[RawEvent]:
    """Everything stored, by conversation and version."""
    engine = engine_of(url)
    rows = execute(
        url,
        f"SELECT c.tenant, c.id, {VERSION[engine]}, e.header, e.head, e.body"
        f" FROM event e JOIN conversation c ON {PLACE[engine]} ORDER BY 1, 2, 3",
    )
    return [RawEvent(*row[:3], *(bytes(each) for each in row[3:])) for row in rows]


def overwrite(url: str, conversation_id: str, version: int, column: str, value: object) -> None:
    """Put `value` into one column of one stored event."""
    engine = engine_of(url)
    execute(
        url,
        f"UPDATE event AS e SET {column} = ? WHERE {VERSION[engine]} = ?"
        f" AND EXISTS (SELECT 1 FROM conversation c WHERE {PLACE[engine]} AND c.id = ?)",
        (value, version, conversation_id),
    )


def delete(url: str, conversation_id: str, version: int) -> None:
    """Take one stored event away."""
    engine = engine_of(url)
    execute(
        url,
        f"DELETE FROM event AS e WHERE {VERSION[engine]} = ?"
        f" AND EXISTS (SELECT 1 FROM conversation c WHERE {PLACE[engine]} AND c.id = ?)",
        (version, conversation_id),
    )
