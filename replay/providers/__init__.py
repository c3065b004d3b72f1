"""Provider wire formats: a renderer and a judge each, registered when this package is imported.

To add a format: a rule table in `rules`, a judge in `judges` (entered in `violations.JUDGES`), a renderer
module here and its line below.
"""

from replay import render as _render
from replay.providers import (
    ai_sdk,
    anthropic,
    bedrock,
    gemini,
    mistral,
    openai_chat,
    openai_responses,
    pydantic_ai,
)
from replay.providers.anthropic_thinking import APIS, PROVIDERS
from replay.providers.violations import Violation, violations

_render.register("ai-sdk", ai_sdk.render)
_render.register("anthropic", anthropic.render, APIS, PROVIDERS)
_render.register("bedrock", bedrock.render, bedrock.APIS, bedrock.PROVIDERS)
_render.register(
    "gemini",
    gemini.render,
    gemini.APIS | gemini.VERTEX_APIS,
    gemini.PROVIDERS | gemini.VERTEX_PROVIDERS,
)
_render.register("mistral", mistral.render, mistral.APIS, mistral.DIALECT.providers)
_render.register("openai-chat", openai_chat.render, openai_chat.APIS)
_render.register(
    "openai-responses",
    openai_responses.render,
    openai_responses.APIS,
    openai_responses.PROVIDERS - {"openai"},  # it has Chat Completions as well
)
_render.register("pydantic-ai", pydantic_ai.render)

__all__ = ["Violation", "violations"]
