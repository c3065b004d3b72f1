"""Every recorded sample replays to every target on every rung, whole and cut anywhere, and breaks no rule."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import pytest

from ledger.events import StepStart, UserMessage
from ledger.recorded import RecordedEvent
from replay import Options, replay, targets
from replay.options import RUNGS
from replay.providers.violations import violations
from tests import pi_files
from tests.conformance import needs_shared
from tests.corpus.pi.test_fixtures import PI
from tests.corpus.streams import test_provider_streams as provider_streams
from tests.corpus.streams import test_runtime_streams as runtime_streams
from tests.unit.replay.providers.oracles import ORACLES

pytestmark = needs_shared

STREAMS = sorted(provider_streams.EXPECTED) + runtime_streams.NAMES
SESSIONS = sorted(path.name for path in (PI / "sessions").glob("*.jsonl"))
PROVIDERS = [name for name in targets() if name != "neutral"]


@functools.cache
def samples(name: str) -> Sequence[Sequence[RecordedEvent]]:
    """The conversations of a sample, each gone on with by its user."""
    if name in SESSIONS:
        path = PI / "sessions" / name
        taken = pi_files.take(path.read_bytes(), file=name)
        found = [taken.whole(conversation) for conversation in taken.own]
    elif name in provider_streams.EXPECTED:
        found = [provider_streams.taken(name).records]
    else:
        found = [runtime_streams.whole(name).records]
    return [[*records, asked(records)] for records in found]


def asked(records: Sequence[RecordedEvent]) -> RecordedEvent:
    version = records[-1].version + 1 if records else 1
    event = UserMessage(id="ask", conversation_id="c", turn_id="ask", content="Go on.")
    return RecordedEvent.of(event, version)


def made_by(records: Sequence[RecordedEvent]) -> list[dict[str, Any]]:
    """What the sample's own steps name as the target."""
    starts = [event for record in records if isinstance(event := record.event, StepStart)]
    named = {(start.model, start.api) for start in starts}
    return [{"model": model, "api": api} for model, api in sorted(named, key=str)] or [{"model": "any"}]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("name", [*STREAMS, *SESSIONS])
def test_no_sample_breaks_a_rule(name: str, provider: str) -> None:
    for records in samples(name):
        for named in made_by(records):
            for rung in RUNGS:
                target: dict[str, Any] = {"provider": provider, "rung": rung, **named}
                found = replay(records, "c", target, Options(fingerprints=False))
                assert found.sendable
                assert violations(target, found.request) == []
                assert ORACLES[provider](found.request) == []


@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_cut_of_a_sample_breaks_a_rule(provider: str, long_run: bool) -> None:
    for name in STREAMS:
        for records in samples(name):
            target: dict[str, Any] = {"provider": provider, **made_by(records)[0]}
            for cut in range(0, len(records), 1 if long_run else 7):
                found = replay(records[:cut], "c", target, Options(fingerprints=False, pending_calls="close"))
                assert violations(target, found.request, sendable=found.sendable) == []
