"""Diagnostics as a renderer gathers them: about the event and the step that it is at."""

from ledger.events import Json
from ledger.recorded import RecordedEvent
from replay.diagnostics import SEVERITY, Diagnostic, diagnostic


class Noting:
    """Gathers a render's diagnostics. `_record` is the event that `_note` is about, `_step_id` its step."""

    def __init__(self, record: RecordedEvent | None) -> None:
        self._diagnostics: list[Diagnostic] = []
        self._record = record
        self._step_id: str | None = None

    def _note(self, code: str, **detail: Json) -> None:
        if self._record is None:
            self._diagnostics.append(Diagnostic(code, SEVERITY[code], None, None, None, None, detail))
        else:
            self._diagnostics.append(diagnostic(code, self._record, self._step_id, **detail))
