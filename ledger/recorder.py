"""Recording a runtime in this process: one turn as a context manager, sync or async (DESIGN.md 5).

    recorder = Recorder(ledger, "chat-1", runtime="my-agent 1.0")
    with recorder.turn("What is 2 + 2?") as turn:
        with turn.begin_step(provider="anthropic", model="…") as step:
            for piece in stream:
                step.text(piece)
        with turn.tool("call-1") as tool:
            tool.result(run())

However the block is left, what was streamed is stored, and the turn has its one terminal.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from types import TracebackType

from ledger.admission import check_id
from ledger.errors import TurnledgerError
from ledger.events import Json, JsonObject, is_terminal_type
from ledger.outbox import MEMORY_BYTES, PATIENCE_SECONDS, Outbox
from ledger.receipt import Receipt
from ledger.store import Ledger
from ledger.store.leasing import MAIN
from ledger.store.ledger import LEASE_SECONDS, made_id
from ledger.turns import Lane, LiveStamps, Turn
from ledger.turns.encoding import encoded
from ledger.turns.lane import Content
from ledger.turns.sheet import Sheet


class Recorder:
    """Records the turns of one conversation, one after the other.

    `runtime` is written into each `turn_start`; `holder` is how others are told who records. `memory` (bytes)
    and `patience` (seconds) bound how long the database may be away. With `agent_id` it records the turns of
    that sub-agent, in a lane that is held apart from the main one; `parent_tool_call_id` is the call that
    started it.
    """

    def __init__(
        self,
        ledger: Ledger,
        conversation_id: str,
        *,
        agent_id: str | None = None,
        parent_tool_call_id: str | None = None,
        runtime: str | None = None,
        holder: str | None = None,
        lease_seconds: float = LEASE_SECONDS,
        memory: int = MEMORY_BYTES,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        check_id("conversation_id", conversation_id)
        if agent_id is not None:
            check_id("agent_id", agent_id)
        self.ledger = ledger
        self.conversation_id = conversation_id
        self.agent_id = agent_id
        self.parent_tool_call_id = parent_tool_call_id
        self.runtime = runtime
        self.holder = holder
        self.lease_seconds = lease_seconds
        self.memory = memory
        self.patience = patience
        self._contexts: dict[str | None, str] | None = None

    def turn(
        self,
        user: Content | None = None,
        *,
        turn_id: str | None = None,
        message_id: str | None = None,
        parent_turn_id: str | None = None,
        **more: Json,
    ) -> LiveTurn:
        """A turn, to be entered by `with` or `async with`; `user` is the message that it answers.

        `more` are further fields of its `turn_start`. Entering takes the lane: `TurnBusy` when somebody else
        records a turn on it.
        """
        opening: dict[str, Json] = {"runtime": self.runtime, "parent_turn_id": parent_turn_id, **more}
        return LiveTurn(self, turn_id or made_id(), opening, user, message_id)

    @property
    def contexts(self) -> dict[str | None, str]:
        """The digest of the context in force, a lane; read from the ledger once."""
        if self._contexts is None:
            self._contexts = self.ledger.contexts(self.conversation_id)
        return self._contexts


class LiveTurn(Turn):
    """A turn in progress in this process: everything a `Turn` has, and the way into the ledger.

    Writing never waits for the database; `flush` does: `turn.flush().wait()`, or `await turn.flush()`.
    """

    def __init__(
        self,
        recorder: Recorder,
        turn_id: str,
        opening: dict[str, Json],
        user: Content | None,
        message_id: str | None,
    ) -> None:
        sheet = Sheet(recorder.conversation_id, LiveStamps(made_id, _now), self._put, self._hurry)
        agent_id, call_id = recorder.agent_id, recorder.parent_tool_call_id
        super().__init__(sheet, turn_id, recorder.contexts, agent_id, call_id)
        self._recorder = recorder
        self._opening = opening
        self._user = user
        self._message_id = message_id
        self._outbox: Outbox | None = None

    def flush(self) -> Receipt:
        """Have everything that was written stored now. The receipt's `wait()`, or awaiting it, returns when
        it is, and raises `LeaseLost`, `RecordingStopped` or `IdConflict` when it cannot be."""
        return self._out.flush()

    def tool(self, tool_call_id: str, lane: Lane | None = None) -> ToolRun:
        """One run of a tool, to be entered by `with` or `async with`: its call is stored before the block
        begins."""
        return ToolRun(self, self if lane is None else lane, tool_call_id)

    # -- begin and end

    def __enter__(self) -> LiveTurn:
        receipt = self._begin()
        try:
            receipt.wait()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._end_by(error)
            self._out.close()
        except TurnledgerError as stopped:
            self._complain(stopped, error)
        finally:
            self._leave()

    async def __aenter__(self) -> LiveTurn:
        receipt = self._begin()
        try:
            await receipt
        except BaseException:
            self._leave()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._end_by(error)
            receipt = self.flush()
            try:
                await receipt
            except asyncio.CancelledError:
                receipt.wait()  # cancelled once more: what was streamed is stored all the same
                raise
        except TurnledgerError as stopped:
            self._complain(stopped, error)
        finally:
            self._leave()

    # -- inside

    @property
    def _out(self) -> Outbox:
        if self._outbox is None:
            raise RuntimeError("a turn is recorded inside its `with` block")
        return self._outbox

    def _begin(self) -> Receipt:
        if self._outbox is not None or self.ended:
            raise RuntimeError("a turn is entered once; ask the recorder for another one")
        recorder = self._recorder
        self._outbox = Outbox(
            recorder.ledger,
            recorder.conversation_id,
            self.open_blocks,
            lane=recorder.agent_id or MAIN,
            lease_seconds=recorder.lease_seconds,
            holder=recorder.holder,
            memory=recorder.memory,
            patience=recorder.patience,
        )
        self.write("turn_start", self._opening)
        if self._user is not None:
            self.user_message(self._user, self._message_id)
        return self.flush()

    def _end_by(self, error: BaseException | None) -> None:
        """End the turn as its block was left, unless it has ended."""
        if self.ended:
            return
        if error is None:
            self.complete()
        elif isinstance(error, TimeoutError):
            self.abort("timeout")
        elif isinstance(error, Exception):
            self.error(str(error) or type(error).__name__, type(error).__qualname__)
        else:
            self.abort("user_stop" if isinstance(error, KeyboardInterrupt) else "cancelled")

    def _complain(self, stopped: TurnledgerError, error: BaseException | None) -> None:
        """The recorder's own failure; beside the runtime's it is only a remark."""
        if error is None:
            raise stopped
        error.add_note(f"turnledger: {stopped}")

    def _leave(self) -> None:
        if self._outbox is not None:
            self._outbox.abandon()

    def _put(self, event: JsonObject) -> None:
        own = event.get("agent_id") == self.agent_id
        kind = str(event["type"])
        self._out.put(
            encoded(event),
            begins=own and kind == "turn_start",
            ends=own and is_terminal_type(kind, event.get("retryable")),
        )

    def _hurry(self) -> None:
        self._out.hurry()


class ToolRun:
    """One run of a tool. `result` says what it gave; a block that raises before gives an error result."""

    def __init__(self, turn: LiveTurn, lane: Lane, tool_call_id: str) -> None:
        self._turn = turn
        self._lane = lane
        self._tool_call_id = tool_call_id
        self._began = 0.0
        self._answered = False

    def progress(self, content: Json) -> None:
        """Something on the way; not the result."""
        self._lane.tool_result(self._tool_call_id, content, final=False)

    def result(self, content: Json, *, is_error: bool | None = None, structured: Json = None) -> None:
        """What the tool gave, with the time since it began."""
        self._answered = True
        took = round((time.perf_counter() - self._began) * 1000)
        self._lane.tool_result(
            self._tool_call_id, content, is_error=is_error, duration_ms=took, structured=structured
        )

    def __enter__(self) -> ToolRun:
        self._start().wait()
        self._began = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and not self._answered:
            self.result(str(error) or type(error).__name__, is_error=True)

    async def __aenter__(self) -> ToolRun:
        await self._start()
        self._began = time.perf_counter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def _start(self) -> Receipt:
        self._lane.start_call(self._tool_call_id)
        return self._turn.flush()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
