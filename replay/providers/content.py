"""What the renderers share of turning recorded content into wire content: texts, stand-ins, arguments."""

import json
from collections.abc import Callable

from ledger.events import Json, JsonObject
from replay.providers.media import FILE_TYPES, IMAGE_TYPES
from replay.providers.wire_text import cleaned, cleaned_text

Report = Callable[..., None]
"""Notes a diagnostic by its code, with details by name."""

RAW = "_raw"
"""The key under which arguments stand that are no JSON object (X6)."""

NO_ERROR_TEXT = "[the tool failed without a message]"


def is_blank(text: str) -> bool:
    """True for what providers refuse (X4): no text, or white space alone."""
    return not text or text.isspace()


def is_media(part: JsonObject) -> bool:
    """True for a block that calls itself an image or a file."""
    return part.get("type") in IMAGE_TYPES or part.get("type") in FILE_TYPES


def is_content_block(block: Json) -> bool:
    """True for a text block with its text, an image or a file."""
    if not isinstance(block, dict):
        return False
    return isinstance(block.get("text"), str) if block.get("type") == "text" else is_media(block)


def is_content_list(content: Json) -> bool:
    """True for a list of content blocks alone: what a result may send as blocks instead of as JSON text."""
    return isinstance(content, list) and all(map(is_content_block, content))


def stand_in(kind: Json, problem: str, report: Report) -> str:
    """The text that says what could not be sent, and why; the diagnostic with it."""
    report("content_stand_in", type=kind, problem=problem)
    label = cleaned_text(kind) if isinstance(kind, str) and not is_blank(kind) else "block"
    return f"[{label} left out: {problem}]"


def sendable_text(text: str, report: Report) -> str:
    """Text without lone surrogates."""
    if text.isascii():
        return text
    sent = cleaned_text(text)
    if sent != text:
        report("surrogates_replaced")
    return sent


def input_object(args: Json, report: Report) -> JsonObject:
    """Arguments as the object that most formats want (A6).

    A string is parsed, null is `{}`, anything else is wrapped (X6).
    """
    found: JsonObject
    how: str | None
    if isinstance(args, dict):
        found, how = args, None
    elif args is None:
        found, how = {}, "empty"
    else:
        parsed = _parsed(args) if isinstance(args, str) else None
        found = {RAW: args} if parsed is None else parsed
        how = "wrapped" if parsed is None else "parsed"
    if how is not None:
        report("args_wrapped", how=how)
    sent = cleaned(found)
    if sent != found:
        report("surrogates_replaced")
    return sent if isinstance(sent, dict) else {RAW: sent}


def _parsed(text: str) -> JsonObject | None:
    def refuse(name: str) -> Json:
        raise ValueError(name)

    try:
        value = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
