"""What the renderers share of turning recorded content into wire content: texts, stand-ins, arguments."""

import json
from collections.abc import Callable

from ledger.events import Json, JsonObject
from replay.parts import canonical, text_part
from replay.providers.media import FILE_TYPES, IMAGE_TYPES, Media, media_of
from replay.providers.wire_text import cleaned, cleaned_text, is_clean

Report = Callable[..., None]
"""Notes a diagnostic by its code, with details by name."""

RAW = "_raw"
"""The key under which arguments stand that are no JSON object (X6)."""

ANCHOR = "[the conversation starts with the assistant]"
"""What stands before a history that starts with the assistant, where that is refused (A7)."""

NO_ERROR_TEXT = "[the tool failed without a message]"
NO_OUTPUT = "[the tool returned nothing]"
OUTPUT_BELOW = "[what the tool returned follows]"
"""The text of a result whose images and files must stand behind it."""


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


def written_part(
    part: JsonObject, media: Callable[[Media], JsonObject | str], report: Report
) -> JsonObject | None:
    """One part of user content or of a result: text as `{"type": "text", "text"}`, None for blank text.

    `media` spells an image or a file, or says what is wrong with it; what cannot be sent is said in text.
    """
    text, kind = part.get("text"), part.get("type")
    if isinstance(text, str) and kind in ("text", "input_text", "output_text"):
        if is_blank(text):
            report("blank_text_skipped")
            return None
        if len(part) == 2 and kind == "text" and text.isascii():
            return part  # most parts: it is as it goes
        return text_part(sendable_text(text, report))
    found = media_of(part)
    written = media(found) if found is not None else None
    if isinstance(written, dict):
        return written
    problem = written or ("it holds neither data nor a URL" if is_media(part) else "a block of another kind")
    return text_part(stand_in(kind, problem, report))


def result_parts(
    content: Json, failed: bool, media: Callable[[Media], JsonObject | str], report: Report
) -> tuple[str, list[JsonObject]]:
    """A result as one text, and its images and files beside it, as `media` spells them.

    The text of a result that `failed` says so, for formats that have no field for it; it is empty only beside
    images or files.
    """
    beside: list[JsonObject] = []
    if isinstance(content, str):
        text = sendable_text(content, report)
    elif (only := only_text(content)) is not None:
        text = sendable_text(only, report)
    elif is_content_list(content) and isinstance(content, list):
        texts: list[str] = []
        for block in content:
            part = written_part(block, media, report) if isinstance(block, dict) else None
            if part is not None and part.get("type") == "text":
                texts.append(str(part["text"]))
            elif part is not None:
                beside.append(part)
        text = "\n\n".join(texts)
    else:
        text = sendable_text(canonical(content), report)
    if is_blank(text):
        text = NO_ERROR_TEXT if failed else "" if beside else NO_OUTPUT
    elif failed:
        text = f"[error] {text}"
    return text, beside


def only_text(content: Json) -> str | None:
    """The text of most results, told at once: one block of it, and nothing else; None for any other."""
    if isinstance(content, list) and len(content) == 1 and isinstance(block := content[0], dict):
        text = block.get("text")
        if isinstance(text, str) and block.get("type") == "text" and not is_blank(text):
            return text
    return None


def system_texts(content: Json, report: Report) -> list[str]:
    """The texts of a recorded system prompt: a string, or blocks; of what is no text its stand-in."""
    parts: list[Json] = [text_part(content)] if isinstance(content, str) else []
    if isinstance(content, list):
        parts = content
    written = [written_part(part, _no_media, report) for part in parts if isinstance(part, dict)]
    return [text for part in written if part is not None and isinstance(text := part.get("text"), str)]


def _no_media(_media: Media) -> str:
    return "a system prompt is text"


def sendable_text(text: str, report: Report) -> str:
    """Text without lone surrogates."""
    if text.isascii():
        return text
    sent = cleaned_text(text)
    if sent is not text:
        report("surrogates_replaced")
    return sent


def input_object(args: Json, report: Report) -> JsonObject:
    """Arguments as the object that most formats want (A6).

    A string is parsed, null is `{}`, anything else is wrapped (X6).
    """
    if isinstance(args, dict) and is_clean(args):
        return args  # most arguments
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
