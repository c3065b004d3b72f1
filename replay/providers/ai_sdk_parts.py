"""Content as the AI SDK's ModelMessages hold it, by version of the SDK (`Target.dialect`).

User parts, outputs of tools, tool definitions, call settings.

Only what JSON can spell: no `URL` objects and no byte arrays. Where versions differ, each has its own spelling:
images are `image` parts before v7 and `file` parts from it on; results hold media as `media` (v5), `file-data`
and `image-data` (v6) or `file` (v7).
"""

import base64
import math
import re
from collections.abc import Sequence
from typing import Literal, TypeAlias, cast, get_args
from urllib.parse import urlsplit

from ledger.errors import BadInput
from ledger.events import Json, JsonObject
from replay.diagnostics import Code, register
from replay.options import Target
from replay.providers.content import (
    NO_ERROR_TEXT,
    NO_OUTPUT,
    Report,
    is_blank,
    is_content_list,
    sendable_text,
    stand_in,
)
from replay.providers.media import Media, is_base64, media_of
from replay.providers.names import Names
from replay.providers.wire_text import cleaned, cleaned_text

register(
    Code(
        "number_as_text",
        "info",
        "A number that JavaScript would change (beyond 2^53) is sent as text.",
        "Nothing: the ledger keeps what was recorded.",
    )
)

Dialect: TypeAlias = Literal["v5", "v6", "v7"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)

_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_TEXT = frozenset({"application/json", "text/plain", "text/markdown", "text/csv", "text/html"})
_HOSTED = re.compile(r"web_(?:search|fetch)_[0-9]+")
_HOST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789.-")
_SAFE = 2**53
"""Integers from here on lose digits in JavaScript; floats do not get larger there than here."""


def dialect_of(target: Target) -> Dialect:
    """The version that a target names, else the newest.

    Raises `BadInput` for one that there is not, listing what there is.
    """
    for one in DIALECTS:
        if target.dialect == one:
            return one
    if target.dialect is None:
        return "v7"
    raise BadInput(problem=f"ai-sdk has no dialect {target.dialect!r}; it has: {', '.join(DIALECTS)}")


def user_part(part: JsonObject, dialect: Dialect, report: Report) -> JsonObject | None:
    """One part of user content; None for blank text. What cannot be sent is said in text."""
    text, kind = part.get("text"), part.get("type")
    if isinstance(text, str) and kind in ("text", "input_text", "output_text"):
        if is_blank(text):
            report("blank_text_skipped")
            return None
        return {"type": "text", "text": sendable_text(text, report)}
    media = media_of(part)
    found = "a block of another kind" if media is None else told(media)
    if isinstance(found, str):
        return {"type": "text", "text": stand_in(kind, found, report)}
    if found.text is not None:
        return {"type": "text", "text": found.text}
    place = found.data if found.url is None else found.url
    if found.kind == "image" and dialect != "v7":
        named: JsonObject = {} if found.media_type is None else {"mediaType": found.media_type}
        return {"type": "image", "image": place, **named}
    name: JsonObject = {} if found.name is None else {"filename": found.name}
    return {"type": "file", "mediaType": found.media_type or "image", "data": place, **name}


def told(media: Media) -> Media | str:
    """The image or file as these requests can hold it, a text file as its text; or what is wrong with it."""
    kind = media.media_type
    if media.text is None and media.kind == "file" and kind in _TEXT and media.data is not None:
        try:
            media = Media("file", kind, text=base64.b64decode(media.data, validate=True).decode())
        except ValueError:
            return "its data is not base64 of UTF-8 text"
    if media.text is not None:
        return "it is empty" if is_blank(media.text) else Media("file", kind, text=cleaned_text(media.text))
    if media.url is not None:
        if not is_url(media.url):
            return "its URL cannot be read"
    elif media.data is None or not is_base64(media.data):
        return "its data is not base64"
    if media.kind == "image" and kind not in _IMAGES and not (media.url and kind is None):
        return f"{cleaned_text(kind or 'an unknown type')} is not taken here"
    if media.kind == "file" and kind != "application/pdf":
        return f"{cleaned_text(kind or 'an unknown type')} is not taken here"
    name = None if media.name is None or is_blank(media.name) else cleaned_text(media.name)[:200]
    return Media(media.kind, kind, media.data, None, media.url, name)


def is_url(url: str) -> bool:
    """True for an absolute http URL of a plain host: what JavaScript's `new URL` reads as it is meant."""
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


