"""What stands beside the AI SDK's messages: tools by name, call settings, options for the provider below."""

import re
from collections.abc import Sequence

from ledger.events import Json, JsonObject
from replay.options import Target
from replay.providers.ai_sdk_parts import Dialect, readable
from replay.providers.anthropic_models import asked_thinking
from replay.providers.anthropic_thinking import ToolLoop, in_force
from replay.providers.content import Report
from replay.providers.names import Renamed
from replay.providers.opaque import Opaque
from replay.providers.reasoning import ReasoningGate
from replay.providers.settings import Settings, choice_among, count_among, numbers
from replay.providers.tools import Tool, functions, recorded_tools
from replay.providers.wire_text import cleaned

_HOSTED = re.compile(r"web_(?:search|fetch)_[0-9]+")
_SAFE = 2**53


def tools_of(recorded: Json, names: Renamed, dialect: Dialect, family: str, report: Report) -> JsonObject:
    """Tools by name, their schemas as JSON Schema (`jsonSchema()` in the SDK).

    Tools that Anthropic runs itself are the SDK's own, by id, where `family` is Anthropic's.
    """
    plain: list[Json] = []
    hosted: list[Tool] = []
    for tool in recorded_tools(recorded):
        if isinstance(tool, Tool) and family == "anthropic" and _hosted_kind(tool) is not None:
            hosted.append(tool)
        else:
            plain.append(tool.recorded if isinstance(tool, Tool) else tool)
    written: JsonObject = {}
    for one in functions(plain, names, report):
        said: JsonObject = {} if one.description is None else {"description": one.description}
        written[one.name] = {**said, "inputSchema": readable(one.parameters)}
    for tool in hosted:
        sent = names.sent(tool.name)
        if sent in written:
            report("tool_definition_skipped", tool=tool.name)
            continue
        args = {key: value for key, value in tool.recorded.items() if key not in ("type", "name")}
        own = "provider-defined" if dialect == "v5" else "provider"
        told: JsonObject = {"id": f"anthropic.{_hosted_kind(tool)}", "name": sent}
        written[sent] = {"type": own, **told, "args": readable(cleaned(args))}
    return written


def _hosted_kind(tool: Tool) -> str | None:
    kind = tool.recorded.get("type")
    return kind if tool.schema is None and isinstance(kind, str) and _HOSTED.fullmatch(kind) else None


def settings_of(given: Settings, *, tools: bool) -> JsonObject:
    """The recorded settings that a call of the SDK has, where their values are what it takes."""
    kept: JsonObject = numbers(given, {"temperature": (0, 2)})
    for name in ("topP", "top_p"):
        if "topP" not in kept and (share := numbers(given, {name: (0, 1)})):
            kept["topP"] = share[name]
    most = count_among(given, "max_tokens", "max_output_tokens", "maxOutputTokens", most=_SAFE - 1)
    if most is not None:
        kept["maxOutputTokens"] = most
    if choice := choice_among(given, tools=tools):
        kept["toolChoice"] = choice["tool_choice"]
    return kept


def options_of(gate: ReasoningGate, target: Target, loop: ToolLoop, report: Report) -> JsonObject:
    """What the provider below must be told: whether responses are stored (V8), how it thinks (A24)."""
    if gate.family == "openai-responses":
        return {"openai": {"store": gate.stored}}
    if gate.family != "anthropic":
        return {}
    asked = asked_thinking(target.thinking, gate.below.model, report)
    if asked is None:
        return {}
    told = in_force(asked, loop)
    if told != asked:
        report("thinking_off")
    camel = {"budget_tokens": "budgetTokens", "block_binding": "blockBinding"}
    return {"anthropic": {"thinking": {camel.get(key, key): value for key, value in told.items()}}}


def as_anthropic(role: str, content: Sequence[JsonObject]) -> tuple[str, list[JsonObject]]:
    """Role and blocks of a message in the outlines in which `ToolLoop` reads them; the SDK merges them (V9)."""
    named = {"reasoning": "thinking", "tool-result": "tool_result"}
    kinds: list[JsonObject] = [{"type": named.get(str(part["type"]), part["type"])} for part in content]
    return "assistant" if role == "assistant" else "user", kinds


def reasoning_options(family: str, opaque: Opaque) -> JsonObject:
    """Where the SDK's provider packages look for what belongs to a reasoning part (V7)."""
    named: JsonObject
    if family == "openai-responses":
        named = {"itemId": opaque.item_id}
        if opaque.encrypted is not None:
            named["reasoningEncryptedContent"] = opaque.encrypted
        return {"providerOptions": {"openai": named}}
    if family == "google":
        return {"providerOptions": {"google": {"thoughtSignature": opaque.thought}}}
    if family in ("anthropic", "bedrock"):
        named = {"signature": opaque.signature}
        if opaque.redacted is not None:
            named = {"redactedData": opaque.redacted}
        return {"providerOptions": {family: named}}
    return {}
