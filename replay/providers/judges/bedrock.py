"""Judges a request to Bedrock's Converse API: each block's shape, who follows whom, calls and results, and what
the model's family takes."""

import re
from collections.abc import Iterator, Mapping, Sequence

from ledger.events import Json, JsonObject
from replay.options import Target
from replay.providers.judges import Violation, has_surrogates
from replay.providers.judges.anthropic_settings import thinking_fault
from replay.providers.judges.bedrock_shape import block_faults, is_hosted, kind_of, tool_faults
from replay.providers.rules.bedrock import RULES

_KEYS = {
    "modelId", "messages", "system", "inferenceConfig", "toolConfig", "guardrailConfig", "projectIdentifier",
    "additionalModelRequestFields", "additionalModelResponseFieldPaths", "promptVariables", "requestMetadata",
    "performanceConfig", "serviceTier", "outputConfig",
}  # fmt: skip
_MAKER = re.compile(r"(?:^|[./:])(anthropic|amazon|meta|mistral|qwen|writer)\.")
_ALONE = ("meta", "mistral")
_APART = ("document", "video")


def judge(
    target: Target,
    request: Mapping[str, Json],
    sendable: bool,
    original: Sequence[Sequence[JsonObject]] | None,
) -> list[Violation]:
    """Every rule that the request breaks; see `replay.providers.violations`."""
    return list(_judge(target, request, sendable, original))


def _found(rule: str, where: str, message: str) -> Violation:
    return Violation(rule, where, message, RULES[rule].mend)


def _judge(
    target: Target,
    request: Mapping[str, Json],
    sendable: bool,
    original: Sequence[Sequence[JsonObject]] | None,
) -> Iterator[Violation]:
    model = request.get("modelId")
    maker = _maker(model if isinstance(model, str) else target.model or "")
    messages = request.get("messages")
    for key in sorted(set(request) - _KEYS):
        yield _found("S2", key, "an unknown key")
    if not isinstance(messages, list):
        yield _found("S2", "messages", "messages is a list")
        return
    contents = [_content(message) for message in messages]
    roles = [_role(message) for message in messages]
    for at, message in enumerate(messages):
        start = not sendable and at + 1 == len(messages)
        for one in _message(message, roles[at], contents[at], maker, f"messages.{at}"):
            if not (start and one.rule == "B8"):  # a later step behind calls that still run (X8)
                yield one
    yield from _order(roles, maker)
    yield from _pairs(contents, roles, sendable)
    yield from _documents(contents)
    talk = [role for role in roles if role != "system"]
    if sendable and (not talk or talk[-1] != "user"):
        yield _found("X5", f"messages.{len(roles) - 1}" if roles else "messages", "nothing to answer")
    yield from _beside(request, contents)
    if maker == "anthropic":
        yield from _thinking(request, model if isinstance(model, str) else target.model, contents, roles)
    if original is not None:
        made = [block for response in original for block in response if kind_of(block) == "reasoningContent"]
        for at, content in enumerate(contents):
            for place, block in enumerate(content):
                if kind_of(block) == "reasoningContent" and block not in made:
                    yield _found("B6", f"messages.{at}.content.{place}", "no response has this block")
    if has_surrogates(dict(request)):
        yield _found("S1", "messages", "a lone surrogate")


def _maker(model: str) -> str:
    if "claude" in model:
        return "anthropic"
    match = _MAKER.search(model)
    return match[1] if match else ""


def _role(message: Json) -> str:
    role = message.get("role") if isinstance(message, dict) else None
    return role if isinstance(role, str) else ""


def _content(message: Json) -> list[Json]:
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def _message(message: Json, role: str, content: list[Json], maker: str, where: str) -> Iterator[Violation]:
    if not isinstance(message, dict) or role not in ("user", "assistant", "system"):
        yield _found("S2", where, f"there is no role {role!r}")
        return
    if set(message) - {"role", "content"} or not isinstance(message.get("content"), list):
        yield _found("S2", where, "a message has a role and a list of content")
    elif not content:
        yield _found("B5", where, "a message has content")
    for at, block in enumerate(content):
        for rule, place, words in block_faults(block, role, f"{where}.content.{at}"):
            yield _found(rule, place, words)
    kinds = ["" if is_hosted(block) else kind_of(block) for block in content]
    if "toolUse" in kinds and "reasoningContent" not in kinds:
        first = kinds.index("toolUse")
        if "text" in kinds[first:]:
            yield _found("B8", where, "text behind toolUse")
    if role == "assistant" and kinds and kinds[-1] == "reasoningContent":
        yield _found("B6", f"{where}.content.{len(kinds) - 1}", "reasoning ends the message")
    for at, kind in enumerate(kinds):
        if kind == "cachePoint" and (at == 0 or kinds[at - 1] in ("cachePoint", *_APART)):
            yield _found("B14", f"{where}.content.{at}", "a cachePoint here")
    if "toolResult" in kinds:
        beside = {kind for kind in kinds if kind not in ("toolResult", "cachePoint")}
        apart = (
            beside if maker in _ALONE else beside & set(_APART) if maker in ("anthropic", "amazon") else set()
        )
        if apart:
            yield _found("B10", where, f"{sorted(apart)} beside a toolResult")
    hosted = [block for block in content if isinstance(block, dict) and is_hosted(block)]
    served = [_named(block, "toolResult") for block in hosted]
    for block in hosted:
        if "toolUse" in block and _named(block, "toolUse") not in served:
            yield _found("B1", where, f"the provider's own call {_named(block, 'toolUse')} has no result here")
    if "document" in kinds and "text" not in kinds:
        yield _found("B11", where, "a document without a text beside it")
    yield from _results(content, maker, where)


