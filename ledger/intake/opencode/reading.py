"""OpenCode's sessions as messages with their parts, of an export, of the database, or of the older folders.

Only three tables are read: others hold secrets. Messages come in the order that OpenCode itself reads them in,
by the time they were made and then by id (ids alone begin anew every 795 days).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from glob import escape
from itertools import groupby

from ledger.errors import NotASession
from ledger.events import Json, JsonObject, json_bytes
from ledger.intake.found import Findings, Found, element, elements, first_value, row
from ledger.intake.mending import as_text, read_record
from ledger.intake.opencode.blocks import child_of
from ledger.intake.sniffing import quoted
from ledger.intake.transcript import Source

FORMAT = "opencode"

_HEAD = ("id", "parent_id", "directory", "version", "revert", "time_created", "time_updated")

_SESSIONS = "SELECT * FROM session ORDER BY time_created, id DESC"
_MESSAGES = """
SELECT m.id AS message, m.data AS info, p.id AS part, p.data AS data
FROM message AS m LEFT JOIN part AS p ON p.message_id = m.id
WHERE m.session_id = {session} {bound} ORDER BY m.time_created, m.id, p.id
"""
_LAST = """
SELECT id FROM message WHERE session_id = {session}
AND CASE WHEN json_valid(data) THEN json_extract(data, '$.role') END = 'assistant'
ORDER BY time_created DESC, id DESC LIMIT 1
"""
_NEXT = """
SELECT n.id AS id FROM message AS n JOIN message AS m ON m.session_id = n.session_id
WHERE m.id = {message} AND (n.time_created, n.id) > (m.time_created, m.id)
AND CASE WHEN json_valid(n.data) THEN json_extract(n.data, '$.role') END = 'assistant'
ORDER BY n.time_created, n.id LIMIT 1
"""
_CHILDREN = """
SELECT json_extract(data, '$.state.metadata.sessionId', '$.state.metadata.sessionID') AS named FROM part
WHERE CASE WHEN json_valid(data) THEN json_extract(data, '$.tool') END = 'task'
"""
_BEFORE = "AND (m.time_created, m.id) < (SELECT time_created, id FROM message WHERE id = {before})"


@dataclass(frozen=True)
class Message:
    """One message: its place in its session, from 1, what it says of itself, and its parts in order.

    A damaged one, or what is damaged of it, is in `damaged`.
    """

    number: int
    info: JsonObject
    parts: list[JsonObject]
    damaged: list[Found]

    @property
    def id(self) -> str:
        """Its id."""
        return as_text(self.info.get("id"))


@dataclass(frozen=True)
class Store:
    """Where sessions are read from. `infos` are what those that are conversations say of themselves, without
    their messages, by id."""

    infos: dict[str, JsonObject]
    holds: Callable[[str], bool]
    """Whether it has a session, a sub-agent's too."""
    messages: Callable[[str, Findings, str | None], Iterator[Message]]
    """A session's messages in order; up to a message (of another session), where one is named."""
    last: Callable[[str], str | None]
    """The last message that the model made in a session: all before it are over."""
    following: Callable[[Message], str | None] = lambda _: None
    """The next message of the model after a message, in its session."""


def of_database(source: Source) -> Store:
    """The sessions of OpenCode's `opencode.db`. Raises `NotASession` where it is none, `OSError` where it is
    locked."""
    infos: dict[str, JsonObject] = {}
    for one in source.rows(_SESSIONS):
        infos[as_text(one.get("id"))] = {name: one.get(name) for name in _HEAD}

    def messages(session: str, findings: Findings, before: str | None = None) -> Iterator[Message]:
        bound = _BEFORE.format(before=quoted(before)) if before is not None else ""
        found = source.rows(_MESSAGES.format(session=quoted(session), bound=bound))
        for number, (name, rows) in enumerate(groupby(found, lambda one: one["message"]), 1):
            yield _of_rows(number, session, as_text(name), rows, findings)

    def first(query: str) -> str | None:
        return next((as_text(found["id"]) for found in source.rows(query)), None)

    children = any(info.get("parent_id") is not None for info in infos.values())
    named = [child for one in source.rows(_CHILDREN) for child in _names(one["named"])] if children else []
    inside = {name for name in named if name in infos and infos[name].get("parent_id") in infos}
    return Store(
        {name: info for name, info in infos.items() if name not in inside},
        infos.__contains__,
        messages,
        lambda session: first(_LAST.format(session=quoted(session))),
        lambda message: first(_NEXT.format(message=quoted(message.id))),
    )


