"""What vendors' own packages say of a finished request: faults as texts, by target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.unit.replay.providers.ai_sdk_shapes import ai_sdk_faults
from tests.unit.replay.providers.anthropic_shapes import shape_faults
from tests.unit.replay.providers.bedrock_shapes import bedrock_faults
from tests.unit.replay.providers.gemini_shapes import gemini_faults
from tests.unit.replay.providers.mistral_validator import mistral_faults
from tests.unit.replay.providers.openai_chat_shapes import openai_chat_faults
from tests.unit.replay.providers.openai_responses_shapes import openai_responses_faults
from tests.unit.replay.providers.pydantic_ai_shapes import pydantic_ai_faults

Oracle = Callable[[Mapping[str, Any]], list[str]]

ORACLES: dict[str, Oracle] = {
    "ai-sdk": ai_sdk_faults,
    "anthropic": shape_faults,
    "bedrock": bedrock_faults,
    "gemini": gemini_faults,
    "mistral": mistral_faults,
    "openai-chat": openai_chat_faults,
    "openai-responses": openai_responses_faults,
    "pydantic-ai": pydantic_ai_faults,
}
