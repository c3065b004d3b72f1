"""The recorded tools as the Responses API is told of them: functions, and custom tools of free text."""

from ledger.events import Json, JsonObject
from replay.providers.content import Report
from replay.providers.names import Renamed
from replay.providers.tools import functions
from replay.providers.wire_text import cleaned_text

_SCHEMAS = (
    "input_schema",
    "parameters",
    "inputSchema",
)  # what makes a `custom` tool of another format a function


def definitions(tools: Json, names: Renamed, report: Report) -> list[JsonObject]:
    """The tools that can be declared, functions first. Never strict: not every schema may be."""
    custom = [one for one in tools if _is_custom(one)] if isinstance(tools, list) else []
    others: Json = [one for one in tools if not _is_custom(one)] if isinstance(tools, list) else tools
    found: dict[str, JsonObject] = {}
    for tool in functions(others, names, report):
        said: JsonObject = {} if tool.description is None else {"description": tool.description}
        parameters: JsonObject = {"parameters": tool.parameters, "strict": False}
        found[tool.name] = {"type": "function", "name": tool.name, **said, **parameters}
    for one in custom:
        if isinstance(one, dict):
            name = names.sent(str(one["name"]))
            if name in found:
                report("tool_definition_skipped", tool=one["name"])
            else:
                found[name] = _custom(name, one)
    return list(found.values())


def _is_custom(tool: Json) -> bool:
    return (
        isinstance(tool, dict)
        and tool.get("type") == "custom"
        and isinstance(tool.get("name"), str)
        and not any(key in tool for key in _SCHEMAS)
    )


def _custom(name: str, tool: JsonObject) -> JsonObject:
    written: JsonObject = {"type": "custom", "name": name}
    if isinstance(said := tool.get("description"), str) and said:
        written["description"] = cleaned_text(said)
    form = tool.get("format")
    if isinstance(form, dict) and form.get("type") == "grammar":
        definition, syntax = form.get("definition"), form.get("syntax")
        if isinstance(definition, str) and syntax in ("lark", "regex"):
            written["format"] = {"type": "grammar", "definition": cleaned_text(definition), "syntax": syntax}
    return written
