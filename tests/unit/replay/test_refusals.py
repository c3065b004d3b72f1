"""Providers' refusals, as they and their gateways word them."""

from __future__ import annotations

import json

import pytest

from replay import next_rung
from replay.options import RUNGS

TEXTS = {
    "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.": (
        "dangling", "A1", "flat-tools"),
    "messages.1.content.0: Invalid `signature` in `thinking` block": ("opaque", "A21", "no-foreign"),
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation.": (
        "prefix", "A12", "no-thinking"),
    "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.": (
        "thinking required", "A24", "no-thinking"),
    "The `reasoning_content` in the thinking mode must be passed back to the API.": (
        "reasoning missing", "O20", "no-thinking"),
    "No tool output found for function call call_1.": ("dangling", "R1", "flat-tools"),
    "Item 'rs_1' of type 'reasoning' was provided without its required following item.": (
        "reasoning missing", "R4", "no-thinking"),
    "Function call `FC1` in the `1.` content block is missing a `thought_signature`.": (
        "reasoning missing", "G10", "no-thinking"),
    "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.": ("id", "M1", "flat-tools"),
    "The toolConfig field must be defined when using toolUse and toolResult content blocks.": (
        "tools", "B3", "flat-tools"),
    "messages: text content blocks must be non-empty": ("empty", "A10", "text-only"),
    "This model does not support assistant message prefill. The conversation must end with a user message.": (
        "tail", "A9", "text-only"),
    'messages: first message must use the "user" role': ("order", "A7", "text-only"),
    "messages.2.content.0.tool_result: all content must be type `text` if `is_error` is true": (
        "tool content", "A30", "flat-tools"),
    "tool_use.input: Input should be a valid dictionary": ("tool content", "A6", "flat-tools"),
    "The `content[].thinking` in the thinking mode must be passed back to the API.": (
        "reasoning missing", "O20", "no-thinking"),
    "The encrypted content gAAA could not be verified. Reason: it could not be decrypted or parsed.": (
        "opaque", "R8", "no-foreign"),
    "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.": (
        "item ids", "R7", "no-thinking"),
    "Please ensure that the number of function response parts is equal to the number of function call parts": (
        "dangling", "G1", "flat-tools"),
    "The model returned the following errors: messages.1.content.0: Invalid `signature` in `thinking` block": (
        "opaque", "A21", "no-foreign"),
    "A conversation must start with a user message.": (
        "order", "B9", "text-only"),
    "The text field in the ContentBlock object at messages.1.content.0 is blank.": ("empty", "B5", "text-only"),
    "Unexpected role 'user' after role 'tool'": ("order", "M3", "text-only"),
    "Unexpected role 'tool' after role 'user'": ("orphan", "M3", "flat-tools"),
    "AI_MissingToolResultsError: Tool result is missing for tool call c1.": ("dangling", "V1", "flat-tools"),
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("wrapped", ["as it is", "in a body", "by a gateway"])
def test_a_known_refusal(text: str, wrapped: str) -> None:
    said = {
        "as it is": text,
        "in a body": json.dumps({"type": "error", "error": {"message": text}}),
        "by a gateway": json.dumps(
            {"error": {"message": "Provider returned error", "metadata": {"raw": json.dumps(text)}}}
        ),
    }[wrapped]
    kind, rule, rung = TEXTS[text]
    found = next_rung(said)
    assert (found.kind, found.rung) == (kind, rung)
    assert rule in found.rules
    assert found.mend


@pytest.mark.parametrize("text", [*TEXTS, "the server is on fire", ""])
def test_it_always_goes_down_and_comes_to_an_end(text: str) -> None:
    for place, rung in enumerate(RUNGS):
        found = next_rung(text, rung)
        if rung == RUNGS[-1]:
            assert found.rung is None
        else:
            assert found.rung is not None
            assert RUNGS.index(found.rung) > place


def test_an_unknown_text_says_so() -> None:
    assert next_rung("the server is on fire", "no-foreign")[:3] == ("unknown", (), "no-thinking")
