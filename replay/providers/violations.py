"""Judging finished requests: what a provider would refuse, from the wire JSON alone.

Nothing here or in `judges` is shared with the renderers: a mistake in one cannot hide in the other.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ledger.errors import UnknownTarget
from ledger.events import Json, JsonObject
from replay.options import Target
from replay.providers.judges import Violation
from replay.providers.judges.ai_sdk import judge as judge_ai_sdk
from replay.providers.judges.anthropic import judge as judge_anthropic
from replay.providers.judges.bedrock import judge as judge_bedrock
from replay.providers.judges.gemini import judge as judge_gemini
from replay.providers.judges.mistral import judge as judge_mistral
from replay.providers.judges.openai_chat import judge as judge_openai_chat
from replay.providers.judges.openai_responses import judge as judge_openai_responses
from replay.providers.judges.pydantic_ai import judge as judge_pydantic_ai

__all__ = ["JUDGES", "Judge", "Violation", "violations"]


class Judge(Protocol):
    """One wire format's judge."""

    def __call__(
        self,
        target: Target,
        request: Mapping[str, Json],
        sendable: bool,
        original: Sequence[Sequence[JsonObject]] | None,
    ) -> list[Violation]: ...


JUDGES: dict[str, Judge] = {
    "ai-sdk": judge_ai_sdk,
    "anthropic": judge_anthropic,
    "bedrock": judge_bedrock,
    "gemini": judge_gemini,
    "mistral": judge_mistral,
    "openai-chat": judge_openai_chat,
    "openai-responses": judge_openai_responses,
    "pydantic-ai": judge_pydantic_ai,
}


def violations(
    target: Target | Mapping[str, Json] | str,
    request: Mapping[str, Json],
    *,
    sendable: bool = True,
    original: Sequence[Sequence[JsonObject]] | None = None,
) -> list[Violation]:
    """The rules that a request breaks, in the order met; empty when the provider would take it.

    `request` is the request's JSON object. With `sendable=False` it is judged as the start of a conversation:
    calls of its last assistant message may be open and it may end with the assistant (X8). `original` holds
    the content blocks of the provider's own responses, in order: rules about unchanged thinking are judged
    only with them (`Judged.ORIGINAL`).

    Raises `UnknownTarget` for a provider without a judge.
    """
    to = Target.of(target)
    judge = JUDGES.get(to.provider)
    if judge is None:
        raise UnknownTarget(target=to.provider, known=", ".join(sorted(JUDGES)))
    return judge(to, request, sendable, original)
