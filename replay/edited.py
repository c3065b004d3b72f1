"""Edited content (DESIGN.md 7.3): opaque state holds only for the block that it was given with.

A runtime that records a block together with its provider's state may record a digest of the block's content
beside them: `provider_metadata.turnledger.digest`. Where the content is not that of the digest any more, the
block loses its opaque state, for every target: a signature over other bytes is refused (A21),
and an item id or an encrypted reasoning would stand for what is no longer said.
"""

import hashlib

from ledger.events import Json, JsonObject, TextComplete, ThinkingComplete, ToolResult, ToolStart
from replay.items import Block
from replay.parts import canonical

NAMESPACE = "turnledger"
Event = ThinkingComplete | TextComplete | ToolStart | ToolResult


def content_digest(event: Event) -> str:
    """SHA-256, in hex, over the canonical JSON of a block's content (keys sorted, no blanks, UTF-8).

    The content is `{"text"}` of text and thinking, `{"args", "tool_name"}` of a call, `{"content"}` of a
    result: what a model reads, and nothing that names or seals it.
    """
    content: JsonObject
    if isinstance(event, ToolStart):
        content = {"tool_name": event.tool_name, "args": event.args}
    elif isinstance(event, ToolResult):
        content = {"content": event.content}
    else:
        content = {"text": event.text}
    return hashlib.sha256(canonical(content).encode("utf-8", "surrogatepass")).hexdigest()


def is_edited(block: Block) -> bool:
    """True when a digest was recorded with the block and its content has another one."""
    recorded = _recorded(block.event.provider_metadata)
    return recorded is not None and recorded != content_digest(block.event)


def forget_state(block: Block) -> None:
    """Take the opaque state from a block: its signature, its data, its metadata and its replay entry."""
    gone: dict[str, None] = {"provider_metadata": None}
    if isinstance(block.event, ThinkingComplete):
        gone |= {"signature": None, "redacted_data": None}
    block.event = block.event.model_copy(update=gone)
    block.entry = None


def _recorded(metadata: Json) -> Json:
    ours = metadata.get(NAMESPACE) if isinstance(metadata, dict) else None
    return ours.get("digest") if isinstance(ours, dict) else None
