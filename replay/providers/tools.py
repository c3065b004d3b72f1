"""Tool definitions as runtimes record them, read into one shape that every renderer can write from."""

from collections.abc import Iterator
from typing import NamedTuple

from ledger.events import Json, JsonObject
from replay.providers.content import Report
from replay.providers.names import Renamed
from replay.providers.wire_text import cleaned, cleaned_text

_OBJECT: JsonObject = {"type": "object"}
_SCHEMAS = ("input_schema", "parameters", "inputSchema")


class Tool(NamedTuple):
    """One recorded tool. `schema` describes its input; None for a tool that a provider has itself.

    `recorded` is the object that holds name and schema, as it is.
    """

    name: str
    description: str | None
    schema: JsonObject | None
    recorded: JsonObject


class Function(NamedTuple):
    """A tool as it is declared: a sent name, clean texts, a schema of type object."""

    name: str
    description: str | None
    parameters: JsonObject


def functions(tools: Json, names: Renamed, report: Report) -> list[Function]:
    """The recorded tools that any provider can be told of; a tool that a provider has itself is left out and
    said, and so is a second one of a name."""
    found: dict[str, Function] = {}
    for tool in recorded_tools(tools):
        if not isinstance(tool, Tool) or tool.schema is None or tool.name in found:
            report("tool_definition_skipped", tool=tool.name if isinstance(tool, Tool) else None)
            continue
        schema = cleaned({"type": "object", **tool.schema, **_OBJECT})
        description = None if tool.description is None else cleaned_text(tool.description)
        found[tool.name] = Function(
            names.sent(tool.name), description, schema if isinstance(schema, dict) else {"type": "object"}
        )
    return list(found.values())


def recorded_tools(tools: Json) -> Iterator[Tool | Json]:
    """The tools of a context, in order; what is no tool that can be read comes as it is.

    Understood: Anthropic's own (also server tools), `{"name", "parameters"}`, MCP's `{"name", "inputSchema"}`,
    and OpenAI's `{"type": "function", "function": {...}}`; a list, or an object by name.
    """
    if isinstance(tools, dict):
        tools = [{"name": name, **tool} for name, tool in tools.items() if isinstance(tool, dict)]
    for tool in tools if isinstance(tools, list) else ():
        yield tool if (read := _read(tool)) is None else read


def _read(tool: Json) -> Tool | None:
    inner = tool.get("function") if isinstance(tool, dict) else None
    if isinstance(inner, dict):
        tool = inner
    if not isinstance(tool, dict) or not isinstance(name := tool.get("name"), str):
        return None
    said = tool.get("description")
    description = said if isinstance(said, str) and said else None
    kind = tool.get("type")
    if isinstance(kind, str) and kind not in ("custom", "function"):
        return Tool(name, description, None, tool)
    schema = next((tool[key] for key in _SCHEMAS if key in tool), None)
    return Tool(name, description, schema, tool) if isinstance(schema, dict) else None
