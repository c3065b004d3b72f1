"""The judge: every rule that a request can break has requests that break it, and good twins that do not."""

from __future__ import annotations

import pytest

from ledger.errors import BadInput, UnknownTarget
from replay.providers.rules import Judged, table
from replay.providers.rules.anthropic import RULES, UNPROBED
from replay.providers.violations import violations
from tests.unit.replay.providers.anthropic_rows import BAD, GOOD, Row, a, th, u, x

# Judged under another rule's id, as their notes say.
ALIASES = {"X1", "X2", "X3", "X4", "X5", "X6", "A1b", "A17", "A35", "A36"}


def judged(row: Row) -> set[str]:
    target = {"provider": "anthropic", "model": row.model}
    found = violations(target, row.request, sendable=row.sendable, original=row.original)
    return {violation.rule for violation in found}


@pytest.mark.parametrize("row", BAD, ids=lambda row: row.name)
def test_a_bad_request_is_judged(row: Row) -> None:
    assert judged(row) == row.rules


@pytest.mark.parametrize("row", GOOD, ids=lambda row: row.name)
def test_a_good_request_is_not(row: Row) -> None:
    assert judged(row) == set()


def test_every_judged_rule_has_a_bad_row_and_a_good_one() -> None:
    wanted = {rule.id for rule in RULES.values() if rule.judged is not Judged.NEVER} - ALIASES
    assert wanted == set().union(*(row.rules for row in BAD))
    assert wanted <= {name for row in GOOD for name in row.name.split(":")[0].split("+")}


def test_rules_about_unchanged_thinking_need_the_original() -> None:
    needing = {rule.id for rule in RULES.values() if rule.judged is Judged.ORIGINAL} - ALIASES
    assert needing == {"A13", "A21", "A22", "A23"}
    for row in BAD:
        if row.rules & needing:
            assert judged(Row(row.name, row.messages)) == row.rules - needing


def test_every_rule_of_the_facts_is_in_the_table() -> None:
    spelled = {f"A{n}" for n in (*range(1, 18), *range(20, 45))} | {"A1b", "A11b", "A11c", "A11d", "S1", "S3"}
    assert spelled | {f"X{n}" for n in range(1, 9)} == set(RULES)
    assert set(RULES) >= UNPROBED


def test_a_rule_that_is_not_judged_from_the_request_says_why() -> None:
    assert all(rule.note for rule in RULES.values() if rule.judged is not Judged.REQUEST)


def test_a_violation_says_where_and_what_to_do() -> None:
    found = violations("anthropic", {"messages": [u("q"), a({"type": "thinking", "thinking": "hm"}), u("y")]})
    assert [(one.rule, one.where, one.mend) for one in found] == [
        ("A20", "messages.1.content.0.signature", RULES["A20"].mend)
    ]


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"messages": None},
        {"messages": "hello"},
        {"messages": [1, None, [], {}]},
        {"messages": [{"role": [], "content": {}}]},
        {"messages": [u(1, None, [], {})]},
        {"messages": [u({"type": []}, {"type": {}})]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": [None]}]}], "tools": 3},
        {"messages": [u({"type": "image", "source": {"type": []}})], "system": {}, "thinking": []},
        {"messages": [u("q"), a(th(signature=[]), {"type": "tool_use", "id": [], "name": {}})]},
    ],
    ids=str,
)
def test_whatever_is_given_is_judged_and_never_raises(request_: dict[str, object]) -> None:
    assert violations("anthropic", request_)  # type: ignore[arg-type]


def test_an_unknown_provider_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownTarget, match=r"no target acme; there is: .*anthropic"):
        violations("acme", {"messages": []})


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ({"model": "m"}, "names its provider"),
        ({"provider": "anthropic", "modle": "m"}, "no field 'modle'"),
        ({"provider": "anthropic", "model": 5}, "model is of type str, not 5"),
        ({"provider": "anthropic", "rung": "ground"}, "no rung 'ground'"),
    ],
)
def test_a_target_that_is_wrong_says_what(target: dict[str, object], problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        violations(target, {"messages": [u("q")]})  # type: ignore[arg-type]


def test_a_table_refuses_an_id_twice() -> None:
    rule = RULES["A1"]
    with pytest.raises(ValueError, match="twice"):
        table(rule, rule)


def test_requests_are_not_changed_by_judging() -> None:
    messages = [u("q"), a(x("")), u("y")]
    violations("anthropic", {"messages": messages})
    assert messages == [u("q"), a(x("")), u("y")]
