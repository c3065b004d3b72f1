"""What a provider ran itself, as the AI SDK holds it: call and result together in the assistant's message (V5).

Only Anthropic's searches and fetches go back, whose results stand on their own (A33); the SDK reads them in
its own spelling and throws at any other, so a result is sent only in that, or translated from the provider's.
"""

from ledger.events import Json, JsonObject
from replay.items import Call, HostedResult
from replay.providers.reasoning import ReasoningGate
from replay.providers.wire_text import is_clean

_TOOLS = ("web_search", "web_fetch")
_CAMEL = {
    "encrypted_content": "encryptedContent",
    "page_age": "pageAge",
    "retrieved_at": "retrievedAt",
    "media_type": "mediaType",
    "error_code": "errorCode",
}


def hosted_output(
    call: Call, result: HostedResult | None, gate: ReasoningGate, tools: JsonObject
) -> JsonObject | str:
    """The output of a call's result, or why call and result are left out; `tools` are the request's."""
    name = call.event.tool_name
    if gate.family != "anthropic" or not gate.own(call.step):
        return "another provider ran it"
    if name not in _TOOLS:
        return "its tool refers to state that is not in the request"
    if not any(_runs(tool, name) for tool in tools.values()):
        return "the request declares no tool that runs it"
    if result is None or result.step is not call.step:
        return "it has no result in its step"
    if not isinstance(call.event.args, dict) or not call.id.startswith("srvtoolu_"):
        return "it is not recorded as the provider made it"
    value = _camel(result.event.content)
    if not is_clean([value, call.event.args]):
        return "it is not recorded as the provider made it"
    if name == "web_search" and _are_hits(value):
        return {"type": "json", "value": value}
    if name == "web_fetch" and _is_page(value):
        return {"type": "json", "value": value}
    return "its result is not recorded as the provider made it"


def _runs(tool: Json, name: str) -> bool:
    return isinstance(tool, dict) and str(tool.get("id", "")).startswith(f"anthropic.{name}_")


def _camel(value: Json) -> Json:
    if isinstance(value, dict):
        return {_CAMEL.get(key, key): _camel(item) for key, item in value.items()}
    return [_camel(item) for item in value] if isinstance(value, list) else value


def _are_hits(value: Json) -> bool:
    return isinstance(value, list) and all(
        isinstance(hit, dict)
        and hit.get("type") == "web_search_result"
        and all(isinstance(hit.get(key), str) for key in ("url", "title", "encryptedContent"))
        and isinstance(hit.get("pageAge"), str | None)
        for hit in value
    )


def _is_page(value: Json) -> bool:
    document = value.get("content") if isinstance(value, dict) else None
    source = document.get("source") if isinstance(document, dict) else None
    return (
        isinstance(value, dict)
        and value.get("type") == "web_fetch_result"
        and isinstance(value.get("url"), str)
        and isinstance(source, dict)
        and isinstance(source.get("mediaType"), str)
        and isinstance(source.get("data"), str)
    )
