"""Provider rules as data: one table a provider, used by the renderer's diagnostics, the judges and the docs."""

from dataclasses import dataclass
from enum import StrEnum


class Judged(StrEnum):
    """What it takes to tell that a finished request breaks a rule."""

    REQUEST = "request"
    """The request's own JSON is enough."""
    ORIGINAL = "original"
    """The provider's own responses are needed beside it."""
    NEVER = "never"
    """Only the provider can tell, or there is nothing to break."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One reason for a provider to refuse a replayed history.

    `grade` is the evidence: D vendor documentation, L a live probe, W seen in the wild, C encoded in a
    well-kept adapter, m from memory (specs/providers.md). `note` says how the rule is judged, or why it is
    not.
    """

    id: str
    line: str
    error: str
    mend: str
    source: str
    grade: str
    judged: Judged = Judged.REQUEST
    note: str = ""


Rules = dict[str, Rule]


def table(*rules: Rule) -> Rules:
    """Rules by id, in the order given.

    Raises `ValueError` when an id is given twice.
    """
    by_id = {rule.id: rule for rule in rules}
    if len(by_id) != len(rules):
        raise ValueError("a rule id is given twice")
    return by_id
