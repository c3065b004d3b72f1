"""What a turn in progress cannot make by itself: ids and the time. Given to the pure core from outside."""

import hashlib
from collections.abc import Callable
from typing import Protocol


class Stamps(Protocol):
    """Where ids and times come from."""

    def event_id(self, event_type: str) -> str:
        """An id for the next event, which is of that type."""

    def turn_id(self) -> str:
        """An id for a turn that nobody named."""

    def step_id(self) -> str:
        """An id for a step that nobody named: fresh every time."""

    def at(self) -> str | None:
        """The runtime's clock, RFC 3339 with offset; None where only the stream itself could tell."""


class LiveStamps:
    """For a runtime in this process: fresh ids (`new_id`) and its clock (`now`)."""

    def __init__(self, new_id: Callable[[], str], now: Callable[[], str]) -> None:
        self.turn_id = self.step_id = self._new_id = new_id
        self._now = now

    def event_id(self, event_type: str) -> str:  # noqa: ARG002 - fresh whatever it is for
        return self._new_id()

    def at(self) -> str | None:
        return self._now()


class StreamStamps:
    """For a stream of lines: ids that the same bytes give again, so that recording them twice adds nothing.

    An id hangs on all the bytes up to the line it was made on, and on its place among the ids of that line:
    two streams have the same ids exactly as far as they are the same. Ids of records that have one of their
    own are better made by `ledger.intake.identity.made_id`, as an importer makes them (DESIGN.md 4).
    """

    def __init__(self, source_format: str, basis: str = "") -> None:
        self.prefix = f"{source_format}:line:"
        """What every id that is made here begins with, and no other id."""
        self._digest = hashlib.sha256(f"{source_format}\0{basis}".encode("utf-8", "surrogatepass"))
        self._made = 0

    def take(self, line: bytes) -> None:
        """Go on to the next line (its bytes, without the line end)."""
        self._digest.update(len(line).to_bytes(8, "big"))
        self._digest.update(line)
        self._made = 0

    def event_id(self, event_type: str) -> str:  # noqa: ARG002 - its place tells it from others
        return self._make("event")

    def turn_id(self) -> str:
        return self._make("turn")

    def step_id(self) -> str:
        return self._make("step")

    def at(self) -> str | None:
        return None

    def _make(self, what: str) -> str:
        here = self._digest.copy()
        here.update(f"\0{what}\0{self._made}".encode())
        self._made += 1
        return f"{self.prefix}{here.hexdigest()[:32]}"
