"""What Anthropic gave beside a block's content and wants back: citations, callers, toolsets, compactions.

Runtimes record it in the block's metadata as it came, or under `anthropic` there. It is sent for the target's
own steps only, and where what it refers to is in the request (A38, A42, A43 of specs/providers.md).
"""

from collections.abc import Container

from ledger.events import Json, JsonObject
from ledger.recorded import RecordedEvent
from replay.items import Block
from replay.providers.wire_text import is_clean

_CITATION = ("type", "cited_text", "encrypted_index", "title", "url")
_COMPACTION = frozenset({"type", "content", "encrypted_content", "signature", "tool_changes"})
_CODE_CALLERS = ("code_execution_20250825", "code_execution_20260120")


def given(metadata: Json) -> JsonObject:
    """What Anthropic gave with a block; empty without any."""
    if not isinstance(metadata, dict):
        return {}
    inner = metadata.get("anthropic")
    return {**metadata, **inner} if isinstance(inner, dict) else metadata


def citations(block: Block, found: Container[str]) -> tuple[list[JsonObject], int]:
    """The citations that go back with a text, and how many do not: of web results with their `found` urls."""
    recorded = given(block.provider_metadata).get("citations")
    if not isinstance(recorded, list):
        return [], 0
    kept = []
    for one in recorded:
        if not isinstance(one, dict) or one.get("type") != "web_search_result_location":
            continue
        texts = all(isinstance(one.get(key), str) for key in ("cited_text", "encrypted_index", "url"))
        if texts and isinstance(one.get("title"), str | None) and one["url"] in found and is_clean(one):
            kept.append({key: one.get(key) for key in _CITATION})
    return kept, len(recorded) - len(kept)


def toolset(block: Block) -> str | None:
    """The toolset that a call is of."""
    name = given(block.provider_metadata).get("toolset_name")
    return name if isinstance(name, str) and name and is_clean(name) else None


def caller(block: Block, sent: Container[str]) -> JsonObject | str | None:
    """Who made a call: None where nobody is recorded, a word for the diagnostic where it cannot be sent.

    `sent` are the ids of the server tools' calls that are in the request.
    """
    told = given(block.provider_metadata).get("caller")
    if told is None:
        return None
    if isinstance(told, dict) and told.get("type") == "direct":
        return {"type": "direct"}
    if isinstance(told, dict) and told.get("type") in _CODE_CALLERS and told.get("tool_id") in sent:
        return {"type": told["type"], "tool_id": told["tool_id"]}
    return "its caller is not in the request"


def compaction(record: RecordedEvent) -> JsonObject | None:
    """The provider's own block of a compaction, verbatim; None where there is none that it takes back."""
    metadata = record.event.provider_metadata
    block = metadata.get("anthropic") if isinstance(metadata, dict) else None
    if not isinstance(block, dict) or block.get("type") != "compaction" or not is_clean(block):
        return None
    content, sealed = block.get("content"), block.get("encrypted_content")
    if not isinstance(content, str | None) or not (content or isinstance(sealed, str)):
        return None
    return {key: value for key, value in block.items() if key in _COMPACTION and value != ""}
