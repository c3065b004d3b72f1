"""Damaged lines of JSON: whole records are taken apart, what is a value of a torn one is none."""

from __future__ import annotations

import pytest

from ledger.intake.found import Findings, records
from ledger.intake.lines import split_lines

NEXT = b'{"at": 1, "type": "next"}'


def found(data: bytes) -> tuple[list[object], list[str]]:
    findings = Findings()
    values = [one.value for one in records(split_lines([data]), findings)]
    return values, [problem.code for problem in findings.problems]


@pytest.mark.parametrize(
    "torn",
    [
        b'{"at": 0, "text": "half of a ',
        b'{"at": 0, "text": "said, ',
        b'{"at": 0, "text": "whole"',
        b'{"at": 0, "list": [1, 2]',
        b"garbage, ",
        b'"',
    ],
)
def test_a_record_fused_to_a_torn_one_is_a_record(torn: bytes) -> None:
    assert found(torn + NEXT + b"\n") == ([None, {"at": 1, "type": "next"}], ["spliced_line"])


@pytest.mark.parametrize(
    "torn", [b'{"at": 0, "inner": ', b'{"at": 0, "list": [', b'{"at": 0, "list": [{"a": 1}, ']
)
def test_a_value_at_the_end_of_a_line_that_may_go_on_is_no_record(torn: bytes) -> None:
    assert found(torn + NEXT) == ([], ["torn_tail"])
    assert found(torn + NEXT + b"\n") == ([None, {"at": 1, "type": "next"}], ["spliced_line"])
