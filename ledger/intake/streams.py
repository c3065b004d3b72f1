"""The runtimes whose live output can be recorded, by the name that `turnledger record` knows them by."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from ledger.intake.stream import Make, StreamAdapter, StreamOptions
from ledger.turns import Recording


def _of(module: str) -> Make:
    """The `make` of an adapter's module, which is imported when it is first needed."""

    def make(recording: Recording, options: StreamOptions) -> StreamAdapter:
        adapter: StreamAdapter = import_module(f"ledger.intake.{module}").make(recording, options)
        return adapter

    return make


STREAMS: Mapping[str, Make] = {
    "ai-sdk": _of("ai_sdk.stream"),
    "anthropic": _of("anthropic.stream"),
    "claude-code": _of("claude_code.stream"),
    "codex-exec": _of("codex_exec.stream"),
    "openai-agents": _of("openai_agents.stream"),
    "openai-chat": _of("openai_chat.stream"),
    "openai-responses": _of("openai_responses.stream"),
    "pi": _of("pi.stream"),
    "pydantic-ai": _of("pydantic_ai.stream"),
}
