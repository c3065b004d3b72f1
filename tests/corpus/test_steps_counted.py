"""Steps are counted as the sources that count model calls count them: Codex by its usage records, DSH by its
messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance import needs_shared
from tests.imports import FIXTURES, SAMPLES, take_file

pytestmark = needs_shared


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FIXTURES / path).read_bytes().splitlines() if line.strip()]


def steps(path: str) -> list[str | None]:
    own = take_file(FIXTURES / path).own.values()
    return [event.step_id for events in own for event in events if event.type == "step_start"]


@pytest.mark.parametrize("path", [path for name, path in SAMPLES if name == "codex" and "/v0.171" in path])
def test_codex_by_its_usage_records(path: str) -> None:
    records = lines(path)
    calls = {
        record["payload"]["response_id"] for record in records if record.get("type") == "token_usage_record"
    }
    ends = [
        event
        for events in take_file(FIXTURES / path).own.values()
        for event in events
        if event.type == "step_finish" and getattr(event.event, "response_id", None)
    ]
    assert {getattr(event.event, "response_id", None) for event in ends} == calls
    assert len(steps(path)) == len(set(steps(path))) == len(calls)


@pytest.mark.parametrize("path", [path for name, path in SAMPLES if name == "dsh"])
def test_dsh_by_its_messages(path: str) -> None:
    whole = [one for one in lines(path) if one.get("type") == "assistant/message"]
    ends = {(one["data"].get("turn"), one["data"].get("step")) for one in whole}
    assert len(steps(path)) == len(set(steps(path))) == len(ends) == len(whole)
