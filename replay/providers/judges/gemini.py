"""Judges a request to Gemini's generateContent: parts by themselves, then calls against responses, then
signatures."""

import re
from collections.abc import Iterator, Mapping, Sequence

from ledger.events import Json, JsonObject
from replay.options import Target
from replay.providers.judges import Violation, has_surrogates
from replay.providers.rules.gemini import RULES

_DATA = ("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode",
         "codeExecutionResult", "toolCall", "toolResponse")  # fmt: skip
_BESIDE = {"thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution"}
_KEYS = {
    "functionCall": {"name", "args", "id"},
    "functionResponse": {"name", "response", "id", "parts", "willContinue", "scheduling"},
    "inlineData": {"mimeType", "data", "displayName"},
    "fileData": {"mimeType", "fileUri", "displayName"},
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_DUMMIES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")


def judge(
    target: Target,
    request: Mapping[str, Json],
    sendable: bool,
    original: Sequence[Sequence[JsonObject]] | None,  # noqa: ARG001 - only the provider can read signatures
) -> list[Violation]:
    """Every rule that the request breaks; see `replay.providers.violations`."""
    named = re.search(r"gemini-(\d+)", (target.model or "").lower())
    return list(_judge(request, sendable, int(named[1]) if named is not None else None))


def _found(rule: str, where: str, message: str) -> Violation:
    return Violation(rule, where, message, RULES[rule].mend)


def _judge(request: Mapping[str, Json], sendable: bool, generation: int | None) -> Iterator[Violation]:
    """`generation` is None where the model is not known: what only some models refuse is let pass."""
    old, third = generation in (1, 2), generation is not None and generation > 2
    given = request.get("contents")
    if not isinstance(given, list):
        yield _found("S2", "contents", "contents is a list")
        return
    contents: list[tuple[str, list[JsonObject]]] = []
    for at, content in enumerate(given):
        role = content.get("role") if isinstance(content, dict) else None
        if role is None and len(given) == 1:
            role = "user"  # a single content need not say it
        parts = content.get("parts") if isinstance(content, dict) else None
        if role not in ("user", "model"):
            yield _found("G6", f"contents.{at}", f"there is no role {role!r}")
        elif isinstance(content, dict) and set(content) - {"role"} != {"parts"}:
            yield _found("S2", f"contents.{at}", f"unknown keys {sorted(set(content) - {'role', 'parts'})}")
        if not isinstance(parts, list) or not parts:
            yield _found("G5", f"contents.{at}", "a content without parts")
        kept = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        contents.append((str(role), kept))
        for number, part in enumerate(parts if isinstance(parts, list) else []):
            yield from _part(part, str(role), old, f"contents.{at}.parts.{number}")
        yield from _signs(kept, old, f"contents.{at}")
    if contents and contents[0][0] != "user":
        yield _found("G9", "contents.0", "the model begins")
    yield from _pairs(contents, sendable)
    if third:
        yield from _current(contents)
    if sendable and (not contents or contents[-1][0] != "user"):
        yield _found("X5", f"contents.{max(0, len(contents) - 1)}", "nothing to answer")
    yield from _beside(request)
    if has_surrogates(dict(request)):
        yield _found("S1", "contents", "a lone surrogate")


def _part(part: Json, role: str, old: bool, where: str) -> Iterator[Violation]:
    if not isinstance(part, dict):
        yield _found("S2", where, "a part is an object")
        return
    kinds = [kind for kind in _DATA if kind in part]
    if unknown := set(part) - {*_DATA, *_BESIDE}:
        yield _found("S2", where, f"unknown keys {sorted(unknown)}")
    if len(kinds) != 1:
        yield _found("G5", where, f"a part has one kind of data, not {len(kinds)}")
        return
    (kind,) = kinds
    data, signature = part[kind], part.get("thoughtSignature")
    if signature is not None and (not isinstance(signature, str) or not _BASE64.fullmatch(signature)):
        yield _found("S2", f"{where}.thoughtSignature", "a signature is base64")
    if kind == "text":
        if not isinstance(data, str):
            yield _found("S2", f"{where}.text", "it is a string")
        elif not data.strip() and signature is None:
            yield _found("G5", f"{where}.text", "an empty text")
        return
    if not isinstance(data, dict) or (kind in _KEYS and not set(data) <= _KEYS[kind]):
        yield _found("S2", f"{where}.{kind}", "it has other keys than the API's")
        return
    if kind in ("functionCall", "functionResponse"):
        if (kind == "functionCall") != (role == "model"):
            yield _found("G6", where, f"a {kind} does not stand with {role}")
        yield from _function(kind, data, where)
    elif kind in ("inlineData", "fileData"):
        held = data.get("data" if kind == "inlineData" else "fileUri")
        if not isinstance(held, str) or not held or (kind == "inlineData" and not _BASE64.fullmatch(held)):
            yield _found("S2", f"{where}.{kind}", "there is nothing in it that can be read")
        if kind == "inlineData" and not data.get("mimeType"):
            yield _found("S2", f"{where}.{kind}.mimeType", "data of no type")
        if signature is not None:
            yield _found("G13", where, "data that carries a signature")
    elif kind in ("toolCall", "toolResponse") and old:
        yield _found("G15", where, "this model has no such parts")


def _function(kind: str, data: JsonObject, where: str) -> Iterator[Violation]:
    if not _NAME.fullmatch(str(data.get("name"))):
        yield _found(
            "G8" if kind == "functionCall" else "G7", f"{where}.{kind}.name", f"the name {data.get('name')!r}"
        )
    if kind == "functionCall" and not isinstance(data.get("args", {}), dict):
        yield _found("G8", f"{where}.{kind}.args", "args is an object")
    if kind == "functionResponse":
        if not isinstance(data.get("response"), dict):
            yield _found("G7", f"{where}.{kind}.response", "a response is an object")
        elif _points(data["response"]):
            yield _found("G7", f"{where}.{kind}.response", "a key $ref points to a file")


def _points(value: Json) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if "$ref" in item:
                return True
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return False


def _signs(parts: Sequence[JsonObject], old: bool, where: str) -> Iterator[Violation]:
    """Where the dummy stands."""
    first = next((at for at, part in enumerate(parts) if "functionCall" in part), None)
    seen: set[str] = set()
    for at, part in enumerate(parts):
        if part.get("thoughtSignature") in _DUMMIES and (old or not _may_stand(parts, at, first)):
            yield _found("G11", f"{where}.parts.{at}", "a dummy that stands for nothing")
        for kind, other in (("toolCall", "toolResponse"), ("toolResponse", "toolCall")):
            data = part.get(kind)
            if isinstance(data, dict):
                name = f"{kind}:{data.get('id')}"
                pairs = [one.get(other) for one in parts]
                if name in seen or not any(
                    isinstance(p, dict) and p.get("id") == data.get("id") for p in pairs
                ):
                    yield _found("G15", f"{where}.parts.{at}", f"a {kind} without its {other}")
                seen.add(name)


def _may_stand(parts: Sequence[JsonObject], at: int, first: int | None) -> bool:
    """A dummy may stand on the content's first call, or on one that follows something that is no call:
    neighbours are one content, and a step of theirs began there."""
    if "functionCall" not in parts[at]:
        return False
    return at == first or "functionCall" not in parts[at - 1]


def _pairs(contents: Sequence[tuple[str, list[JsonObject]]], sendable: bool) -> Iterator[Violation]:
    """Calls against the responses that lead the next content; the last may be open in a mere start (X8)."""
    calls: list[JsonObject] = []
    last_answer = max((at for at, (role, _) in enumerate(contents) if role == "model"), default=-1)
    for at, (role, parts) in enumerate(contents):
        made = _all(parts, "functionCall")
        answers = _all(parts, "functionResponse")
        leading = 0
        while leading < len(parts) and "functionResponse" in parts[leading]:
            leading += 1
        if role == "model":
            if made and (at == 0 or contents[at - 1][0] != "user"):
                yield _found("G2", f"contents.{at}", "calls behind no user content")
            if calls:
                yield _found("G1", f"contents.{at - 1}", f"{len(calls)} calls without their responses")
            calls = made
            continue
        if answers and not calls:
            yield _found("G3", f"contents.{at}", "responses to no calls")
        elif calls and (len(answers) != len(calls) or leading != len(answers)):
            if sendable or at < last_answer or len(answers) > len(calls):
                yield _found("G1", f"contents.{at}", f"{leading} leading responses to {len(calls)} calls")
            else:
                calls = _answered(calls, answers)
        for call, answer in zip(calls, answers, strict=False):
            if call.get("name") != answer.get("name") or call.get("id") != answer.get("id"):
                yield _found(
                    "G7", f"contents.{at}", f"the response to {call.get('name')} has another name or id"
                )
        calls = []
    if calls and sendable:
        yield _found("G1", f"contents.{len(contents) - 1}", f"{len(calls)} calls without their responses")


def _answered(calls: Sequence[JsonObject], answers: Sequence[JsonObject]) -> list[JsonObject]:
    """The calls that some of the answers are for, in the answers' order where they follow the calls'."""
    left = iter(calls)
    same = [
        next(
            (call for call in left if (call.get("name"), call.get("id")) == (one.get("name"), one.get("id"))),
            None,
        )
        for one in answers
    ]
    return [call if call is not None else {} for call in same]


def _all(parts: Sequence[JsonObject], kind: str) -> list[JsonObject]:
    return [data for part in parts if isinstance(data := part.get(kind), dict)]


def _current(contents: Sequence[tuple[str, list[JsonObject]]]) -> Iterator[Violation]:
    """The first call of each content since the newest user content that is not responses alone (G10)."""
    begin = 0
    for at, (role, parts) in enumerate(contents):
        if role == "user" and not all("functionResponse" in part for part in parts):
            begin = at
    for at in range(begin, len(contents)):
        role, parts = contents[at]
        first = next((part for part in parts if "functionCall" in part), None)
        if role == "model" and first is not None and not first.get("thoughtSignature"):
            yield _found("G10", f"contents.{at}", "the first call has no signature")


def _beside(request: Mapping[str, Json]) -> Iterator[Violation]:
    system = request.get("systemInstruction")
    if system is not None and (not isinstance(system, dict) or not isinstance(system.get("parts"), list)):
        yield _found("S2", "systemInstruction", "it has parts")
    elif isinstance(system, dict) and isinstance(parts := system.get("parts"), list):
        if not parts:
            yield _found("G5", "systemInstruction", "a content without parts")
        for at, part in enumerate(parts):
            yield from _part(part, "user", old=False, where=f"systemInstruction.parts.{at}")
    tools = request.get("tools")
    for at, tool in enumerate(tools if isinstance(tools, list) else []):
        declared = tool.get("functionDeclarations") if isinstance(tool, dict) else None
        for number, one in enumerate(declared if isinstance(declared, list) else []):
            name = one.get("name") if isinstance(one, dict) else None
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                yield _found("G8", f"tools.{at}.functionDeclarations.{number}", f"the name {name!r}")
