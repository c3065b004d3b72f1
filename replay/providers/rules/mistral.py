"""What makes Mistral's chat API refuse a replayed history (specs/providers.md 7).

S2 is our own id.
"""

from replay.providers.rules import Rule, table

_RUN = "mistral_common's own validator, run"

RULES = table(
    Rule(
        "M1",
        "a tool call id is nine letters or digits",
        "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
        "map it to nine letters and digits of its digest, alike in call and result",
        _RUN,
        "run",
    ),
    Rule(
        "M2",
        "each call is answered once, by the run of tool messages right behind it, and each result has its call",
        "Not the same number of function calls and responses",
        "answer it with a stand-in; leave a result without a call out, or say it as user text",
        _RUN,
        "run",
    ),
    Rule(
        "M3",
        "no user message after a tool message, no system message after an assistant one, tool after assistant, "
        "and the assistant does not begin",
        "Unexpected role 'user' after role 'tool'",
        "an assistant turn '.' stands between; a late system message is tagged user text; a user text begins",
        "seen in the wild; " + _RUN,
        "W",
    ),
    Rule(
        "M4",
        "the last message is of the user or a tool",
        "Expected last role User or Tool (or Assistant with prefix) for serving but got assistant",
        "not sendable: nothing false is appended",
        _RUN,
        "run",
    ),
    Rule(
        "M5",
        "an assistant message has content or tool calls",
        "Assistant message must have either content or tool_calls, but not both.",
        "leave the message out",
        _RUN,
        "run",
        note="both at once is refused only by the oldest tokenizer (v3): not judged",
    ),
    Rule(
        "M6",
        "thinking need not go back; `name` on messages is refused, but on those of tools",
        "400",
        "send neither",
        "litellm",
        "C",
    ),
    Rule(
        "S2",
        "shapes: known roles and keys, arguments as a string, tool names of the alphabet, no lone surrogate",
        "400",
        "write from an allow-list",
        "the vendor's request types",
        "D",
    ),
)