def _named(block: JsonObject, kind: str) -> str:
    value = block.get(kind)
    return str(value.get("toolUseId")) if isinstance(value, dict) else ""


def _results(content: list[Json], maker: str, where: str) -> Iterator[Violation]:
    for at, result in _values(content, "toolResult"):
        inner = result.get("content")
        images = isinstance(inner, list) and any(kind_of(one) not in ("text", "json") for one in inner)
        if maker == "writer" and "status" in result:
            yield _found("B12", f"{where}.content.{at}", "this family takes no status")
        if maker == "anthropic" and result.get("status") == "error" and images:
            yield _found("B12", f"{where}.content.{at}", "an error holds text alone")


def _values(content: list[Json], kind: str) -> Iterator[tuple[int, JsonObject]]:
    for at, block in enumerate(content):
        value = block.get(kind) if isinstance(block, dict) else None
        if isinstance(value, dict) and not is_hosted(block):
            yield at, value


def _ids(content: list[Json], kind: str) -> list[str]:
    return [str(value.get("toolUseId")) for _, value in _values(content, kind)]


def _order(roles: list[str], maker: str) -> Iterator[Violation]:
    roles = [role for role in roles if role != "system"]
    if roles and roles[0] == "assistant" and maker not in ("anthropic", "qwen"):
        yield _found("B9", "messages.0", "the assistant begins")
    for at in range(1, len(roles)):
        if roles[at] and roles[at] == roles[at - 1]:
            yield _found("B9", f"messages.{at}", f"{roles[at]} after {roles[at]}")


def _pairs(contents: list[list[Json]], roles: list[str], sendable: bool) -> Iterator[Violation]:
    last_answer = max((at for at, role in enumerate(roles) if role == "assistant"), default=-1)
    for at, content in enumerate(contents):
        for kind in ("toolUse", "toolResult"):
            ids = _ids(content, kind)
            if len(set(ids)) != len(ids):
                yield _found("B7", f"messages.{at}", f"two {kind} blocks have one id")
        asked = _ids(contents[at - 1], "toolUse") if at and roles[at - 1] == "assistant" else []
        for name in _ids(content, "toolResult"):
            if name not in asked:
                yield _found("B2", f"messages.{at}", f"no call {name} is waiting for this result")
        if at == last_answer and not sendable:
            continue  # the start of a conversation (X8)
        given = [] if at + 1 == len(contents) else _ids(contents[at + 1], "toolResult")
        for name in _ids(content, "toolUse"):
            if name not in given:
                yield _found("B1", f"messages.{at}", f"the call {name} has no result in the next message")


def _documents(contents: list[list[Json]]) -> Iterator[Violation]:
    seen: set[str] = set()
    for at, content in enumerate(contents):
        for _, document in _values(content, "document"):
            name = str(document.get("name"))
            if name in seen:
                yield _found("B11", f"messages.{at}", f"two documents are named {name!r}")
            seen.add(name)


def _beside(request: Mapping[str, Json], contents: list[list[Json]]) -> Iterator[Violation]:
    used = any(kind_of(block) in ("toolUse", "toolResult") for content in contents for block in content)
    config = request.get("toolConfig")
    if config is not None:
        for rule, where, words in tool_faults(config):
            yield _found(rule, where, words)
    elif used:
        yield _found("B3", "toolConfig", "toolUse and toolResult without a toolConfig")
    system = request.get("system")
    if system is not None and not isinstance(system, list):
        yield _found("S2", "system", "system is a list")
    for at, block in enumerate(system if isinstance(system, list) else ()):
        if kind_of(block) not in ("text", "cachePoint", "guardContent"):
            yield _found("B13", f"system.{at}", "a system block has one key")
        elif isinstance(block, dict) and "text" in block:
            text = block["text"]
            if not isinstance(text, str) or not text.strip():
                yield _found("B5", f"system.{at}", "the text is blank")


def _thinking(
    request: Mapping[str, Json], model: str | None, contents: list[list[Json]], roles: list[str]
) -> Iterator[Violation]:
    """S3; A24: with manual thinking the assistant message of an open tool loop starts with it."""
    fields = request.get("additionalModelRequestFields")
    config = fields.get("thinking") if isinstance(fields, dict) else None
    fault = thinking_fault(model, config)
    if fault is not None:
        yield _found("S3", "additionalModelRequestFields.thinking.type", fault)
    if (
        not isinstance(config, dict)
        or config.get("type") != "enabled"
        or len(contents) < 2
        or roles[-1] != "user"
    ):
        return
    kinds = {kind_of(block) for block in contents[-1]}
    if kinds == {"toolResult"} and contents[-2] and kind_of(contents[-2][0]) != "reasoningContent":
        yield _found("B6", f"messages.{len(contents) - 2}.content.0", "manual thinking begins this message")
