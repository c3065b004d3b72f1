"""The `assemble` cases by id: chunks in, blocks, finish, usage, replay state and what was dropped out."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.assembler import Assembler
from tests.conformance import Case, load, needs_shared, same

pytestmark = needs_shared

CASES = [case for case in load("assembler") if case.kind == "assemble"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_assemble(case: Case) -> None:
    given = case.data["input"]
    assembler = Assembler()
    for chunk in given["chunks"]:
        assembler.push(chunk)
    output = assembler.output(given.get("end", "finished"))
    answer: dict[str, Any] = {
        "blocks": output.blocks,
        "finish": output.finish,
        "usage": output.usage,
        "replay_response": output.replay_response,
        "replay_blocks": output.replay_blocks,
        "dropped_ids": [entry["id"] for entry in output.dropped if "id" in entry],
        "entries_discarded": output.entries_discarded,
    }
    for name, expected in case.expect.items():
        assert same(expected, answer[name]), (name, answer[name])
    again = assembler.output(given.get("end", "finished"))
    assert again == output, "asking twice gives the same"
    if output.replay_blocks is not None:
        assert [kept.entry for kept in output.kept] == output.replay_blocks, "each entry travels with its block"


def test_there_are_cases() -> None:
    assert len(CASES) > 40
