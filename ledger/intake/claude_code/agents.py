"""The files of a session's sub-agents: found beside the session's own, each at the call that began it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from glob import escape

from ledger.events import JsonObject
from ledger.intake.found import Findings, Found, records
from ledger.intake.mending import as_text
from ledger.intake.sniffing import first_objects
from ledger.intake.transcript import Source

_HEAD = 64 * 1024
_META = 1024 * 1024


@dataclass
class Agent:
    """One sub-agent: its name, its file's, and the call that began it where the sidecar says so."""

    id: str
    file: str
    pattern: str
    call: str | None = None
    told: bool = False


class Agents:
    """The sub-agents of the session in `source`. Their files are read when their turn comes."""

    def __init__(self, source: Source, session: str) -> None:
        self._source = source
        self._by_id: dict[str, Agent] = {}
        self._by_call: dict[str, Agent] = {}
        stem = escape(source.name.removesuffix(".jsonl"))
        for file in source.beside(f"{stem}/subagents/**/agent-*.jsonl"):
            self._add(file.name, f"{stem}/subagents/**/")
        for file in source.beside(f"{stem}/subagents/**/agent-*.meta.json"):
            self._describe(file)
        for file in source.beside("agent-*.jsonl"):  # as versions until about 2.1 laid them
            head = first_objects(file.fetch(0, _HEAD), 1)
            if head and as_text(head[0].get("sessionId")) == session and file.name != source.name:
                self._add(file.name, "")

    def began(self, call: str) -> Agent | None:
        """The sub-agent whose sidecar names this call as its beginning."""
        return self._by_call.get(call)

    def named(self, name: str) -> Agent | None:
        """The sub-agent of that name, where it has a file."""
        return self._by_id.get(name)

    def untold(self) -> Iterator[Agent]:
        """Those whose beginning was not seen."""
        return (agent for agent in self._by_id.values() if not agent.told)

    def records(self, agent: Agent, findings: Findings) -> Iterator[Found]:
        """The records of its file. What is wrong with it is said as the session's."""
        own = Findings()
        for file in self._source.beside(agent.pattern):
            yield from records(file.lines(), own)
            for problem in own.problems:
                findings.problem(problem.code, problem.line, f"{agent.file}: {problem.text}", lost=problem.lost)
            findings.repaired += own.repaired
            return

    def _add(self, file: str, folder: str) -> None:
        name = file.removeprefix("agent-").removesuffix(".jsonl")
        self._by_id.setdefault(name, Agent(name, file, f"{folder}{escape(file)}"))

    def _describe(self, file: Source) -> None:
        agent = self._by_id.get(file.name.removeprefix("agent-").removesuffix(".meta.json"))
        try:
            value = json.loads(file.fetch(0, _META))
        except (ValueError, RecursionError):
            return  # half-written, perhaps: results name the sub-agent, too
        meta: JsonObject = value if isinstance(value, dict) else {}
        call = meta.get("toolUseId")
        if agent is not None and isinstance(call, str) and call:
            agent.call = call
            self._by_call[call] = agent
