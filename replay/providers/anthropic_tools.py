"""Anthropic's tools: definitions beside the messages, and blocks of tools that the provider runs (A32, A33).

Only searches and fetches go back as the provider's own blocks: their results are self-contained. The others
refer to state of the account (a container, a server), so they are left out, call and result together.
"""

import re
from collections.abc import Sequence
from copy import copy
from typing import cast

from ledger.events import Json, JsonObject
from replay.growing import Known
from replay.items import Call, HostedResult
from replay.materialize import Message
from replay.providers.content import Report
from replay.providers.names import Names
from replay.providers.tools import Tool, recorded_tools
from replay.providers.wire_text import cleaned, is_clean

_SERVER_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
_OWN = re.compile(r"[a-z_0-9]+_[0-9]{8}")
"""The types of the provider's own tools."""
NAME_LIMIT = 128
_OBJECT: JsonObject = {"type": "object"}
_RESULTS = {"web_search": "web_search_tool_result", "web_fetch": "web_fetch_tool_result"}
_ERRORS = {"web_search": "web_search_tool_result_error", "web_fetch": "web_fetch_tool_result_error"}
_SEARCH_KEYS = ("type", "url", "title", "encrypted_content", "page_age")
_CLIENT_KEYS = frozenset(
    {
        "allowed_callers",
        "cache_control",
        "defer_loading",
        "description",
        "eager_input_streaming",
        "input_examples",
        "input_schema",
        "name",
        "strict",
        "type",
    }
)


def tool_definitions(tools: Json, names: Names, report: Report) -> list[JsonObject]:
    """The recorded tools (`tools.recorded_tools`) as this format spells them; the provider's own are kept as
    they are, those of others and a second one of a name are left out and said."""
    written: dict[str, JsonObject] = {}
    for tool in recorded_tools(tools):
        named = tool.name if isinstance(tool, Tool) else tool if isinstance(tool, str) else None
        if isinstance(tool, Tool) and tool.name not in written and (tool.schema is not None or _is_own(tool)):
            written[tool.name] = _definition(tool, names)
        else:
            report("tool_definition_skipped", tool=named)
    return list(written.values())


def _is_own(tool: Tool) -> bool:
    """Whether a tool without a schema is one that this provider has itself."""
    kind = tool.recorded.get("type")
    return isinstance(kind, str) and _OWN.fullmatch(kind) is not None


def _definition(tool: Tool, names: Names) -> JsonObject:
    if tool.schema is None:
        return cast(JsonObject, cleaned(tool.recorded))
    definition: JsonObject = {"name": names.sent(tool.name)}
    if tool.description is not None:
        definition["description"] = tool.description
    definition["input_schema"] = {"type": "object", **tool.schema, **_OBJECT}
    if "input_schema" in tool.recorded:
        known = {key: item for key, item in tool.recorded.items() if key in _CLIENT_KEYS and item is not None}
        definition = {**known, **definition}
    return cast(JsonObject, cleaned(definition))


class HostedTools:
    """Which provider-executed blocks can go back, given the tools that the request declares."""

    def __init__(self, provider: str, tools: Sequence[JsonObject]) -> None:
        self._provider = provider
        self._declared = [kind for tool in tools if isinstance(kind := tool.get("type"), str)]
        self._sent: Known[Call, None] = Known()
        self.ids: Known[str, None] = Known()  # of the calls that are in the request
        self.urls: Known[str, None] = Known()  # of the search results that are

    def waits(self, message: Message) -> bool:
        """True for a message with a call that only what follows decides about: its result is not beside it."""
        return any(
            isinstance(origin, Call)
            and origin.hosted
            and (origin.hosted_result is None or origin.hosted_result.step is not origin.step)
            for origin in message.origins
        )

    def fork(self) -> "HostedTools":
        """A copy that goes on apart."""
        twin = copy(self)
        twin._sent, twin.ids, twin.urls = self._sent.fork(), self.ids.fork(), self.urls.fork()
        return twin

    def call(self, call: Call, following: Sequence[Message]) -> JsonObject | str:
        """The block for a call, or why it is left out; `following` are its message and what is known of those
        behind it, up to the first that holds no results."""
        name = call.event.tool_name
        problem = self._refused(call, name)
        if problem is not None:
            return problem
        if call.hosted_result is None:
            over = call.step.turn.terminal is not None and call.step.finish_reason != "pause_turn"
            if over or any(message.role != "tool" for message in following[1:]):
                return "it has no result in its turn"
        else:
            if isinstance(result := self._result(call.hosted_result), str):
                return result
            if not self._reached(call.hosted_result, following):
                return "its result is not in the same turn"
        self._sent.put(call, None)
        self.ids.put(call.id, None)
        return {"type": "server_tool_use", "id": call.id, "name": name, "input": call.event.args}

    def result(self, result: HostedResult) -> JsonObject | str:
        """The block for a result, or why it is left out."""
        block = self._result(result) if result.call in self._sent else "its call is left out"
        hits = block.get("content") if isinstance(block, dict) else None
        if isinstance(hits, list):
            for hit in hits:
                if isinstance(hit, dict):
                    self.urls.put(str(hit["url"]), None)
        return block

    def _refused(self, call: Call, name: str) -> str | None:
        if call.step.provider != self._provider:
            return "another provider ran it"
        if name not in _RESULTS:
            return "its tool refers to state that is not in the request"
        if not any(kind.startswith(f"{name}_") for kind in self._declared):
            return "the request declares no tool that runs it"
        if (
            not _SERVER_ID.fullmatch(call.id)
            or not isinstance(call.event.args, dict)
            or not is_clean(call.event.args)
        ):
            return "it is not recorded as the provider made it"
        return None

    def _reached(self, result: HostedResult, following: Sequence[Message]) -> bool:
        """True when the result stands in this message or in the next assistant one, results alone between."""
        for number, message in enumerate(following):
            if message.role == "assistant":
                if any(origin is result for origin in message.origins):
                    return True
                if number:
                    return False
            elif message.role != "tool":
                return False
        return False

    def _result(self, result: HostedResult) -> JsonObject | str:
        name, content = result.call.event.tool_name, result.event.content
        if result.step.provider != self._provider:
            return "another provider ran it"
        found = _search(content) if name == "web_search" else _fetch(content)
        if isinstance(content, dict) and content.get("type") == _ERRORS[name]:
            found = {"type": content["type"], "error_code": content.get("error_code")}
            if not isinstance(content.get("error_code"), str):
                found = None
        if found is None or not is_clean(found):
            return "its result is not recorded as the provider made it"
        return {"type": _RESULTS[name], "tool_use_id": result.call.id, "content": found}


def _search(content: Json) -> Json:
    if not isinstance(content, list):
        return None
    hits: list[Json] = []
    for hit in content:
        if not isinstance(hit, dict) or hit.get("type") != "web_search_result":
            return None
        if not all(isinstance(hit.get(key), str) for key in _SEARCH_KEYS[:4]):
            return None
        hits.append({key: hit[key] for key in _SEARCH_KEYS if isinstance(hit.get(key), str)})
    return hits


def _fetch(content: Json) -> Json:
    if not isinstance(content, dict) or content.get("type") != "web_fetch_result":
        return None
    document = content.get("content")
    if (
        not isinstance(document, dict)
        or document.get("type") != "document"
        or not isinstance(content.get("url"), str)
    ):
        return None
    return {
        key: content[key] for key in ("type", "url", "content", "retrieved_at") if content.get(key) is not None
    }
