"""Requests: rendering beside planning for each target, and what one step more costs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from ledger import RecordedEvent
from replay import Continued, neutral, plan, renderer, replay, targets
from replay.options import Target as Request
from scripts.benchmarks.corpus import encoded, recorded
from scripts.benchmarks.measure import Figure, Target, interleave
from scripts.benchmarks.settings import Settings

STEPS = 10_000
FEW = 100
EVENTS_A_STEP = 10
MODELS = {
    "anthropic": "claude-opus-4-5",
    "bedrock": "anthropic.claude-sonnet-4-5-v1:0",
    "gemini": "gemini-3-pro",
    "mistral": "mistral-large-latest",
    "openai-chat": "gpt-4.1",
    "openai-responses": "gpt-5.4",
}
MANUAL = {"api": "messages", "thinking": {"type": "enabled", "budget_tokens": 2048}}
"""Whether it stays on depends on how the turn began."""


def history(steps: int) -> list[RecordedEvent]:
    """A conversation of about so many steps, decoded."""
    events = recorded(encoded("c", steps * EVENTS_A_STEP), "c")
    for record in events:
        _ = record.event
    return events


def render(settings: Settings) -> Iterator[Figure]:
    """Each target's render of the neutral messages beside the plan that they come from."""
    events = history(settings.size(STEPS, quick=500))

    def rendered(provider: str) -> Callable[[], Callable[[], object]]:
        target = Request(provider, MODELS.get(provider, "claude-opus-4-5"))
        work = renderer(target)

        def prepare() -> Callable[[], object]:
            planned = plan(events)
            messages = neutral(planned)
            return lambda: work(planned, messages, target)

        return prepare

    contenders: dict[str, Callable[[], Callable[[], object]]] = {"plan": lambda: lambda: plan(events)}
    contenders |= {name: rendered(name) for name in targets() if name != "neutral"}
    rounds = interleave(contenders, settings.rounds, time.process_time)
    case = f"{len(plan(events).steps):,} steps, decoded, CPU time"
    yield rounds.plain(case, "plan", len(events))
    for name in list(contenders)[1:]:
        yield rounds.compare(case, name, "plan", len(events), Target(1.5, at_least=False), speed=False)


def go_on(settings: Settings) -> Iterator[Figure]:
    """A kept replay's next request after one step more, with its fingerprints: after a long history beside a
    short one, and beside a whole replay of the long one."""
    long, short = history(settings.size(STEPS, quick=500)), history(FEW)
    asked: list[tuple[str, dict[str, Any]]] = [(provider, {}) for provider in targets()]
    asked += [(provider, MANUAL) for provider in ("anthropic", "bedrock", "ai-sdk", "pydantic-ai")]
    for provider, more in asked:
        target = {"provider": provider, "model": MODELS.get(provider, "claude-opus-4-5"), **more}
        contenders: dict[str, Callable[[], Callable[[], object]]] = {
            "whole replay": lambda target=target: lambda: replay(long, "c", target),  # type: ignore[misc]
            "one step more": _next_steps(long, target, settings.rounds + 1),
            f"one step more after {FEW}": _next_steps(short, target, settings.rounds + 1),
        }
        rounds = interleave(contenders, settings.rounds, time.process_time)
        manual = ", manual thinking" if more else ""
        case = f"{provider}{manual}, {len(long):,} events, fingerprints, CPU time"
        whole, one, few = contenders
        flat = Target(2, at_least=False)
        for peer, bound in ((whole, None), (few, flat)):
            ratios = rounds.ratios(one, peer)
            ratio = statistics.median(ratios)
            cost = rounds.median(one) * 1000
            yield Figure(case, one, cost, "ms", peer, ratio, min(ratios), max(ratios), bound)


def _next_steps(
    events: list[RecordedEvent], target: dict[str, Any], rounds: int
) -> Callable[[], Callable[[], object]]:
    """A replay kept over the rounds: each takes in the events of the next step and asks for the request."""
    going = Continued("c", target)
    begun = [step.version - 1 for step in plan(events).steps[-rounds - 2 :]]
    pieces = iter([events[at:end] for at, end in pairwise([0, *begun])])
    for _ in range(2):
        going.feed(next(pieces))
        going.result()

    def prepare() -> Callable[[], object]:
        piece = next(pieces)

        def step() -> object:
            going.feed(piece)
            return going.result()

        return step

    return prepare
