"""A session file as conversations: the main one, and one for every branch of it that a person began.

One pass over the file gives the main conversation and finds what belongs to branches; these are read again, a
record at a time, when their turn comes. Kept are a few numbers a record.
"""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping

from ledger.errors import SourceChanged
from ledger.intake.claude_code.agents import Agent, Agents
from ledger.intake.claude_code.blocks import FORMAT
from ledger.intake.claude_code.branches import IN_TREE, Branches
from ledger.intake.claude_code.cycles import Link, cycles
from ledger.intake.claude_code.session_file import SessionFile
from ledger.intake.found import Findings, Found, HasFindings, records
from ledger.intake.identity import kept_id
from ledger.intake.mending import NotARecord, as_text, read_record
from ledger.intake.scribe import Scribe
from ledger.intake.transcript import Source
from ledger.recorded import EncodedEvent

_MESSAGE, _REPEATED = 1, 2
_MOST_LOST = 10_000  # parents that are looked for when all is read


class History(HasFindings):
    """The conversations of one session file. The main one is named as the session (or `name`), a branch
    `{that name}~{uuid}` by the record that it begins with.

    `agent` is the sub-agent whose own file this is: its records are a conversation of its own then.
    """

    def __init__(
        self, source: Source, session: str, name: str | None, version: str | None, agent: str | None = None
    ) -> None:
        self.id = kept_id(session)
        self.version = version
        self.source = source
        self.agent = agent
        self.conversation_id = name or self.id
        self.findings = Findings()
        self.branches = Branches()
        self.agents = Agents(source, session) if agent is None else None
        self.known: dict[int, Conversation] = {}

    @property
    def current(self) -> str:
        """The conversation of the last message."""
        found = self.known.get(self.branches.current)
        return str(self.conversation_id) if found is None else found.conversation_id

    def streams(self) -> Iterator[Conversation]:
        """Its conversations, in the order in which they began."""
        self.findings, self.branches = Findings(), Branches()
        self.known = {0: Conversation(self, 0, self.conversation_id)}
        yield self.known[0]
        for number in range(1, len(self.branches.all)):
            yield self.known[number]


