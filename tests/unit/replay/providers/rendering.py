"""Short spellings of ledgers, and their requests to Anthropic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ledger.admission import parse_event
from ledger.recorded import RecordedEvent
from replay import Options, Result, replay
from replay.providers.violations import violations
from tests.conformance import named

MODEL = "claude-opus-4-5"
BOUND = "claude-opus-5-5"


def user(content: Any, turn: str = "t1", **more: Any) -> dict[str, Any]:
    return {"type": "user_message", "turn_id": turn, "content": content, **more}


def start(
    step: str, turn: str = "t1", model: str = MODEL, provider: str = "anthropic", **more: Any
) -> dict[str, Any]:
    return {
        "type": "step_start",
        "turn_id": turn,
        "step_id": step,
        "provider": provider,
        "model": model,
        **more,
    }


def thinking(
    step: str, text: str = "hm", signature: str | None = "sig", turn: str = "t1", **more: Any
) -> dict[str, Any]:
    return {
        "type": "thinking_complete",
        "turn_id": turn,
        "step_id": step,
        "text": text,
        "signature": signature,
        **more,
    }


def text(step: str, words: str = "words", turn: str = "t1", **more: Any) -> dict[str, Any]:
    return {"type": "text_complete", "turn_id": turn, "step_id": step, "text": words, **more}


def call(step: str, call_id: str = "c1", args: Any = None, turn: str = "t1", **more: Any) -> dict[str, Any]:
    event = {
        "type": "tool_start",
        "turn_id": turn,
        "step_id": step,
        "tool_call_id": call_id,
        "tool_name": "read",
    }
    return {**event, "args": {} if args is None else args, **more}


def result(call_id: str = "c1", content: Any = "out", turn: str = "t1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "turn_id": turn, "tool_call_id": call_id, "content": content, **more}


def complete(turn: str = "t1") -> dict[str, Any]:
    return {"type": "complete", "turn_id": turn}


def records(events: Sequence[Mapping[str, Any]]) -> list[RecordedEvent]:
    parsed = [parse_event(event) for event in named(events, "c")]
    return [RecordedEvent.of(event, version) for version, event in enumerate(parsed, start=1)]


def answer(
    *events: Mapping[str, Any], model: str | None = MODEL, options: Options | None = None, **target: Any
) -> Result:
    """The replay of a ledger to Anthropic; its request breaks no rule."""
    spelled = {"provider": "anthropic", "model": model, **target}
    found = replay(records(events), "c", spelled, options)
    assert violations(spelled, body(found), sendable=found.sendable) == []
    return found


def body(found: Result) -> dict[str, Any]:
    """The whole request body of an answer."""
    return found.request


def messages(*events: Mapping[str, Any], **more: Any) -> list[dict[str, Any]]:
    return answer(*events, **more).messages  # type: ignore[return-value]


def codes(found: Result) -> list[str]:
    return [one.code for one in found.diagnostics]


def kinds(found: Result) -> list[str]:
    """The request in short: `u[text] a[thinking,tool_use] u[tool_result]`."""
    short = []
    for message in found.messages:
        content: Any = message["content"]
        short.append(f"{str(message['role'])[0]}[{','.join(block['type'] for block in content)}]")
    return short
