"""Requests of every wire format in lines for people."""

import json
from collections.abc import Iterator

from ledger.events import Json, JsonObject
from replay import Diagnostic, Result

SHOWN = 400  # characters of one part that people see; --json has all of it

_WRAPPED = (
    "functionCall",
    "functionResponse",
    "toolUse",
    "toolResult",
    "function",
    "reasoningContent",
    "reasoningText",
)
_CALLS = frozenset(
    [
        "tool_call",
        "tool_use",
        "tool-call",
        "function_call",
        "server_tool_use",
        "functionCall",
        "toolUse",
        "function",
    ]
)
_RESULTS = frozenset(
    ["tool_result", "tool-result", "tool-return", "function_call_output", "functionResponse", "toolResult"]
)
_THINKING = frozenset(
    ["thinking", "redacted_thinking", "reasoning", "reasoningContent", "reasoningText", "thought"]
)
_TEXTS = frozenset(["text", "input_text", "output_text", "user-prompt", "system-prompt"])
_SIGNED = ("signature", "encrypted_content", "thoughtSignature", "providerOptions")


def told(answer: Result) -> Iterator[str]:
    """The request for people: system, messages with their diagnostics beside them, then what is in none."""
    to = answer.target.provider + (f" {answer.target.model}" if answer.target.model else "")
    rung = "" if answer.target.rung == "native" else f", on the rung {answer.target.rung}"
    yield f"{answer.conversation_id} at version {answer.version}, for {to}{rung}"
    if answer.system:
        yield ""
        yield f"system: {short(answer.system)}"
    unplaced = list(answer.diagnostics)
    for number, message in enumerate(answer.messages):
        versions = {version for part in answer.provenance[number] for version in part}
        yield ""
        yield f"{number} {_role(message)}  (versions {_spans(sorted(versions))})"
        for line in message_lines(message):
            yield f"  {line}"
        for one in [one for one in unplaced if one.version in versions]:
            unplaced.remove(one)
            yield f"  ! {diagnostic_line(one)}"
    if unplaced:
        yield ""
        yield "in no message:"
        for one in unplaced:
            yield f"  ! {diagnostic_line(one)}"
    if answer.prefix_changed:
        yield ""
        yield "changed since it was first sent:"
        for one in answer.prefix_changed:
            yield f"  ! {diagnostic_line(one)}"
    yield ""
    if answer.sendable:
        yield f"sendable; {len(answer.messages)} messages, fingerprint {answer.fingerprint}"
    else:
        yield f"not sendable: {why_not_sendable(answer)}"


def why_not_sendable(answer: Result) -> str:
    """One line that says what the request waits for."""
    pending = [one for one in answer.diagnostics if one.code == "pending_tool_call"]
    if not answer.messages:
        return "there is no message yet"
    if pending:
        calls = ", ".join(str(one.detail.get("tool_call_id") or one.event_id) for one in pending)
        return f"these calls may still be running: {calls} (--pending-calls close gives them up)"
    return "the last message is the model's own; append what comes next"


def message_lines(message: JsonObject) -> Iterator[str]:
    """The parts of a message, a line each, whatever the wire format; then its other keys."""
    if not any(key in message for key in ("content", "parts")) and "role" not in message:
        yield part_line(message)  # an item that is a message of its own
        return
    for key, value in message.items():
        if key in ("role", "kind") or value is None or (key == "type" and value == "message"):
            continue
        if key in ("content", "parts", "tool_calls"):
            for part in value if isinstance(value, list) else [value]:
                yield part_line(part)
        else:
            yield f"{key}: {short(value)}"


def part_line(part: Json) -> str:
    """One part of a message on one line, whatever the wire format."""
    if not isinstance(part, dict):
        return short(part)
    kind = _kind(part)
    body = part
    for key in _WRAPPED:
        if isinstance(inner := body.get(key), dict):
            body = {**{name: value for name, value in body.items() if name != key}, **inner}
    if kind in _CALLS:
        name = _first(body, "tool_name", "name", "toolName")
        args = _first(body, "args", "input", "arguments")
        return f"-> {short(name)} {short(args)}{_named(body)}"
    if kind in _RESULTS:
        failed = "error " if body.get("is_error") or body.get("status") == "error" else ""
        return f"<- {failed}{short(_first(body, 'content', 'output', 'response'))}{_named(body)}"
    if kind in _THINKING:
        sealed = any(body.get(key) for key in ("redacted_data", "data", "redactedContent"))
        signed = any(body.get(key) for key in _SIGNED)
        words = _first(body, "thinking", "text", "summary", "content")
        head = f"({'redacted' if sealed else 'thinking'}{', signed' if signed else ''})"
        return f"{head} {short(words or '')}".rstrip()
    if kind in _TEXTS:
        return short(_first(body, "text", "content"))
    rest: JsonObject = {key: value for key, value in part.items() if key != "type"}
    return f"({kind or 'part'}) {short(rest)}"


def diagnostic_line(one: Diagnostic) -> str:
    """Code, place and detail of a diagnostic."""
    where = f" at version {one.version}" if one.version is not None else ""
    detail = f" {short(one.detail)}" if one.detail else ""
    return f"{one.code}{where}{detail}"


def short(value: Json) -> str:
    """A value on one line, cut where it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split("\n"))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"


def _role(message: JsonObject) -> str:
    return str(_first(message, "role", "kind", "type") or "message")


def _kind(part: JsonObject) -> str | None:
    """What a part is, by its `type`, its `part_kind`, or the one key that says it."""
    named = part.get("type") or part.get("part_kind")
    if isinstance(named, str):
        return named
    if part.get("thought") is True:
        return "thought"
    return next((key for key in _WRAPPED if key in part), "text" if "text" in part else None)


def _first(body: JsonObject, *names: str) -> Json:
    return next((body[name] for name in names if body.get(name) is not None), None)


def _named(body: JsonObject) -> str:
    name = _first(body, "tool_call_id", "tool_use_id", "toolUseId", "toolCallId", "call_id", "id")
    return f"  [{short(name)}]" if name is not None else ""


def _spans(versions: list[int]) -> str:
    """`1-3, 7`: a list of versions in the fewest words."""
    spans: list[list[int]] = []
    for version in versions:
        if spans and version == spans[-1][1] + 1:
            spans[-1][1] = version
        else:
            spans.append([version, version])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans) or "none"
