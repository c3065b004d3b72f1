"""Parts as Gemini takes them: texts, data, responses of functions, declarations, settings."""

import re

from ledger.events import Json, JsonObject
from replay.providers.content import Report, result_parts, written_part
from replay.providers.media import Media, is_base64, refused, text_problem
from replay.providers.names import Renamed
from replay.providers.settings import Settings, choice_among, count_among, numbers
from replay.providers.tools import functions
from replay.providers.wire_text import cleaned, cleaned_text

_TYPES = re.compile(r"image/(?:png|jpeg|webp|heic|heif)|application/pdf|(?:audio|video)/[a-z0-9.+-]+")
_FILES = ("https://generativelanguage.googleapis.com/", "https://www.youtube.com/", "https://youtu.be/")
_POINTER = "$ref"
_CHOICES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


def user_part(part: JsonObject, report: Report) -> JsonObject | None:
    """One part of user content; None for blank text. What cannot be sent is said in text."""
    sent = written_part(part, media_part, report)
    return {"text": sent["text"]} if sent is not None and sent.get("type") == "text" else sent


def media_part(media: Media) -> JsonObject | str:
    """An image or a file as data, or as a file of Google's; or what is wrong with it."""
    kind = media.media_type or ""
    if media.url is not None:
        if not media.url.startswith(_FILES):
            return "only Google's own files are taken by URL"
        named: JsonObject = {"mimeType": cleaned_text(kind)} if kind else {}
        return {"fileData": {"fileUri": cleaned_text(media.url), **named}}
    if media.kind == "file" and (media.text is not None or kind.startswith("text/")):
        text, problem = text_problem(media)
        return problem or {"type": "text", "text": text}
    if not _TYPES.fullmatch(kind):
        return refused(media)
    if media.data is None or not is_base64(media.data):
        return "its data is not base64"
    return {"inlineData": {"mimeType": kind, "data": media.data}}


def response_of(content: Json, failed: bool, report: Report) -> tuple[JsonObject, list[JsonObject]]:
    """What a function gave, as the object that G7 wants, and the images and files that stand behind the
    responses. An object is itself; anything else is `result`, of a failure `error`."""
    if isinstance(content, dict) and not failed:
        sent = cleaned(content)
        if sent != content:
            report("surrogates_replaced")
        return _without_pointers(sent), []
    text, moved = result_parts(content, failed, media_part, report)
    if failed:
        return {"error": text.removeprefix("[error] ")}, moved
    return {"result": text}, moved


def _without_pointers(value: Json) -> JsonObject:
    """A key `$ref` would be read as a pointer to a file (G7): it is sent as `$$ref`."""
    plain = _escaped(value)
    return plain if isinstance(plain, dict) else {}


def _escaped(value: Json) -> Json:
    if isinstance(value, dict):
        return {("$" + key if key == _POINTER else key): _escaped(item) for key, item in value.items()}
    return [_escaped(item) for item in value] if isinstance(value, list) else value


def declarations(tools: Json, names: Renamed, report: Report) -> list[JsonObject]:
    """The recorded tools as declarations of functions."""
    found: list[JsonObject] = []
    for tool in functions(tools, names, report):
        said: JsonObject = {} if tool.description is None else {"description": tool.description}
        found.append({"name": tool.name, **said, "parametersJsonSchema": tool.parameters})
    return found


def settings_of(given: Settings, thinking: JsonObject | None, *, tools: bool) -> JsonObject:
    """The recorded settings that this format has, and the target's thinking; a choice among tools only for a
    request that declares `tools`."""
    config: JsonObject = {}
    for ours, theirs, most in (("temperature", "temperature", 2.0), ("top_p", "topP", 1.0)):
        if kept := numbers(given, {ours: (0, most)}):
            config[theirs] = kept[ours]
    if (count := count_among(given, "max_tokens", "max_output_tokens")) is not None:
        config["maxOutputTokens"] = count
    if thinking is not None:
        config["thinkingConfig"] = thinking
    sent: JsonObject = {"generationConfig": config} if config else {}
    if choice := choice_among(given, tools=tools):
        sent["toolConfig"] = {"functionCallingConfig": {"mode": _CHOICES[str(choice["tool_choice"])]}}
    return sent
