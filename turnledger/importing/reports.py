"""What an import has to say: for each file, for each conversation, in sum."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ledger.events import JsonObject
from ledger.intake.problems import Problem


@dataclass
class ConversationReport:
    """What a file gave one conversation: its events by type; `new` were stored (or would be, in a dry run).

    `current` marks the conversation that the runtime goes on with. `differing` of the known ones have
    another body in the ledger. `unplaced` are messages kept as notes, since they stand before what was recorded
    live.
    """

    conversation_id: str
    source: str | None = None
    current: bool = False
    events: Counter[str] = field(default_factory=Counter)
    new: int = 0
    known: int = 0
    differing: int = 0
    unplaced: int = 0

    @property
    def turns(self) -> int:
        """Turns that began."""
        return self.events["turn_start"]

    @property
    def steps(self) -> int:
        """Model calls."""
        return self.events["step_start"]

    @property
    def calls(self) -> int:
        """Tool calls."""
        return self.events["tool_start"]

    @property
    def notes(self) -> int:
        """Records kept as notes."""
        return self.events["note"]

    def as_json(self) -> JsonObject:
        """The report for machines."""
        return {
            "conversation_id": self.conversation_id,
            "source_conversation_id": self.source,
            "current": self.current,
            "turns": self.turns,
            "steps": self.steps,
            "calls": self.calls,
            "notes": self.notes,
            "events": self.events.total(),
            "new": self.new,
            "known": self.known,
            "differing": self.differing,
            "unplaced": self.unplaced,
        }


@dataclass
class FileReport:
    """What one file gave. `failure` is why it could not be taken in; what was stored before that stays."""

    file: str
    format: str | None = None
    version: int | str | None = None
    lines: int = 0
    repaired: int = 0
    problems: list[Problem] = field(default_factory=list)
    conversations: list[ConversationReport] = field(default_factory=list)
    failure: str | None = None

    @property
    def incomplete(self) -> bool:
        """True when something of the file could not be read."""
        return self.failure is not None or any(problem.lost for problem in self.problems)

    def as_json(self) -> JsonObject:
        """The report for machines."""
        return {
            "file": self.file,
            "format": self.format,
            "version": self.version,
            "lines": self.lines,
            "repaired": self.repaired,
            "failure": self.failure,
            "problems": [dict(problem._asdict()) for problem in self.problems],
            "conversations": [one.as_json() for one in self.conversations],
        }


def totals(files: Iterable[FileReport]) -> JsonObject:
    """The closing sums over files: what the table and `--json` end with."""
    reports = list(files)
    conversations = [one for report in reports for one in report.conversations]
    return {
        "files": len(reports),
        "failed": sum(report.failure is not None for report in reports),
        "conversations": len({one.conversation_id for one in conversations}),
        "turns": sum(one.turns for one in conversations),
        "steps": sum(one.steps for one in conversations),
        "calls": sum(one.calls for one in conversations),
        "notes": sum(one.notes for one in conversations),
        "repaired": sum(report.repaired for report in reports),
        "problems": sum(len(report.problems) for report in reports),
        "known": sum(one.known for one in conversations),
        "differing": sum(one.differing for one in conversations),
        "unplaced": sum(one.unplaced for one in conversations),
        "new": sum(one.new for one in conversations),
    }
