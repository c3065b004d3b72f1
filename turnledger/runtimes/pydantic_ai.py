"""Runs of pydantic-ai agents, recorded as they stream (`pip install turnledger[pydantic-ai]`).

    recorder = Recorder(ledger, "chat-1", runtime="pydantic-ai")
    result = await run(agent, "Fix add()", recorder)

or, where the run is started elsewhere, by its event stream handler:

    async with recorder.turn("Fix add()") as turn:
        handler = TurnHandler(turn)
        result = await agent.run("Fix add()", event_stream_handler=handler)
        handler.finish(result)

A run that raises, is cancelled or times out ends its turn as such, with everything that was streamed.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from pydantic_core import to_jsonable_python

from ledger.events import Json, JsonObject
from ledger.intake.pydantic_ai.parts import said
from ledger.intake.pydantic_ai.run import Run
from ledger.recorder import LiveTurn, Recorder

if TYPE_CHECKING:
    from pydantic_ai import Agent, RunContext
    from pydantic_ai.messages import AgentStreamEvent, ModelMessage, UserContent
    from pydantic_ai.run import AgentRunResult

Deps = TypeVar("Deps")
Output = TypeVar("Output")

if TYPE_CHECKING:
    Handler = Callable[[RunContext[Deps], AsyncIterable[AgentStreamEvent]], Awaitable[None]]


class TurnHandler(Generic[Deps]):
    """An event stream handler that records a run into a turn. `then` is a handler of the caller's own, which
    is given every event once it is recorded. `asked`: the turn was begun with the prompt."""

    def __init__(self, turn: LiveTurn, then: Handler[Deps] | None = None, *, asked: bool = True) -> None:
        self._turn = turn
        self._then = then
        self._asked = asked
        self._run: Run | None = None
        self._run_id: str | None = None

    async def __call__(self, ctx: RunContext[Deps], events: AsyncIterable[AgentStreamEvent]) -> None:
        """Record what one node of the run streams. Calls are stored before their tools run."""
        self._run_id = ctx.run_id
        run = self._of(ctx.model.system, ctx.model.model_name)
        run.messages(self._own(ctx.messages))
        await self._turn.flush()
        told = self._recorded(run, events)
        if self._then is None:
            async for _ in told:
                pass
        else:
            await self._then(ctx, told)
            async for _ in told:  # what the caller's handler left
                pass

    def finish(self, result: AgentRunResult[Output]) -> None:
        """The run is over: takes its last message, and completes the turn."""
        run = self._of(None, None)
        run.messages(self._own(result.new_messages()))
        self._turn.complete(run.stop_reason)

    async def _recorded(
        self, run: Run, events: AsyncIterable[AgentStreamEvent]
    ) -> AsyncIterator[AgentStreamEvent]:
        async for event in events:
            told = as_json(event)
            if not run.event(told):
                self._turn.note("raw", f"An event of kind {event.event_kind}.", entry=told)
            yield event

    def _of(self, provider: str | None, model: str | None) -> Run:
        if self._run is None:
            self._run = Run(self._turn, asked=self._asked, provider=provider, model=model)
        return self._run

    def _own(self, messages: Sequence[ModelMessage]) -> list[JsonObject]:
        """The messages of this run, without those of the history that it was given."""
        return [as_json(message) for message in messages if self._run_id in (None, message.run_id)]


async def run(
    agent: Agent[Deps, Output],
    prompt: str | Sequence[UserContent],
    recorder: Recorder,
    *,
    turn_id: str | None = None,
    event_stream_handler: Handler[Deps] | None = None,
    **options: object,
) -> AgentRunResult[Output]:
    """Run an agent as `agent.run(prompt, **options)` does, and record the run as a turn.

    Raises what the run raises, `TurnBusy` when somebody else records a turn of the conversation, and
    `RecordingStopped` when it could not be stored.
    """
    asked = prompt if isinstance(prompt, str) else said(cast(Json, [as_json(item) for item in prompt]))
    async with recorder.turn(asked, turn_id=turn_id) as turn:
        handler = TurnHandler(turn, event_stream_handler)
        result: AgentRunResult[Output] = await agent.run(prompt, event_stream_handler=handler, **options)  # type: ignore[call-overload]
        handler.finish(result)
        return result


def as_json(value: object) -> JsonObject:
    """An event or a message in the library's own JSON form; what has none becomes its description."""
    return cast(JsonObject, to_jsonable_python(value, bytes_mode="base64", fallback=repr))
