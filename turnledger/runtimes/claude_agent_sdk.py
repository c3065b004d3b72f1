"""The session store of Claude's Agent SDK in the ledger (`pip install turnledger[claude-agent-sdk]`).

    store = LedgerSessionStore(ledger)
    options = ClaudeAgentOptions(session_store=store)

What the SDK mirrors is stored entry by entry and given back as it came, so that a session resumes from the
ledger on any machine. The same entries are taken in as `turnledger import claude-code` does it: the
conversation of that session id can be viewed, replayed and verified while it is recorded.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, cast

from claude_agent_sdk import fold_session_summary

from ledger.errors import TurnledgerError
from ledger.events import MAX_BATCH, JsonObject
from ledger.intake.claude_code.mirror import (
    Key,
    Standing,
    deleted_event,
    entries_of,
    entry_events,
    entry_ids,
    is_main_id,
    key_of,
    sessions_prefix,
    standing,
    subkeys_prefix,
    summary_event,
)
from ledger.store import Head, Ledger
from ledger.store.ledger import made_id
from ledger.turns import LiveStamps
from turnledger.importing.storing import import_file
from turnledger.runtimes.appending import append_as_it_stands

if TYPE_CHECKING:
    from claude_agent_sdk.types import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
    )

_ENTRIES = MAX_BATCH // 20  # of one append: a long entry is several events


class LedgerSessionStore:
    """A `SessionStore`. With `conversations=False` only what the SDK gives is kept, and nothing made of it.

    Errors of the ledger are raised as they are: the SDK tries again, then says so in a `MirrorErrorMessage`.
    What kept a session's conversation from being made is no such error: it is in `failures`, by session id.
    """

    def __init__(self, ledger: Ledger, *, conversations: bool = True) -> None:
        self.failures: dict[str, str] = {}
        self._ledger = ledger
        self._conversations = conversations
        self._making: dict[tuple[str, str], bool] = {}  # whether there is more than what is being made now

    async def append(self, key: SessionKey, entries: Sequence[SessionStoreEntry]) -> None:
        """Store a batch; durable when it returns. An entry whose `uuid` is stored already is passed over."""
        if entries:
            told = key_of(cast("Mapping[str, object]", key))
            await asyncio.to_thread(self._append, told, [cast(JsonObject, entry) for entry in entries])
            if self._conversations:
                await self._follow(told)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """All entries in the order in which they were stored; None for what was never written, or deleted."""
        entries = await asyncio.to_thread(self._load, key_of(cast("Mapping[str, object]", key)))
        return cast("list[SessionStoreEntry] | None", entries)

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """A project's sessions, with the time of their last append in milliseconds."""
        return [
            {"session_id": at.key.session, "mtime": _milliseconds(head)}
            for head, at in await asyncio.to_thread(self._sessions, project_key)
        ]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """The SDK's summaries of a project's sessions, as its own fold left them."""
        return [
            {"session_id": at.key.session, "mtime": _milliseconds(head), "data": dict(at.summary)}
            for head, at in await asyncio.to_thread(self._sessions, project_key)
            if at.summary is not None
        ]

    async def delete(self, key: SessionKey) -> None:
        """Delete a transcript, a session's main one with all below it.

        It is not given any more, but stays in the ledger; the conversation made of it stays as it is.
        """
        await asyncio.to_thread(self._delete, key_of(cast("Mapping[str, object]", key)))

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """The subpaths of the transcripts below a session's main one."""
        told = key_of(cast("Mapping[str, object]", key))
        return await asyncio.to_thread(self._subkeys, told)

    # -- in a thread of its own

    def _append(self, key: Key, entries: list[JsonObject]) -> None:
        for at in range(0, len(entries), _ENTRIES):
            part = entries[at : at + _ENTRIES]
            self._write(key, partial(self._events, key, part))

    def _events(self, key: Key, entries: list[JsonObject], now: Standing) -> list[JsonObject]:
        ids = entry_ids(key, now.generation, entries)
        seen = set(
            self._ledger.stored_versions(key.conversation_id, [name for name in ids if name is not None])
        )
        new: list[tuple[str | None, JsonObject]] = []
        for name, entry in zip(ids, entries, strict=True):
            if name is None or name not in seen:
                new.append((name, entry))
                seen.add(name or "")
        if not new:
            return []
        events = entry_events(key, now.generation, new, _STAMPS)
        if key.is_main:
            data = _folded(key, now.summary, [entry for _, entry in new])
            events.append(summary_event(key, now.generation, data, _STAMPS))
        return events

    def _write(self, key: Key, events: Callable[[Standing], list[JsonObject]]) -> None:
        """Append what `events` makes of how the mirror stands."""

        def made() -> tuple[int, list[JsonObject]]:
            head = self._ledger.head(key.conversation_id)
            return (0 if head is None else head.version), events(self._standing(head, key))

        append_as_it_stands(self._ledger, key.conversation_id, made)

    def _standing(self, head: Head | None, key: Key) -> Standing:
        if head is None:
            return Standing(key)
        (last,) = self._ledger.read(head.conversation_id, head.version - 1, head.version)
        return standing(json.loads(last.body), key)

    def _load(self, key: Key) -> list[JsonObject] | None:
        head = self._ledger.head(key.conversation_id)
        if head is None:
            return None
        records = self._ledger.read(key.conversation_id, upto=head.version)
        return entries_of(json.loads(record.body) for record in records)

    def _sessions(self, project: str) -> list[tuple[Head, Standing]]:
        heads = (
            head
            for head in self._ledger.conversations(sessions_prefix(project))
            if is_main_id(head.conversation_id)
        )
        return list(self._there(heads))

    def _there(self, heads: Iterable[Head]) -> Iterator[tuple[Head, Standing]]:
        for head in heads:
            at = self._standing(head, Key("", ""))
            if not at.deleted:
                yield head, at

    def _subkeys(self, key: Key) -> list[str]:
        below = self._there(self._ledger.conversations(subkeys_prefix(key)))
        return [at.key.subpath for _, at in below if at.key.subpath is not None]

    def _delete(self, key: Key) -> None:
        subpaths = self._subkeys(key) if key.is_main else []
        for one in (*(key._replace(subpath=subpath) for subpath in subpaths), key):
            self._write(one, lambda now: [] if now.deleted else [deleted_event(now, _STAMPS)])

    # -- the conversation

    async def _follow(self, key: Key) -> None:
        """Bring the session's conversation up to date; who comes while that is done only says that there is
        more."""
        session = key.project, key.session
        if session in self._making:
            self._making[session] = True
            return
        self._making[session] = True
        try:
            while self._making[session]:
                self._making[session] = False
                await asyncio.to_thread(self._make, Key(*session))
        finally:
            del self._making[session]

    def _make(self, key: Key) -> None:
        try:
            with tempfile.TemporaryDirectory(prefix="turnledger-") as folder:
                main = self._unpack(key, Path(folder))
                if main is None:
                    return
                report = import_file(self._ledger, "claude-code", main, None, False, lambda _: None)
        except (TurnledgerError, OSError) as error:
            self.failures[key.session] = str(error)
            return
        if report.failure is None:
            self.failures.pop(key.session, None)
        else:
            self.failures[key.session] = report.failure

    def _unpack(self, key: Key, folder: Path) -> Path | None:
        """The session's files as Claude Code writes them; None while there is no main one."""
        main = folder / f"{PurePosixPath(key.session).name}.jsonl"
        if not _written(main, self._load(key)):
            return None
        for subpath in self._subkeys(key):
            place = PurePosixPath(subpath)
            if not place.is_absolute() and ".." not in place.parts and "\0" not in subpath:
                _written(
                    folder / main.stem / f"{place}.jsonl", self._load(Key(key.project, key.session, subpath))
                )
        return main


def _written(path: Path, entries: Iterable[JsonObject] | None) -> bool:
    if entries is None:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="ascii") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in entries)
    return True


def _folded(key: Key, summary: JsonObject | None, entries: list[JsonObject]) -> Mapping[str, object]:
    before = {"session_id": key.session, "mtime": 0, "data": summary} if summary is not None else None
    told = {"project_key": key.project, "session_id": key.session}
    folded = fold_session_summary(
        cast("SessionSummaryEntry | None", before),
        cast("SessionKey", told),
        cast("list[SessionStoreEntry]", entries),
    )
    return folded["data"]


def _milliseconds(head: Head) -> int:
    return head.recorded_at // 1000


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_STAMPS = LiveStamps(made_id, _now)
