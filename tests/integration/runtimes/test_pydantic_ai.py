"""Runs of pydantic-ai agents, driven by the library's own test and function models, recorded as they stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

pydantic_ai = pytest.importorskip("pydantic_ai")

from pydantic import BaseModel  # noqa: E402
from pydantic_ai import Agent, ModelRetry, RunContext  # noqa: E402
from pydantic_ai.exceptions import UsageLimitExceeded  # noqa: E402
from pydantic_ai.messages import ModelMessage  # noqa: E402
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel  # noqa: E402
from pydantic_ai.models.test import TestModel  # noqa: E402
from pydantic_ai.usage import UsageLimits  # noqa: E402

from ledger import Ledger  # noqa: E402
from ledger.recorder import Recorder  # noqa: E402
from replay import replay  # noqa: E402
from turnledger.runtimes.pydantic_ai import TurnHandler, run  # noqa: E402


def scripted(*steps: list[Any]) -> FunctionModel:
    """A model that streams the pieces of its script, one list a request; an exception in it is raised."""
    script = list(steps)

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        for piece in script.pop(0):
            if isinstance(piece, Exception):
                raise piece
            if isinstance(piece, float):
                await asyncio.sleep(piece)
            else:
                yield piece

    return FunctionModel(stream_function=stream)


def asks(call_id: str, tool: str, args: dict[str, Any], index: int = 0) -> list[Any]:
    spelled = json.dumps(args)
    half = len(spelled) // 2
    return [
        {index: DeltaToolCall(name=tool, json_args=spelled[:half], tool_call_id=call_id)},
        {index: DeltaToolCall(json_args=spelled[half:])},
    ]


def adder(model: Any) -> Agent[None, str]:
    agent: Agent[None, str] = Agent(model, instructions="Be exact.")

    @agent.tool_plain
    def add(a: int, b: int) -> int:
        if a < 0:
            raise ModelRetry("only positive numbers")
        return a + b

    return agent


def events(ledger: Ledger, conversation: str = "c") -> list[dict[str, Any]]:
    return [json.loads(recorded.body) for recorded in ledger.read(conversation)]


def of(told: list[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    return [event for event in told if event["type"] in kinds]


def test_a_run_with_tools(ledger: Ledger) -> None:
    model = scripted(
        [
            {0: DeltaThinkingPart(content="two ")},
            {0: DeltaThinkingPart(content="sums", signature="sig")},
            "I ",
            "add.",
            *asks("k1", "add", {"a": 1, "b": 2}, 2),
            *asks("k2", "add", {"a": 3, "b": 4}, 3),
        ],
        ["Three ", "and seven."],
    )
    recorder = Recorder(ledger, "c", runtime="test")
    result = asyncio.run(run(adder(model), "Add.", recorder))
    assert result.output == "Three and seven."
    told = events(ledger)
    assert [event["type"] for event in told] == [
        "turn_start", "user_message", "context",
        "step_start", "thinking_complete", "text_complete", "tool_start", "tool_start", "step_finish",
        "tool_result", "tool_result",
        "step_start", "text_complete", "step_finish", "complete",
    ]  # fmt: skip
    (context,) = of(told, "context")
    assert context["system"] == "Be exact."
    assert {step["context"] for step in of(told, "step_start")} == {context["digest"]}
    assert {step["model"] for step in of(told, "step_start")} == {"function::stream"}
    (thinking,) = of(told, "thinking_complete")
    assert (thinking["text"], thinking["signature"], thinking["block_index"]) == ("two sums", "sig", 0)
    assert [event["text"] for event in of(told, "text_complete")] == ["I add.", "Three and seven."]
    assert [(call["tool_call_id"], call["args"]) for call in of(told, "tool_start")] == [
        ("k1", {"a": 1, "b": 2}),
        ("k2", {"a": 3, "b": 4}),
    ]
    assert {answer["tool_call_id"]: answer["content"] for answer in of(told, "tool_result")} == {
        "k1": 3,
        "k2": 7,
    }
    assert all(finish["usage"]["output"] >= 0 for finish in of(told, "step_finish"))


def neutral(messages: list[ModelMessage]) -> list[Any]:
    """What the library itself keeps of a run, in the neutral form."""
    told: list[Any] = []
    for message in messages:
        parts: list[dict[str, Any]] = []
        for part in message.parts:
            if part.part_kind == "user-prompt":
                told.append({"role": "user", "content": [{"type": "text", "text": part.content}]})
            elif part.part_kind == "text" and part.content:
                parts.append({"type": "text", "text": part.content})
            elif part.part_kind == "thinking":
                parts.append({"type": "thinking", "text": part.content, "signature": part.signature})
            elif part.part_kind == "tool-call":
                parts.append(
                    {
                        "type": "tool_call",
                        "tool_call_id": part.tool_call_id,
                        "tool_name": part.tool_name,
                        "args": part.args_as_dict(),
                    }
                )
            elif part.part_kind == "tool-return" or (part.part_kind == "retry-prompt" and part.tool_name):
                parts.append(
                    {"type": "tool_result", "tool_call_id": part.tool_call_id, "content": part.content}
                )
            elif part.part_kind == "retry-prompt":
                told.append({"role": "user", "content": [{"type": "text", "text": part.content}]})
        if parts:
            told.append({"role": "assistant" if message.kind == "response" else "tool", "content": parts})
    return told


def replayed(ledger: Ledger, conversation: str = "c") -> list[Any]:
    messages = replay(ledger.read(conversation), conversation, "neutral").messages
    for message in messages:
        for part in message["content"] if isinstance(message["content"], list) else ():
            part.pop("is_error", None)  # type: ignore[union-attr, call-overload]
    return list(messages)


SCRIPTS: dict[str, list[list[Any]]] = {
    "text": [["Hel", "lo."]],
    "thought": [[{0: DeltaThinkingPart(content="hm", signature="s")}, "So."]],
    "retried": [asks("k1", "add", {"a": -1, "b": 2}), asks("k2", "add", {"a": 1, "b": 2}), ["Three."]],
    "wrong arguments": [asks("k1", "add", {"a": "x"}), asks("k2", "add", {"a": 1, "b": 2}), ["Three."]],
    "no such tool": [asks("k1", "nothing", {}), ["Well."]],
    "an id again": [asks("k", "add", {"a": 1, "b": 2}), asks("k", "add", {"a": 3, "b": 4}), ["Seven."]],
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_replay_is_the_librarys_own_history(ledger: Ledger, name: str) -> None:
    result = asyncio.run(run(adder(scripted(*SCRIPTS[name])), "Go.", Recorder(ledger, "c")))
    mine, theirs = replayed(ledger), neutral(result.all_messages())
    if name == "an id again":  # two calls of one id are told apart by their number
        mine = json.loads(json.dumps(mine).replace("k~2", "k"))
    for message in theirs:
        for part in message["content"] if isinstance(message["content"], list) else ():
            if isinstance(part.get("content"), list):  # errors of the arguments, with what cannot be JSON
                part["content"] = next(
                    one["content"] for told in mine if told["role"] == "tool" for one in told["content"]
                    if one["tool_call_id"] == part["tool_call_id"]
                )  # fmt: skip
    assert mine == theirs
    told = events(ledger)
    assert len(of(told, "complete", "abort", "error")) == 1
    assert len(of(told, "step_start")) == len(of(told, "step_finish")) == len(SCRIPTS[name])


def test_structured_output(ledger: Ledger) -> None:
    class Sum(BaseModel):
        total: int

    agent: Agent[None, Sum] = Agent(TestModel(custom_output_args={"total": 3}), output_type=Sum)
    result = asyncio.run(run(agent, "Add.", Recorder(ledger, "c")))
    assert result.output == Sum(total=3)
    told = events(ledger)
    (call,), (answer,) = of(told, "tool_start"), of(told, "tool_result")
    assert (call["tool_name"], call["args"]) == ("final_result", {"total": 3})
    assert answer["tool_call_id"] == call["tool_call_id"]
    assert told[-1]["type"] == "complete"


def test_several_turns_with_history(ledger: Ledger) -> None:
    """The history that a run is given was recorded by the runs before: it is not recorded again."""
    recorder = Recorder(ledger, "c")

    async def talk() -> list[ModelMessage]:
        agent = adder(scripted(asks("k1", "add", {"a": 1, "b": 2}), ["Three."], ["Gladly."]))
        first = await run(agent, "Add.", recorder)
        second = await run(agent, "Thanks.", recorder, message_history=first.all_messages())
        return second.all_messages()

    everything = asyncio.run(talk())
    assert replayed(ledger) == neutral(everything)
    assert len(of(events(ledger), "turn_start")) == len(of(events(ledger), "complete")) == 2
    assert len(of(events(ledger), "context")) == 1, "it did not change"


def test_the_callers_handler_sees_every_event(ledger: Ledger) -> None:
    seen: list[str] = []

    async def mine(ctx: RunContext[None], stream: Any) -> None:
        async for event in stream:
            seen.append(event.event_kind)
            if event.event_kind == "part_end":
                return  # what is left is recorded all the same

    agent = adder(scripted([*asks("k1", "add", {"a": 1, "b": 2})], ["Three", "."]))
    asyncio.run(run(agent, "Add.", Recorder(ledger, "c"), event_stream_handler=mine))
    assert "part_start" in seen
    assert [event["text"] for event in of(events(ledger), "text_complete")] == ["Three."]
    assert of(events(ledger), "tool_result")[0]["content"] == 3


def test_a_handler_of_a_turn_begun_elsewhere(ledger: Ledger) -> None:
    async def act() -> None:
        async with Recorder(ledger, "c").turn() as turn:
            handler: TurnHandler[None] = TurnHandler(turn, asked=False)
            result = await adder(scripted(["Hi."])).run(["Look:", "here"], event_stream_handler=handler)
            handler.finish(result)

    asyncio.run(act())
    told = events(ledger)
    (asked,) = of(told, "user_message")
    assert asked["content"] == [{"type": "text", "text": "Look:"}, {"type": "text", "text": "here"}]
    assert told[-1]["type"] == "complete"


@pytest.mark.parametrize(
    ("script", "limits", "raised", "end"),
    [
        ([["Half a ", RuntimeError("the line broke")]], None, RuntimeError, "error"),
        ([asks("k1", "add", {"a": 1, "b": 2}), [RuntimeError("gone")]], None, RuntimeError, "error"),
        (
            [asks("k1", "add", {"a": 1, "b": 2}), ["never"]],
            UsageLimits(request_limit=1),
            UsageLimitExceeded,
            "error",
        ),
        ([["Half a ", 30.0, "word"]], None, TimeoutError, "abort"),
    ],
)
def test_a_run_that_fails_keeps_what_streamed(
    ledger: Ledger, script: list[list[Any]], limits: UsageLimits | None, raised: type[Exception], end: str
) -> None:
    async def act() -> None:
        recorder = Recorder(ledger, "c")
        async with asyncio.timeout(2 if end == "abort" else 60):
            await run(adder(scripted(*script)), "Go.", recorder, usage_limits=limits)

    with pytest.raises(raised):
        asyncio.run(act())
    told = events(ledger)
    ends = of(told, "complete", "abort", "error")
    assert [event["type"] for event in ends] == [end]
    texts = [(event["text"], event.get("partial")) for event in of(told, "text_complete") if event["text"]]
    assert texts == ([("Half a ", True)] if "Half a " in script[0] else [])
    if "Half a " not in script[0]:
        assert of(told, "tool_result")[0]["content"] == 3


def test_calls_are_stored_before_their_tools_run(ledger: Ledger) -> None:
    agent: Agent[None, str] = Agent(scripted(asks("k1", "look", {}), ["Done."]))
    stored: list[str] = []

    @agent.tool_plain
    def look() -> str:
        stored.extend(event["type"] for event in events(ledger))
        return "seen"

    asyncio.run(run(agent, "Go.", Recorder(ledger, "c")))
    assert "tool_start" in stored
