"""Saved requests of providers' APIs (specs/formats.md 9, 10): what a model was given, message by message.

A file is a request's body, or only its messages. A record is a message, named by its number, so that a longer
request of the same conversation adds what is new, and one whose earlier messages were edited says so.
"""

from collections.abc import Callable, Iterator

from ledger.errors import NotASession
from ledger.events import Json, JsonObject
from ledger.intake.found import Findings, Found, element
from ledger.intake.linear import Linear, Mapper
from ledger.intake.mending import NotARecord, read_record
from ledger.intake.requests.anthropic import AnthropicRequest
from ledger.intake.requests.openai_chat import ChatRequest
from ledger.intake.requests.openai_responses import ResponsesRequest
from ledger.intake.scribe import Scribe
from ledger.intake.sniffing import document_keys
from ledger.intake.transcript import Format, Source

MOST_BYTES = 256 * 1024 * 1024
"""Bytes of a request that is read: providers take far less."""


def _body(source: Source, key: str, runtime: str) -> tuple[JsonObject, list[Json]]:
    """What stands beside the messages, and the messages.

    Raises `NotASession` for what is no request.
    """
    if source.size > MOST_BYTES:
        problem = f"{source.size:,} bytes are more than any request has"
        raise NotASession(file=source.name, runtime=runtime, problem=problem)
    try:
        value, _ = read_record(b"".join(source.chunks()))
    except NotARecord as error:
        raise NotASession(
            file=source.name, runtime=runtime, problem=f"it is no JSON document: {error}"
        ) from None
    inner = value.get("request", value.get("body")) if isinstance(value, dict) else None
    body: JsonObject = inner if isinstance(inner, dict) else value if isinstance(value, dict) else {key: value}
    messages = body.get(key)
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if not isinstance(messages, list) or not messages:
        raise NotASession(file=source.name, runtime=runtime, problem=f"it has no {key}")
    return {name: item for name, item in body.items() if name != key}, messages


def _format(
    name: str,
    title: str,
    key: str,
    begin: Callable[[Scribe, JsonObject], Mapper],
    looks_like: Callable[[bytes], bool],
) -> Format:
    def read(source: Source, named: str | None = None) -> Linear:
        beside, messages = _body(source, key, name)

        def found(findings: Findings) -> Iterator[Found]:
            for number, message in enumerate(messages, start=1):
                findings.lines += 1
                yield element(number, message, findings)

        session = source.name.removesuffix(".json")
        return Linear(name, source.name, session, named, found, lambda scribe: begin(scribe, beside))

    return Format(name, title, (".json",), read, lambda file, head: file.endswith(".json") and looks_like(head))


def _is_document(head: bytes) -> bool:
    return head.lstrip().startswith((b"{", b"["))


def _anthropic(head: bytes) -> bool:
    keys = document_keys(head)
    blocks = any(f'"{kind}"'.encode() in head for kind in ("tool_use", "tool_result", "thinking"))
    top = "messages" in keys and bool(keys & {"max_tokens", "system", "thinking", "input_schema"})
    chat = keys & {"tool_calls", "tool_call_id", "parts", "parentUuid", "sessionId", "payload", "part_kind"}
    return (
        _is_document(head)
        and {"role", "content"} <= keys
        and (blocks or top)
        and not chat
        and not _is_chat(head)
    )


def _is_chat(head: bytes) -> bool:
    return any(
        f'"role":{space}"{role}"'.encode() in head
        for space in ("", " ")
        for role in ("system", "tool", "developer")
    )


def _chat(head: bytes) -> bool:
    keys = document_keys(head)
    other = keys & {"parts", "parentUuid", "sessionId", "payload", "part_kind", "call_id"}
    told = {"role", "content"} <= keys and ("tool_calls" in keys or _is_chat(head))
    return _is_document(head) and told and not other and b'"tool_use"' not in head


def _responses(head: bytes) -> bool:
    keys = document_keys(head)
    items = any(
        kind in head
        for kind in (b'"function_call"', b'"function_call_output"', b'"input_text"', b'"output_text"')
    )
    other = keys & {"payload", "parentUuid", "sessionId", "part_kind", "tool_calls", "choices", "output_index"}
    return _is_document(head) and items and ("input" in keys or head.lstrip().startswith(b"[")) and not other


ANTHROPIC = _format(
    "anthropic", "saved requests to Anthropic's Messages", "messages", AnthropicRequest, _anthropic
)
CHAT = _format("openai-chat", "saved requests to Chat Completions", "messages", ChatRequest, _chat)
RESPONSES = _format(
    "openai-responses", "saved requests to OpenAI's Responses", "input", ResponsesRequest, _responses
)

__all__ = ["ANTHROPIC", "CHAT", "RESPONSES"]
