"""A transcript that Claude's Agent SDK mirrors, entry by entry, as notes of a conversation of its own.

An entry is kept as its JSON text, so that what is loaded equals what was given. The last event of a mirror says
how it stands: in its `source` whose it is and how often it was deleted before, in a summary the SDK's own fold.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote

from ledger.events import Json, JsonObject
from ledger.intake.identity import made_id
from ledger.intake.mending import as_text
from ledger.turns.stamps import Stamps

FORMAT = "claude-agent-sdk"
ENTRY, SUMMARY, DELETED = "transcript_entry", "transcript_summary", "transcript_deleted"
PART_CHARACTERS = 1_000_000
"""Characters of one note: a longer entry stands in several, and each fits into an event."""


class Key(NamedTuple):
    """Which transcript: the session's main one, or another below it at `subpath`."""

    project: str
    session: str
    subpath: str | None = None

    @property
    def conversation_id(self) -> str:
        """The mirror's conversation. What is too long for an id stands as its beginning and a digest."""
        below = "" if self.subpath is None else f"/{_short(self.subpath, 56)}"
        return f"{_of_project(self.project)}{_short(self.session, 50)}{below}"

    @property
    def is_main(self) -> bool:
        """Whether it is a session's main transcript."""
        return self.subpath is None


class Standing(NamedTuple):
    """How a mirror stands after its last event: how often it was deleted, whether it is now, its summary."""

    key: Key
    generation: int = 0
    deleted: bool = True
    summary: JsonObject | None = None


def key_of(key: Mapping[str, object]) -> Key:
    """A `SessionKey` of the SDK; an empty subpath is none."""
    subpath = key.get("subpath")
    return Key(str(key["project_key"]), str(key["session_id"]), str(subpath) if subpath else None)


def sessions_prefix(project: str) -> str:
    """How the ids of all mirrors of a project begin."""
    return _of_project(project)


def subkeys_prefix(key: Key) -> str:
    """How the ids of the mirrors below a session's main one begin."""
    return f"{Key(key.project, key.session).conversation_id}/"


def is_main_id(conversation_id: str) -> bool:
    """Whether a mirror's id is that of a session's main transcript."""
    return conversation_id.count("/") == 2


def standing(event: Mapping[str, Json], key: Key) -> Standing:
    """What the last event of the mirror of `key` says of it."""
    source = event.get("source")
    told = source if isinstance(source, dict) else {}
    generation = told.get("generation")
    summary = json.loads(as_text(event.get("entry"))) if event.get("kind") == SUMMARY else None
    subpath = as_text(told.get("subpath")) or None
    return Standing(
        Key(as_text(told.get("project_key")), as_text(told.get("session")), subpath) if told else key,
        generation if isinstance(generation, int) else 0,
        event.get("kind") == DELETED,
        summary if isinstance(summary, dict) else None,
    )


def entry_ids(key: Key, generation: int, entries: Sequence[Mapping[str, Json]]) -> list[str | None]:
    """The id of each entry's (first) event: made from its `uuid`, which is its key; None without one."""
    return [
        made_id(FORMAT, key.conversation_id, uuid, f"entry~{generation}") if uuid else None
        for uuid in (as_text(entry.get("uuid")) for entry in entries)
    ]


def entry_events(
    key: Key, generation: int, entries: Iterable[tuple[str | None, Mapping[str, Json]]], stamps: Stamps
) -> list[JsonObject]:
    """The notes that keep entries, given with their ids.

    Raises `TypeError`, `ValueError` for an entry that is not JSON.
    """
    events: list[JsonObject] = []
    for event_id, entry in entries:
        text = json.dumps(entry, allow_nan=False)  # ASCII: a lone surrogate stays what it is
        parts = [text[at : at + PART_CHARACTERS] for at in range(0, len(text), PART_CHARACTERS)]
        first = event_id or stamps.event_id("note")
        for number, part in enumerate(parts, 1):
            note = _note(key, generation, ENTRY, f"{as_text(entry.get('type')) or 'an'} entry", part, stamps)
            note["id"] = first if number == 1 else f"{first}~{number}"
            events.append(note if len(parts) == 1 else {**note, "part": number, "parts": len(parts)})
    return events


def summary_event(key: Key, generation: int, data: Mapping[str, object], stamps: Stamps) -> JsonObject:
    """The note that keeps the SDK's summary of a session, as it stands after the entries before it."""
    return _note(key, generation, SUMMARY, "the session's summary", json.dumps(data), stamps)


def deleted_event(at: Standing, stamps: Stamps) -> JsonObject:
    """The note after which a transcript is as if it had never been written."""
    return _note(at.key, at.generation + 1, DELETED, "the transcript was deleted", None, stamps)


def entries_of(events: Iterable[Mapping[str, Json]]) -> list[JsonObject] | None:
    """The entries that a mirror holds, None when it holds none."""
    entries: list[JsonObject] = []
    parts: list[str] = []
    for event in events:
        if event.get("kind") == DELETED:
            entries.clear()
        elif event.get("kind") == ENTRY:
            parts.append(as_text(event.get("entry")))
            if event.get("part", 1) == event.get("parts", 1):
                entries.append(json.loads("".join(parts)))
                parts.clear()
    return entries or None


def _note(key: Key, generation: int, kind: str, text: str, entry: Json, stamps: Stamps) -> JsonObject:
    source: JsonObject = {"format": FORMAT, "project_key": key.project, "session": key.session}
    if key.subpath is not None:
        source["subpath"] = key.subpath
    note: JsonObject = {
        "type": "note",
        "id": stamps.event_id("note"),
        "conversation_id": key.conversation_id,
        "kind": kind,
        "text": text,
        "source": {**source, "generation": generation},
    }
    if entry is not None:
        note["entry"] = entry
    at = stamps.at()
    return note if at is None else {**note, "at": at}


def _of_project(project: str) -> str:
    return f"{FORMAT}/{_short(project, 70)}/"


def _short(name: str, most: int) -> str:
    quoted = quote(name, safe="", errors="surrogatepass")
    if quoted and len(quoted) <= most:
        return quoted
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{quoted[: most - 17]}~{digest}"
