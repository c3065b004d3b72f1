"""Content as Chat Completions takes it: user parts, results as text, tool definitions, settings."""

from collections.abc import Sequence

from pydantic_core import PydanticSerializationError, to_json

from ledger.events import Json, JsonObject
from replay.items import Thinking
from replay.parts import text_part
from replay.providers.content import OUTPUT_BELOW, Report, input_object, result_parts, written_part
from replay.providers.media import Media, image_problem, refused, text_problem
from replay.providers.names import Renamed
from replay.providers.settings import Settings, choice_among, counts, numbers
from replay.providers.tools import functions
from replay.providers.wire_text import cleaned_text, is_clean


def json_text(value: JsonObject) -> str:
    """A call's arguments as the JSON string of O5, keys in the recorded order."""
    return to_json(value).decode()


def arguments_text(args: Json, report: Report) -> str:
    """What a call was given, as the JSON string of O5; see `input_object`."""
    if isinstance(args, dict):
        try:
            return json_text(args)  # it refuses what is not clean
        except PydanticSerializationError:
            pass
    return json_text(input_object(args, report))


def user_part(part: JsonObject, images: bool, report: Report) -> JsonObject | None:
    """One part of user content; None for blank text. What cannot be sent is said in text."""
    return written_part(part, _media if images else _text_alone, report)


def _media(media: Media) -> JsonObject | str:
    if media.kind == "file":
        return _file(media)
    if media.url is not None:
        return {"type": "image_url", "image_url": {"url": cleaned_text(media.url)}}
    problem = image_problem(media)
    return problem or {
        "type": "image_url",
        "image_url": {"url": f"data:{media.media_type};base64,{media.data}"},
    }


def _text_alone(media: Media) -> JsonObject | str:
    return _file(media) if media.kind == "file" else "this model takes text only"


def _file(media: Media) -> JsonObject | str:
    """A text file is its text; other files are not taken by all servers of this format."""
    if media.text is None and not (media.media_type or "").startswith("text/"):
        return refused(media)
    text, problem = text_problem(media)
    return problem or text_part(text)


def result_text(content: Json, failed: bool, images: bool, report: Report) -> tuple[str, list[JsonObject]]:
    """A result as the text of a tool message, and its images, which stand behind the run of results (O5)."""
    text, moved = result_parts(content, failed, _media if images else _text_alone, report)
    return text or OUTPUT_BELOW, moved


def definitions(tools: Json, names: Renamed, report: Report) -> list[JsonObject]:
    """The recorded tools as functions."""
    written: list[JsonObject] = []
    for tool in functions(tools, names, report):
        said: JsonObject = {} if tool.description is None else {"description": tool.description}
        function: JsonObject = {"name": tool.name, **said, "parameters": tool.parameters}
        written.append({"type": "function", "function": function})
    return written


def reasoning_details(sent: Sequence[Thinking]) -> list[Json]:
    """The structured reasoning of a step, as it was recorded (O26, X3); empty unless every block has its own.

    It holds the upstream's signatures, so it goes back whole and unchanged, or not at all.
    """
    whole: list[Json] = []
    for thinking in sent:
        told = thinking.provider_metadata
        details = told.get("reasoning_details") if isinstance(told, dict) else None
        if not isinstance(details, list) or not details or not is_clean(details):
            return []
        whole += details
    return whole


def settings_of(given: Settings, *, tools: bool) -> JsonObject:
    """The recorded settings that this format has; a choice among tools only for a request that declares
    `tools`. One tool by name is not kept."""
    kept = numbers(given, {"temperature": (0, 2), "top_p": (0, 1)})
    kept |= counts(given, "max_tokens", "max_completion_tokens")
    return kept | choice_among(given, tools=tools)
