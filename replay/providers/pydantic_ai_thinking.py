"""Opaque data as pydantic-ai's parts carry it: signatures, item ids and the provider that they belong to.

The library sends them to a provider of the very name that the part gives, and shows thinking as text to any
other; so a provider whose name there is not certain gets none.
"""

from ledger.events import JsonObject
from replay.items import Block, Thinking
from replay.providers.reasoning import Decision, Kept, ReasoningGate

_CHAT = {
    "deepseek": "deepseek",
    "moonshotai": "moonshotai",
    "moonshot": "moonshotai",
    "kimi": "moonshotai",
    "zai": "zai",
    "z-ai": "zai",
}
"""The library's names of providers whose thinking goes back as `reasoning_content`."""


def thinking_parts(block: Thinking, kept: Kept, gate: ReasoningGate) -> list[JsonObject] | str:
    """The parts of a thinking block that goes back, or the code of why it cannot."""
    opaque, family = kept.opaque, gate.below.family
    if opaque is None or family is None:
        return kept.code
    first: JsonObject
    if family.name == "openai-chat":
        system = _CHAT.get(block.step.provider or "")
        if system is None:
            return "unsigned_thinking_skipped"
        first = {"id": "reasoning_content", "provider_name": system}
    elif family.name == "openai-responses":
        first = {"id": opaque.item_id, "provider_name": family.system}
        if opaque.encrypted is not None:
            first["signature"] = opaque.encrypted
    elif family.name == "google":
        details: JsonObject = {"thought_signature": opaque.thought}
        first = {"provider_name": family.system, "provider_details": details}
    elif opaque.redacted is not None:
        named = "redacted_thinking" if family.name == "anthropic" else "redacted_content"
        first = {"id": named, "signature": opaque.redacted, "provider_name": family.system}
    else:
        first = {"signature": opaque.signature, "provider_name": family.system}
    parts: list[JsonObject] = []
    for number, text in enumerate(kept.texts):
        told = first if number == 0 else {key: value for key, value in first.items() if key != "signature"}
        parts.append({"part_kind": "thinking", "content": text, **told})
    return parts


def identified(part: JsonObject, block: Block, decision: Decision, gate: ReasoningGate) -> JsonObject:
    """A part with the item id of a stored response, or Gemini's thought signature: where it came."""
    name, thought = decision.ids.get(block), gate.thought(block)
    if name is not None:
        return {**part, "id": name, "provider_name": "openai"}
    if thought is not None:
        details: JsonObject = {"thought_signature": thought}
        return {**part, "provider_name": "google", "provider_details": details}
    return part
