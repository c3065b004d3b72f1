"""Judges the arguments of the AI SDK's `generateText`: what the SDK throws at, what its providers refuse."""

import re
from collections.abc import Iterator, Mapping, Sequence

from ledger.events import Json, JsonObject
from replay.options import Target
from replay.providers.judges import Violation, has_surrogates
from replay.providers.judges.ai_sdk_shape import parts_of, shape
from replay.providers.rules.ai_sdk import RULES

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ON_BEDROCK = re.compile(
    r"arn:aws[a-z-]*:bedrock:"
    r"|([a-z-]+\.)?(ai21|amazon|anthropic|cohere|deepseek|meta|mistral|openai|qwen|writer)\."
)
_NINE = re.compile(r"[a-zA-Z0-9]{9}")
_NARROW = re.compile(r"[a-zA-Z0-9_-]{1,200}")


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


def _provider(target: Target, request: Mapping[str, Json]) -> str:
    """The provider below, by what the target calls its api, else by the name of the target's or the request's
    model."""
    named = (target.api or "").lower()
    for part, name in (
        ("bedrock", "bedrock"),
        ("anthropic", "anthropic"),
        ("messages", "anthropic"),
        ("responses", "openai"),
        ("google", "google"),
        ("gemini", "google"),
        ("mistral", "mistral"),
    ):
        if part in named:
            return name
    if target.api is not None:
        return ""
    told = request.get("model")
    model = (target.model or (told if isinstance(told, str) else "")).lower()
    if _ON_BEDROCK.match(model):
        return "bedrock"
    if "claude" in model:
        return "anthropic"
    for part, name in (("gemini", "google"), ("mistral", "mistral")):
        if part in model:
            return name
    return "openai" if re.match(r"(openai/)?(gpt-(?!oss)|o\d|codex)", model) else ""


def _judge(target: Target, request: Mapping[str, Json], sendable: bool) -> Iterator[tuple[str, str, str]]:
    version = target.dialect or "v7"
    messages = request.get("messages")
    if not isinstance(messages, list):
        yield "V12", "messages", "messages is a list"
        return
    for at, message in enumerate(messages):
        yield from shape(version, message, f"messages.{at}")
    whole = [message if isinstance(message, dict) else {} for message in messages]
    provider = _provider(target, request)
    yield from _order(version, request, whole)
    yield from _calls(whole, sendable)
    yield from _approvals(whole)
    yield from _reasoning(provider, _stored(request), whole)
    yield from _names(provider, request, whole)
    first = next((message for message in whole if message.get("role") != "system"), None)
    if (
        provider in ("anthropic", "bedrock", "google")
        and first is not None
        and first.get("role") == "assistant"
    ):
        yield "V16", f"messages.{whole.index(first)}", "the assistant is first"
    if sendable and (not whole or whole[-1].get("role") not in ("user", "tool")):
        yield "X5", f"messages.{len(whole) - 1}" if whole else "messages", "there is nothing to answer"
    if has_surrogates(dict(request)):
        yield "S1", "messages", "a lone surrogate"


def _stored(request: Mapping[str, Json]) -> bool:
    """The SDK takes responses to be stored unless it is told otherwise."""
    options = request.get("providerOptions")
    openai = options.get("openai") if isinstance(options, dict) else None
    return not (isinstance(openai, dict) and openai.get("store") is False)


def _order(
    version: str, request: Mapping[str, Json], messages: list[JsonObject]
) -> Iterator[tuple[str, str, str]]:
    started = version == "v7"
    for at, message in enumerate(messages):
        if message.get("role") != "system":
            started = True
        elif started and not (version == "v7" and request.get("allowSystemInMessages") is True):
            yield "V13", f"messages.{at}", "a system message"


def _calls(messages: list[JsonObject], sendable: bool) -> Iterator[tuple[str, str, str]]:
    """Every call against its one result, in the order in which the SDK walks them."""
    called: dict[str, str] = {}  # every call of the request, and where
    hosted: set[str] = set()
    waiting: dict[str, str] = {}
    answered: set[str] = set()
    last = max((at for at, one in enumerate(messages) if one.get("role") == "assistant"), default=-1)
    for at, message in enumerate(messages):
        role = message.get("role")
        if role in ("user", "system") and (sendable or at < last):  # the last ones may be open in a start (X8)
            for name, where in waiting.items():
                yield "V1", where, f"the call {name} has no result before messages.{at}"
            waiting = {}
        for number, part in enumerate(parts_of(message)):
            where, name = f"messages.{at}.content.{number}", str(part.get("toolCallId"))
            if part.get("type") == "tool-call" and role == "assistant":
                if name in called:
                    yield "X1", where, f"the id {name} stands at {called[name]} already"
                called[name] = where
                if part.get("providerExecuted") is True:
                    hosted.add(name)
                else:
                    waiting[name] = where
            elif part.get("type") == "tool-result":
                if name not in called:
                    yield "X2", where, f"there is no call {name} before it"
                elif name in answered:
                    yield "X1", where, f"a second result of {name}"
                elif (role == "tool") is (name in hosted):
                    yield "V5", where, f"the result of {name} belongs in the other message"
                elif role == "tool" and name not in waiting:
                    yield "X2", where, f"the call {name} is not open any more"
                answered.add(name)
                waiting.pop(name, None)
    for name, where in waiting.items():
        if sendable and name not in _about_to_run(messages):
            yield "V1", where, f"the call {name} has no result"


