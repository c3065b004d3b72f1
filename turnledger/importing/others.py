"""What is no transcript, but is known: told to whoever takes it for one."""

from collections.abc import Callable

from ledger.errors import NotASession
from ledger.events import JsonObject
from ledger.intake.problems import Problem
from ledger.intake.sniffing import first_objects, is_sqlite
from turnledger.importing.files import HEAD_BYTES, OpenFile

OWN_TABLES = frozenset({"ledger", "book", "conversation", "event", "batch"})
"""Tables that a ledger's own SQLite database has."""

_PACKED = {
    b"\x28\xb5\x2f\xfd": "a file that zstd compressed; its name must end in .zst",
    b"\x1f\x8b": "a file that gzip compressed; unpack it first",
    b"PK\x03\x04": "a zip archive; unpack it first",
}

_PI = frozenset({"agent_start", "agent_end", "turn_start", "turn_end", "message_start", "message_end"})
_CODEX = frozenset({"thread.started", "turn.started", "turn.completed", "item.started", "item.completed"})
_CLAUDE = frozenset({"system", "assistant", "user", "result", "stream_event"})
_AI_SDK = frozenset({"start", "start-step", "text-start", "text-delta", "tool-call", "finish-step", "abort"})
_AGENTS = frozenset({"raw_response_event", "run_item_stream_event", "agent_updated_stream_event"})


def _is_claude(one: JsonObject) -> bool:
    return "session_id" in one and "sessionId" not in one and one.get("type") in _CLAUDE


def _is_pydantic_ai(one: JsonObject) -> bool:
    return "event_kind" in one


def _of(kinds: frozenset[str]) -> Callable[[JsonObject], bool]:
    return lambda one: one.get("type") in kinds


_STREAMS: tuple[tuple[str, Callable[[JsonObject], bool]], ...] = (
    ("claude-code", _is_claude),
    ("pi", _of(_PI)),
    ("codex-exec", _of(_CODEX)),
    ("openai-agents", _of(_AGENTS)),
    ("pydantic-ai", _is_pydantic_ai),
    ("ai-sdk", _of(_AI_SDK)),
)
"""Runtimes by how an object of their streams looks."""


def other(file: OpenFile) -> str | None:
    """What a file is that is no transcript of any format, in words that follow "it is"; None where that is not
    known, or where it may be one."""
    head = file.fetch(0, HEAD_BYTES)
    if not head.strip():
        return "empty" if file.size <= len(head) else None
    for magic, said in _PACKED.items():
        if head.startswith(magic):
            return said
    if is_sqlite(head):
        return _database(file)
    if head.startswith((b"data:", b"event:", b"id:", b":")):
        return "a stream of server-sent events; `turnledger record` takes in the ones of runtimes and providers"
    for one in first_objects(head, 8):
        for runtime, is_of in _STREAMS:
            if is_of(one):
                return f"a stream of {runtime}; `turnledger record {runtime}` takes it in"
        if one.get("type") not in ("session", "response"):  # what pi's streams begin with
            break
    return None


def problems_of(file: OpenFile) -> list[Problem]:
    """What is wrong with a file that none of its records shows; asked once it was read."""
    problems = [] if file.torn is None else [Problem("torn_frame", None, file.torn, lost=True)]
    if file.is_changed() and not is_sqlite(
        file.head
    ):  # a database's pages change under readers that it protects
        text = "it was cut or written anew while it was read; import it again"
        problems.append(Problem("changed_while_read", None, text, lost=True))
    return problems


def tables_of(file: OpenFile) -> frozenset[str]:
    """The tables of a SQLite database; none for what is no (whole) one. Raises `OSError` for a locked one."""
    if not is_sqlite(file.fetch(0, 16)):
        return frozenset()
    try:
        found = list(file.rows("SELECT name FROM sqlite_master WHERE type = 'table'"))
    except NotASession:
        return frozenset()
    return frozenset(str(row["name"]) for row in found)


def _database(file: OpenFile) -> str:
    tables = tables_of(file)
    if tables >= OWN_TABLES:
        return "a ledger's own database; `turnledger export` gives its conversations back as lines"
    return f"a SQLite database of another layout, with the tables {', '.join(sorted(tables))[:200] or '(none)'}"
