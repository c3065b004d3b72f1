"""A block's opaque data, whichever runtime recorded it (DESIGN.md 7.3): read into one shape, never rebuilt.

Recorded spellings: the event's own `signature` and `redacted_data`; the entry of a replay envelope and
`provider_metadata.pi` (`thinkingSignature`, `textSignature`, `thoughtSignature`); the AI SDK's namespaces
(`anthropic`, `openai`, `google`, `bedrock`); `provider_metadata.pydantic-ai`; a Responses item's own keys.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from ledger.events import Json, JsonObject
from replay.items import Block, Thinking


@dataclass(frozen=True, slots=True)
class Opaque:
    """What a provider gave with a block.

    `signature` and `redacted` seal thinking (Anthropic, Bedrock); `item_id` names the item of a response,
    `encrypted` is its sealed reasoning,
    `summary` its texts and `phase` what a message is for (Responses); `thought` is Gemini's signature.
    """

    signature: str | None = None
    redacted: str | None = None
    item_id: str | None = None
    encrypted: str | None = None
    summary: tuple[str, ...] | None = None
    thought: str | None = None
    phase: str | None = None


def opaque_of(block: Block) -> Opaque:
    """The opaque data of a block; what is not there is None."""
    found: dict[str, str] = {}
    summary: tuple[str, ...] | None = None
    for source in _sources(block):
        for name, value in _named(source):
            found.setdefault(name, value)
        texts = source.get("summary")
        if summary is None and isinstance(texts, list):
            summary = tuple(
                text for one in texts if isinstance(one, dict) and isinstance(text := one.get("text"), str)
            )
    return Opaque(
        found.get("signature"),
        found.get("redacted"),
        found.get("item_id"),
        found.get("encrypted"),
        summary,
        found.get("thought"),
        found.get("phase"),
    )


_KEYS = {
    "signature": "signature",
    "redacted_data": "redacted",
    "redactedData": "redacted",
    "redactedContent": "redacted",
    "id": "item_id",
    "item_id": "item_id",
    "itemId": "item_id",
    "encrypted_content": "encrypted",
    "reasoningEncryptedContent": "encrypted",
    "thoughtSignature": "thought",
    "thought_signature": "thought",
    "phase": "phase",
}


def _named(source: JsonObject) -> Iterator[tuple[str, str]]:
    for key, name in _KEYS.items():
        value = source.get(key)
        if isinstance(value, str) and value:
            yield name, value


def _sources(block: Block) -> Iterator[JsonObject]:
    """Everything that may hold opaque data, the nearest first; all in the keys of `_KEYS`."""
    sealed: list[str] = []
    if isinstance(block, Thinking):
        event = block.event
        if event.redacted_data:
            yield {"redacted_data": event.redacted_data}
        if event.signature:
            yield {"signature": event.signature}
            sealed.append(event.signature)
    told = block.provider_metadata if isinstance(block.provider_metadata, dict) else {}
    for runtime in (block.entry, told.get("pi")):
        if isinstance(runtime, dict):
            yield from _pi(runtime)
            if isinstance(mark := runtime.get("thinkingSignature"), str):
                sealed.append(mark)
    for mark in sealed:
        if isinstance(item := _parsed(mark), dict) and item.get("type") == "reasoning":
            yield item  # pi keeps a whole reasoning item where others keep a signature
    for namespace in ("anthropic", "openai", "azure", "google", "vertex", "bedrock"):
        if isinstance(values := told.get(namespace), dict):
            yield values
    if isinstance(beside := told.get("extra_content"), dict) and isinstance(
        layer := beside.get("google"), dict
    ):
        yield layer  # Gemini's layer of Chat Completions
    if isinstance(own := told.get("pydantic-ai"), dict):
        yield {"id": own.get("id")}
        if isinstance(details := own.get("provider_details"), dict):
            yield details
        if sealed and own.get("id"):
            yield {"encrypted_content": sealed[0]}  # pydantic-ai's signature of a reasoning item
    yield told


def _pi(entry: JsonObject) -> Iterator[JsonObject]:
    thinking, text = entry.get("thinkingSignature"), entry.get("textSignature")
    if isinstance(thinking, str):
        yield {"redacted_data" if entry.get("redacted") is True else "signature": thinking}
    if isinstance(text, str):
        item = _parsed(text)
        yield {"id": item.get("id"), "phase": item.get("phase")} if isinstance(item, dict) else {"id": text}
        if not isinstance(item, dict):
            yield {"thoughtSignature": text}  # Gemini's; of another maker nobody reads it
    yield {"thoughtSignature": entry.get("thoughtSignature")}


def _parsed(text: str) -> Json:
    if not text.startswith("{"):
        return None
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value