def _about_to_run(messages: list[JsonObject]) -> set[str]:
    """The calls whose approval was answered in the last message."""
    answers = {
        part.get("approvalId")
        for part in parts_of(messages[-1])
        if part.get("type") == "tool-approval-response"
    }
    return {
        str(part.get("toolCallId"))
        for message in messages
        for part in parts_of(message)
        if part.get("type") == "tool-approval-request" and part.get("approvalId") in answers
    }


def _approvals(messages: list[JsonObject]) -> Iterator[tuple[str, str, str]]:
    asked: set[str] = set()
    for at, message in enumerate(messages):
        parts = parts_of(message)
        here = {part.get("toolCallId") for part in parts if part.get("type") == "tool-call"}
        for number, part in enumerate(parts):
            where = f"messages.{at}.content.{number}"
            if part.get("type") == "tool-approval-request":
                asked.add(str(part.get("approvalId")))
                if part.get("toolCallId") not in here:
                    yield "V11", where, "its call is not in this message"
            elif part.get("type") == "tool-approval-response" and str(part.get("approvalId")) not in asked:
                yield "V11", where, "nothing asked for it"


_IDENTITY = {
    "anthropic": ("signature", "redactedData"),
    "bedrock": ("signature", "redactedData", "redactedContent"),
    "openai": ("itemId", "reasoningEncryptedContent"),
}


def _reasoning(provider: str, stored: bool, messages: list[JsonObject]) -> Iterator[tuple[str, str, str]]:
    items: dict[str, int] = {}
    for at, message in enumerate(messages):
        for number, part in enumerate(parts_of(message)):
            where = f"messages.{at}.content.{number}"
            options = part.get("providerOptions")
            told = options.get(provider) if isinstance(options, dict) else None
            own: JsonObject = told if isinstance(told, dict) else {}
            thinks = part.get("type") == "reasoning"
            names = _IDENTITY.get(provider, ())
            if thinks and names and not any(isinstance(own.get(name), str) and own[name] for name in names):
                yield "V7", where, f"nothing here is {provider}'s"
            item = own.get("itemId")
            if provider != "openai" or not isinstance(item, str):
                continue
            if thinks and not stored and not own.get("reasoningEncryptedContent"):
                yield "V8", where, "reasoning without its encrypted content"
            if (thinks or stored) and item in items and not (thinks and items[item] == at):
                yield "V8", where, f"the item {item} is named twice"
            items[item] = at


def _names(
    provider: str, request: Mapping[str, Json], messages: list[JsonObject]
) -> Iterator[tuple[str, str, str]]:
    for at, message in enumerate(messages):
        for number, part in enumerate(parts_of(message)):
            where = f"messages.{at}.content.{number}"
            if part.get("type") not in ("tool-call", "tool-result"):
                continue
            name, call = part.get("toolName"), part.get("toolCallId")
            if isinstance(name, str) and not _NAME.fullmatch(name):
                yield "V14", f"{where}.toolName", f"the name {name!r}"
            fits = {"anthropic": _NARROW, "bedrock": _NARROW, "mistral": _NINE}.get(provider)
            if isinstance(call, str) and (not call or (fits is not None and not fits.fullmatch(call))):
                yield "V14", f"{where}.toolCallId", f"the id {call!r}"
    tools = request.get("tools")
    for name in tools if isinstance(tools, dict) else ():
        if not _NAME.fullmatch(name):
            yield "V14", f"tools.{name}", f"the name {name!r}"
    called = any(part.get("type") == "tool-call" for one in messages for part in parts_of(one))
    if provider == "bedrock" and called and not tools:
        yield "V17", "tools", "tools are called and none is declared"
    if tools is not None and not isinstance(tools, dict):
        yield "V12", "tools", "tools is an object by name"
