"""The records of one conversation of a session file as events, in file order, nothing looked ahead.

Blocks, results and lanes are mapped as those of the stream are, so that a session that was recorded and one
that is imported show the same.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

from ledger.events import Json, JsonObject
from ledger.intake.claude_code.agents import Agent, Agents
from ledger.intake.claude_code.blocks import FORMAT
from ledger.intake.claude_code.file_turn import FileTurn
from ledger.intake.claude_code.said import (
    CUT_OFF,
    brings_results,
    is_command,
    is_notification,
    is_of_runtime,
    text_of,
)
from ledger.intake.claude_code.turn import INTERRUPTED
from ledger.intake.contents import content_of
from ledger.intake.found import Found
from ledger.intake.mending import as_text
from ledger.intake.scribe import Scribe
from ledger.turns.lane import ALL_BEFORE

_SILENT = frozenset({"progress", "file-history-snapshot"})
"""Progress for the eye, and undo data (specs/formats.md 2)."""

_BETWEEN = frozenset({"last-prompt", "cost-state", "turn_duration", "stop_hook_summary"})
"""What is written when an answer is whole: its counts are the last ones."""


class SessionFile:
    """One conversation. `agent` is the name of the sub-agent whose own file this is; `before` gives the version
    before a message, by its record's name, where it is of this conversation."""

    def __init__(
        self,
        scribe: Scribe,
        session: str,
        agents: Agents | None = None,
        agent: str | None = None,
        before: Callable[[str], int | None] = lambda _uuid: None,
    ) -> None:
        self._before = before
        self._scribe = scribe
        self._session = session
        self._agents = agents
        self._agent = agent
        self._version = ""
        self._turn: FileTurn | None = None
        self._tasks: dict[bytes, str] = {}  # what sub-agents were asked -> the call that asked
        self._inline: dict[str, tuple[str, str | None]] = {}  # inline sub-agents by record: name, call
        self._spawned: list[Agent] = []

    def record(self, found: Found) -> None:
        """The next record."""
        value = found.value or {}
        uuid, kind = as_text(value.get("uuid")), as_text(value.get("type"))
        self._scribe.take(found, uuid or None, value.get("timestamp"))
        self._version = as_text(value.get("version")) or self._version
        self._map(kind, uuid, value)

    def repeated(self, found: Found) -> None:
        """A record whose name came before, with other content."""
        value = found.value or {}
        self._scribe.take(found, as_text(value.get("uuid")) or None, value.get("timestamp"))
        self._note(as_text(value.get("type")) or "raw", "Another record of an id that came before.", value)

    def spawned(self) -> list[Agent]:
        """The sub-agents that began since this was asked last."""
        found, self._spawned = self._spawned, []
        return found

    def end(self) -> None:
        """Nothing is proved by the file's end: it may still grow."""

    # -- records

    def _map(self, kind: str, uuid: str, value: JsonObject) -> None:
        message = value.get("message")
        if kind == "assistant" and isinstance(message, dict):
            self._assistant(uuid, value, message)
        elif kind == "user" and isinstance(message, dict):
            self._user(uuid, value, message)
        elif kind == "system":
            self._system(value)
        elif kind == "attachment" and isinstance(attachment := value.get("attachment"), dict):
            self._attachment(uuid, value, attachment)
        elif kind not in _SILENT:
            if kind in _BETWEEN and self._turn is not None:
                self._turn.rests()
            self._note(kind or "raw", None, value)

    def _assistant(self, uuid: str, value: JsonObject, message: JsonObject) -> None:
        name = as_text(message.get("id")) or as_text(value.get("requestId")) or uuid
        shown = self._shown(value, uuid)
        turn = self._running()
        main = not shown["agent_id"]
        if main and turn.turn.ended and not turn.has(name):
            turn = self._begin()  # it went on, whatever had ended the turn
        turn.assistant(shown, {**message, "id": name})
        self._look_for_agents(message)
        if main and value.get("isApiErrorMessage") is True:
            turn.failed()

    def _user(self, uuid: str, value: JsonObject, message: JsonObject) -> None:
        content = message.get("content")
        shown = self._shown(value, uuid)
        results = brings_results(content)
        if results or shown["agent_id"]:
            self._running().user(shown, message)
            if results:
                self._named_agent(value)
            return
        text = text_of(content)
        if value.get("isCompactSummary") is True:
            self._running().summary(shown, message)
        elif text.startswith(INTERRUPTED):
            turn = self._running()
            turn.user(shown, message)
            turn.interrupted()
        elif value.get("isMeta") is True and not is_of_runtime(text):
            turn = self._going_on()
            if text.startswith(CUT_OFF):
                turn.broke_off()
            turn.user(shown, message)
        elif is_of_runtime(text) or is_command(text):
            opens = is_notification(value, text) or is_command(text)
            turn = self._waiting()
            if opens and turn.prompted:
                turn = self._begin()
            turn.asked = turn.asked or opens
            turn.user(shown, message)
        else:
            turn = self._waiting()
            if turn.asked and not turn.prompted:
                turn = self._begin()
            turn.asked = turn.prompted = True  # one prompt may stand in several records
            turn.user(shown, message)

    def _system(self, value: JsonObject) -> None:
        subtype = as_text(value.get("subtype"))
        if subtype == "compact_boundary":
            told = value.get("compactMetadata")
            turn = self._running()
            if isinstance(told, dict) and told.get("trigger") == "manual":
                turn = self._waiting()
                if turn.prompted:
                    turn = self._begin()
                turn.asked = True
            turn.compacts(value, self._through(told))
            return
        if subtype in _BETWEEN and self._turn is not None:
            self._turn.rests()
        said = as_text(value.get("content")) or as_text(value.get("error")) or None
        self._note(subtype or "system", said, value)

    def _through(self, told: Json) -> int:
        """The last version that a compaction stands for: messages at the end may be kept as they are."""
        kept = told.get("preservedMessages") if isinstance(told, dict) else None
        names = kept.get("uuids") if isinstance(kept, dict) else None
        listed = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
        before = [version for name in listed if (version := self._before(name)) is not None]
        return min(before, default=ALL_BEFORE)

    def _attachment(self, uuid: str, value: JsonObject, attachment: JsonObject) -> None:
        kind = as_text(attachment.get("type"))
        rendered = value.get("rendered") or attachment.get("rendered")
        shown = self._shown(value, uuid)
        if kind == "queued_command" and attachment.get("prompt") is not None:
            turn = self._running()
            said = content_of(attachment["prompt"])
            runtime = is_of_runtime(text_of(attachment["prompt"]))
            lane = turn.lane(shown).lane
            lane.user_message(said, uuid or None, steering=True, origin="runtime" if runtime else None)
        elif rendered and isinstance(rendered, str | list):
            turn = self._running() if shown["agent_id"] else self._between()
            lane = turn.lane(shown).lane
            rest: JsonObject = {name: it for name, it in attachment.items() if name != "rendered"}
            beside: Json = {FORMAT: {"attachment": rest, "role": value.get("renderedRole")}}
            lane.user_message(_rendered(rendered), uuid or None, origin="runtime", provider_metadata=beside)
        else:
            self._note(kind or "attachment", None, value)
            if kind == "max_turns_reached" and self._turn is not None:
                self._turn.too_many(attachment.get("maxTurns"))

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
        parent = value.get("parentUuid")
        if isinstance(parent, str) and parent in self._inline:
            found = self._inline[parent]
        else:
            message = value.get("message")
            asked = text_of(message.get("content")) if isinstance(message, dict) else ""
            found = (named or uuid or "sidechain", self._tasks.get(_digest(asked)))
        if uuid:
            self._inline[uuid] = found
        return found

    def _look_for_agents(self, message: JsonObject) -> None:
        """Calls that begin sub-agents: by a file's sidecar, or by what an inline one is asked."""
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict) or block.get("type") != "tool_use":
                continue
            call, given = as_text(block.get("id")), block.get("input")
            agent = self._agents.began(call) if self._agents is not None else None
            if agent is not None:
                self._spawn(agent, call)
            elif isinstance(given, dict) and isinstance(given.get("prompt"), str):
                self._tasks[_digest(as_text(given["prompt"]))] = call

    def _named_agent(self, value: JsonObject) -> None:
        """A result that names a sub-agent with a file of its own."""
        result = value.get("toolUseResult")
        name = as_text(result.get("agentId")) if isinstance(result, dict) else ""
        agent = self._agents.named(name) if self._agents is not None and name else None
        if agent is None:
            return
        message = value.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        call = next((as_text(block.get("tool_use_id")) for block in blocks if "tool_use_id" in block), None)
        self._spawn(agent, call)

    def _spawn(self, agent: Agent, call: str | None) -> None:
        if not agent.told:
            agent.told, agent.call = True, agent.call or call
            self._spawned.append(agent)

    def of_agent(self, found: Found, agent: Agent) -> None:
        """A record of a sub-agent's own file."""
        record = found.value or {}
        uuid, message = as_text(record.get("uuid")), record.get("message")
        self._scribe.take(found, uuid or None, record.get("timestamp"), agent_file=agent.file)
        turn = self._running()
        shown = {**self._shown({**record, "isSidechain": False}, uuid)}
        shown["agent_id"], shown["parent_tool_use_id"] = agent.id, agent.call
        kind = as_text(record.get("type"))
        if kind == "assistant" and isinstance(message, dict):
            turn.assistant(shown, {**message, "id": as_text(message.get("id")) or uuid})
            self._look_for_agents(message)
        elif kind == "user" and isinstance(message, dict):
            turn.user(shown, message)
            if brings_results(message.get("content")):
                self._named_agent(record)
        elif kind not in _SILENT:
            turn.lane(shown).lane.note(kind or "raw", None, entry=record)

    # -- turns

    def _running(self) -> FileTurn:
        """The turn under way, else the last one: what comes late still belongs to it."""
        return self._turn if self._turn is not None else self._begin()

    def _waiting(self) -> FileTurn:
        """A turn that the model has not answered in yet."""
        turn = self._turn
        return self._begin() if turn is None or turn.begun or turn.turn.ended else turn

    def _going_on(self) -> FileTurn:
        """The turn that Claude Code itself goes on with: the one under way."""
        turn = self._turn
        return self._begin() if turn is None or turn.turn.ended else turn

    def _between(self) -> FileTurn:
        """The turn that context belongs to: the next one, where the model was done with the last."""
        turn = self._turn
        return self._begin() if turn is None or turn.done else turn

    def _begin(self) -> FileTurn:
        if self._turn is not None:
            self._turn.over()
        runtime = f"{FORMAT} {self._version}" if self._version else FORMAT
        self._turn = FileTurn(self._scribe.recording.begin_turn(runtime=runtime), set())
        return self._turn

    def _note(self, kind: str, text: str | None, entry: Json) -> None:
        self._scribe.recording.note(kind, text, entry=entry)


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


def _digest(text: str) -> bytes:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
