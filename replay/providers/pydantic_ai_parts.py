"""Content as pydantic-ai's messages hold it: user content, contents of tool results, tools, settings."""

from collections.abc import Sequence
from typing import cast

from ledger.events import Json, JsonObject
from replay.parts import canonical
from replay.providers.ai_sdk_parts import told
from replay.providers.content import (
    NO_ERROR_TEXT,
    NO_OUTPUT,
    Report,
    input_object,
    is_blank,
    is_content_list,
    sendable_text,
    stand_in,
)
from replay.providers.media import media_of
from replay.providers.names import Names
from replay.providers.wire_text import cleaned, cleaned_text


def user_item(part: JsonObject, report: Report) -> Json:
    """One item of a user prompt: a text, an image or a file; None for blank text.

    What cannot be sent is said in text.
    """
    text, kind = part.get("text"), part.get("type")
    if isinstance(text, str) and kind in ("text", "input_text", "output_text"):
        if is_blank(text):
            report("blank_text_skipped")
            return None
        return sendable_text(text, report)
    media = media_of(part)
    found = "a block of another kind" if media is None else told(media)
    if isinstance(found, str):
        return stand_in(kind, found, report)
    if found.text is not None:
        return found.text
    if found.url is not None:
        named = "image-url" if found.kind == "image" else "document-url"
        return {"kind": named, "url": found.url, "media_type": found.media_type or "image/png"}
    return {"kind": "binary", "data": found.data, "media_type": found.media_type}


def result_content(content: Json, failed: bool, report: Report) -> tuple[Json, list[JsonObject]]:
    """A result's content, and its images and files, which stand behind the results in a user prompt.

    The library gives the provider a text for each item of a list, so a list that is not one of content blocks
    is sent as JSON text: none of them may be empty.
    """
    moved: list[JsonObject] = []
    if isinstance(content, dict):
        sent = cleaned(content)
        if sent != content:
            report("surrogates_replaced")
        return sent, moved
    if isinstance(content, str):
        text = sendable_text(content, report)
    elif is_content_list(content) and isinstance(content, list):
        texts: list[str] = []
        for block in content:
            item = user_item(cast(JsonObject, block), report)
            if isinstance(item, str):
                texts.append(item)
            elif isinstance(item, dict):
                moved.append(item)
        if moved:
            report("result_media_moved", count=len(moved))
        text = "\n\n".join(texts)
    elif content is None:
        text = ""
    else:
        text = sendable_text(canonical(content), report)
    if is_blank(text):
        text = NO_ERROR_TEXT if failed else NO_OUTPUT
    return text, moved


def arguments(args: Json, report: Report) -> JsonObject:
    """A call's arguments: an object, without a lone surrogate."""
    return input_object(args, report)


def parameters_of(definitions: Sequence[JsonObject], names: Names, report: Report) -> JsonObject:
    """The tools as `ModelRequestParameters` of the library; empty without any."""
    written: dict[str, JsonObject] = {}
    for tool in definitions:
        name, schema = tool.get("name"), tool.get("input_schema")
        if not isinstance(name, str) or not isinstance(schema, dict) or names.sent(name) in written:
            report("tool_definition_skipped", tool=name)
            continue
        description = tool.get("description")
        said: JsonObject = {"description": cleaned_text(description)} if isinstance(description, str) else {}
        sent = names.sent(name)
        written[sent] = {"name": sent, **said, "parameters_json_schema": cleaned(schema)}
    return {"function_tools": list(written.values())} if written else {}


_SETTINGS = (("temperature", 2), ("top_p", 1))


def settings_of(context: JsonObject | None) -> JsonObject:
    """The recorded settings that the library's `ModelSettings` have, where their values are what it takes."""
    given = (context or {}).get("settings")
    kept: JsonObject = {}
    if not isinstance(given, dict):
        return kept
    for name, most in _SETTINGS:
        value = given.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most:
            kept[name] = value
    for name in ("max_tokens", "max_output_tokens"):
        value = given.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            kept["max_tokens"] = value
    return kept