def _names(found: Json) -> list[str]:
    """The texts of a JSON array of texts and nulls."""
    value, _ = read_record(as_text(found).encode()) if found is not None else (None, False)
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def of_export(source: Source) -> Store:
    """The session of an `opencode export`. Raises `NotASession` where it names none."""
    info = first_value(source.chunks(), "info")
    session = info.get("id") if isinstance(info, dict) else None
    if not isinstance(info, dict) or not isinstance(session, str) or not session:
        raise NotASession(file=source.name, runtime=FORMAT, problem="no info with a session's id in it")

    def messages(_session: str, findings: Findings, _before: str | None = None) -> Iterator[Message]:
        for found in elements(source.chunks(), "messages.item", findings):
            value = found.value
            said = value.get("info") if value is not None else None
            if value is None or not isinstance(said, dict):
                raw = json_bytes(value) if found.raw is None else found.raw
                yield Message(found.line, {}, [], [found._replace(value=None, raw=raw)])
                if value is not None:
                    text = "a message that says nothing of itself; kept as a note"
                    findings.problem("malformed_row", found.line, text, lost=True)
                continue
            parts = value.get("parts")
            given = parts if isinstance(parts, list) else []
            damaged = [element(found.line, part, findings) for part in given if not isinstance(part, dict)]
            yield Message(found.line, said, [part for part in given if isinstance(part, dict)], damaged)

    def last(session: str) -> str | None:
        said = None
        for message in messages(session, Findings()):
            said = message.id if message.info.get("role") == "assistant" else said
        return said

    return Store({session: info}, lambda name: name == session, messages, last)


def of_folders(source: Source) -> Store:
    """The session of a file below `storage/session`, of OpenCode up to 1.1: its messages lie in
    `storage/message/SESSION`, their parts in `storage/part/MESSAGE`. That of a sub-agent holds no conversation
    where its parent's calls name it. Raises `NotASession` where it names no session."""
    findings = Findings()
    info = row(1, _text(source), source.name, findings).value
    session = info.get("id") if info is not None else None
    if info is None or not isinstance(session, str) or not session:
        raise NotASession(file=source.name, runtime=FORMAT, problem="no session's id in it")

    def holds(name: str) -> bool:
        return any(True for _ in source.beside(f"{escape(name)}.json"))

    def files(kind: str, of: str) -> Iterator[tuple[str, Json]]:
        for file in source.beside(f"../../{kind}/{escape(of)}/*.json"):
            yield file.name.removesuffix(".json"), _text(file)

    def messages(session: str, findings: Findings, before: str | None = None) -> Iterator[Message]:
        for number, (name, text) in enumerate(files("message", session), 1):
            if before is not None and name >= before:
                return
            rows: list[JsonObject] = [
                {"info": text, "part": part, "data": data} for part, data in files("part", name)
            ]
            yield _of_rows(number, session, name, iter(rows or [{"info": text}]), findings)

    def answers(session: str) -> Iterator[str]:
        for number, (name, text) in enumerate(files("message", session), 1):
            value = row(number, text, name, Findings()).value
            if value is not None and value.get("role") == "assistant":
                yield name

    def last(session: str) -> str | None:
        return max(answers(session), default=None)

    def following(message: Message) -> str | None:
        session = as_text(message.info.get("sessionID"))
        return next((name for name in answers(session) if name > message.id), None)

    parent = info.get("parentID")
    inside = (
        isinstance(parent, str)
        and holds(parent)
        and any(child_of(part) == session for one in messages(parent, Findings()) for part in one.parts)
    )
    return Store({} if inside else {session: info}, holds, messages, last, following)


def _text(source: Source) -> str:
    return b"".join(source.chunks()).decode(errors="replace")


def _of_rows(number: int, session: str, name: str, rows: Iterator[JsonObject], findings: Findings) -> Message:
    info: Found | None = None
    parts: list[JsonObject] = []
    damaged: list[Found] = []
    for one in rows:
        if info is None:
            info = row(number, one.get("info"), f"message {name}", findings)
            damaged += [info] if info.value is None else []
        if one.get("part") is not None:
            part = row(number, one.get("data"), f"part {as_text(one['part'])}", findings)
            if part.value is None:
                damaged.append(part)
            else:
                parts.append({**part.value, "id": one["part"], "messageID": name, "sessionID": session})
    said = info.value if info is not None and info.value is not None else {}
    return Message(number, {**said, "id": name, "sessionID": session}, parts, damaged)
