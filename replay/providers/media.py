"""Images and files as runtimes record them, read into one shape that every renderer can write from.

Recorded spellings: `{"type": "image", "data", "media_type"}` (also `mimeType`, `mediaType`, `mime_type`),
data URLs and plain URLs in `url`, `image`, `image_url`, `file`, `file_data`, and Anthropic's own `source`
objects.
"""

import base64
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from ledger.events import Json, JsonObject
from replay.providers.wire_text import cleaned_text

MediaKind: TypeAlias = Literal["image", "file"]

IMAGE_TYPES = frozenset({"image", "image_url", "input_image", "image-data", "image-url"})
FILE_TYPES = frozenset({"file", "document", "input_file", "media", "file-data", "file-url"})
WEB_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""The image types that the providers take."""

_DATA_URL = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),(.*)", re.DOTALL)
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_HOST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789.-")


@dataclass(frozen=True, slots=True)
class Media:
    """An image or a file: base64 `data`, plain `text`, or a `url`; exactly one of them is set."""

    kind: MediaKind
    media_type: str | None
    data: str | None = None
    text: str | None = None
    url: str | None = None
    name: str | None = None


def media_of(block: JsonObject) -> Media | None:
    """The image or file that a block holds; None when it is none, or when it cannot be told what it holds."""
    kind = block.get("type")
    if kind not in IMAGE_TYPES and kind not in FILE_TYPES:
        return None
    media_type = _first(block, "media_type", "mediaType", "mime_type", "mimeType", "mime")
    image = kind in IMAGE_TYPES or (media_type or "").startswith("image/")
    name = _first(block, "filename", "file_name", "name", "title")
    return _media("image" if image else "file", block, media_type, name)


def is_base64(data: str) -> bool:
    """True for non-empty standard base64 with its padding."""
    return len(data) % 4 == 0 and _BASE64.fullmatch(data) is not None


def is_url(url: str) -> bool:
    """True for an absolute http URL of a plain host, which every reader of URLs takes alike."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    plain = url.isascii() and url.isprintable() and " " not in url and "\\" not in url
    return (
        plain
        and parts.scheme in ("http", "https")
        and bool(host.strip(".-"))
        and set(host) <= _HOST
        and port != 0
    )


def refused(media: Media) -> str:
    """What to say of a type that a provider does not take."""
    return f"{cleaned_text(media.media_type or 'an unknown type')} is not taken here"


def image_problem(media: Media) -> str | None:
    """Why an image's data cannot be sent; None where it can."""
    if media.media_type not in WEB_IMAGES:
        return refused(media)
    return None if media.data is not None and is_base64(media.data) else "its data is not base64"


def text_problem(media: Media) -> tuple[str, str | None]:
    """The text of a text file, and why it cannot be sent; None where it can."""
    if media.text is not None:
        text = cleaned_text(media.text)
    else:
        try:
            text = base64.b64decode(media.data or "", validate=True).decode()
        except ValueError:
            return "", "its data is not base64 of UTF-8 text"
    return text, "it is empty" if not text or text.isspace() else None


def _media(kind: MediaKind, block: JsonObject, media_type: str | None, name: str | None) -> Media | None:
    source = block.get("source")
    if isinstance(source, dict):
        own = _first(source, "media_type", "mediaType", "mime_type", "mimeType") or media_type
        if source.get("type") == "text":
            text = source.get("data")
            return Media(kind, own, text=text, name=name) if isinstance(text, str) else None
        return _located(kind, own, _first(source, "data"), _first(source, "url"), name)
    if isinstance(source, str):
        return _located(kind, media_type, None, source, name)
    located = block.get("image_url")
    if isinstance(located, dict):
        return _located(kind, media_type, None, _first(located, "url"), name)
    text = block.get("text")
    if isinstance(text, str):
        return Media(kind, media_type or "text/plain", text=text, name=name)
    return _located(
        kind,
        media_type,
        _first(block, "data"),
        _first(block, "url", "image_url", "image", "file", "file_data", "file_url"),
        name,
    )


def _located(
    kind: MediaKind, media_type: str | None, data: str | None, url: str | None, name: str | None
) -> Media | None:
    place = url if data is None else data
    if place is None:
        return None
    match = _DATA_URL.fullmatch(place) if place.startswith("data:") else None
    if match is not None:
        own = match[1] or media_type
        if "base64" in match[2]:
            kind = "image" if (own or "").startswith("image/") else kind
            return Media(kind, own, data=match[3], name=name)
        return None
    if data is None and place.startswith(("https://", "http://")):
        return Media(kind, media_type, url=place, name=name)
    return Media(kind, media_type, data=place, name=name)


def _first(block: JsonObject, *names: str) -> str | None:
    for name in names:
        value: Json = block.get(name)
        if isinstance(value, str) and value:
            return value
    return None
