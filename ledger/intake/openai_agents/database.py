"""The database of `SQLiteSession` (specs/formats.md 12): its sessions, a row an item."""

from collections.abc import Iterator

from ledger.events import Json
from ledger.intake.found import Findings, Found, row
from ledger.intake.openai_agents.session import RUNTIME, SessionItems
from ledger.intake.scribe import Scribe
from ledger.intake.several import Places, Several
from ledger.intake.sniffing import is_sqlite, quoted
from ledger.intake.transcript import Format, Source

_SESSIONS = """
SELECT session_id, max(item) AS last FROM (
    SELECT session_id, id AS item FROM agent_messages UNION ALL SELECT session_id, 0 FROM agent_sessions
) GROUP BY session_id ORDER BY min(item), session_id
"""
_ITEMS = "SELECT id, message_data, created_at FROM agent_messages WHERE session_id = {session} ORDER BY id"


def read(source: Source, name: str | None = None) -> Several:
    """Every session of the database. Raises `NotASession` where it is none."""
    last: dict[str, int] = {}
    for found in source.rows(_SESSIONS):
        session, item = found["session_id"], found["last"]
        if isinstance(session, str) and session:
            last[session] = item if isinstance(item, int) else 0
    current = max(last, key=lambda session: last[session], default="")

    def begin(session: str) -> "_Session":
        return _Session(source, session)

    return Several(RUNTIME, source.name, list(last), current, name, begin)


class _Session:
    """Writes the items of one session."""

    def __init__(self, source: Source, session: str) -> None:
        self._source = source
        self._session = session

    def __call__(self, scribe: Scribe, _places: Places, findings: Findings, /) -> Iterator[None]:
        # The items are those of OpenAI's API; they do not say which model gave them.
        items = SessionItems(scribe.recording.sheet.conversation_id, scribe.stamps, "openai", None)
        before: tuple[Found, str, Json] | None = None
        for one in self._source.rows(_ITEMS.format(session=quoted(self._session))):
            number = one["id"] if isinstance(one["id"], int) else 0
            found = row(number, one["message_data"], f"item {number}", findings)
            if found.value is None:
                scribe.damaged(found)
            else:
                if before is not None:  # whatever comes behind an item, what ends with it ends once
                    scribe.take(*before)
                    for event in items.over(found.value):
                        scribe.put(event)
                at = _time(one["created_at"])
                scribe.take(found, str(number), at)
                for event in items.take(found.value):
                    scribe.put(event)
                before = found, f"{number}:end", at
            yield


def _time(value: Json) -> Json:
    """SQLite's CURRENT_TIMESTAMP, which is UTC, as RFC 3339: when the row was written."""
    return f"{value.replace(' ', 'T')}Z" if isinstance(value, str) and len(value) == 19 else value


def _looks_like(_name: str, head: bytes) -> bool:
    return is_sqlite(head) and b"agent_messages" in head


FILES = Format(
    RUNTIME, "databases of OpenAI Agents' SQLiteSession", (".db", ".sqlite", ".sqlite3"), read, _looks_like
)
