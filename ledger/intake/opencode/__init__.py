"""OpenCode's sessions (specs/formats.md 7): its database, what `opencode export` writes, older JSON files."""

from ledger.events import Json
from ledger.intake.mending import as_text
from ledger.intake.opencode.reading import FORMAT, of_database, of_export, of_folders
from ledger.intake.opencode.session import SessionWriter
from ledger.intake.several import Several
from ledger.intake.sniffing import document_keys, is_sqlite
from ledger.intake.transcript import Format, Source

_EXPORTED = frozenset({"info", "messages", "projectID", "directory"})


def read(source: Source, name: str | None = None) -> Several:
    """The sessions of a database, those of sub-agents within the ones that started them; or that of an export.

    Raises `NotASession` for what is none of its own.
    """
    head = source.fetch(0, 64 * 1024)
    if is_sqlite(head):
        store = of_database(source)
    else:
        store = of_folders(source) if _is_of_folders(source.name, head) else of_export(source)
    own = list(store.infos)

    def touched(session: str) -> float:
        value: Json = store.infos[session].get("time_updated")
        return value if isinstance(value, int | float) else 0

    current = max(own, key=touched, default="")
    version = as_text(store.infos[current].get("version")) if own else ""
    return Several(
        FORMAT, source.name, own, current, name, lambda session: SessionWriter(store, session), version or None
    )


def _looks_like(name: str, head: bytes) -> bool:
    if is_sqlite(head):  # its layout begins with other tables
        return "opencode" in name
    return head.lstrip()[:1] == b"{" and (document_keys(head) >= _EXPORTED or _is_of_folders(name, head))


def _is_of_folders(name: str, head: bytes) -> bool:
    keys = document_keys(head)
    return name.startswith("ses_") and keys >= {"id", "projectID", "directory"} and "messages" not in keys


FILES = Format(
    FORMAT, "OpenCode's database, its exports, its older session files", (".json", ".db"), read, _looks_like
)

__all__ = ["FILES"]
