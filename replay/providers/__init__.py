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

_render.register("ai-sdk", ai_sdk.render, begin=ai_sdk.writing)
_render.register("anthropic", anthropic.render, APIS, PROVIDERS, anthropic.writing)
_render.register("bedrock", bedrock.render, bedrock.APIS, bedrock.PROVIDERS, bedrock.writing)
_render.register("gemini", gemini.render, gemini.APIS, gemini.PROVIDERS, gemini.writing)
_render.name(gemini.VERTEX_APIS, gemini.VERTEX_PROVIDERS, {"provider": "gemini", "api": "vertex"})
_render.register("mistral", mistral.render, mistral.APIS, mistral.DIALECT.providers, mistral.writing)
_render.register("openai-chat", openai_chat.render, openai_chat.APIS, begin=openai_chat.writing)
_render.register(
    "openai-responses",
    openai_responses.render,
    openai_responses.APIS,
    openai_responses.PROVIDERS - {"openai"},  # it has Chat Completions as well
    openai_responses.writing,
)
_render.register("pydantic-ai", pydantic_ai.render, begin=pydantic_ai.writing)

__all__ = ["Violation", "violations"]
