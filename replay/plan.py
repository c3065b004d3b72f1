"""The plan: one lane's history as ordered, provider-independent items, with diagnostics (DESIGN.md 7.1)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ledger.events import Context, JsonObject
from ledger.recorded import RecordedEvent
from replay.diagnostics import Diagnostic
from replay.items import Call, Entry, Item, Step, Turn
from replay.options import Options
from replay.reading import Reading
from replay.settling import Settling


@dataclass(slots=True)
class Plan:
    """What is replayed of one lane. `items` are steps and entries in request order, compaction already applied.

    `version` is the last version read. `system` holds the system messages from before the first user message or
    step. `context` is what the last `context` event gave (`system`, `tools`, `settings`, `digest`), and
    `compaction` the one in force. `opaque_compactions` are those after it that only their provider can read:
    the history is kept, and a renderer for that provider may use them instead. `cut` is the version up to which
    the compaction in force stands for the history, 0 without one. `notes` are the lane's notes that
    no retraction names: they make no message; `replay.rung_notes` reads those of refusals.
    """

    version: int
    options: Options
    items: list[Item] = field(default_factory=list)
    system: list[Entry] = field(default_factory=list)
    context: JsonObject | None = None
    context_record: RecordedEvent | None = None
    compaction: RecordedEvent | None = None
    cut: int = 0
    opaque_compactions: list[RecordedEvent] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    pending: list[Call] = field(default_factory=list)
    turns: dict[str, Turn] = field(default_factory=dict)
    notes: list[RecordedEvent] = field(default_factory=list)

    @property
    def steps(self) -> list[Step]:
        """The steps that are in the request, in order."""
        return [item for item in self.items if isinstance(item, Step)]

    @property
    def sendable(self) -> bool:
        """DESIGN.md 7.2: no call is pending and the last message is of the user, of a tool, or paused."""
        return is_sendable(self.pending, reversed(self.items))


def is_sendable(pending: Sequence[Call], items: Iterable[Item]) -> bool:
    """`Plan.sendable`, of the calls that are pending and the items from the last one on backward."""
    if pending:
        return False
    for item in items:
        if isinstance(item, Step):
            return item.finish_reason == "pause_turn" or any(call.answer is not None for call in item.calls)
        if item.kind != "system":
            return True
    return False


def plan(events: Iterable[RecordedEvent], options: Options = Options()) -> Plan:  # noqa: B008 - frozen
    """Classify one lane of a conversation, given whole and in version order, by the rules of DESIGN.md 7.2.

    Pure. Never raises, whatever the events hold, and nothing blocks: what cannot be replayed is left out with a
    diagnostic. Time and memory are linear in the events.
    """
    reading = Reading(options.agent_id)
    reading.read(events)
    return settled(reading, options)


def settled(reading: Reading, options: Options) -> Plan:
    """The plan of what was read; the reading is used up."""
    settling = Settling(reading, options)
    settling.settle()
    context = settling.context()
    return Plan(
        reading.version,
        options,
        settling.items,
        settling.system,
        None if context is None else _context(context),
        context,
        settling.compaction,
        settling.cut,
        settling.opaque,
        settling.findings.diagnostics,
        settling.answers.pending,
        reading.turns,
        [record for record in reading.notes if not settling.findings.gone(record)],
    )


def _context(record: RecordedEvent) -> JsonObject:
    event = record.event
    if not isinstance(event, Context):
        return {}
    given = {"system": event.system, "tools": event.tools, "settings": event.settings, "digest": event.digest}
    return {name: value for name, value in given.items() if value is not None}
