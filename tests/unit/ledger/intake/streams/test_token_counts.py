"""Token counts of every provider in one set of names: disjoint, but for reasoning inside the output."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.intake.token_counts import ai_sdk_usage, anthropic_usage, openai_usage

CASES: list[tuple[Any, dict[str, Any], dict[str, int]]] = [
    (anthropic_usage, {"input_tokens": 5, "output_tokens": 3}, {"input": 5, "output": 3}),
    (
        anthropic_usage,
        {
            "input_tokens": 5,
            "cache_read_input_tokens": 90,
            "cache_creation_input_tokens": 0,
            "output_tokens": 30,
            "output_tokens_details": {"thinking_tokens": 20},
        },
        {"input": 5, "cache_read": 90, "cache_write": 0, "output": 30, "reasoning": 20},
    ),
    (
        openai_usage,
        {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 5},
            "total_tokens": 120,
        },
        {"input": 30, "cache_read": 60, "cache_write": 10, "output": 20, "reasoning": 5},
    ),
    (
        openai_usage,
        {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 60},
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
        {"input": 40, "cache_read": 60, "output": 20, "reasoning": 5},
    ),
    (  # DeepSeek's own names
        openai_usage,
        {"prompt_tokens": 100, "completion_tokens": 20, "prompt_cache_hit_tokens": 64},
        {"input": 36, "cache_read": 64, "output": 20},
    ),
    (  # a dialect that counts reasoning beside the output
        openai_usage,
        {
            "prompt_tokens": 10,
            "completion_tokens": 4,
            "total_tokens": 20,
            "completion_tokens_details": {"reasoning_tokens": 6},
        },
        {"input": 10, "output": 10, "reasoning": 6},
    ),
    (
        ai_sdk_usage,
        {
            "inputTokens": 100,
            "inputTokenDetails": {"noCacheTokens": 30, "cacheReadTokens": 60, "cacheWriteTokens": 10},
            "outputTokens": 20,
            "outputTokenDetails": {"reasoningTokens": 5},
        },
        {"input": 30, "cache_read": 60, "cache_write": 10, "output": 20, "reasoning": 5},
    ),
    (
        ai_sdk_usage,
        {"inputTokens": 100, "cachedInputTokens": 60, "outputTokens": 20, "reasoningTokens": 5},
        {"input": 40, "cache_read": 60, "output": 20, "reasoning": 5},
    ),
    (ai_sdk_usage, {"promptTokens": 7, "completionTokens": 2}, {"input": 7, "output": 2}),
]


@pytest.mark.parametrize(("counts", "reported", "kept"), CASES)
def test_counts(counts: Any, reported: dict[str, Any], kept: dict[str, int]) -> None:
    usage = counts(reported)
    assert usage.pop("reported") == reported
    assert usage == kept


@pytest.mark.parametrize("counts", [anthropic_usage, openai_usage, ai_sdk_usage])
@pytest.mark.parametrize(
    "reported", [{}, {"inputTokens": None}, {"input_tokens": "5"}, {"prompt_tokens": True}, {"details": {}}]
)
def test_nothing_counted_is_no_usage(counts: Any, reported: dict[str, Any]) -> None:
    assert counts(reported) is None


def test_never_below_nothing() -> None:
    usage = openai_usage({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}})
    assert usage is not None
    assert usage["input"] == 0
