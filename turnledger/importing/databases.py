"""SQLite databases that runtimes write, read without touching them: a live writer is expected."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from ledger.errors import NotASession
from ledger.events import Json, JsonObject

_BUSY_SECONDS = 5


def rows(path: Path, query: str) -> Iterator[JsonObject]:
    """The rows of one query, as objects; blobs as their UTF-8 text.

    Only reads (`mode=ro`), in one transaction of SQLite's. Raises `NotASession` for what is no database, or one
    whose layout the query does not fit, and `OSError` for one that stays locked or cannot be opened.
    """
    how = "mode=ro&immutable=1" if _lies_still(path) else "mode=ro"
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=_BUSY_SECONDS)
    except sqlite3.Error as error:
        raise OSError(None, f"the database cannot be opened: {error}") from None
    try:
        connection.row_factory = sqlite3.Row
        connection.text_factory = lambda raw: raw.decode(errors="replace")
        for row in connection.execute(query):
            yield {name: _plain(row[name]) for name in row.keys()}  # noqa: SIM118 - a Row iterates its values
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise OSError(None, f"the database is locked by its runtime: {error}; try again") from None
        raise NotASession(file=path.name, runtime="database", problem=str(error)) from None
    except sqlite3.DatabaseError as error:
        raise NotASession(file=path.name, runtime="database", problem=str(error)) from None
    except UnicodeDecodeError:  # of the error's own text, which names what is damaged
        raise NotASession(file=path.name, runtime="database", problem="its layout is damaged") from None
    finally:
        connection.close()


def _lies_still(path: Path) -> bool:
    """Whether nobody has a database in WAL mode open: to read it otherwise would make files beside it, or fail
    in a folder that may not be written (https://sqlite.org/wal.html#readonly)."""
    with path.open("rb") as file:
        wal = file.read(20)[18:] == b"\2\2"  # https://sqlite.org/fileformat2.html#file_format_version_numbers
    return wal and not path.with_name(f"{path.name}-wal").exists()


def _plain(value: object) -> Json:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str | int | float) else None
