"""Diagnostics as a renderer gathers them: about the event and the step that it is at."""

from copy import copy
from typing import Protocol, Self, runtime_checkable

from ledger.events import Json
from ledger.recorded import RecordedEvent
from replay.diagnostics import SEVERITY, Diagnostic
from replay.growing import Growing
from replay.providers.settings import Settings


@runtime_checkable
class _Forkable(Protocol):
    def fork(self) -> object: ...


class Noting:
    """Gathers a render's diagnostics. `_record` is the event that `_note` is about, `_step_id` its step, and
    `_context_record` gave the context in force."""

    def __init__(self, record: RecordedEvent | None) -> None:
        self._diagnostics: Growing[Diagnostic] = Growing()
        self._context_record = self._record = record
        self._step_id: str | None = None

    def fork(self) -> Self:
        """A copy that goes on apart: its lists, dicts and sets are copied (references, not what they hold), and
        what has a `fork` is forked."""
        twin = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list | dict | set):
                setattr(twin, name, value.copy())
            elif isinstance(value, _Forkable):
                setattr(twin, name, value.fork())
        return twin

    def _note_skipped(self, settings: Settings) -> None:
        """Say which recorded settings the request does not carry."""
        at = self._record, self._step_id
        self._record, self._step_id = self._context_record, None
        for name in settings.skipped:
            self._note("setting_skipped", setting=name)
        self._record, self._step_id = at

    def _note(self, code: str, **detail: Json) -> None:
        if self._record is None:
            self._diagnostics.append(Diagnostic(code, SEVERITY[code], None, None, None, None, detail))
        else:
            record, step_id = self._record, self._step_id
            if step_id is None:
                step_id = record.step_id
            self._diagnostics.append(
                Diagnostic(
                    code, SEVERITY[code], record.version, record.event_id, record.turn_id, step_id, detail
                )
            )
