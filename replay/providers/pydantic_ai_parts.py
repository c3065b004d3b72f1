"""Content as pydantic-ai's messages hold it: user content, contents of tool results, tools, settings."""

from collections.abc import Sequence

from ledger.events import Json, JsonObject
from replay.providers.content import OUTPUT_BELOW, Report, result_parts, written_part
from replay.providers.media import Media, image_problem, is_base64, is_url, refused, text_problem
from replay.providers.names import Renamed
from replay.providers.settings import Settings, choice_among, count_among, numbers
from replay.providers.tools import functions
from replay.providers.wire_text import cleaned

_PDF = "application/pdf"


def user_item(part: JsonObject, report: Report) -> Json:
    """One item of a user prompt: a text, an image or a file; None for blank text.

    What cannot be sent is said in text.
    """
    written = written_part(part, _media, report)
    return None if written is None else _item(written)


def result_content(content: Json, failed: bool, report: Report) -> tuple[Json, list[Json]]:
    """A result's content, and its images and files, which stand behind the results in a user prompt.

    The library gives the provider a text for each item of a list, and each may not be empty: so only an object
    stays what it is. That a result `failed` is said by its outcome, which the library tells every provider.
    """
    if isinstance(content, dict) and content and not failed:
        sent = cleaned(content)
        if sent != content:
            report("surrogates_replaced")
        return sent, []
    text, moved = result_parts(content, failed, _media, report)
    return text.removeprefix("[error] ") if failed else text or OUTPUT_BELOW, [_item(part) for part in moved]


def _item(written: JsonObject) -> Json:
    """A written part as the library spells it: a text is a string, and the others have a `kind`."""
    if written["type"] == "text":
        return written["text"]
    return {"kind": written["type"], **{key: value for key, value in written.items() if key != "type"}}


def _media(media: Media) -> JsonObject | str:
    """An image or a PDF by URL or with its data, a text file as its text; or what is wrong with it."""
    kind = media.media_type
    if media.kind == "file" and (media.text is not None or (kind or "").startswith("text/")):
        if media.url is not None:
            return "a text file is not taken by URL"
        text, problem = text_problem(media)
        return problem or {"type": "text", "text": text}
    if media.kind == "file" and kind != _PDF:
        return refused(media)
    if media.url is not None:
        if not is_url(media.url):
            return "its URL cannot be read"
        if media.kind == "file":
            return {"type": "document-url", "url": media.url, "media_type": _PDF}
        problem = image_problem(Media("image", kind or "image/png", data="AAAA"))
        return problem or {"type": "image-url", "url": media.url, "media_type": kind or "image/png"}
    if media.kind == "image":
        problem = image_problem(media)
    else:
        problem = None if media.data is not None and is_base64(media.data) else "its data is not base64"
    return problem or {"type": "binary", "data": media.data, "media_type": kind}


def parameters_of(tools: Json, names: Renamed, report: Report) -> JsonObject:
    """The recorded tools as `ModelRequestParameters` of the library; empty without any."""
    written: list[Json] = []
    for tool in functions(tools, names, report):
        said: JsonObject = {} if tool.description is None else {"description": tool.description}
        written.append({"name": tool.name, **said, "parameters_json_schema": tool.parameters})
    return {"function_tools": written} if written else {}


def settings_of(given: Settings, *, tools: bool) -> JsonObject:
    """The recorded settings that the library's `ModelSettings` have; a choice among tools only for a request
    that declares `tools`."""
    kept = numbers(given, {"temperature": (0, 2), "top_p": (0, 1)})
    if (count := count_among(given, "max_tokens", "max_output_tokens")) is not None:
        kept["max_tokens"] = count
    return kept | choice_among(given, tools=tools)


def thinking_outline(parts: Sequence[JsonObject]) -> list[JsonObject]:
    """A message's parts in the outlines in which Anthropic's rules of thinking (`ToolLoop`) read them."""
    return [
        {"type": "tool_result" if part["part_kind"] == "tool-return" else part["part_kind"]} for part in parts
    ]
