"""Random ledgers as runtimes of every provider record them: same events, their names and opaque data."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.property.ledgers import STEPS

Event = dict[str, Any]


class Source(NamedTuple):
    """Who made the steps of a ledger: the names in `step_start`, and what the blocks carry."""

    provider: str
    api: str | None
    model: str


SOURCES = (
    Source("anthropic", "messages", "claude-opus-4-5"),
    Source("anthropic", "anthropic-messages", "claude-opus-5-5"),
    Source("openai", "openai-responses", "gpt-5.4"),
    Source("openai", "openai-responses", "gpt-4.1"),
    Source("openai", "openai-completions", "gpt-4.1"),
    Source("deepseek", "openai-completions", "deepseek-flash"),
    Source("moonshot", "openai-completions", "kimi-k2-thinking"),
    Source("google", "google-generative-ai", "gemini-3-pro"),
    Source("google-vertex", "vertex", "gemini-3-pro"),
    Source("amazon-bedrock", "bedrock-converse-stream", "anthropic.claude-sonnet-4-5-v1:0"),
    Source("mistral", "mistral-conversations", "mistral-large-latest"),
    Source("anthropic.messages", None, "claude-opus-4-5"),
    Source("openai.responses", None, "gpt-5.4"),
)

_SIGNATURES = ("c2ln", "U0lHTkFUVVJF", "")
_ITEMS = ("rs_1", "rs_2", "msg_1", "fc_1", "", "x y", "r" * 80)


def _opaque(draw: st.DrawFn) -> Any:
    """What an adapter of some provider would have put beside a block; also what none would."""
    signature = draw(st.sampled_from(_SIGNATURES))
    item = draw(st.sampled_from(_ITEMS))
    shapes: list[Any] = [
        None,
        {"item_id": item},
        {"item_id": item, "encrypted_content": signature, "phase": "commentary", "status": "completed"},
        {"item_id": item, "encrypted_content": signature, "summary": [{"type": "summary_text", "text": "s"}]},
        {"openai": {"id": item, "itemId": item, "phase": "commentary", "status": "completed"}},
        {"openai": {"itemId": item, "reasoningEncryptedContent": signature or None}},
        {"openai": {"type": "reasoning", "id": item, "summary": [], "encrypted_content": signature}},
        {"google": {"thoughtSignature": signature}},
        {"google": {"thought_signature": signature}},
        {"anthropic": {"signature": signature, "redactedData": None}},
        {"bedrock": {"signature": signature, "redactedContent": base64.b64encode(b"x").decode()}},
        {"field": "reasoning_content"},
        {"openai_chat": {"field": "reasoning_content"}, "reasoning_field": "reasoning_content"},
        {"pi": {"thinkingSignature": "reasoning_content", "thoughtSignature": signature}},
        "no object",
        [{"type": "reasoning.text", "text": "x", "signature": signature}],
    ]
    return draw(st.sampled_from(shapes))


_BLOCKS = ("thinking_complete", "text_complete", "tool_start")


@st.composite
def recorded_by(draw: st.DrawFn, ledgers: st.SearchStrategy[Sequence[Event]]) -> list[Event]:
    """A ledger whose steps were made by one or two of `SOURCES`, their blocks with opaque data."""
    events = draw(ledgers)
    sources = draw(st.lists(st.sampled_from(SOURCES), min_size=1, max_size=2))
    opaque = draw(st.booleans())
    made: list[Event] = []
    for place, event in enumerate(events):
        changed = dict(event)
        if event["type"] == "step_start" and event.get("provider") is not None:
            source = sources[0] if place < len(events) // 2 else sources[-1]
            changed |= {"provider": source.provider, "model": source.model}
            changed.pop("api", None)
            if source.api is not None and draw(st.integers(0, 3)):
                changed["api"] = source.api
        elif opaque and event["type"] == "compaction" and not event.get("summary"):
            sealed = {"type": "compaction", "id": "cmp_1", "encrypted_content": "c2ln"}
            changed |= {"provider_metadata": {"openai": sealed}, "block_index": draw(st.integers(0, 3))}
            if event.get("turn_id") and draw(st.booleans()):
                changed["step_id"] = draw(st.sampled_from(STEPS))
        elif opaque and event["type"] in _BLOCKS and draw(st.booleans()):
            metadata = _opaque(draw)
            if metadata is not None:
                changed["provider_metadata"] = metadata
            if event["type"] == "thinking_complete" and event.get("signature"):
                changed["signature"] = draw(st.sampled_from(_SIGNATURES)) or "c2ln"
        made.append(changed)
    return made
