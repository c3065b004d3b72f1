"""Appending what is made of a conversation as it stands, where others may append too."""

from __future__ import annotations

import time
from collections.abc import Callable

from ledger.errors import VersionConflict
from ledger.events import JsonObject
from ledger.store import Ledger
from ledger.turns.encoding import encoded

ATTEMPTS = 8


def append_as_it_stands(
    ledger: Ledger, conversation_id: str, made: Callable[[], tuple[int, list[JsonObject]]]
) -> bool:
    """Append the events that `made` gives, with the version that it made them for; again where another writer
    was there first. False when there was nothing to append.

    Raises `VersionConflict` after many attempts, and what `Ledger.append_encoded` raises.
    """
    for attempt in range(ATTEMPTS):
        version, events = made()
        if not events:
            return False
        try:
            ledger.append_encoded(conversation_id, [encoded(event) for event in events], version)
        except VersionConflict:
            if attempt == ATTEMPTS - 1:
                raise
            time.sleep(0.01 * 2**attempt)
            continue
        return True
    return False
