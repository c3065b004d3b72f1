"""Requests: rendering beside planning for each target, and one step more beside a whole replay."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

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


def history(steps: int) -> list[RecordedEvent]:
    """A conversation of about so many steps, decoded."""
    events = recorded(encoded("c", steps * EVENTS_A_STEP), "c")
    for record in events:
        _ = record.event
    return events


def render(settings: Settings) -> Iterator[Figure]:
    """Each target's render beside what it renders: the plan and its neutral messages."""
    events = history(settings.size(STEPS, quick=500))

    def rendered(provider: str) -> Callable[[], Callable[[], object]]:
        target = Request(provider, MODELS.get(provider, "claude-opus-4-5"))
        work = renderer(target)

        def prepare() -> Callable[[], object]:
            planned = plan(events)
            messages = neutral(planned)
            return lambda: work(planned, messages, target)

        return prepare

    contenders: dict[str, Callable[[], Callable[[], object]]] = {"plan": lambda: lambda: neutral(plan(events))}
    contenders |= {name: rendered(name) for name in targets() if name != "neutral"}
    rounds = interleave(contenders, settings.rounds, time.process_time)
    steps = len(plan(events).steps)
    case = f"{steps:,} steps, decoded, CPU time"
    yield rounds.plain(case, "plan", len(events))
    for name in list(contenders)[1:]:
        yield rounds.compare(case, name, "plan", len(events), Target(1.5, at_least=False), speed=False)


def go_on(settings: Settings) -> Iterator[Figure]:
    """The request after one step more: a kept replay beside a whole one, after a long and a short history."""
    long, short = history(settings.size(STEPS, quick=500)), history(FEW)
    for provider in ("anthropic", "openai-chat", "openai-responses"):
        target = {"provider": provider, "model": MODELS[provider]}

        def kept(
            events: list[RecordedEvent], target: dict[str, str] = target
        ) -> Callable[[], Callable[[], object]]:
            def prepare() -> Callable[[], object]:
                going = Continued("c", target)
                steps = [step.version for step in plan(events).steps[-3:]]
                for fed, upto in zip([0, *steps], steps, strict=False):
                    going.feed(events[max(0, fed - 1) : upto - 1])
                    going.result()

                def step() -> object:
                    going.feed(events[steps[-1] - 1 :])
                    return going.result()

                return step

            return prepare

        contenders: dict[str, Callable[[], Callable[[], object]]] = {
            "whole replay": lambda target=target: lambda: replay(long, "c", target),  # type: ignore[misc]
            "one step more": kept(long),
            f"one step more after {FEW}": kept(short),
        }
        rounds = interleave(contenders, settings.rounds, time.process_time)
        case = f"{provider}, {len(long):,} events, fingerprints, CPU time"
        yield rounds.plain(case, "whole replay", len(long))
        for name in list(contenders)[1:]:
            milliseconds = f"{rounds.median(name) * 1000:.2f} ms"
            yield rounds.compare(case, name, "whole replay", len(long), None, speed=False, note=milliseconds)
