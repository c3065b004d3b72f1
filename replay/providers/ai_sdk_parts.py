"""Content as the AI SDK's ModelMessages hold it, by version of the SDK (`Target.dialect`).

Only what JSON can spell: no `URL` objects and no byte arrays. Where versions differ, each has its own spelling:
images are `image` parts before v7 and `file` parts from it on; results hold media as `media` (v5), `file-data`
and `image-data` (v6) or `file` (v7).
"""

import math
from typing import Literal, TypeAlias, get_args

from ledger.errors import BadInput
from ledger.events import Json, JsonObject
from replay.diagnostics import Code, register
from replay.options import Target
from replay.parts import text_part
from replay.providers.content import (
    NO_ERROR_TEXT,
    NO_OUTPUT,
    Report,
    is_blank,
    is_content_list,
    only_text,
    sendable_text,
    stand_in,
    written_part,
)
from replay.providers.media import Media, image_problem, is_base64, is_url, refused, text_problem
from replay.providers.wire_text import cleaned, cleaned_text, is_clean

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

_TEXT = frozenset({"application/json", "text/plain", "text/markdown", "text/csv", "text/html"})
_PDF = "application/pdf"
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
    return written_part(part, _before_v7 if dialect != "v7" else _from_v7, report)


def _before_v7(media: Media) -> JsonObject | str:
    if media.kind != "image":
        return _from_v7(media)
    named: JsonObject = {} if media.media_type is None else {"mediaType": media.media_type}
    return _problem(media) or {"type": "image", "image": media.data or media.url, **named}


def _from_v7(media: Media) -> JsonObject | str:
    """An image or a PDF as a file part, a text file as its text; or what is wrong with it."""
    if media.kind == "file" and media.url is None and (media.text is not None or media.media_type in _TEXT):
        text, problem = text_problem(media)
        return problem or text_part(text)
    named: JsonObject = {}
    if media.kind == "file" and media.name is not None and not is_blank(media.name):
        named = {"filename": cleaned_text(media.name)[:200]}
    place, kind = media.data or media.url, media.media_type or "image"
    return _problem(media) or {"type": "file", "mediaType": kind, "data": place, **named}


def _problem(media: Media) -> str | None:
    if media.kind == "file" and media.media_type != _PDF:
        return refused(media)
    if media.url is not None:
        untyped = Media("image", media.media_type or "image/png", data="AAAA")  # is the type taken?
        problem = None if is_url(media.url) else "its URL cannot be read"
        return problem or (image_problem(untyped) if media.kind == "image" else None)
    if media.kind == "image":
        return image_problem(media)
    return None if media.data is not None and is_base64(media.data) else "its data is not base64"


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
    elif (only := only_text(content)) is not None:
        text = sendable_text(only, report)
    elif is_content_list(content) and isinstance(content, list):
        given = [one for one in content if isinstance(one, dict)]
        blocks = [part for one in given if (part := user_part(one, dialect, report)) is not None]
        media = [part for part in blocks if part["type"] != "text"]
        if media and not failed:
            value: list[Json] = [_within(part, dialect, report) for part in blocks]
            return {"type": "content", "value": value}, moved
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
            return text_part(stand_in("image" if image else "file", problem, report))
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
    if not is_clean(value):
        value = cleaned(value)
        report("surrogates_replaced")
    return meant(value, report)


def meant(value: Json, report: Report) -> Json:
    """JSON whose numbers JavaScript reads as they are meant: those that it would change are texts."""
    if not _is_readable(value):
        value = readable(value)
        report("number_as_text")
    return value


def _is_readable(value: Json) -> bool:
    if isinstance(value, str):  # most values
        return True
    if isinstance(value, dict):
        return all(map(_is_readable, value.values()))
    if isinstance(value, list):
        return all(map(_is_readable, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or abs(value) <= _SAFE


def readable(value: Json) -> Json:
    """JSON whose numbers JavaScript reads as they are meant: those that it would change are texts."""
    if isinstance(value, dict):
        return {key: readable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [readable(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _SAFE:
        return str(value)
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