def output_of(
    content: Json, kind: str, failed: bool, dialect: Dialect, report: Report
) -> tuple[JsonObject, list[JsonObject]]:
    """A result as a tool output (V12), and the media that an error cannot hold, to stand behind the results.

    `kind` is that of the answer: a denied call's output says so, from v6 on in its own type.
    """
    moved: list[JsonObject] = []
    if isinstance(content, str):
        text = sendable_text(content, report)
        if kind == "denied" and dialect != "v5":
            return {"type": "execution-denied", "reason": text}, moved
    elif is_content_list(content) and isinstance(content, list):
        blocks = [
            part for one in content if (part := user_part(cast(JsonObject, one), dialect, report)) is not None
        ]
        media = [part for part in blocks if part["type"] != "text"]
        if media and not failed:
            value = [_within(part, dialect, report) for part in blocks]
            return {"type": "content", "value": cast(Json, value)}, moved
        if media:
            report("error_media_moved", count=len(media))
            moved = media
        text = "\n\n".join(str(part["text"]) for part in blocks if part["type"] == "text")
    else:
        sent = plain(content, report)
        return {"type": "error-json" if failed else "json", "value": sent}, moved
    if is_blank(text):
        text = NO_ERROR_TEXT if failed else NO_OUTPUT
    return {"type": "error-text" if failed else "text", "value": text}, moved


def _within(part: JsonObject, dialect: Dialect, report: Report) -> JsonObject:
    """A user part as a result holds it."""
    if part["type"] == "text":
        return part
    place = str(part.get("image", part.get("data")))
    media_type = part.get("mediaType")
    image = part["type"] == "image" or str(media_type).startswith("image")
    if is_url(place):
        if dialect == "v5":
            problem = "this version takes no URL in a result"
            return {"type": "text", "text": stand_in("image" if image else "file", problem, report)}
        if image:
            return {"type": "image-url", "url": place}
        return {"type": "file-url", "url": place, **({"mediaType": media_type} if dialect == "v7" else {})}
    if dialect == "v5":
        return {"type": "media", "data": place, "mediaType": media_type}
    if dialect == "v7":
        return {"type": "file", "data": {"type": "data", "data": place}, "mediaType": media_type}
    return {"type": "image-data" if image else "file-data", "data": place, "mediaType": media_type}


def plain(value: Json, report: Report) -> Json:
    """JSON that JavaScript reads as it is meant: no lone surrogates; numbers that it would change are texts."""
    clean = cleaned(value)
    if clean != value:
        report("surrogates_replaced")
    sent = _readable(clean)
    if sent != clean:
        report("number_as_text")
    return sent


def _readable(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _readable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_readable(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _SAFE:
        return str(value)
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def tools_of(
    definitions: Sequence[JsonObject], names: Names, dialect: Dialect, namespace: str, report: Report
) -> JsonObject:
    """Tools by name, their schemas as JSON Schema (`jsonSchema()` in the SDK).

    Tools that Anthropic runs itself are the SDK's own, by id, where `namespace` is Anthropic's.
    """
    written: JsonObject = {}
    for tool in definitions:
        name, schema, kind = tool.get("name"), tool.get("input_schema"), tool.get("type")
        sent = names.sent(name) if isinstance(name, str) else ""
        if not sent or sent in written:
            report("tool_definition_skipped", tool=name)
        elif isinstance(schema, dict):
            description = tool.get("description")
            said: JsonObject = (
                {"description": cleaned_text(description)} if isinstance(description, str) else {}
            )
            written[sent] = {**said, "inputSchema": _readable(cleaned(schema))}
        elif isinstance(kind, str) and _HOSTED.fullmatch(kind) and namespace == "anthropic":
            args = {key: value for key, value in tool.items() if key not in ("type", "name")}
            own = "provider-defined" if dialect == "v5" else "provider"
            written[sent] = {"type": own, "id": f"anthropic.{kind}", "name": sent, "args": _readable(args)}
        else:
            report("tool_definition_skipped", tool=name)
    return written


_SETTINGS = {
    "temperature": "temperature",
    "top_p": "topP",
    "topP": "topP",
    "max_tokens": "maxOutputTokens",
    "max_output_tokens": "maxOutputTokens",
    "maxOutputTokens": "maxOutputTokens",
}


def settings_of(context: JsonObject | None) -> JsonObject:
    """The recorded settings that a call of the SDK has, where their values are what it takes."""
    given = (context or {}).get("settings")
    kept: JsonObject = {}
    for name, value in given.items() if isinstance(given, dict) else ():
        ours = _SETTINGS.get(name)
        if ours is None or isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            continue
        if ours == "maxOutputTokens":
            if isinstance(value, int) and 0 < value < _SAFE:
                kept[ours] = value
        elif value <= (2 if ours == "temperature" else 1):
            kept[ours] = value
    return kept
