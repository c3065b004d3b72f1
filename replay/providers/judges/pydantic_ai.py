"""Judges a message history for pydantic-ai: what the library cannot read, and what its providers refuse."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from ledger.events import Json, JsonObject
from replay.options import Target
from replay.providers.judges import Violation
from replay.providers.judges.pydantic_ai_shape import parts_of, shape
from replay.providers.rules.pydantic_ai import RULES

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ON_BEDROCK = re.compile(
    r"arn:aws[a-z-]*:bedrock:"
    r"|([a-z-]+\.)?(ai21|amazon|anthropic|cohere|deepseek|meta|mistral|openai|qwen|writer)\."
)
_NINE = re.compile(r"[a-zA-Z0-9]{9}")
_STRICT = ("anthropic", "bedrock", "google")
_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")


def judge(
    target: Target,
    request: Mapping[str, Json],
    sendable: bool,
    original: Sequence[Sequence[JsonObject]] | None,  # noqa: ARG001 - what is signed is the provider's matter
) -> list[Violation]:
    """Every rule that the request breaks; see `replay.providers.violations`."""
    return [
        Violation(rule, where, said, RULES[rule].mend)
        for rule, where, said in _judge(target, request, sendable)
    ]


def _provider(target: Target) -> str:
    """The provider below, by what the target calls its api, else by the model's name."""
    told = (target.api or target.model or "").lower()
    if target.api is None and _ON_BEDROCK.match(told):
        return "bedrock"
    for part, name in (
        ("bedrock", "bedrock"),
        ("anthropic", "anthropic"),
        ("claude", "anthropic"),
        ("google", "google"),
        ("gemini", "google"),
        ("responses", "openai"),
        ("mistral", "mistral"),
    ):
        if part in told:
            return name
    if told == "messages":
        return "anthropic"
    return "openai" if target.api is None and re.match(r"(openai:)?(gpt-(?!oss)|o\d|codex)", told) else ""


def _judge(target: Target, request: Mapping[str, Json], sendable: bool) -> Iterator[tuple[str, str, str]]:
    messages = request.get("messages")
    if not isinstance(messages, list):
        yield "P6", "messages", "messages is a list"
        return
    for at, message in enumerate(messages):
        yield from shape(message, f"messages.{at}")
    whole = [message if isinstance(message, dict) else {} for message in messages]
    provider = _provider(target)
    yield from _calls(whole, sendable)
    yield from _hosted(whole)
    yield from _thinking(whole)
    yield from _names(provider, request, whole)
    asked = next((at for at, message in enumerate(whole) if _asks(message)), len(whole))
    first = next((at for at, message in enumerate(whole) if message.get("kind") == "response"), None)
    if provider in _STRICT and first is not None and first < asked:
        yield "P8", f"messages.{first}", "the assistant is first"
    if provider == "bedrock":
        yield from _bedrock(request, whole)
    if sendable and not (whole and whole[-1].get("kind") == "request" and asked < len(whole)):
        yield "X5", f"messages.{len(whole) - 1}" if whole else "messages", "there is nothing to answer"
    if any("\ud800" <= character <= "\udfff" for character in json.dumps(dict(request), ensure_ascii=False)):
        yield "S1", "messages", "a lone surrogate"


def _bedrock(request: Mapping[str, Json], messages: list[JsonObject]) -> Iterator[tuple[str, str, str]]:
    for at in range(1, len(messages)):
        if messages[at].get("kind") == messages[at - 1].get("kind") == "response":
            yield "P12", f"messages.{at}", "a response behind a response"
    parameters = request.get("model_request_parameters")
    declared = isinstance(parameters, dict) and parameters.get("function_tools")
    called = any(part.get("part_kind") == "tool-call" for one in messages for part in parts_of(one))
    if called and not declared:
        yield "P13", "model_request_parameters.function_tools", "tools are called and none is declared"


def _asks(message: JsonObject) -> bool:
    """Whether a request says something to the model beside its instructions."""
    return any(part.get("part_kind") not in (None, "system-prompt") for part in parts_of(message)) and (
        message.get("kind") == "request"
    )


def _answers(part: JsonObject) -> bool:
    return part.get("part_kind") == "tool-return" or (
        part.get("part_kind") == "retry-prompt" and part.get("tool_name") is not None
    )


