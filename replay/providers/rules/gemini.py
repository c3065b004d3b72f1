"""What makes Gemini refuse a replayed history (specs/providers.md 0 and 4).

State of the facts: November 2026. Ids are those of specs/providers.md; S1 and S2 are our own.
"""

from replay.providers.rules import Judged, Rule, table

_SPEC = "specs/providers.md 4"
_TYPES = "google-genai's types"
_SIGNATURES = "ai.google.dev/gemini-api/docs/thought-signatures"

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
        "G1",
        "the calls of a content are answered by as many responses, which lead the next user content",
        "Please ensure that the number of function response parts is equal to the number of function call "
        "parts of the function call turn.",
        "answer each call, with a stand-in where nothing was recorded; responses first, all else behind them",
        "gemini-cli 3814, 17208",
        "W",
    ),
    Rule(
        "G2",
        "a content with calls comes right after a user content",
        "Please ensure that function call turn comes immediately after a user turn or after a function "
        "response turn.",
        "neighbours of one role are one content; a user text begins",
        _SPEC,
        "W",
    ),
    Rule(
        "G3",
        "a content with responses comes right after one with calls",
        "Please ensure that function response turn comes immediately after a function call turn.",
        "a response without its call is left out, or said as user text",
        _SPEC,
        "m",
        note="the text is from memory",
    ),
    Rule(
        "G4",
        "parallel calls stand together, before all of their responses",
        "400",
        "the calls of a step are one content, their responses the next",
        _SIGNATURES,
        "D",
        Judged.NEVER,
        "that calls were parallel cannot be seen in a request that tells them as one after the other",
    ),
    Rule(
        "G5",
        "a content has parts, a part has one kind of data, and no text is empty unless it carries a signature",
        "Unable to submit request because it must include at least one parts field",
        "leave the part out; when the content empties, the content",
        "opencode 17519",
        "W",
    ),
    Rule(
        "G6",
        "roles are user and model; calls stand with the model, responses with the user",
        "Please use a valid role: user, model.",
        "roles are mapped",
        _TYPES,
        "D",
        note="the text is from memory",
    ),
    Rule(
        "G7",
        "a response is an object without $ref, has its call's name, and its id where that has one",
        "Invalid JSON payload received. Unknown name",
        "other content stands under `result` or `error`; $ref is sent as $$ref; the name is the call's",
        _TYPES + "; litellm; pydantic-ai",
        "D",
    ),
    Rule(
        "G8",
        "a call's args are an object, its name a function's",
        "Invalid value at 'contents[1].parts[0].function_call.args'",
        'an object in a string is parsed, anything else becomes {"_raw": ...}; the name is made to fit, alike '
        "in declaration, call and response",
        _TYPES,
        "D",
    ),
    Rule(
        "G9",
        "the first content is of the user",
        "G2's",
        "a constant user text is put before it",
        _SPEC,
        "C",
    ),
    Rule(
        "G10",
        "from Gemini 3 on the first call of each step of the current turn carries its thought signature",
        "Function call `FC1` in the `1.` content block is missing a `thought_signature`.",
        "its own where Gemini made it, else the dummy",
        _SIGNATURES,
        "D",
    ),
    Rule(
        "G11",
        "the dummy signature stands on the first call of a content only",
        "none known",
        "only on a first call that has no signature of its own",
        _SIGNATURES + "; pydantic-ai; AI SDK; litellm",
        "D",
    ),
    Rule(
        "G12",
        "a signature is read by the transport that made it: Gemini API or Vertex",
        "Thought signature is not valid",
        "signatures of the other transport are foreign: left out, or the dummy",
        "pydantic-ai models/google.py, live 2026-10-27",
        "C",
        Judged.NEVER,
        "only the provider can read it",
    ),
    Rule(
        "G13",
        "signed parts are not joined, and none of media alone carries a signature",
        "400",
        "parts go back one to one",
        _SIGNATURES,
        "D",
        note="that parts were joined cannot be seen; a signature on data is judged",
    ),
    Rule(
        "G14",
        "thought parts may go back with their signature, and need not",
        "none",
        "signed ones of this model go back as they came",
        _SPEC,
        "C",
        Judged.NEVER,
        "nothing to break",
    ),
    Rule(
        "G15",
        "parts of built-in tools go back in pairs with the server's ids, to Gemini 3 and later only",
        "400",
        "left out in pairs",
        "pydantic-ai",
        "C",
    ),
    Rule(
        "G16",
        "answers that were cut off (MALFORMED_FUNCTION_CALL …) come with HTTP 200 and no content",
        "G5's",
        "a step with nothing in it is left out",
        _SIGNATURES,
        "D",
        Judged.NEVER,
        "an empty content is G5",
    ),
    Rule("S1", "no lone surrogate anywhere", "400", "send U+FFFD", "RFC 8259", "D"),
    Rule(
        "S2",
        "shapes: known keys, base64 where bytes are wanted",
        "Invalid JSON payload received. Unknown name",
        "write from an allow-list",
        _TYPES,
        "D",
    ),
)
