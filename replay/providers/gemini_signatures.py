"""Thought signatures of Gemini, in whichever format they go back (specs/providers.md 4, G10 to G13; O27)."""

import re

from replay.items import Block, Thinking
from replay.providers.media import is_base64
from replay.providers.opaque import opaque_of

DUMMY = "skip_thought_signature_validator"
"""Stands for the signature of a call that Gemini did not make, or whose own cannot be read (G11)."""

_GENERATION = re.compile(r"gemini-(\d+)", re.IGNORECASE)


def demands_signatures(model: str | None) -> bool:
    """Whether a model wants a signature on the first call of a step: Gemini 3 and later (G10)."""
    found = _GENERATION.search(model or "")
    return found is not None and int(found[1]) >= 3


def signature_of(block: Block) -> str | None:
    """The signature that came with a block; None without one that is base64."""
    opaque = opaque_of(block)
    found = opaque.thought
    if found is None and isinstance(block, Thinking):
        found = opaque.signature
    return found if found is not None and is_base64(found) else None
