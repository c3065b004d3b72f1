"""The records of one of Claude Code's session files as events, in file order, nothing looked ahead.

Blocks, results and lanes are mapped as those of the stream are, so that a session that was recorded and one
that is imported show the same. A rewind is told from parent links: a prompt that goes on from an earlier record
takes back what had been said after it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from ledger.events import Json, JsonObject
from ledger.intake.claude_code.blocks import FORMAT
from ledger.intake.claude_code.file_turn import FileTurn
from ledger.intake.claude_code.turn import _INTERRUPTED, _RUNTIME
from ledger.intake.contents import content_of
from ledger.intake.found import Found
from ledger.intake.mending import as_text
from ledger.intake.scribe import Scribe

Agent = Callable[[str], Iterator[Found]]
"""The records of a sub-agent's own file, by the agent's id; none where there is no such file."""

_IN_TREE = frozenset({"user", "assistant", "system", "attachment", "progress"})
_SILENT = frozenset({"progress", "file-history-snapshot"})
"""Progress for the eye, and undo data."""
_CUT_OFF = "Your response above was cut off"
_RESUMES = (_CUT_OFF, "Output token limit hit")
"""How text of Claude Code begins that has the model go on with its own answer."""
_MOST_UP = 10_000  # parents that are walked up from a prompt


class SessionFile:
    """One session. `agent` is the name of the sub-agent whose own file this is."""

    def __init__(self, scribe: Scribe, session: str, agents: Agent, agent: str | None = None) -> None:
        self._scribe = scribe
        self._session = session
        self._agents = agents
        self._agent = agent
        self._version = ""
        self._turn: FileTurn | None = None
        self._uuids: dict[str, bytes] = {}  # records that came, and their digests
        self._up: dict[str, str] = {}  # parents of records
        self._places: dict[str, int] = {}  # records with events on the live path, by their place there
        self._live: list[tuple[str, list[str]]] = []  # these, with their events
        self._tasks: dict[str, str] = {}  # what sub-agents were asked -> the call that asked
        self._inline: dict[str, tuple[str, str | None]] = {}  # inline sub-agents by record: name, call
        self._told: set[str] = set()  # sub-agents whose files were read

    def record(self, found: Found) -> None:
        """The next line."""
        value = found.value or {}
        uuid, kind = as_text(value.get("uuid")), as_text(value.get("type"))
        self._scribe.take(found, uuid or None, value.get("timestamp"))
        if uuid and kind in _IN_TREE:
            if self._uuids.get(uuid) == found.digest:
                return  # a line that was written twice
            if uuid in self._uuids:
                self._note(kind, "Another record of an id that came before.", value)
                return
            self._uuids[uuid] = found.digest
            parent = value.get("parentUuid")
            if isinstance(parent, str):
                self._up[uuid] = parent
        self._version = as_text(value.get("version")) or self._version
        self._map(kind, uuid, value)
        ids = self._scribe.pending
        if uuid and ids and kind in ("user", "assistant") and value.get("isSidechain") is not True:
            self._places[uuid] = len(self._live)
            self._live.append((uuid, ids))

    def end(self) -> None:
        """Nothing is proved by the file's end: it may still grow."""

    # -- records

    def _map(self, kind: str, uuid: str, value: JsonObject) -> None:
        message = value.get("message")
        if kind == "assistant" and isinstance(message, dict):
            name = as_text(message.get("id")) or as_text(value.get("requestId")) or uuid
            self._remember_tasks(message)
            self._running().assistant(self._shown(value, uuid), {**message, "id": name})
        elif kind == "user" and isinstance(message, dict):
            self._user(uuid, value, message)
        elif kind == "system":
            self._system(value)
        elif kind == "attachment" and isinstance(value.get("attachment"), dict):
            self._attachment(uuid, value)
        elif kind not in _SILENT:
            self._note(kind or "raw", None, value)

    def _user(self, uuid: str, value: JsonObject, message: JsonObject) -> None:
        content = message.get("content")
        results = isinstance(content, list) and any(
            isinstance(block, dict) and block.get("type") == "tool_result" for block in content
        )
        shown = self._shown(value, uuid)
        if results or shown.get("agent_id"):
            self._running().user(shown, message)
            self._sub_agent(value)
            return
        text = _text(content)
        if value.get("isCompactSummary") is True:
            self._running().summary(shown, message)
        elif text.startswith(_INTERRUPTED):
            turn = self._running()
            turn.user(shown, message)
            turn.interrupted()
        elif value.get("isMeta") is True and text.startswith(_RESUMES):
            turn = self._running()
            turn.resumes(cut=text.startswith(_CUT_OFF))
            turn.user(shown, message)
        elif value.get("isMeta") is True:
            self._going_on().user(shown, message)
        elif text.lstrip().startswith(_RUNTIME):
            self._waiting().user(shown, message)
        else:
            self._rewind(uuid)
            self._waiting().user(shown, message)

    def _system(self, value: JsonObject) -> None:
        subtype = as_text(value.get("subtype"))
        if subtype == "compact_boundary":
            self._running().compacts(value)
            return
        said = as_text(value.get("content")) or as_text(value.get("error")) or None
        self._note(subtype or "system", said, value)

    def _attachment(self, uuid: str, value: JsonObject) -> None:
        attachment = value["attachment"]
        assert isinstance(attachment, dict)
        kind = as_text(attachment.get("type"))
        shown = value.get("rendered") or attachment.get("rendered")
        lane = self._shown(value, uuid).get("agent_id")
        if kind == "queued_command" and attachment.get("prompt") and not lane:
            turn = self._running()
            turn.turn.user_message(content_of(attachment["prompt"]), uuid or None, steering=True)
        elif shown and isinstance(shown, str | list) and not lane:
            turn = self._going_on()
            turn.turn.user_message(_rendered(shown), uuid or None, origin="runtime")
        else:
            self._note(kind or "attachment", None, value)

    # -- lanes

    def _shown(self, value: JsonObject, uuid: str) -> JsonObject:
        """A record in the words of the stream."""
        agent, call = self._lane(value, uuid)
        return {
            **value,
            "session_id": self._session,
            "agent_id": agent,
            "parent_tool_use_id": call,
            "isSynthetic": value.get("isMeta"),
            "is_api_error_message": value.get("isApiErrorMessage"),
            "tool_use_result": value.get("toolUseResult"),
        }

    def _lane(self, value: JsonObject, uuid: str) -> tuple[str | None, str | None]:
        """The sub-agent that a record is of, and the call that began it; no names for the main agent.

        Old files hold sub-agents inline, linked to nothing: a chain of theirs is told by its first record, and
        its call by what that was asked.
        """
        if self._agent is not None or value.get("isSidechain") is not True:
            return None, None
        named = as_text(value.get("agentId"))
        parent = self._up.get(uuid)
        if parent in self._inline:
            found = self._inline[parent]
        else:
            message = value.get("message")
            asked = _text(message.get("content")) if isinstance(message, dict) else ""
            found = (named or uuid or "sidechain", self._tasks.get(_digest(asked)))
        if uuid:
            self._inline[uuid] = found
        return found

    def _remember_tasks(self, message: JsonObject) -> None:
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            given = block.get("input") if isinstance(block, dict) else None
            if isinstance(block, dict) and isinstance(given, dict) and isinstance(given.get("prompt"), str):
                self._tasks[_digest(as_text(given["prompt"]))] = as_text(block.get("id"))

    def _sub_agent(self, value: JsonObject) -> None:
        """A result that names a sub-agent with a file of its own: what that did stands here."""
        result = value.get("toolUseResult")
        agent = as_text(result.get("agentId")) if isinstance(result, dict) else ""
        if not agent or agent in self._told or value.get("isSidechain") is True:
            return
        self._told.add(agent)
        message = value.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        call = next((as_text(block.get("tool_use_id")) for block in blocks if "tool_use_id" in block), None)
        self._of_agent(agent, call)

    def _of_agent(self, agent: str, call: str | None) -> None:
        turn = self._running()
        for found in self._agents(agent):
            if found.value is None:
                self._scribe.damaged(found)
                continue
            record = found.value
            uuid, message = as_text(record.get("uuid")), record.get("message")
            self._scribe.take(found, uuid or None, record.get("timestamp"), agent_file=f"agent-{agent}.jsonl")
            shown = {**self._shown({**record, "isSidechain": False}, uuid), "agent_id": agent}
            shown["parent_tool_use_id"] = call
            kind = as_text(record.get("type"))
            if kind == "assistant" and isinstance(message, dict):
                name = as_text(message.get("id")) or uuid
                turn.assistant(shown, {**message, "id": name})
            elif kind == "user" and isinstance(message, dict):
                turn.user(shown, message)
            elif kind not in _SILENT:
                turn.turn.lane(agent, call).note(kind or "raw", None, entry=record)

    # -- turns

    def _running(self) -> FileTurn:
        """The turn under way, else the last one: what comes late still belongs to it."""
        return self._turn if self._turn is not None else self._begin()

    def _waiting(self) -> FileTurn:
        """A turn that the model has not answered in yet."""
        turn = self._turn
        return self._begin() if turn is None or turn.begun or turn.turn.ended else turn

    def _going_on(self) -> FileTurn:
        """The turn that Claude Code itself goes on with: the one under way, unless the model was done."""
        turn = self._turn
        return self._begin() if turn is None or turn.done else turn

    def _begin(self) -> FileTurn:
        if self._turn is not None:
            self._turn.over()
        runtime = f"{FORMAT} {self._version}" if self._version else FORMAT
        self._turn = FileTurn(self._scribe.recording.begin_turn(runtime=runtime), set())
        return self._turn

    def _rewind(self, uuid: str) -> None:
        """A prompt that goes on from an earlier record: what was said after that is taken back."""
        at: str | None = self._up.get(uuid)
        for _ in range(_MOST_UP):
            if at is None or at in self._places:
                break
            at = self._up.get(at)
        if at is None or at not in self._places:
            return  # the first one, or one whose chain is broken: the order of lines holds
        gone = self._live[self._places[at] + 1 :]
        if not gone:
            return
        del self._live[self._places[at] + 1 :]
        for name, _ in gone:
            del self._places[name]
        turn = self._running()
        turn.over()
        turn.turn.retraction(event_ids=[event for _, ids in gone for event in ids])

    def _note(self, kind: str, text: str | None, entry: Json) -> None:
        self._scribe.recording.note(kind, text, entry=entry)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _rendered(shown: Json) -> str | list[JsonObject]:
    """What the model was shown of an attachment: messages, blocks or text."""
    parts = shown if isinstance(shown, list) else [shown]
    inner = [part.get("content", part) if isinstance(part, dict) else part for part in parts]
    if all(isinstance(part, str) for part in inner):
        return "\n\n".join(map(as_text, inner))
    blocks: list[Json] = []
    for part in inner:
        blocks += (
            part
            if isinstance(part, list)
            else [{"type": "text", "text": part} if isinstance(part, str) else part]
        )
    return content_of(blocks)


def _text(content: Json) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n\n".join(as_text(block.get("text")) for block in blocks if isinstance(block, dict))
