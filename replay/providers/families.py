"""The provider below a runtime: a request for the AI SDK or pydantic-ai goes on to one, whose opaque data it
carries.

A target of a runtime names that provider by its wire format, `Target.api` (`anthropic.messages`,
`openai-responses` …); else the model's name tells it, else the history's latest step that can.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from replay.items import Item, Step
from replay.options import Target
from replay.providers import anthropic_thinking, bedrock_thinking, gemini, openai_chat, openai_responses
from replay.providers.names import Names, NineIds, Renamed
from replay.providers.openai_dialects import DIALECTS
from replay.providers.ownership import model_of


@dataclass(frozen=True, slots=True)
class Family:
    """A wire format below a runtime: the names under which runtimes record its provider and its api, and what
    the AI SDK (`namespace`) and pydantic-ai (`system`) call the provider."""

    name: str
    providers: frozenset[str]
    apis: frozenset[str]
    namespace: str
    system: str


_CHAT = frozenset(name for one in DIALECTS.values() if one.field for name in one.providers)
FAMILIES = {
    one.name: one
    for one in (
        Family(
            "anthropic",
            anthropic_thinking.PROVIDERS,
            anthropic_thinking.APIS | {"anthropic"},
            "anthropic",
            "anthropic",
        ),
        Family(
            "openai-responses",
            openai_responses.PROVIDERS,
            openai_responses.APIS,
            "openai",
            "openai",
        ),
        Family(
            "google",
            gemini.PROVIDERS,
            gemini.APIS,
            "google",
            "google",
        ),
        Family(
            "bedrock",
            bedrock_thinking.PROVIDERS,
            bedrock_thinking.APIS,
            "bedrock",
            "bedrock",
        ),
        Family(
            "openai-chat",
            _CHAT,
            openai_chat.APIS,
            "openaiCompatible",
            "openai",
        ),
    )
}
_ON_BEDROCK = "ai21|amazon|anthropic|cohere|deepseek|meta|mistral|openai|qwen|writer"
_BY_MODEL = (
    (re.compile(rf"^arn:aws[a-z-]*:bedrock:|^(?:[a-z-]+\.)?(?:{_ON_BEDROCK})\."), "bedrock"),
    (re.compile(r"claude"), "anthropic"),
    (re.compile(r"gemini"), "google"),
    (re.compile(r"^(?:openai/)?(?:gpt-(?!oss)|o\d|codex)"), "openai-responses"),
    (re.compile(r"deepseek|kimi|moonshot|mimo|glm|minimax"), "openai-chat"),
)


_MISTRAL = re.compile(r"(?:^|[:/.])(?:open-)?(?:mis|minis|magis|devs|codes|pix|vox|mix)tral")
_MISTRALS_APIS = frozenset({"mistral", "mistral-conversations"})


@dataclass(frozen=True, slots=True)
class Below:
    """What a target of a runtime goes on to: a family, None where nothing tells it, and the model there.

    `mistral`: it is Mistral, whose family carries no opaque data.
    """

    family: Family | None
    model: str | None
    mistral: bool = False

    def call_ids(self, limit: int) -> Renamed:
        """Makes call ids that the provider below takes, for one request; `limit` is their length."""
        return NineIds() if self.mistral else Names(limit)

    def as_target(self, target: Target) -> Target:
        """The target that the provider below is, for what its own rules decide."""
        name = "" if self.family is None else self.family.name
        return replace(target, provider=name, model=self.model, dialect=None)


def below(items: Sequence[Item], target: Target) -> Below:
    """The provider below a target of a runtime; an api that is none of ours is one of no family."""
    family = _family(items, target)
    if family is None:
        return Below(None, target.model, _is_mistral(items, target))
    return Below(family, model_of(items, target, family.providers))


def _is_mistral(items: Sequence[Item], target: Target) -> bool:
    if target.api is not None:
        return target.api in _MISTRALS_APIS
    if target.model is not None:
        return _MISTRAL.search(target.model.lower()) is not None
    steps = (item for item in reversed(items) if isinstance(item, Step) and item.model is not None)
    return next((step.provider == "mistral" for step in steps), False)


def _family(items: Sequence[Item], target: Target) -> Family | None:
    if target.api is not None:
        return next((one for one in FAMILIES.values() if target.api in one.apis), None)
    if target.model is not None:
        model = target.model.lower()
        return next((FAMILIES[name] for pattern, name in _BY_MODEL if pattern.search(model)), None)
    for item in reversed(items):
        if isinstance(item, Step) and item.model is not None:
            for one in FAMILIES.values():
                if item.provider in one.providers and (item.api is None or item.api in one.apis):
                    return one
    return None
