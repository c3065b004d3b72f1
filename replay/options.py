"""What a caller may choose about a replay: how gaps are treated, which lane, and for whom it is rendered."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from ledger.errors import BadInput
from ledger.events import Json, JsonObject

UnansweredCalls: TypeAlias = Literal["synthesize", "drop"]
LateResults: TypeAlias = Literal["append", "hoist"]
PendingCalls: TypeAlias = Literal["refuse", "close"]
Rung: TypeAlias = Literal["native", "no-foreign", "no-thinking", "flat-tools", "text-only"]
RUNGS: tuple[Rung, ...] = get_args(Rung)
"""The ladder of DESIGN.md 7.4, from the top down."""


@dataclass(frozen=True, slots=True)
class Options:
    """Choices of DESIGN.md 7.2; the defaults are the append-only ones.

    `unanswered_calls`: a stand-in error result, or the call is left out (rule 6). `late_results`: user text
    where they arrived, or moved to their call (rule 5). `pending_calls`: the request is not sendable, or a
    running call counts as unanswered. `agent_id`: the lane of a sub-agent; None is the main one.
    `recorded_rungs`: a target on the first rung starts on the one that the lane's newest note of a refusal by
    that provider and model names (`replay.rung_notes`). `fingerprints`: hash every message.
    """

    unanswered_calls: UnansweredCalls = "synthesize"
    late_results: LateResults = "append"
    pending_calls: PendingCalls = "refuse"
    agent_id: str | None = None
    fingerprints: bool = True
    recorded_rungs: bool = True


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a plan is rendered for. `rung` is a step of the ladder of DESIGN.md 7.4, `native` the first.

    `model` (with `api`) decides whose signatures may go back (DESIGN.md 7.3). `thinking` is the request's own
    thinking configuration as the provider spells it, None to send none. `binds_prefix` says whether the model
    binds thinking to all that was sent before it (specs/providers.md 1.3); None = by the model's name.
    `account` is the one that sends the request: opaque state that is known to be another's stays out.
    `dialect` names a variant of the format (`deepseek`, `gemini` … of openai-chat, `v5` … of ai-sdk); None = by
    the model's name. `stored` says that the provider keeps responses, so that their item ids can be sent.
    """

    provider: str = "neutral"
    model: str | None = None
    api: str | None = None
    rung: Rung = "native"
    thinking: JsonObject | None = None
    binds_prefix: bool | None = None
    account: str | None = None
    dialect: str | None = None
    stored: bool | None = None

    @classmethod
    def of(cls, target: "Target | Mapping[str, Json] | str") -> "Target":
        """A target from its JSON spelling `{"provider": "anthropic", "model": "..."}`, or its provider alone.

        Raises `BadInput` naming the field that is missing, unknown or of the wrong type.
        """
        if isinstance(target, Target):
            return target
        if isinstance(target, str):
            return cls(target)
        for name, value in target.items():
            kind = _FIELDS.get(name)
            if kind is None:
                raise BadInput(problem=f"a target has no field {name!r}; it has: {', '.join(_FIELDS)}")
            if value is not None and not isinstance(value, kind):
                raise BadInput(problem=f"the target's {name} is of type {kind.__name__}, not {value!r}")
        if target.get("provider") is None:
            raise BadInput(problem="a target names its provider: {'provider': 'anthropic', 'model': '...'}")
        rung = target.get("rung")
        if rung is not None and rung not in RUNGS:
            raise BadInput(problem=f"there is no rung {rung!r}; there is: {', '.join(RUNGS)}")
        given = {name: value for name, value in target.items() if value is not None}
        return cls(**cast("dict[str, str]", given))  # type: ignore[arg-type]  # checked above

    def as_json(self) -> JsonObject:
        """The target as the answer of a replay names it (DESIGN.md 7.5)."""
        answer: JsonObject = {"provider": self.provider, "model": self.model, "rung": self.rung}
        for name in ("api", "account", "dialect", "stored", "thinking"):
            if (value := getattr(self, name)) is not None:
                answer[name] = value
        return answer


_FIELDS: dict[str, type] = {
    "provider": str,
    "model": str,
    "api": str,
    "rung": str,
    "thinking": dict,
    "binds_prefix": bool,
    "account": str,
    "dialect": str,
    "stored": bool,
}
