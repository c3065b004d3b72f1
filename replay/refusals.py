"""What a provider's refusal means: which rule it is about, and on which rung to try again (DESIGN.md 7.4).

Texts are matched, never statuses: gateways reword those and wrap the text (specs/providers.md 9).
"""

import re
from typing import NamedTuple

from replay.options import RUNGS, Rung

_ESCAPED = re.compile(r"\\+([\"'`])")
"""A quote in a JSON string in a JSON string …: gateways wrap bodies in bodies."""


class Refusal(NamedTuple):
    """A refusal understood: its `kind`, the `rules` it may be about, the `rung` to try next, and the `mend`.

    `kind` is `unknown` where no text matched. `rung` is None on the last rung: what refuses plain text is not
    about the history.
    """

    kind: str
    rules: tuple[str, ...]
    rung: Rung | None
    mend: str


class _Text(NamedTuple):
    parts: tuple[str, ...]  # lower case; all of them are in the text
    rules: tuple[str, ...]


class _Kind(NamedTuple):
    kind: str
    rung: Rung  # the first one that has no longer what was refused
    mend: str
    texts: tuple[_Text, ...]


def _text(*parts: str, rules: str = "") -> _Text:
    return _Text(tuple(part.lower() for part in parts), tuple(rules.split()))


_KINDS = (
    _Kind(
        "prefix",
        "no-thinking",
        "Thinking is bound to what was sent before it: leave it out, or ask for drop_block.",
        (
            _text("bound to a different conversation", rules="A12 A13"),
            _text("`thinking` block", "is missing from this request", rules="A13"),
        ),
    ),
    _Kind(
        "opaque",
        "no-foreign",
        "Signed or encrypted state is not the target's own or was changed: send only what is surely its own.",
        (
            _text("invalid `signature`", rules="A21"),
            _text("invalid `data` in `redacted", rules="A21"),
            _text("must contain thinking", rules="A20"),
            _text("thinking.signature", rules="A20"),
            _text("cannot be modified", rules="A22 A23"),
            _text("invalid_encrypted_content", rules="R8"),
            _text("encrypted content", rules="R8 R12"),
            _text("block is not the first block of the conversation", rules="A38"),
            _text("thought signature is not valid", rules="G12"),
            _text("invalid thought signature", rules="G12"),
        ),
    ),
    _Kind(
        "thinking required",
        "no-thinking",
        "Manual thinking wants the open tool loop to start with it: send the request without thinking.",
        (
            _text("expected `thinking` or `redacted_thinking`", rules="A24"),
            _text("first block must be", rules="A25"),
            _text("final block in an assistant message", rules="A26"),
            _text("thinking may not be enabled when tool_choice", rules="A27"),
        ),
    ),
    _Kind(
        "reasoning missing",
        "no-thinking",
        "Reasoning that belongs to a call is gone: send none, without its ids.",
        (
            _text("reasoning_content", "passed back", rules="O20"),
            _text("reasoning_content", "is missing", rules="O22"),
            _text("content[].thinking", "passed back", rules="O20"),
            _text("missing a `thought_signature", rules="G10"),
            _text("missing a thought_signature", rules="G10"),
            _text("without its required", rules="R4 R5"),
        ),
    ),
    _Kind(
        "item ids",
        "no-thinking",
        "Item ids that the provider does not keep, or refuses: send none.",
        (
            _text("items are not persisted", rules="R7"),
            _text("expected an id that begins with", rules="R9"),
            _text("duplicate item found", rules="R9"),
            _text("previous response with id", rules="R11"),
        ),
    ),
    _Kind(
        "dangling",
        "flat-tools",
        "A tool call has no result where the provider looks for it: tell calls and results as text.",
        (
            _text("without `tool_result` blocks immediately after", rules="A1"),
            _text("did not find", "tool_result block", rules="A1b"),
            _text("without a corresponding", "_tool_result", rules="A32"),
            _text("tool use with id", "without a corresponding", rules="A32 P7"),
            _text("must be followed by tool messages", rules="O1"),
            _text("insufficient tool messages", rules="O1"),
            _text("no tool output found for", rules="R1 R3"),
            _text("expected toolresult blocks", rules="B1 B8"),
            _text("number of function response parts", rules="G1"),
            _text("function call turn comes immediately after", rules="G2"),
            _text("not the same number of function calls", rules="M2"),
            _text("tool result is missing for tool call", rules="V1"),
            _text("missingtoolresultserror", rules="V1"),
        ),
    ),
    _Kind(
        "orphan",
        "flat-tools",
        "A tool result has no call where the provider looks for it: tell calls and results as text.",
        (
            _text("unexpected `tool_use_id`", rules="A2"),
            _text("unexpected tool_use_id", rules="A32"),
            _text("must be a response to a prece", rules="O2"),
            _text("no tool call found for", rules="R2"),
            _text("exceeds the number of tooluse", rules="B2"),
            _text("function response turn comes immediately after", rules="G3"),
            _text("unexpected tool call id", rules="M2"),
            _text("unexpected role 'tool'", rules="M3"),
        ),
    ),
    _Kind(
        "duplicate",
        "flat-tools",
        "A call or a result is there twice: tell calls and results as text.",
        (
            _text("ids must be unique", rules="A4"),
            _text("must have a single result", rules="A3"),
            _text("duplicate tool call id", rules="M2"),
        ),
    ),
    _Kind(
        "id",
        "flat-tools",
        "A tool call id has a spelling that the provider refuses: tell calls and results as text.",
        (
            _text("should match pattern", rules="A5"),
            _text("with a length of 9", rules="M1"),
            _text("maximum length 64", rules="R9"),
            _text("length less than or equal to 64", rules="B4"),
            _text("regular expression pattern", rules="B4"),
        ),
    ),
    _Kind(
        "tools",
        "flat-tools",
        "Tool blocks without their declared tools: declare the tools, or tell calls and results as text.",
        (
            _text("toolconfig field must be defined", rules="B3"),
            _text("function tools with reasoning_effort are not supported", rules="O9"),
        ),
    ),
    _Kind(
        "tool content",
        "flat-tools",
        "A call's input or a result's content is not what the provider takes: tell calls and results as text.",
        (
            _text("input should be a valid dictionary", rules="A6"),
            _text("if `is_error` is true", rules="A30"),
            _text("does not match any of the expected tags", rules="A31"),
        ),
    ),
    _Kind(
        "media",
        "text-only",
        "A file does not stand as the provider wants it: tell files as text.",
        (
            _text("text block must be included when using documents", rules="B11"),
            _text("duplicate document names", rules="B11"),
            _text("ai_downloaderror", rules="V15"),
            _text("ai_invaliddatacontenterror", rules="V15"),
            _text("could not infer media type", rules="P11"),
        ),
    ),
    _Kind(
        "order",
        "text-only",
        "Messages do not follow one another as the provider wants: plain text of user and assistant does.",
        (
            _text('must use the "user" role', rules="A7"),
            _text("must start with a user message", rules="B9 A7"),
            _text("must alternate", rules="B9 A8"),
            _text("role 'system' is not supported", rules="A34"),
            _text("use a valid role", rules="G6"),
            _text("system messages are not allowed in the prompt", rules="V13"),
            _text("unexpected role", rules="M3"),
        ),
    ),
    _Kind(
        "empty",
        "text-only",
        "Something empty was sent: plain text has nothing empty.",
        (
            _text("non-empty", rules="A10 A11b A11d"),
            _text("non-whitespace", rules="A11"),
            _text("is blank", rules="B5"),
            _text("at least one parts field", rules="G5"),
            _text("must have a text parameter", rules="G5"),
            _text("parts must not be empty", rules="G5"),
            _text("must have either content or tool", rules="M5 O8"),
            _text("array must not be empty", rules="V6"),
            _text('one of "input" or', rules="R17"),
            _text("expected a string, got null", rules="O3"),
            _text("empty array", rules="O4"),
        ),
    ),
    _Kind(
        "tail",
        "text-only",
        "The request does not end with something to answer: append a user message.",
        (
            _text("prefill", rules="A9"),
            _text("must end with a user message", rules="A9"),
            _text("expected last role", rules="M4"),
            _text("trailing whitespace", rules="A11c"),
        ),
    ),
    _Kind(
        "shape",
        "text-only",
        "The request has a key that the provider does not know: plain text has none of its own.",
        (
            _text("extra inputs are not permitted", rules="A41 A16 A29"),
            _text("unknown parameter", rules="O6 O28 S2"),
            _text("invalid json payload received", rules="G7 S2"),
            _text("invalid value at 'contents", rules="G8"),
            _text("set for tagged union structure", rules="B13"),
            _text("ai_invalidprompterror", rules="V11 V12"),
            _text("ai_typevalidationerror", rules="V6"),
            _text("pydantic_core.validationerror", rules="P6"),
            _text("missing required parameter", rules="R10"),
            _text("invalid value:", "supported values are", rules="O6 R14"),
            _text("invalid type for", rules="O5 R15"),
            _text("cache_control", rules="A40"),
            _text("surrogate", rules="S1"),
        ),
    ),
)


def next_rung(error_text: str, rung: Rung = "native") -> Refusal:
    """What a refusal of a request that stood on `rung` means, and on which rung to try again.

    `error_text` is whatever came back: the message, the JSON body, or a gateway's wrapping of either. The rung
    is always below `rung`; an unknown text gives the next one down.
    """
    said = _ESCAPED.sub(r"\1", error_text.replace("\\u0060", "`")).lower()
    below = RUNGS[RUNGS.index(rung) + 1 :]
    for kind in _KINDS:
        matches = [text for text in kind.texts if all(part in said for part in text.parts)]
        if matches:
            rules = tuple(dict.fromkeys(rule for text in matches for rule in text.rules))
            lower = [one for one in below if RUNGS.index(one) >= RUNGS.index(kind.rung)]
            return Refusal(kind.kind, rules, (lower or below or (None,))[0], kind.mend)
    mend = "No known refusal of a history; look at what the request sets beside it."
    return Refusal("unknown", (), below[0] if below else None, mend)
