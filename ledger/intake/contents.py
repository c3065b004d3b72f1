"""What was said to a model, as a user message holds it."""

from ledger.events import Json, JsonObject
from ledger.intake.mending import as_text


def content_of(content: Json) -> str | list[JsonObject]:
    """Text, or blocks that each name their type; what is neither is kept as text."""
    if isinstance(content, list):
        blocks = [block for block in content if isinstance(block, dict) and isinstance(block.get("type"), str)]
        if len(blocks) == len(content):
            return blocks
    return as_text(content)
