"""Content as Anthropic's Messages API takes it: texts, images, documents, results; from an allow-list (A41)."""

import base64
from collections.abc import Sequence

from ledger.events import Json, JsonObject
from replay.parts import canonical
from replay.providers.content import (
    NO_ERROR_TEXT,
    Report,
    is_blank,
    is_content_list,
    is_media,
    sendable_text,
    stand_in,
)
from replay.providers.media import Media, is_base64, media_of
from replay.providers.wire_text import cleaned_text

_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_TEXT = frozenset({"text/plain", "text/markdown", "text/csv", "text/html", "application/json"})


def text_block(text: str) -> JsonObject:
    """A text block; the caller has seen that it is not blank."""
    return {"type": "text", "text": text}


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
    return text_block(stand_in(kind, problem, report))


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
    elif is_content_list(content) and isinstance(content, list):
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
