"""The plan: one lane's history as ordered, provider-independent items, with diagnostics (DESIGN.md 7.1)."""

from dataclasses import dataclass, field

from ledger.events import JsonObject
from ledger.recorded import RecordedEvent
from replay.diagnostics import Diagnostic
from replay.items import Call, Entry, Item, Step, Turn
from replay.options import Options


@dataclass(slots=True)
class Plan:
    """What is replayed of one lane. `items` are steps and entries in request order, compaction already applied.

    `version` is the last version read. `system` holds the system messages from before the first user message or
    step. `context` is what the last `context` event gave (`system`, `tools`, `settings`, `digest`), and
    `compaction` the one in force. `opaque_compactions` are those after it that only their provider can read:
    the history is kept, and a renderer for that provider may use them instead.
    """

    conversation_id: str | None
    version: int
    options: Options
    items: list[Item] = field(default_factory=list)
    system: list[Entry] = field(default_factory=list)
    context: JsonObject | None = None
    context_record: RecordedEvent | None = None
    compaction: RecordedEvent | None = None
    opaque_compactions: list[RecordedEvent] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    pending: list[Call] = field(default_factory=list)
    turns: dict[str, Turn] = field(default_factory=dict)

    @property
    def steps(self) -> list[Step]:
        """The steps that are in the request, in order."""
        return [item for item in self.items if isinstance(item, Step)]
