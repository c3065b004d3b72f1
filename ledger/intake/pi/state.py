"""Where a path stands: the turn that is open, its calls, the attempt that failed, what the model is set to."""

import hashlib
from dataclasses import dataclass, field, replace

from ledger.events import JsonObject, json_bytes


@dataclass(frozen=True)
class Turn:
    """A turn of the path.

    `started` is False while only injected context waits in it for a prompt; `over` is True once it has a
    terminal.
    """

    id: str
    started: bool = False
    over: bool = False
    stepped: bool = False


@dataclass
class State:
    """What the events of the next record depend on; branches begin with a copy.

    `calls` maps a tool call id to the turn and step of its latest call on this path; `unanswered` holds the
    ids of the open turn without a result; `failed` is the step id and message of an errored attempt that
    nothing followed yet; `at_ms` is the time of the last record, milliseconds since 1970, where it gave
    one.
    """

    turn: Turn | None = None
    calls: dict[str, tuple[str, str]] = field(default_factory=dict)
    unanswered: set[str] = field(default_factory=set)
    failed: tuple[str, str] | None = None
    settings: JsonObject = field(default_factory=dict)
    at_ms: float | None = None

    def copy(self) -> "State":
        """A state of its own for a branch."""
        return replace(
            self, calls=dict(self.calls), unanswered=set(self.unanswered), settings=dict(self.settings)
        )

    @property
    def digest(self) -> str | None:
        """Digest of the settings in force, as `context` events carry it; None when none were recorded."""
        if not self.settings:
            return None
        ordered: JsonObject = {name: self.settings[name] for name in sorted(self.settings)}
        return f"sha256:{hashlib.sha256(json_bytes(ordered)).hexdigest()}"
