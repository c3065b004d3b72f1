"""Content as Anthropic's Messages API takes it: texts, images, documents, results; from an allow-list (A41)."""

import base64
import json
from collections.abc import Callable, Sequence

from ledger.events import Json, JsonObject
from replay.parts import canonical
from replay.providers.media import FILE_TYPES, IMAGE_TYPES, Media, is_base64, media_of
from replay.providers.wire_text import cleaned, cleaned_text

Report = Callable[..., None]
"""Notes a diagnostic by its code, with details by name."""

RAW = "_raw"
_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_TEXT = frozenset({"text/plain", "text/markdown", "text/csv", "text/html", "application/json"})
NO_ERROR_TEXT = "[the tool failed without a message]"


def text_block(text: str) -> JsonObject:
    """A text block; the caller has seen that it is not blank."""
    return {"type": "text", "text": text}


def is_blank(text: str) -> bool:
    """True for what A10 and A11 refuse: no text, or white space alone."""
    return not text or text.isspace()


def system_texts(content: Json, report: Report) -> list[str]:
    """The texts of a recorded system prompt: a string, or blocks."""
    parts: list[Json] = [{"type": "text", "text": content}] if isinstance(content, str) else []
    if isinstance(content, list):
        parts = content
    blocks = content_blocks([part for part in parts if isinstance(part, dict)], report)
    return [text for block in blocks if isinstance(text := block.get("text"), str)]


def content_blocks(parts: Sequence[JsonObject], report: Report) -> list[JsonObject]:
    """User content: blank text left out, images and files translated, what cannot be sent said in text."""
    blocks = []
    for part in parts:
        block = content_block(part, report)
        if block is not None:
            blocks.append(block)
    return blocks


def content_block(part: JsonObject, report: Report) -> JsonObject | None:
    """One block of user content or of a result; None for blank text."""
    text, kind = part.get("text"), part.get("type")
    if isinstance(text, str) and kind in ("text", "input_text", "output_text"):
        if is_blank(text):
            report("blank_text_skipped")
            return None
        if len(part) == 2 and kind == "text" and text.isascii():
            return part  # most parts: it is the block
        return text_block(sendable_text(text, report))
    media = media_of(part)
    written = _media_block(media) if media is not None else None
    if isinstance(written, dict):
        return written
    problem = written or ("it holds neither data nor a URL" if is_media(part) else "a block of another kind")
    report("content_stand_in", type=kind, problem=problem)
    label = cleaned_text(kind) if isinstance(kind, str) and not is_blank(kind) else "block"
    return text_block(f"[{label} left out: {problem}]")


def is_media(part: JsonObject) -> bool:
    """True for a block that calls itself an image or a file."""
    return part.get("type") in IMAGE_TYPES or part.get("type") in FILE_TYPES


def result_content(
    content: Json, failed: bool, report: Report
) -> tuple[str | list[JsonObject] | None, list[JsonObject]]:
    """A result's content, and the blocks that an error result may not hold (A30), to stand behind the results.

    None: there is nothing to say, and the key is left out. Lists of content blocks become blocks; other JSON
    becomes canonical text (A31).
    """
    moved: list[JsonObject] = []
    value: str | list[JsonObject] | None
    if isinstance(content, str):
        value = sendable_text(content, report)
    elif isinstance(content, list) and all(map(_is_content_block, content)):
        value = content_blocks([block for block in content if isinstance(block, dict)], report)
        if failed:
            moved = [block for block in value if block["type"] != "text"]
            value = [block for block in value if block["type"] == "text"]
            if moved:
                report("error_media_moved", count=len(moved))
    else:
        value = sendable_text(canonical(content), report)
    if not value or (isinstance(value, str) and value.isspace()):
        if value:
            report("blank_text_skipped")
        value = NO_ERROR_TEXT if failed else None
    return value, moved


def sendable_text(text: str, report: Report) -> str:
    """Text without lone surrogates."""
    if text.isascii():
        return text
    sent = cleaned_text(text)
    if sent != text:
        report("surrogates_replaced")
    return sent


def input_object(args: Json, report: Report) -> JsonObject:
    """Arguments as the object of A6: a string is parsed, null is `{}`, anything else is wrapped (X6)."""
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


def _is_content_block(block: Json) -> bool:
    if not isinstance(block, dict):
        return False
    return isinstance(block.get("text"), str) if block.get("type") == "text" else is_media(block)


def _parsed(text: str) -> JsonObject | None:
    def refuse(name: str) -> Json:
        raise ValueError(name)

    try:
        value = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _decoded(media: Media, title: JsonObject) -> JsonObject | str:
    """A text file recorded as base64, as the plain text that the format wants."""
    try:
        text = base64.b64decode(media.data or "", validate=True).decode()
    except ValueError:
        return "its data is not base64 of UTF-8 text"
    if is_blank(text):
        return "it is empty"
    return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}, **title}


def _media_block(media: Media) -> JsonObject | str:
    """The block for an image or a file, or what is wrong with it."""
    if media.kind == "image":
        if media.url is not None:
            return {"type": "image", "source": {"type": "url", "url": cleaned_text(media.url)}}
        if media.media_type not in _IMAGES:
            return f"{cleaned_text(media.media_type or 'an unknown type')} is not taken here"
        if media.data is None or not is_base64(media.data):
            return "its data is not base64"
        source: JsonObject = {"type": "base64", "media_type": media.media_type, "data": media.data}
        return {"type": "image", "source": source}
    title: JsonObject = (
        {} if media.name is None or is_blank(media.name) else {"title": cleaned_text(media.name)[:200]}
    )
    if media.text is not None:
        if is_blank(media.text):
            return "it is empty"
        plain: JsonObject = {"type": "text", "media_type": "text/plain", "data": cleaned_text(media.text)}
        return {"type": "document", "source": plain, **title}
    if media.url is not None:
        return {"type": "document", "source": {"type": "url", "url": cleaned_text(media.url)}, **title}
    if media.media_type in _TEXT:
        return _decoded(media, title)
    if media.media_type != "application/pdf":
        return f"{cleaned_text(media.media_type or 'an unknown type')} is not taken here"
    if media.data is None or not is_base64(media.data):
        return "its data is not base64"
    return {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": media.data},
        **title,
    }
