"""What the beginning of a file shows of its format; what a database is asked with."""

import json
import re

from ledger.events import JsonObject

_KEY = re.compile(rb'"([A-Za-z0-9_.-]{1,64})"\s*:')


def first_objects(head: bytes, most: int = 20) -> list[JsonObject]:
    """The JSON objects on the first lines of a file's beginning; lines that are none are passed over."""
    found: list[JsonObject] = []
    for line in head.split(b"\n")[: 2 * most]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
            if len(found) == most:
                break
    return found


def is_sqlite(head: bytes) -> bool:
    """True for the beginning of a SQLite database."""
    return head.startswith(b"SQLite format 3\0")


def document_keys(head: bytes) -> frozenset[str]:
    """The plain names that stand as keys in the beginning of a JSON document, at any depth."""
    return frozenset(name.decode() for name in _KEY.findall(head))


def quoted(text: str) -> str:
    """A text as a literal of SQLite's SQL."""
    inside = text.replace("'", "''").replace("\0", "")
    return f"'{inside}'"