def _calls(messages: list[JsonObject], sendable: bool) -> Iterator[tuple[str, str, str]]:
    """Each call against the returns between its response and whatever comes next."""
    called: dict[str, str] = {}
    waiting: dict[str, str] = {}
    open_at = "messages"
    last = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].get("kind") == "response"), -1)
    while last > 0 and messages[last - 1].get("kind") == "response":
        last -= 1
    for at, message in enumerate(messages):
        if message.get("kind") == "response" and (sendable or at <= last):
            for name, where in waiting.items():
                yield "P1", where, f"the call {name} has no return before messages.{at}"
            waiting = {}
        for number, part in enumerate(parts_of(message)):
            where, name = f"messages.{at}.parts.{number}", str(part.get("tool_call_id"))
            if message.get("kind") == "response":
                if part.get("part_kind") in ("tool-call", "builtin-tool-call"):
                    if name in called:
                        yield "P3", where, f"the id {name} stands at {called[name]} already"
                    called[name] = where
                    if part.get("part_kind") == "tool-call":
                        waiting[name], open_at = where, where
                        yield from _arguments(part, where)
            elif _answers(part):
                if waiting.pop(name, None) is None:
                    yield "P2", where, f"no call {name} is waiting for it"
            elif waiting and part.get("part_kind") != "retry-prompt" and (sendable or at < last):
                yield "P1", open_at, f"something stands before the return of {', '.join(waiting)}"
                waiting = {}
    if sendable:
        for name, where in waiting.items():
            yield "P1", where, f"the call {name} has no return"


def _arguments(part: JsonObject, where: str) -> Iterator[tuple[str, str, str]]:
    args = part.get("args")
    if isinstance(args, str):
        try:
            args = json.loads(args)
        except ValueError:
            args = []
    if args is not None and not isinstance(args, dict):
        yield "X6", f"{where}.args", "the arguments are no object"


def _hosted(messages: list[JsonObject]) -> Iterator[tuple[str, str, str]]:
    for at, message in enumerate(messages):
        calls: dict[str, str] = {}
        for number, part in enumerate(parts_of(message)):
            where, name = f"messages.{at}.parts.{number}", str(part.get("tool_call_id"))
            if part.get("part_kind") not in ("builtin-tool-call", "builtin-tool-return"):
                continue
            if not part.get("provider_name"):
                yield "P7", where, "it does not name the provider that ran it"
            if part.get("part_kind") == "builtin-tool-call":
                calls[name] = where
            elif calls.pop(name, None) is None:
                yield "P7", where, f"the call {name} is not in this response before it"
        for name, where in calls.items():
            yield "P7", where, f"the call {name} has no return in this response"


def _thinking(messages: list[JsonObject]) -> Iterator[tuple[str, str, str]]:
    for at, message in enumerate(messages):
        for number, part in enumerate(parts_of(message)):
            if part.get("part_kind") != "thinking":
                continue
            details = part.get("provider_details")
            sealed = part.get("signature") or part.get("id") or (isinstance(details, dict) and details)
            if not sealed or not part.get("provider_name"):
                yield "P5", f"messages.{at}.parts.{number}", "the library would show it as text"
            elif part.get("id") in _FIELDS and not part.get("content"):
                yield "P5", f"messages.{at}.parts.{number}", "a field without text"


def _names(
    provider: str, request: Mapping[str, Json], messages: list[JsonObject]
) -> Iterator[tuple[str, str, str]]:
    for at, message in enumerate(messages):
        for number, part in enumerate(parts_of(message)):
            where = f"messages.{at}.parts.{number}"
            name, call = part.get("tool_name"), part.get("tool_call_id")
            if isinstance(name, str) and not _NAME.fullmatch(name):
                yield "P9", f"{where}.tool_name", f"the name {name!r}"
            fits = {"anthropic": _NAME, "bedrock": _NAME, "mistral": _NINE}.get(provider)
            if isinstance(call, str) and (not call or (fits is not None and not fits.fullmatch(call))):
                yield "P9", f"{where}.tool_call_id", f"the id {call!r}"
    parameters = request.get("model_request_parameters")
    tools = parameters.get("function_tools") if isinstance(parameters, dict) else None
    for at, tool in enumerate(tools if isinstance(tools, list) else ()):
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            yield "P9", f"model_request_parameters.function_tools.{at}.name", f"the name {name!r}"
