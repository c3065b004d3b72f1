"""What documents hold of a value: all of it, as text where it is text, else as indented JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ledger.events import Json, JsonObject
from projections.export.lines import plain

SAFE_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Types of images that hold nothing that runs."""

_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")


@dataclass(frozen=True)
class Body:
    """A piece of what was said: text, JSON, or the description of data that is no text.

    `image` is a `data:` URL where the data is an image of a plain type.
    """

    kind: Literal["text", "json", "data"]
    text: str
    image: str | None = None

    @property
    def size(self) -> int:
        """Characters of the text."""
        return len(self.text)


def bodies(content: Json) -> Iterator[Body]:
    """A message's content or a tool's result, whole, in pieces."""
    if isinstance(content, str):
        if content:
            yield Body("text", plain(content))
    elif isinstance(content, list) and content and all(isinstance(block, dict) for block in content):
        for block in content:
            assert isinstance(block, dict)
            yield from _block(block)
    else:
        yield json_body(content)


def json_body(data: Json) -> Body:
    """A value as indented JSON."""
    return Body("json", plain(json.dumps(data, ensure_ascii=False, indent=2)))


def source_of(block: JsonObject) -> JsonObject:
    """Where a block has its data: in `source`, or in itself."""
    source = block.get("source")
    return source if isinstance(source, dict) else block


def _block(block: JsonObject) -> Iterator[Body]:
    text, source = block.get("text"), source_of(block)
    data = source.get("data")
    if isinstance(text, str):
        yield Body("text", plain(text))
        rest: JsonObject = {
            name: value
            for name, value in block.items()
            if name != "text" and (name, value) != ("type", "text") and value not in (None, [], {})
        }
        if rest.keys() - {"type"}:
            yield json_body(rest)
    elif isinstance(data, str) and source.get("type") == "text":
        yield Body("text", plain(data))
    elif isinstance(data, str):
        yield Body("data", _described(block, source, data), _image(source.get("media_type"), data))
    else:
        yield json_body(block)


def _described(block: JsonObject, source: JsonObject, data: str) -> str:
    known = [source.get("media_type"), *(block.get(name) for name in ("name", "filename", "title"))]
    words = [
        plain(" ".join(one.split())) for one in (block.get("type"), *known) if isinstance(one, str) and one
    ]
    return f"{', '.join(words) or 'data'}, {len(data)} characters of data"


def _image(kind: Json, data: str) -> str | None:
    return f"data:{kind};base64,{data}" if kind in SAFE_IMAGES and _BASE64.fullmatch(data) else None
