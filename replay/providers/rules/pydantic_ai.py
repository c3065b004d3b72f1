"""What makes pydantic-ai, or the provider below it, refuse a message history, or show what it must not.

State of the facts: pydantic-ai-slim 2.68, read and run. X and S ids are those of the other tables; P ids are
our own. The library repairs some of these faults itself (`repair_messages`), in ways of its own.
"""

from replay.providers.rules import Judged, Rule, table

_TYPES = "pydantic_ai.messages.ModelMessagesTypeAdapter"
_BELOW = "the provider below: specs/providers.md"

RULES = table(
    Rule(
        "X5",
        "the history ends with a request that asks something",
        "the provider's: must end with a user message",
        "not sendable: nothing false is appended",
        "specs/providers.md 0",
        "D",
    ),
    Rule(
        "X6",
        "a call's arguments are an object, or a JSON text of one",
        "the provider's: Input should be a valid dictionary",
        "parse them, or wrap them under `_raw`",
        "specs/providers.md 0",
        "D",
    ),
    Rule(
        "P1",
        "each tool call of a response is answered in the request right behind it, before anything else",
        "the library answers it itself: The tool call was interrupted before a result was produced.",
        "answer it with a stand-in; results stand right behind their step",
        f"{_BELOW} A1, O1",
        "C",
    ),
    Rule(
        "P2",
        "a tool return answers a call of the responses right before it, once",
        "the provider's: unexpected `tool_use_id` found in `tool_result` blocks",
        "leave it out, or say it as user text",
        f"{_BELOW} A2, A3",
        "C",
    ),
    Rule(
        "P3",
        "a tool call id stands once in the history",
        "the provider's: `tool_use` ids must be unique",
        "rename the later pair",
        f"{_BELOW} A4",
        "W",
    ),
    Rule(
        "P4",
        "no blank text, no message or prompt without content, no empty item in a tool return",
        "the provider's: text content blocks must be non-empty",
        "leave the part out; when the message empties, the message",
        f"{_BELOW} A10, A11",
        "L",
    ),
    Rule(
        "P5",
        "thinking carries its signature or item id, and the name of the provider that made it",
        "none: the library shows it to the model as text",
        "write it from what was recorded; leave out thinking that another made",
        "pydantic_ai.models: render_replayed_thinking",
        "C",
    ),
    Rule(
        "P6",
        "kinds, parts and fields are those that the library reads",
        "pydantic_core.ValidationError",
        "write them from an allow-list",
        _TYPES,
        "D",
    ),
    Rule(
        "P7",
        "calls of tools that the provider runs have their returns in the same response, and name the provider",
        "the provider's: tool use with id srvtoolu_... was found without a corresponding block",
        "leave call and return out: messages do not declare the tool that ran it",
        "pydantic_ai.models.anthropic: drop_unpaired_native_tool_calls",
        "C",
    ),
    Rule(
        "P8",
        "the first message is a request that asks something",
        'the provider\'s: first message must use the "user" role',
        "put a constant user text before it",
        f"{_BELOW} A7, B9, G2",
        "C",
        note="judged where thinking, target.api or the model's name tells Anthropic, Bedrock or Google",
    ),
    Rule(
        "P9",
        "names of tools and ids of calls are 1 to 128 letters, digits, _ or -",
        "the provider's: String should match pattern",
        "rename it, alike in call, return and definition",
        f"{_BELOW} A5, O7, B4",
        "C",
        note="the alphabet of call ids is judged for Anthropic, Bedrock and Mistral (M1)",
    ),
    Rule(
        "P10",
        "no request is changed by a clock: timestamps",
        "none",
        "leave them out",
        "specs/providers.md X7",
        "C",
        Judged.NEVER,
        "nothing is refused, and nothing of them reaches a model",
    ),
    Rule(
        "P11",
        "images and files are base64, or http URLs with a media type that the library knows",
        "UserError; ValueError: Could not infer media type from URL",
        "say in text what cannot be sent",
        "pydantic_ai.messages.FileUrl, BinaryContent",
        "C",
    ),
    Rule(
        "P12",
        "below Bedrock no response stands behind a response",
        "the provider's: A conversation must alternate between user and assistant roles",
        "steps in a row are one response",
        f"{_BELOW} B9; pydantic_ai.models.bedrock joins requests alone",
        "C",
    ),
    Rule(
        "P13",
        "below Bedrock a history with tool calls declares tools",
        "the provider's: The toolConfig field must be defined when using toolUse and toolResult content blocks",
        "declare the tools of the context in force, else stubs of the names that were called",
        f"{_BELOW} B3",
        "W",
    ),
    Rule("S1", "no lone surrogate anywhere", "the body is not UTF-8", "send U+FFFD", "RFC 8259", "D"),
)
