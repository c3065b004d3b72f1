"""What the model families on Bedrock take, told from the model's id (specs/providers.md B6, B9, B10, B12)."""

import re
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from replay.options import Target
from replay.providers.anthropic_models import binds_prefix

Beside: TypeAlias = Literal["text_and_images", "nothing"]


@dataclass(frozen=True, slots=True)
class Family:
    """What one family takes.

    `beside`: what may stand in a message beside a tool result. `result_images`: results may hold images.
    `status`: results may say that they failed. `choices`: the choices among tools that it takes.
    """

    name: str
    beside: Beside = "nothing"
    result_images: bool = False
    status: bool = False
    choices: frozenset[str] = frozenset({"auto"})


_ALL = frozenset({"auto", "any", "tool"})
FAMILIES = {
    one.name: one
    for one in (
        Family("anthropic", "text_and_images", result_images=True, status=True, choices=_ALL),
        Family("amazon", "text_and_images", result_images=True, status=True, choices=_ALL),
        Family("meta"),
        Family("mistral", choices=frozenset({"auto", "any"})),
        Family("qwen"),
        Family("writer"),
        Family("openai"),
        Family("deepseek"),
        Family("cohere"),
        Family("ai21"),
    )
}
UNKNOWN = Family("unknown")
"""A family that cannot be told is given what all of them take."""

_MAKER = re.compile(rf"(?:^|[./:])({'|'.join(FAMILIES)})\.")


def family_of(model: str | None) -> Family:
    """The family of a model id, an inference profile or an ARN of either."""
    if "claude" in (model or ""):
        return FAMILIES["anthropic"]
    match = _MAKER.search(model or "")
    return UNKNOWN if match is None else FAMILIES[match[1]]


def binds(target: Target, model: str | None) -> bool:
    """True when a Claude model binds thinking to what was sent before it (specs/providers.md 1.3)."""
    if target.binds_prefix is not None or family_of(model).name != "anthropic":
        return bool(target.binds_prefix)
    return binds_prefix(replace(target, model=model))
