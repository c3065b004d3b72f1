"""The diagnostics that renderers add to the plan's: what was left out, renamed or mended for a provider."""

from replay.diagnostics import Code, Severity, register


def _code(code: str, severity: Severity, meaning: str, advice: str) -> Code:
    return Code(code, severity, meaning, advice)


register(
    _code(
        "args_wrapped",
        "warning",
        "Arguments that are not a JSON object are wrapped or parsed into one (detail.how).",
        "Nothing: the ledger keeps what was recorded.",
    ),
    _code(
        "assistant_first_anchored",
        "info",
        "The history starts with the assistant; a constant user text is put before it.",
        "Nothing; record the user's message, if there was one.",
    ),
    _code(
        "blank_text_skipped",
        "info",
        "Text of white space alone is left out; the provider refuses it.",
        "Nothing.",
    ),
    _code(
        "block_binding_skipped",
        "warning",
        "The thinking's block_binding is left out: it says error or drop_block beside adaptive thinking only.",
        "Ask for adaptive thinking, where the model has it.",
    ),
    _code(
        "caller_skipped",
        "warning",
        "Who made a tool call is not said (detail.reason).",
        "Nothing; the call and its result stay.",
    ),
    _code(
        "citations_skipped",
        "info",
        "Citations of a text are left out (detail.count): only web results that are in the request are cited.",
        "Nothing; the text stays.",
    ),
    _code(
        "content_stand_in",
        "warning",
        "An image, a file or a block of another kind cannot be sent; a text says so (detail.problem).",
        "Record a media type that the provider takes, with its data or a URL.",
    ),
    _code(
        "damaged_thinking_skipped",
        "warning",
        "Signed thinking cannot be sent byte for byte (detail.reason), so it is left out.",
        "Find out who changed the block.",
    ),
    _code(
        "error_media_moved",
        "info",
        "An error result holds text only; its images and files stand behind the results.",
        "Nothing.",
    ),
    _code(
        "foreign_thinking_skipped",
        "info",
        "Thinking that another or an unknown provider, api or model made is left out (detail names it).",
        "Nothing; record provider and model in step_start, when they are unknown.",
    ),
    _code(
        "hosted_block_skipped",
        "warning",
        "A provider-executed call or result cannot be sent here (detail.reason); it is left out.",
        "Nothing; the step's text stays.",
    ),
    _code(
        "nothing_to_answer",
        "info",
        "The request is empty or ends with the assistant; nothing false is appended, so it is not sendable.",
        "Append a user message.",
    ),
    _code(
        "refused_block_skipped",
        "warning",
        "A model refused to go on after this block, so it is left out.",
        "Nothing: the ledger keeps what was recorded.",
    ),
    _code(
        "setting_skipped",
        "info",
        "A recorded setting is not in the request: the target has none like it, or not with that value here.",
        "Nothing, or give the request the setting that this provider has for it.",
    ),
    _code(
        "signature_dummy",
        "info",
        "The first call of a step has no signature that Gemini reads; a dummy stands there, at some cost.",
        "Nothing; record the signatures that the provider gives.",
    ),
    _code(
        "surrogates_replaced",
        "warning",
        "A lone surrogate, which no provider takes, is sent as U+FFFD.",
        "Nothing: the ledger keeps what was recorded.",
    ),
    _code(
        "system_message_as_user",
        "info",
        "A system message amid the history is sent as tagged user text.",
        "Nothing.",
    ),
    _code(
        "thinking_context_skipped",
        "warning",
        "Thinking that the model binds to another system prompt or other tools is left out.",
        "Change instructions by system messages, or ask for the drop_block behavior.",
    ),
    _code(
        "thinking_order_skipped",
        "warning",
        "Thinking whose place in its response is not known, or not kept, is left out (detail.reason).",
        "Record block_index on every block.",
    ),
    _code(
        "thinking_mode_changed",
        "warning",
        "The model takes no thinking of the type that was asked for (detail.asked): detail.sent goes.",
        "Ask for adaptive thinking.",
    ),
    _code(
        "thinking_off",
        "warning",
        "Thinking is switched off for this request: manual thinking wants the open tool loop to start with it.",
        "Nothing; it can be on again from the next user message.",
    ),
    _code(
        "thinking_only_step_skipped",
        "info",
        "A step of thinking alone is left out: none of it can be sent, or no user message follows it.",
        "Nothing.",
    ),
    _code(
        "thinking_tail_skipped",
        "info",
        "Thinking at the end of a step, or right before what is left out of it, is left out.",
        "Nothing.",
    ),
    _code(
        "unsigned_thinking_skipped",
        "info",
        "Thinking without a signature is left out; it is never shown to a model as text.",
        "Record the signature, if the provider gave one.",
    ),
    _code(
        "thinking_suffix_skipped",
        "warning",
        "Thinking is left out because thinking before it could not be sent (detail.since is that version).",
        "Nothing; sending it would break the provider's check of unchanged thinking.",
    ),
    _code(
        "tool_definition_skipped",
        "warning",
        "A recorded tool definition has no name or no schema that can be sent; it is left out.",
        "Record tools as name, description and input_schema.",
    ),
    _code(
        "tool_id_rewritten",
        "info",
        "A tool call id has characters that the provider refuses; call and result use detail.sent.",
        "Nothing: ledger and views keep the recorded id.",
    ),
    _code(
        "tool_name_rewritten",
        "info",
        "A tool name has characters that the provider refuses; detail.sent is used.",
        "Nothing: ledger and views keep the recorded name.",
    ),
    _code(
        "too_many_messages",
        "warning",
        "The request has more messages than the provider takes (detail.count); it is not sendable.",
        "Record a compaction.",
    ),
)
