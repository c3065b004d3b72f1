"""Database addresses: `sqlite:///path` (or just a path) and `postgresql://…`."""

from pathlib import Path

from ledger.errors import DatabaseUnavailable
from ledger.store.engine import Engine


def connect(url: str, books: int | None = None) -> Engine:
    """The engine for an address; nothing is opened yet. `books`: how many a new ledger gets (None: the
    engine's own number).

    Raises `DatabaseUnavailable` for an address that is none, `ValueError` for `books` below 1.
    """
    if books is not None and books < 1:
        raise ValueError("a ledger has at least one book")
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "sqlite", f"/{url}"
    if scheme == "sqlite":
        from ledger.store.sqlite import SqliteEngine

        path = rest.removeprefix("/")
        if path in ("", ":memory:"):
            problem = "a ledger needs a file: sqlite:///path"
            raise DatabaseUnavailable(database=url, problem=problem)
        return SqliteEngine(Path(path).absolute(), books)
    if scheme in ("postgresql", "postgres"):
        from ledger.store.postgres import PostgresEngine

        return PostgresEngine(url, books)
    problem = "its address starts with neither sqlite:/// nor postgresql://"
    raise DatabaseUnavailable(database=url, problem=problem)
