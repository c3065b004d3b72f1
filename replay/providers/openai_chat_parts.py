"""Content as Chat Completions takes it: user parts, results as text, tool definitions, settings."""

import json
from collections.abc import Sequence

from ledger.events import Json, JsonObject
from replay.items import Thinking
from replay.parts import canonical, text_part
from replay.providers.content import (
    NO_ERROR_TEXT,
    Report,
    is_blank,
    is_content_list,
    sendable_text,
    written_part,
)
from replay.providers.media import Media, image_problem, refused, text_problem
from replay.providers.names import Names
from replay.providers.settings import counts, numbers, settings_in
from replay.providers.tools import Tool, recorded_tools
from replay.providers.wire_text import cleaned, cleaned_text, is_clean

NO_OUTPUT = "[the tool returned nothing]"
_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def json_text(value: JsonObject) -> str:
    """A call's arguments as the JSON string of O5, keys in the recorded order."""
    return _dump(value)


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
    """A result as the text of a tool message, and its images, which stand behind the run of results (O5).

    The text of a result that `failed` says so: the format has no field for it.
    """
    moved: list[JsonObject] = []
    if isinstance(content, str):
        text = sendable_text(content, report)
    elif is_content_list(content) and isinstance(content, list):
        texts: list[str] = []
        for block in content:
            part = user_part(block, images, report) if isinstance(block, dict) else None
            if part is not None and part["type"] == "text":
                texts.append(str(part["text"]))
            elif part is not None:
                moved.append(part)
        text = "\n\n".join(texts)
    else:
        text = sendable_text(canonical(content), report)
    if is_blank(text):
        text = NO_ERROR_TEXT if failed else NO_OUTPUT
    elif failed:
        text = f"[error] {text}"
    return text, moved


def definitions(tools: Json, names: Names, report: Report) -> list[JsonObject]:
    """The recorded tools as functions; a tool that another provider has itself is left out, and a second one of
    a name."""
    written: dict[str, JsonObject] = {}
    for tool in recorded_tools(tools):
        if not isinstance(tool, Tool) or tool.schema is None or tool.name in written:
            report("tool_definition_skipped", tool=tool.name if isinstance(tool, Tool) else None)
            continue
        function: JsonObject = {"name": names.sent(tool.name)}
        if tool.description is not None:
            function["description"] = cleaned_text(tool.description)
        function["parameters"] = cleaned({"type": "object", **tool.schema})
        written[tool.name] = {"type": "function", "function": function}
    return list(written.values())


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


def settings_of(context: JsonObject | None, *, tools: bool) -> JsonObject:
    """The recorded settings that this format has; a choice among tools only for a request that declares
    `tools`. One tool by name is not kept."""
    given = settings_in(context)
    kept = numbers(given, {"temperature": (0, 2), "top_p": (0, 1)})
    kept |= counts(given, "max_tokens", "max_completion_tokens")
    choice = given.get("tool_choice")
    if tools and isinstance(choice, str) and choice in ("auto", "none", "required"):
        kept["tool_choice"] = choice
    return kept
