"""Finding an event of a conversation by its id, as a retraction names it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import cast

from ledger import Ledger
from ledger.admission import check_id
from ledger.errors import InvalidEvent
from ledger.store.statements import load_statements
from projections.state import Found

SQL = Path(__file__).with_name("sql")


@cache
def statements(engine: str) -> dict[str, str]:
    """The room's named statements, as this engine takes them."""
    return load_statements(engine, SQL / f"{engine}.sql")


def finder(ledger: Ledger, conversation_id: str) -> Callable[[str], Found | None]:
    """Looks events of the conversation up by id; in a branch also those that it shares with its source."""
    text = statements(ledger.engine.name)["version_of_event"]

    def find(event_id: str) -> Found | None:
        if not _is_id(event_id):
            return None  # no event is called so, and a driver may refuse to ask
        standing = ledger.engine.standing(ledger.tenant, conversation_id)
        if standing is None:
            return None
        for span in ledger.engine.lineage(standing, 0, standing.version):
            rows = ledger.engine.fetch(text, {"cid": span.standing.cid, "id": event_id})
            version = cast(int, rows[0][0]) if rows else 0
            if span.after < version <= span.upto:
                recorded = next(iter(ledger.read(conversation_id, version - 1, version)), None)
                if recorded is not None:
                    return Found(version, recorded.event)
        return None

    return find


def _is_id(event_id: str) -> bool:
    try:
        check_id("event_ids", event_id)
    except InvalidEvent:
        return False
    return True
