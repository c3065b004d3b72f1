"""Anthropic's rules on preserved thinking and on blocks and settings that few requests have (1.3 and 1.4)."""

from replay.providers.rules import Judged, Rule

_PRESERVED = "platform.claude.com/docs/en/build-with-claude/preserved-thinking"
_FALLBACK = "platform.claude.com/docs/en/build-with-claude/refusals-and-fallback"
_STOP = "platform.claude.com/docs/build-with-claude/handling-stop-reasons"

PRESERVED_THINKING = (
    Rule(
        "A12",
        "bound thinking: system, tools and all messages before a block are those that it was made under",
        "Invalid `signature` in `thinking` block. The block is bound to a different conversation.",
        "thinking made under another context is left out, and all after it; or it is sent, where the target "
        "asks for prefix_mismatch_behavior drop_block",
        f"{_PRESERVED}/prefix-checks.md",
        "D",
        Judged.NEVER,
        "about two requests: that rendering only appends is a property, and `audit sent` compares with what "
        "went out",
    ),
    Rule(
        "A14",
        "a model reads its own thinking and that of a fixed set of others",
        "none: unreadable thinking is dropped in silence (input_transformations says so)",
        "sent to its own model, and to those that a table says read it",
        f"{_PRESERVED}.md",
        "D",
        Judged.NEVER,
        "nothing is refused",
    ),
    Rule(
        "A15",
        "instructions and tools change by appending only",
        "see A12",
        "a later system message keeps its place; nothing that was sent is edited",
        "platform.claude.com/docs/build-with-claude/preserved-thinking/change-tools-or-instructions",
        "D",
        Judged.NEVER,
        "about two requests: a property test states that rendering only appends",
    ),
    Rule(
        "A16",
        "block_binding stands beside adaptive thinking only, and says error or drop_block",
        "thinking.block_binding: Extra inputs are not permitted",
        "left out beside any other thinking; the beta header thinking-binding-controls-2026-08-01 is for the "
        "caller to send",
        "pydantic-ai _thinking_binding.py",
        "C",
        note="headers are no part of a request's JSON",
    ),
    Rule(
        "A17",
        "signed thinking with empty text is thinking: text between calls comes back as such",
        "see A13 and A22",
        "kept like any other",
        "platform.claude.com/docs/models/opus-5-5/whats-new-opus-5-5.md",
        "D",
        Judged.ORIGINAL,
        "judged as A13 and A22",
    ),
    Rule(
        "A28",
        "thinking of earlier turns may be dropped, whole blocks of it, where it is not bound",
        "none",
        "kept: the provider ignores it or clears it itself",
        "specs/providers.md 1.2",
        "D",
        Judged.NEVER,
        "nothing to break",
    ),
)

SPECIAL_BLOCKS = (
    Rule(
        "A35",
        "a turn that paused goes on from its content, as it is, with the same tools",
        "see A9 and A32",
        "sent as recorded; it may end the request",
        _STOP,
        "D",
        note="judged as A9 and A32",
    ),
    Rule(
        "A36",
        "a call that the token limit cut has partial arguments or none",
        "see A1 and A6",
        "a recorder drops a call that did not start; one that is recorded has its arguments wrapped and an "
        "error result",
        "specs/dsh.md 4",
        "D",
        note="judged as A1 and A6",
    ),
    Rule(
        "A37",
        "a refused answer is partial; a fallback block marks where another model goes on",
        "see A22 and A23",
        "what the refusing model said is left out up to the last seam, with the seam and the step's thinking; "
        "calls stay",
        _FALLBACK,
        "D",
        note="judged: such a block names the model that goes on; a missing one as A23",
    ),
    Rule(
        "A38",
        "a compaction block goes back verbatim; a signed one comes first, and one at most has content",
        "The `compaction` block is not the first block of the conversation",
        "the block of the compaction in force stands first; another maker's is its summary as user text",
        "SDK BetaCompactionBlockParam, CompactionBlockMisplacedError, CompactionBlockAmbiguousError",
        "D",
    ),
    Rule(
        "A39",
        "context editing is the server's: the client goes on sending all of the history",
        "none",
        "applied edits are recorded and never mirrored",
        "SDK BetaContextManagementConfigParam",
        "D",
        Judged.NEVER,
        "nothing to break",
    ),
    Rule(
        "A42",
        "text cites web search results only, which are in the request; of documents all are cited or none",
        "400, wording not recorded",
        "other citations are left out; documents are sent without",
        "pydantic-ai _citations.py",
        "C",
    ),
    Rule(
        "A43",
        "caller and toolset_name are part of a call, and toolset_name of its result",
        "400 for members of a toolset",
        "kept where they are recorded; a caller that is not in the request is left out",
        "SDK ToolUseBlockParam, ToolResultBlockParam",
        "D",
    ),
    Rule(
        "A44",
        "at most 100,000 messages and 32 MB of body",
        "413 request_too_large",
        "not sendable beyond the count of messages: record a compaction",
        "platform.claude.com/docs/en/api/errors",
        "D",
        note="MB is read as 1024 * 1024 bytes; the body's size is judged, not mended",
    ),
)
