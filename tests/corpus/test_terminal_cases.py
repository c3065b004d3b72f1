"""The `finalize` cases by id: which record ends each prompt read on one stream, and with what."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ledger.intake.lines import Line, split_lines
from ledger.intake.mending import NotARecord, read_record
from ledger.intake.pi.outcome import Outcome, Prompt
from tests.conformance import Case, load, needs_shared

pytestmark = needs_shared

CASES = [case for case in load("terminals") if case.kind == "finalize"]


def lines_of(given: dict[str, Any]) -> list[Line]:
    if "chunks_hex" in given:
        return list(split_lines(bytes.fromhex(chunk) for chunk in given["chunks_hex"]))
    texts = (line if isinstance(line, str) else json.dumps(line) for line in given["lines"])
    return list(split_lines(text.encode() + b"\n" for text in texts))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_finalize(case: Case) -> None:
    given = case.data["input"]
    waiting = lines_of(given)
    outcomes: list[Outcome | None] = []
    finalized: list[int | str | None] = []
    ignored = []
    for sent in given["prompts"]:
        prompt = Prompt(sent.get("id"))
        while waiting and prompt.outcome is None:
            line = waiting.pop(0)
            try:
                record, _ = read_record(line.raw or b"")
            except NotARecord:
                ignored.append(line.number)
                continue
            assert isinstance(record, dict)
            if prompt.take(record) is not None:
                finalized.append(line.number)
            elif prompt.stray:
                ignored.append(line.number)
        if prompt.outcome is None:
            finalized.append("eof" if given["end"] == "eof" else None)
            if given["end"] == "eof":
                prompt.end()
        outcomes.append(prompt.outcome)
    expect = case.expect
    assert [told(outcome) for outcome in outcomes] == [
        {name: wanted[name] for name in wanted if name != "contains"} for wanted in expect["outcomes"]
    ]
    for outcome, wanted in zip(outcomes, expect["outcomes"], strict=True):
        assert "contains" not in wanted or (outcome is not None and wanted["contains"] in outcome.text)
    assert finalized == expect["finalized_at"]
    assert "ignored" not in expect or ignored == expect["ignored"]
    assert len(waiting) == expect["unread"]


def told(outcome: Outcome | None) -> dict[str, str]:
    if outcome is None:
        return {"kind": "open"}
    return {"kind": outcome.kind} | ({} if outcome.kind == "error" else {"text": outcome.text})


def test_there_are_cases() -> None:
    assert len(CASES) > 50
