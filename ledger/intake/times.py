"""Times as sources write them, as events hold them."""

import re
from datetime import UTC, datetime
from functools import lru_cache

from ledger.events import Json

_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


def time_of(value: Json) -> str | None:
    """An RFC 3339 time with offset from pi's ISO time or milliseconds since 1970; None when it is neither."""
    if isinstance(value, str):
        return value if _is_time(value) else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            moment = datetime.fromtimestamp(value / 1000, UTC)
        except (OverflowError, OSError, ValueError):
            return None
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return None


@lru_cache(maxsize=64)  # a record's time is asked for with each of its events
def _is_time(text: str) -> bool:
    if not _ISO.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def ms_of(value: Json) -> float | None:
    """Milliseconds since 1970 of an ISO time or of a number that already is that."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if (text := time_of(value)) is not None:
        return datetime.fromisoformat(text).timestamp() * 1000
    return None
