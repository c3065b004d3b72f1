"""What a caller may choose about a replay: how gaps are treated, which lane, and for whom it is rendered."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

UnansweredCalls: TypeAlias = Literal["synthesize", "drop"]
LateResults: TypeAlias = Literal["append", "hoist"]
PendingCalls: TypeAlias = Literal["refuse", "close"]
Rung: TypeAlias = Literal["native", "own_state", "no_thinking", "flat_tools", "text_only"]


@dataclass(frozen=True, slots=True)
class Options:
    """Choices of DESIGN.md 7.2; the defaults are the append-only ones.

    `unanswered_calls`: a stand-in error result, or the call is left out (rule 6). `late_results`: user text where they
    arrived, or moved to their call (rule 5). `pending_calls`: the request is not sendable, or a running call counts as
    unanswered. `agent_id`: the lane of a sub-agent; None is the main one. `fingerprints`: hash every message.
    """

    unanswered_calls: UnansweredCalls = "synthesize"
    late_results: LateResults = "append"
    pending_calls: PendingCalls = "refuse"
    agent_id: str | None = None
    fingerprints: bool = True


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a plan is rendered for. `rung` is a step of the ladder of DESIGN.md 7.4, `native` the first."""

    provider: str = "neutral"
    model: str | None = None
    api: str | None = None
    rung: Rung = "native"
