"""Which rules of the facts are exercised: counted over all targets' tables, and the rest with the reason."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from replay.providers.rules import Judged, Rules

NO_TARGET = {
    **dict.fromkeys(("CO1", "CO2", "CO3"), "Cohere is no target (DESIGN.md 7.4)"),
}
"""Rules of formats that nothing is rendered for, and why."""

_ID = re.compile(r"^\| ((?:X|A|O|R|G|B|V|M|CO)\d+[a-d]?) \|", re.MULTILINE)


class Section(NamedTuple):
    """One target's table beside what tests each of its rules; an empty text says that nothing does."""

    title: str
    rules: Rules
    tests: Mapping[str, str]


def ids_of(facts: Path) -> list[str]:
    """The rule ids of specs/providers.md, in its order."""
    return _ID.findall(facts.read_text(encoding="utf-8"))


def untested(sections: Sequence[Section]) -> dict[str, list[str]]:
    """Rules without a test in a table that has them: the reasons that the tables give, by rule id."""
    found: dict[str, list[str]] = {}
    for section in sections:
        for name, rule in section.rules.items():
            if not section.tests.get(name):
                found.setdefault(name, []).append(rule.note)
    return found


def coverage(sections: Sequence[Section]) -> str:
    """The page's last section."""
    names = list(dict.fromkeys(name for section in sections for name in section.rules))
    judged = {
        name
        for section in sections
        for name, rule in section.rules.items()
        if rule.judged is not Judged.NEVER and section.tests.get(name)
    }
    lines = [
        "## Coverage",
        "",
        f"{len(names)} rules stand in the tables above; {len(judged)} are judged and have a test that breaks "
        "them. Every one that a request can break is guarded for every target by the properties over random "
        "ledgers (`test_targets.py`, `test_many_ledgers.py` in `tests/property/replay`: none on any rung, "
        "wherever the ledger is cut). Rules without a test of their own, and why:",
        "",
        "| rule | why |",
        "|---|---|",
    ]
    for name, reasons in untested(sections).items():
        lines.append(f"| {name} | {'; '.join(dict.fromkeys(reasons))} |")
    lines += [f"| {name} | {reason} |" for name, reason in NO_TARGET.items()]
    return "\n".join(lines) + "\n"