class Conversation:
    """The events of one conversation, made as they are asked for."""

    def __init__(self, history: History, number: int, name: str) -> None:
        self.conversation_id = str(name)
        self._name = name
        self._history = history
        self._number = number
        self._held: list[tuple[int, int, int, bytes, int]] = []  # records of a branch, where they stand
        self._begin = array("q")  # the version before each message
        self._after = array("q")  # the last version of each message
        self._before: dict[int, int] = {}  # the version before the turn that a message begins
        self._turns: list[tuple[int, str]] = []  # the message that each turn begins with, and its id
        self._ended: set[str] = set()
        self._first = 0
        self._next = 0
        self._last = 0

    @property
    def source(self) -> str | None:
        """The conversation that it branches off."""
        at = self._history.branches.all[self._number].source
        return None if at is None else self._history.known[at].conversation_id

    @property
    def source_version(self) -> int:
        """The version of the source after which it goes on."""
        branch = self._history.branches.all[self._number]
        return 0 if branch.source is None else self._history.known[branch.source].version_after(branch.after)

    def version_after(self, message: int) -> int:
        """The last version that belongs to a message: with the end of its turn, where it was the last one."""
        if message < 0:
            return self._first
        closed = self._before.get(message + 1)
        return self._after[message] if closed is None else closed

    def open_after(self, message: int) -> str | None:
        """The turn that a message stands in the middle of; None where it ended with that message, or never."""
        if message < 0 or message + 1 in self._before:
            return None
        at = bisect_right(self._turns, message, key=lambda turn: turn[0]) - 1
        if at < 0:
            return None
        # One that ended in the middle of itself has no second end.
        last = at + 1 == len(self._turns)
        turn = self._turns[at][1]
        return None if last and turn in self._ended else turn

    def _left_open(self) -> str | None:
        branch = self._history.branches.all[self._number]
        return None if branch.source is None else self._history.known[branch.source].open_after(branch.after)

    def hold(self, found: Found, flags: int) -> None:
        """A record of this conversation, while the one that it branches off is read."""
        self._held.append((found.line, found.offset or 0, found.length, found.digest, flags))

    def events(
        self, stored: Mapping[str, int] | None = None, head: int | None = None
    ) -> Iterator[EncodedEvent]:
        """Its events, in order: see `ConversationStream`."""
        self._first = self._last = self.source_version
        self._next = (self._first if head is None else head) + 1
        known = stored or {}
        history = self._history
        scribe = Scribe(FORMAT, history.id, history.source.name, self._name)
        mapper = SessionFile(scribe, history.id, history.agents, history.agent, self._version_before)
        source = self.source
        for found, flags in self._records():
            if source is not None:
                scribe.take(found, f"fork:{found.digest.hex()[:16]}")
                scribe.write("fork", source_conversation_id=source, source_version=self._first)
                if (turn := self._left_open()) is not None:
                    scribe.write("abort", turn_id=turn, reason="redirect", source={"inferred": True})
                source = None
            if found.value is None:
                scribe.damaged(found)
            elif flags & _REPEATED:
                mapper.repeated(found)
            else:
                mapper.record(found)
            begin, before = self._last, None
            for event in scribe.encoded():
                if event.type == "turn_start":
                    before = self._last
                    self._turns.append((len(self._after), event.turn_id or ""))
                elif event.type in ("complete", "abort", "error"):
                    self._ended.add(event.turn_id or "")
                self._count(event, known)
                begin = min(begin, self._last - 1)  # what was before may be stored after it
                yield event
            if flags & _MESSAGE:
                if before is not None:
                    self._before[len(self._after)] = before
                self._begin.append(begin)
                self._after.append(self._last)
            for agent in mapper.spawned():
                for event in self._of_agent(agent, mapper, scribe):
                    self._count(event, known)
                    yield event
        mapper.end()
        for event in scribe.encoded():
            self._count(event, known)
            yield event

    def _version_before(self, name: str) -> int | None:
        at = self._history.branches.message(name)
        if at is None or at[0] != self._number or not 0 <= at[1] < len(self._begin):
            return None
        return self._begin[at[1]] or None

    def _count(self, event: EncodedEvent, known: Mapping[str, int]) -> None:
        version = known.get(event.id)
        if version is None:
            version, self._next = self._next, self._next + 1
        self._last = version

    def _of_agent(self, agent: Agent, mapper: SessionFile, scribe: Scribe) -> Iterator[EncodedEvent]:
        """What a sub-agent did, with the sub-agents that it began itself."""
        history = self._history
        if history.agents is None:
            return
        for found in history.agents.records(agent, history.findings):
            if found.value is None:
                scribe.damaged(found)
            else:
                mapper.of_agent(found, agent)
            yield from scribe.encoded()
            for below in mapper.spawned():
                yield from self._of_agent(below, mapper, scribe)

    def _records(self) -> Iterator[tuple[Found, int]]:
        if self._number:
            for line, offset, length, digest, flags in self._held:
                yield self._again(line, offset, length, digest), flags
            return
        history = self._history
        findings, branches, lost = history.findings, history.branches, _Lost()
        for found in records(history.source.lines(), findings):
            at, flags = branches.current, 0
            if found.value is not None:
                place = branches.place(found.value, found.digest)
                at = place.conversation
                if place.doubled:
                    text = "the same record as before, byte for byte; taken once"
                    findings.problem("doubled_line", found.line, text)
                    findings.repaired += 1
                    continue
                if place.waits:
                    lost.put(found, is_lost=place.lost)
                if place.writers and not lost.writers:
                    lost.writers = True
                    text = "an answer where nobody asked since a prompt went on elsewhere: two processes"
                    findings.problem("two_writers", found.line, text)
                flags = _MESSAGE * place.message + _REPEATED * place.repeated
                if at not in history.known:
                    self._branch(at, found)
            if at:
                history.known[at].hold(found, flags)
            else:
                yield found, flags
        lost.say(history)
        for agent in history.agents.untold() if history.agents is not None else ():
            if agent.call is None:
                text = (
                    f"{agent.file}: nothing in the session says (yet) which call began it; not taken in with it"
                )
                findings.problem("agent_without_call", None, text)

    def _branch(self, number: int, found: Found) -> None:
        history = self._history
        uuid = as_text((found.value or {}).get("uuid")) or found.digest.hex()[:16]
        name = kept_id(f"{history.conversation_id}~{uuid}")
        history.known[number] = Conversation(history, number, name)

    def _again(self, line: int, offset: int, length: int, digest: bytes) -> Found:
        raw = self._history.source.fetch(offset, length)
        if hashlib.sha256(raw).digest() != digest:
            raise SourceChanged(file=self._history.source.name, at=line)
        try:
            value, _ = read_record(raw)
        except NotARecord:
            value = None
        whole = value if isinstance(value, dict) else None
        return Found(line, offset, length, digest, whole, None if whole is not None else raw)


class _Lost:
    """Records whose parent did not come before them: the first of each parent, and of so many parents."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[int, bool]] = {}
        self.writers = False  # whether two were found

    def put(self, found: Found, *, is_lost: bool) -> None:
        parent = _parent(found)
        if parent is not None and len(self._waiting) < _MOST_LOST:
            self._waiting.setdefault(parent, (found.line, is_lost))

    def say(self, history: History) -> None:
        """What became of them, when all is read: a cycle, a parent that comes later, or none."""
        later = {at[0] for name, at in self._waiting.items() if history.branches.holds(name)}
        findings = history.findings
        rings = cycles(_links(history.source)) if later else []
        for ring in rings:
            shown = ", ".join(map(str, ring[:5])) + (", …" if len(ring) > 5 else "")
            text = (
                f"a parent cycle of {len(ring)} (lines {shown}); its first record stands where it was written"
            )
            findings.problem("parent_cycle", ring[0], text)
        missing = [line for line, is_lost in self._waiting.values() if is_lost and line not in later]
        later -= {line for ring in rings for line in ring}
        for lines, why in ((missing, "is not in the file"), (sorted(later), "comes after it in the file")):
            if lines:
                text = f"its parent {why}; it stands where it was written, as others like it"
                findings.problem("missing_parent", lines[0], text)


def _links(source: Source) -> Iterator[Link]:
    for found in records(source.lines(), Findings()):
        value = found.value or {}
        if value.get("type") in IN_TREE and (name := as_text(value.get("uuid"))):
            yield Link(found.line, name, _parent(found))


def _parent(found: Found) -> str | None:
    value = found.value or {}
    parent = value.get("parentUuid") or value.get("logicalParentUuid")
    return parent if isinstance(parent, str) else None
