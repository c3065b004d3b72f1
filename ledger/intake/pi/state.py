"""Where a path stands: the turn that is open, its calls, the attempt that failed, what the model is set to."""

from __future__ import annotations

import hashlib
from array import array
from dataclasses import dataclass, field, replace

from ledger.events import JsonObject, json_bytes
from ledger.intake.pi.index import Index


@dataclass(frozen=True)
class Turn:
    """A turn of the path, named by the record with that number.

    `started` is False while only injected context waits in it for a prompt; `over` is True once it has a
    terminal.
    """

    id: str
    record: int
    started: bool = False
    over: bool = False
    stepped: bool = False


class Calls:
    """The records that name the turn and the step of the latest call of each id: some thirty bytes a call,
    found by the hash of its id."""

    def __init__(self) -> None:
        self._hash, self._turn, self._step = array("q"), array("I"), array("I")
        self._index = Index(lambda at: self._hash[at])

    def put(self, call: str, turn: int, step: int) -> None:
        """A call was made."""
        hashed = hash(call)
        at = self._index.find(hashed, lambda at: self._hash[at] == hashed)
        if at is not None:
            self._turn[at], self._step[at] = turn, step
            return
        self._hash.append(hashed)
        self._turn.append(turn)
        self._step.append(step)
        self._index.put(hashed, lambda _: False, len(self._hash) - 1)

    def get(self, call: str) -> tuple[int, int] | None:
        """The numbers of the records of turn and step; None for a call that was not made."""
        hashed = hash(call)
        at = self._index.find(hashed, lambda at: self._hash[at] == hashed)
        return None if at is None else (self._turn[at], self._step[at])

    def copy(self) -> Calls:
        """Those of a branch."""
        made = Calls()
        made._hash, made._turn, made._step = self._hash[:], self._turn[:], self._step[:]
        made._index = self._index.copy(lambda at: made._hash[at])
        return made


@dataclass
class State:
    """What the events of the next record depend on; branches begin with a copy.

    `calls` knows the turn and step of the latest call of each id on this path; `unanswered` holds the
    ids of the open turn without a result; `failed` is the step id and message of an errored attempt that
    nothing followed yet; `at_ms` is the time of the last record, milliseconds since 1970, where it gave
    one.
    """

    turn: Turn | None = None
    calls: Calls = field(default_factory=Calls)
    unanswered: set[str] = field(default_factory=set)
    failed: tuple[str, str] | None = None
    settings: JsonObject = field(default_factory=dict)
    at_ms: float | None = None

    def copy(self) -> State:
        """A state of its own for a branch."""
        return replace(
            self, calls=self.calls.copy(), unanswered=set(self.unanswered), settings=dict(self.settings)
        )

    @property
    def digest(self) -> str | None:
        """Digest of the settings in force, as `context` events carry it; None when none were recorded."""
        if not self.settings:
            return None
        ordered: JsonObject = {name: self.settings[name] for name in sorted(self.settings)}
        return f"sha256:{hashlib.sha256(json_bytes(ordered)).hexdigest()}"
