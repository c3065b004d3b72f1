"""What a plan has to say: its diagnostics while they are gathered, and what was taken back."""

from collections.abc import Mapping

from ledger.events import Json
from ledger.recorded import RecordedEvent
from replay.diagnostics import Diagnostic, diagnostic
from replay.items import Step, Turn
from replay.retractions import Retracted


class Findings:
    """Gathers diagnostics, and answers what was taken back."""

    def __init__(self, retracted: Retracted, turns: Mapping[str, Turn]) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.any_gone = bool(retracted)
        self._retracted = retracted
        self._turns = turns

    def gone(self, record: RecordedEvent, step: Step | None = None) -> bool:
        """True when a retraction names the event, its turn, or the step that it belongs to."""
        return self.any_gone and self._retracted.holds(record, step)

    def say(self, code: str, record: RecordedEvent, step_id: str | None = None, **detail: Json) -> None:
        """Add a diagnostic about an event; `step_id` where the event does not name its step."""
        self.diagnostics.append(diagnostic(code, record, step_id, **detail))

    def after_terminal(self, record: RecordedEvent, step_id: str | None = None) -> None:
        """Report a replayed event that came after its own turn's end."""
        turn = self._turns.get(record.turn_id) if record.turn_id is not None else None
        if turn is not None and turn.ended_before(record.version):
            self.say("after_terminal", record, step_id)
