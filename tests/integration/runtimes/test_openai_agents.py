"""OpenAI Agents with its session in the ledger, against the library's own, driven by a scripted model."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from typing import Any

import pytest

agents = pytest.importorskip("agents")

from agents import Agent, RunConfig, Runner, function_tool  # noqa: E402
from agents.agent import StopAtTools  # noqa: E402
from agents.exceptions import MaxTurnsExceeded  # noqa: E402
from agents.items import ModelResponse  # noqa: E402
from agents.memory import Session, SessionSettings, SQLiteSession  # noqa: E402
from agents.models.interface import Model  # noqa: E402
from agents.usage import Usage  # noqa: E402
from openai.types.responses import (  # noqa: E402
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)
from openai.types.responses.response_reasoning_item import Summary  # noqa: E402

from ledger import Ledger  # noqa: E402
from ledger.recorder import Recorder  # noqa: E402
from projections import view  # noqa: E402
from replay import replay  # noqa: E402
from replay.providers.violations import violations  # noqa: E402
from tests.conformance import SHARED, needs_shared  # noqa: E402
from turnledger.runtimes.openai_agents import LedgerSession  # noqa: E402


def text(said: str) -> ResponseOutputMessage:
    part = ResponseOutputText(annotations=[], text=said, type="output_text")
    return ResponseOutputMessage(
        id=f"msg_{abs(hash(said)) % 10**9}",
        content=[part],
        role="assistant",
        status="completed",
        type="message",
    )


def thought(said: str) -> ResponseReasoningItem:
    return ResponseReasoningItem(id="rs_1", summary=[Summary(text=said, type="summary_text")], type="reasoning")


def call(number: int, a: int, b: int) -> ResponseFunctionToolCall:
    args = json.dumps({"a": a, "b": b})
    return ResponseFunctionToolCall(arguments=args, call_id=f"call_{number}", name="add", type="function_call")


class Scripted(Model):
    """Gives the responses of its script, one a call; an exception is raised."""

    def __init__(self, *script: list[Any] | Exception) -> None:
        self.script = list(script)
        self.inputs: list[Any] = []

    async def get_response(  # the runner names its arguments
        self,
        system_instructions: Any,
        input: Any,  # noqa: A002
        *args: Any,
        **kwargs: Any,
    ) -> ModelResponse:
        self.inputs.append(json.loads(json.dumps(input)))
        response = self.script.pop(0)
        if isinstance(response, Exception):
            raise response
        return ModelResponse(output=response, usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


@function_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def script() -> list[list[Any]]:
    return [
        [thought("Two sums."), text("Let me see."), call(1, 1, 2), call(2, 3, 4)],
        [call(3, 3, 7)],
        [text("Ten.")],
        [text("You are welcome.")],
    ]


async def converse(session: Any, model: Scripted) -> list[Any]:
    agent = Agent(name="Adder", model=model, tools=[add])
    config = RunConfig(tracing_disabled=True)
    for said in ("Add 1, 2, 3 and 4.", "Thanks!"):
        await Runner.run(agent, said, session=session, run_config=config)
    items: list[Any] = await session.get_items()
    return items


def test_it_is_a_session(ledger: Ledger) -> None:
    assert isinstance(LedgerSession("c", ledger), Session)


def test_items_are_those_of_the_librarys_own_session(ledger: Ledger) -> None:
    mine, theirs = Scripted(*script()), Scripted(*script())
    session = LedgerSession("c", ledger, model="scripted")
    items = asyncio.run(converse(session, mine))
    assert items == asyncio.run(converse(SQLiteSession("c"), theirs))
    assert mine.inputs == theirs.inputs, "the model is given the same history"
    for limit in (0, 1, 3, 100):
        both = [asyncio.run(one.get_items(limit)) for one in (session, LedgerSession("c", ledger))]
        assert both == [items[-limit:] if limit else []] * 2
    settings = SessionSettings(limit=2)
    assert asyncio.run(LedgerSession("c", ledger, session_settings=settings).get_items()) == items[-2:]


def test_what_is_recorded(ledger: Ledger) -> None:
    asyncio.run(converse(LedgerSession("c", ledger, model="scripted"), Scripted(*script())))
    rows = view(ledger, "c").rows
    told = [(row["row"], row.get("text") or row.get("tool_name")) for row in rows]
    assert told == [
        ("user", "Add 1, 2, 3 and 4."),
        ("assistant", "Let me see."),
        ("tool", "add"),
        ("tool", "add"),
        ("tool", "add"),
        ("assistant", "Ten."),
        ("turn", None),
        ("user", "Thanks!"),
        ("assistant", "You are welcome."),
        ("turn", None),
    ]
    events = [recorded.event for recorded in ledger.read("c")]
    assert [event.type for event in events if event.type in ("complete", "abort")] == ["complete"] * 2
    assert all(
        event.source == {"format": "openai-agents", "inferred": True}
        for event in events
        if event.type == "complete"
    )
    result = replay(ledger.read("c"), "c", "neutral")
    roles = [message["role"] for message in result.messages]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant", "user", "assistant"]
    target = {"provider": "anthropic", "model": "claude-opus-4-5"}
    rendered = replay(ledger.read("c"), "c", target)
    assert violations(target, rendered.request, sendable=rendered.sendable) == []


def test_another_process_goes_on(ledger: Ledger) -> None:
    """Each run with a session of its own: nothing is kept but in the ledger."""
    model = Scripted(*script())
    agent = Agent(name="Adder", model=model, tools=[add])

    async def one(said: str) -> None:
        config = RunConfig(tracing_disabled=True)
        await Runner.run(agent, said, session=LedgerSession("c", ledger), run_config=config)

    asyncio.run(one("Add 1, 2, 3 and 4."))
    asyncio.run(one("Thanks!"))
    theirs = asyncio.run(converse(SQLiteSession("c"), Scripted(*script())))
    assert asyncio.run(LedgerSession("c", ledger).get_items()) == theirs
    turns = [recorded for recorded in ledger.read("c") if recorded.type == "turn_start"]
    assert len(turns) == 2


def test_pop_and_clear_are_retractions(ledger: Ledger) -> None:
    async def act() -> None:
        mine, theirs = LedgerSession("c", ledger), SQLiteSession("c")
        for session in (mine, theirs):
            assert await session.pop_item() is None
            await session.add_items([])
            await session.add_items(
                [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
            )
        assert await mine.pop_item() == await theirs.pop_item() == {"role": "assistant", "content": "two"}
        await mine.add_items([{"role": "assistant", "content": "three"}])
        assert [item.get("content") for item in await mine.get_items()] == ["one", "three"]
        replayed = replay(ledger.read("c"), "c", "neutral")
        assert "two" not in json.dumps(replayed.messages)
        await mine.clear_session()
        assert await mine.get_items() == await LedgerSession("c", ledger).get_items() == []
        await mine.add_items([{"role": "user", "content": "anew"}])
        assert await LedgerSession("c", ledger).get_items() == [{"role": "user", "content": "anew"}]

    asyncio.run(act())
    kept = [recorded.event.text for recorded in ledger.read("c") if recorded.type == "text_complete"]
    assert kept == ["two", "three"], "all of it is still in the ledger"


def test_a_run_that_fails_leaves_its_turn_to_the_next_one(ledger: Ledger) -> None:
    async def act() -> None:
        session = LedgerSession("c", ledger)
        agent = Agent(name="Adder", model=Scripted([call(1, 1, 1)], [text("fine")]), tools=[add])
        config = RunConfig(tracing_disabled=True)
        with pytest.raises(MaxTurnsExceeded):
            await Runner.run(agent, "Add.", session=session, run_config=config, max_turns=1)
        await Runner.run(agent, "Again.", session=session, run_config=config)

    asyncio.run(act())
    events = [recorded.event for recorded in ledger.read("c")]
    ends = [(event.type, event.turn_id) for event in events if event.type in ("complete", "abort", "error")]
    turns = [event.turn_id for event in events if event.type == "turn_start"]
    assert [turn for _, turn in ends] == turns
    assert [kind for kind, _ in ends] == ["abort", "complete"]


def test_a_call_that_is_answered_in_a_later_batch(ledger: Ledger) -> None:
    async def act() -> None:
        asked: Any = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a":1}'}
        answer: Any = {"type": "function_call_output", "call_id": "c1", "output": "1"}
        await LedgerSession("c", ledger).add_items([{"role": "user", "content": "q"}, asked])
        await LedgerSession("c", ledger).add_items([answer])
        assert (await LedgerSession("c", ledger).get_items())[1:] == [asked, answer]

    asyncio.run(act())
    started, answered = (
        next(recorded for recorded in ledger.read("c") if recorded.type == kind)
        for kind in ("tool_start", "tool_result")
    )
    assert started.step_id == answered.step_id
    assert started.turn_id == answered.turn_id


def test_two_sessions_on_one_conversation_lose_nothing(ledger: Ledger) -> None:
    async def act() -> None:
        sessions = [LedgerSession("c", ledger) for _ in range(3)]

        async def talk(number: int) -> None:
            for turn in range(6):
                await sessions[number].add_items(
                    [{"role": "user", "content": f"{number}/{turn}"}, {"role": "assistant", "content": "so"}]
                )

        await asyncio.gather(*(talk(number) for number in range(3)))
        items = [await session.get_items() for session in sessions]
        assert items[0] == items[1] == items[2]
        assert len(items[0]) == 36
        assert [item["content"] for item in items[0][1::2]] == ["so"] * 18  # type: ignore[typeddict-item]

    asyncio.run(act())


def test_what_a_recorder_wrote_is_history_too(ledger: Ledger) -> None:
    with Recorder(ledger, "c").turn("What is 2 + 2?") as turn:
        step = turn.begin_step(provider="x", model="y")
        step.call("c1", "calc", {"sum": "2+2"})
        step.finish("tool_use")
        turn.tool_result("c1", 4)
        turn.begin_step().text("Four.")
    items = asyncio.run(LedgerSession("c", ledger).get_items())
    assert items == [
        {"role": "user", "content": "What is 2 + 2?"},
        {"type": "function_call", "call_id": "c1", "name": "calc", "arguments": '{"sum":"2+2"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "4"},
        {"role": "assistant", "content": "Four."},
    ]


def test_items_of_every_kind_come_back_as_they_were(ledger: Ledger) -> None:
    items: list[Any] = [
        {"role": "system", "content": "be kind"},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"},
            ],
        },
        {"type": "message", "role": "user", "content": "typed", "status": "completed"},
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "x"},
        },
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"},
        {"type": "custom_tool_call", "call_id": "k1", "name": "sql", "input": "select 1"},
        {"type": "custom_tool_call_output", "call_id": "k1", "output": [{"type": "input_text", "text": "1"}]},
        {"type": "computer_call", "call_id": "k2", "action": {"type": "click"}, "status": "completed"},
        {"type": "computer_call_output", "call_id": "k2", "output": {"type": "computer_screenshot"}},
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "zzz"},
        {"type": "item_of_tomorrow", "id": "t1", "what": [1, {"x": None}]},
        {"type": "item_reference", "id": "msg_9"},
        {},
        {
            "role": "assistant",
            "content": [{"type": "refusal", "refusal": "no"}],
            "type": "message",
            "id": "m",
            "status": "completed",
        },
    ]

    async def act() -> None:
        await LedgerSession("c", ledger).add_items(items)
        assert await LedgerSession("c", ledger).get_items() == items
        for number, item in enumerate(items):
            await LedgerSession(f"c{number}", ledger).add_items([item])
            assert await LedgerSession(f"c{number}", ledger).get_items() == [item]

    asyncio.run(act())


def test_a_tool_that_ends_the_run(ledger: Ledger) -> None:
    agent = Agent(
        name="Adder",
        model=Scripted([call(1, 1, 1)]),
        tools=[add],
        tool_use_behavior=StopAtTools(stop_at_tool_names=["add"]),
    )

    async def act() -> list[Any]:
        session = LedgerSession("c", ledger)
        await Runner.run(agent, "Add.", session=session, run_config=RunConfig(tracing_disabled=True))
        items: list[Any] = await session.get_items()
        return items

    items = asyncio.run(act())
    assert [item.get("type", "message") for item in items] == [
        "message",
        "function_call",
        "function_call_output",
    ]


@needs_shared
@pytest.mark.parametrize("source", ["v0.24.0-to_input_list.json", "v0.24.0-sqlite-session.db"])
def test_the_recorded_sessions(ledger: Ledger, source: str) -> None:
    """Both files hold one run: 4 responses, 5 calls, each answered."""
    path = SHARED / "fixtures" / "openai-agents" / source
    if path.suffix == ".json":
        items = json.loads(path.read_text())
    else:
        connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        rows = connection.execute("select message_data from agent_messages order by id").fetchall()
        connection.close()
        items = [json.loads(row) for (row,) in rows]

    async def act() -> None:
        session = LedgerSession("c", ledger)
        await session.add_items(items)
        assert await LedgerSession("c", ledger).get_items() == items

    asyncio.run(act())
    events = [recorded.event for recorded in ledger.read("c")]
    kinds = [event.type for event in events]
    assert (
        kinds.count("tool_start")
        == kinds.count("tool_result")
        == sum(item.get("type") == "function_call" for item in items)
    )
    assert (
        kinds.count("turn_start")
        == kinds.count("complete")
        == sum(item.get("role") == "user" for item in items)
    )
    result = replay(ledger.read("c"), "c", "neutral")
    assert [
        part["text"]
        for message in result.messages
        for part in message["content"]
        if part["type"] == "text" and message["role"] == "assistant"
    ] == [  # type: ignore[index, call-overload]
        part["text"] for item in items if item.get("role") == "assistant" for part in item["content"]
    ]
    assert not [diagnostic for diagnostic in result.diagnostics if diagnostic.severity == "warning"]
