"""What makes Bedrock's Converse API refuse a replayed history (specs/providers.md 0 and 5).

State of the facts: November 2026. Ids are those of specs/providers.md; S1 and S2 are our own.
"""

from replay.providers.rules import Rule, table

_MODEL = "botocore's service model"
_WILD = "seen in the wild"

RULES = table(
    Rule(
        "X5",
        "the request ends on something that the model can answer",
        "none of its own",
        "not sendable: nothing false is appended",
        "specs/providers.md 0",
        "D",
    ),
    Rule(
        "B1",
        "each toolUse is answered in the next user message",
        "Expected toolResult blocks at messages.2.content for the following Ids: tooluse_...",
        "answer it with a stand-in of status error",
        _WILD,
        "W",
    ),
    Rule(
        "B2",
        "each toolResult answers a toolUse of the message right before it, once",
        "The number of toolResult blocks at messages.24.content exceeds the number of toolUse blocks of "
        "previous "
        "turn.",
        "leave it out, or say it as user text",
        _WILD,
        "W",
    ),
    Rule(
        "B3",
        "toolConfig is there when the history has toolUse or toolResult blocks",
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        "declare the tools of the context in force, else stubs of the names that were called",
        _WILD + "; pydantic-ai",
        "W",
    ),
    Rule(
        "B4",
        "a toolUseId is 1 to 64 of [a-zA-Z0-9_.:-], a tool's name 1 to 64 of [a-zA-Z0-9_-]",
        "failed to satisfy constraint: Member must satisfy regular expression pattern",
        "rename it injectively, alike in call, result and definition",
        _MODEL,
        "D",
    ),
    Rule(
        "B5",
        "no text is empty or blank, nor is a message's content",
        "The text field in the ContentBlock object at messages.1.content.0 is blank. Add text to the text "
        "field, "
        "and try again.",
        "leave the block out, then the message",
        _WILD,
        "W",
    ),
    Rule(
        "B6",
        "reasoningContent is sealed, the model's own, unchanged, and does not end its message; for Claude A20 "
        "to "
        "A26 hold",
        "The model returned the following errors: ...",
        "send it as it was recorded to the model that made it, or leave it out with what follows it in its "
        "turn",
        "botocore's documentation; AI SDK",
        "D",
        note="seal and place, and beside manual thinking the start of the open tool loop, from the request; "
        "that "
        "it is unchanged only beside the original responses",
    ),
    Rule(
        "B7",
        "the ids of toolUse blocks, and those of toolResult blocks, are unique within a message",
        "400",
        "the plan gives a repeated id a new name",
        "litellm",
        "C",
    ),
    Rule(
        "B8",
        "in an assistant message text stands before toolUse",
        "Expected toolResult blocks ...",
        "texts first; a step with sealed thinking keeps its order",
        "litellm",
        "C",
        note="a message with reasoningContent may have any order",
    ),
    Rule(
        "B9",
        "the conversation starts with the user, and roles alternate",
        "A conversation must start with a user message. Try again with a conversation that starts with a user "
        "message.",
        "neighbours of one role become one message; a constant user text begins",
        "pydantic-ai",
        "C",
        note="a start with the assistant is not judged for Claude and Qwen, which take it",
    ),
    Rule(
        "B10",
        "beside toolResult blocks stands what the family takes there: with Claude and Nova no document or "
        "video, "
        "with Llama and Mistral nothing",
        "400",
        "an assistant turn '.' stands between",
        "pydantic-ai 6081",
        "C",
        note="judged for the families that are known; the renderer takes an unknown one for the strictest",
    ),
    Rule(
        "B11",
        "a document stands beside a text; its name is of letters, digits, single spaces, hyphens, parentheses "
        "and brackets, up to 200, and no other document has it",
        "A text block must be included when using documents; Messages can not contain duplicate document names",
        "a text '.' beside it; the name is cleaned and numbered",
        "botocore's documentation; litellm",
        "D",
    ),
    Rule(
        "B12",
        "a toolResult's content is a list that is not empty; its status goes only to families that take it, "
        "and "
        "beside an error Claude takes no image",
        "400",
        "a constant text; '[error]' before the text where there is no status; images stand behind the results",
        "pydantic-ai; litellm",
        "C",
        note="status is judged for Writer",
    ),
    Rule(
        "B13",
        "a content block has exactly one key",
        "Parameter validation failed: Invalid number of parameters set for tagged union structure",
        "write one key a block",
        _MODEL,
        "D",
    ),
    Rule(
        "B14",
        "a cachePoint is not first, not behind a document or video, not doubled",
        "400",
        "none is written",
        "pydantic-ai",
        "C",
    ),
    Rule(
        "S1",
        "no lone surrogate in any string",
        "400: the body is not valid JSON",
        "send U+FFFD",
        "RFC 8259",
        "D",
    ),
    Rule(
        "S2",
        "shapes: known roles and keys, values of the known types and words, bytes as base64",
        "Parameter validation failed: Unknown parameter in messages[0]",
        "write from an allow-list",
        _MODEL,
        "D",
    ),
    Rule(
        "S3",
        "Claude's thinking is of a type that the model takes: from 4.7 on not manual, and often always on",
        "400",
        "adaptive; between_tools for Sonnet 5.5, which thinks there alone",
        "Amazon Bedrock's page of adaptive thinking; pydantic-ai profiles/anthropic.py",
        "C",
    ),
)
