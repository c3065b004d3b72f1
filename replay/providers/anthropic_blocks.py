"""Content as Anthropic's Messages API takes it: texts, images, documents, results; from an allow-list (A41)."""

from collections.abc import Sequence

from ledger.events import Json, JsonObject
from replay.parts import canonical
from replay.providers.content import (
    NO_ERROR_TEXT,
    Report,
    is_blank,
    is_content_list,
    sendable_text,
    written_part,
)
from replay.providers.media import Media, image_problem, is_base64, refused, text_problem
from replay.providers.wire_text import cleaned_text

_TEXT = frozenset({"text/plain", "text/markdown", "text/csv", "text/html", "application/json"})


def content_blocks(parts: Sequence[JsonObject], report: Report) -> list[JsonObject]:
    """User content: blank text left out, images and files translated, what cannot be sent said in text."""
    blocks = []
    for part in parts:
        block = written_part(part, _media_block, report)
        if block is not None:
            blocks.append(block)
    return blocks


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


def _media_block(media: Media) -> JsonObject | str:
    """The block for an image or a file, or what is wrong with it."""
    if media.kind == "image":
        if media.url is not None:
            return {"type": "image", "source": {"type": "url", "url": cleaned_text(media.url)}}
        problem = image_problem(media)
        return problem or {"type": "image", "source": _base64(media)}
    if media.text is not None or (media.url is None and media.media_type in _TEXT):
        text, problem = text_problem(media)
        return problem or _document(media, {"type": "text", "media_type": "text/plain", "data": text})
    if media.url is not None:
        return _document(media, {"type": "url", "url": cleaned_text(media.url)})
    if media.media_type != "application/pdf":
        return refused(media)
    if media.data is None or not is_base64(media.data):
        return "its data is not base64"
    return _document(media, _base64(media))


def _base64(media: Media) -> JsonObject:
    return {"type": "base64", "media_type": media.media_type, "data": media.data}


def _document(media: Media, source: JsonObject) -> JsonObject:
    title: JsonObject = (
        {} if media.name is None or is_blank(media.name) else {"title": cleaned_text(media.name)[:200]}
    )
    return {"type": "document", "source": source, **title}
