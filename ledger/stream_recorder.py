"""Recording a runtime's live output: lines in, stored events out (DESIGN.md 5, `turnledger record`)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ledger.admission import check_id
from ledger.events import Json, JsonObject, is_terminal_type
from ledger.intake.lines import Line
from ledger.intake.stream import End, Make, Stream, StreamOptions
from ledger.outbox import MEMORY_BYTES, PATIENCE_SECONDS, Outbox
from ledger.repeats import Repeats
from ledger.store import Ledger
from ledger.store.ledger import LEASE_SECONDS
from ledger.turns import OpenBlock
from ledger.turns.encoding import encoded


@dataclass
class Summary:
    """What a stream came to: its events by type, and how each of its turns ended."""

    lines: int = 0
    types: Counter[str] = field(default_factory=Counter)
    ends: list[str] = field(default_factory=list)
    notes: int = 0
    added: int = 0
    known: int = 0
    differing: int = 0
    version: int | None = None


class StreamRecorder:
    """One stream of one runtime into one conversation.

    Give it every line, tell it when nothing comes for a while (`pause`), and then the end. What cannot be
    stored raises `TurnBusy`, `LeaseLost`, `RecordingStopped` from any of these.
    """

    def __init__(
        self,
        ledger: Ledger,
        conversation_id: str,
        source_format: str,
        make: Make,
        *,
        turn_id: str | None = None,
        provider: str | None = None,
        lease_seconds: float = LEASE_SECONDS,
        memory: int = MEMORY_BYTES,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        check_id("conversation_id", conversation_id)
        if turn_id is not None:
            check_id("turn_id", turn_id)
        self._summary = Summary()
        self._steps: dict[Json, Json] = {}  # the last step of each lane
        options = StreamOptions(turn_id, provider)
        self._stream = Stream(make, source_format, conversation_id, options, self._take, self._hurry)
        self._repeats = Repeats(ledger, conversation_id, self._stream.prefix, self._put)
        self._outbox = Outbox(
            ledger,
            conversation_id,
            self._open_blocks,
            known="skip",
            lease_seconds=lease_seconds,
            memory=memory,
            patience=patience,
        )

    def line(self, line: Line) -> None:
        """The next line."""
        self._stream.line(line)

    def caught_up(self) -> None:
        """All that is there was given: compare it with what was recorded before."""
        self._repeats.look()

    def pause(self) -> None:
        """Nothing came for a while."""
        self._repeats.look(idle=True)

    def end(self, end: End) -> Summary:
        """The end of the stream, or of recording it; everything is stored when this returns."""
        self._stream.end(end)
        self._repeats.look()
        self._outbox.close()
        done, outbox = self._summary, self._outbox
        done.lines = self._stream.lines
        done.added, done.differing = outbox.added, outbox.differing
        done.known = outbox.known + self._repeats.held
        done.version = outbox.version
        return done

    def abandon(self) -> None:
        """Leave the rest: after an error."""
        self._outbox.abandon()

    @property
    def is_running(self) -> bool:
        """Whether a turn is under way."""
        return self._stream.recording.running is not None

    def _take(self, event: JsonObject) -> None:
        kind = str(event["type"])
        if kind != "step_start" or self._is_new_step(event):
            self._summary.types[kind] += 1
        if is_terminal_type(kind, event.get("retryable")):
            self._summary.ends.append(kind)
        self._repeats.take(event)

    def _is_new_step(self, event: JsonObject) -> bool:
        """False for a `step_start` that only completes the one before it in its lane: who answered, where a
        stream says that last."""
        lane, step = event.get("agent_id"), event.get("step_id")
        before, self._steps[lane] = self._steps.get(lane), step
        return step != before

    def _put(self, event: JsonObject) -> None:
        main = "agent_id" not in event
        kind = str(event["type"])
        ends = main and is_terminal_type(kind, event.get("retryable"))
        self._outbox.put(encoded(event), begins=main and kind == "turn_start", ends=ends)

    def _hurry(self) -> None:
        self._outbox.hurry()

    def _open_blocks(self) -> list[OpenBlock]:
        blocks = self._stream.recording.open_blocks()
        return [block._replace(fields=self._repeats.renamed(block.fields)) for block in blocks]
