"""Token counts as providers report them, as the ledger keeps them (DESIGN.md 3.2, specs/formats.md 0).

Kept: `input` (uncached), `cache_read`, `cache_write`, `output` are disjoint; `reasoning` is part of `output`.
What the source said stands beside them as `reported`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from ledger.events import Json, JsonObject


def anthropic_usage(reported: Mapping[str, Json]) -> JsonObject | None:
    """Of the Messages API: `input_tokens` leaves cache reads and writes out already."""
    details = _object(reported.get("output_tokens_details"))
    return _kept(
        reported,
        input=_count(reported.get("input_tokens")),
        output=_count(reported.get("output_tokens")),
        cache_read=_count(reported.get("cache_read_input_tokens")),
        cache_write=_count(reported.get("cache_creation_input_tokens")),
        reasoning=_count(details.get("thinking_tokens")),
    )


def openai_usage(reported: Mapping[str, Json]) -> JsonObject | None:
    """Of the Responses API and of Chat Completions and its dialects: the input counts cached tokens too.

    A dialect that counts reasoning beside its output is known by its total.
    """
    total_input = _first(reported, "input_tokens", "prompt_tokens")
    output = _first(reported, "output_tokens", "completion_tokens")
    inside = _object(reported.get("input_tokens_details") or reported.get("prompt_tokens_details"))
    of_output = _object(reported.get("output_tokens_details") or reported.get("completion_tokens_details"))
    read = _count(inside.get("cached_tokens"))
    if read is None:
        read = _count(reported.get("prompt_cache_hit_tokens"))
    reasoning = _count(of_output.get("reasoning_tokens"))
    total = _count(reported.get("total_tokens"))
    if reasoning and output is not None and total == (total_input or 0) + output + reasoning:
        output += reasoning
    write = _count(inside.get("cache_write_tokens"))
    return _kept(
        reported,
        input=_less(total_input, read, write),
        output=output,
        cache_read=read,
        cache_write=write,
        reasoning=reasoning,
    )


def ai_sdk_usage(reported: Mapping[str, Json]) -> JsonObject | None:
    """Of the AI SDK, 5 to 7 and the older names: the input counts cached tokens too."""
    inside, of_output = (_object(reported.get(name)) for name in ("inputTokenDetails", "outputTokenDetails"))
    total_input = _first(reported, "inputTokens", "promptTokens")
    read = _first(inside, "cacheReadTokens")
    if read is None:
        read = _count(reported.get("cachedInputTokens"))
    write = _count(inside.get("cacheWriteTokens"))
    uncached = _count(inside.get("noCacheTokens"))
    reasoning = _count(of_output.get("reasoningTokens"))
    if reasoning is None:
        reasoning = _count(reported.get("reasoningTokens"))
    return _kept(
        reported,
        input=_less(total_input, read, write) if uncached is None else uncached,
        output=_first(reported, "outputTokens", "completionTokens"),
        cache_read=read,
        cache_write=write,
        reasoning=reasoning,
    )


def opencode_usage(reported: Mapping[str, Json]) -> JsonObject | None:
    """Of OpenCode: the input leaves cache reads and writes out, the output leaves reasoning out."""
    cache = _object(reported.get("cache"))
    output, reasoning = _count(reported.get("output")), _count(reported.get("reasoning"))
    return _kept(
        reported,
        input=_count(reported.get("input")),
        output=output + reasoning if output is not None and reasoning is not None else output,
        cache_read=_count(cache.get("read")),
        cache_write=_count(cache.get("write")),
        reasoning=reasoning,
    )


def _kept(reported: Mapping[str, Json], **counts: int | None) -> JsonObject | None:
    """None where nothing was counted at all."""
    usage: JsonObject = {name: count for name, count in counts.items() if count is not None}
    if not usage:
        return None
    usage["reported"] = dict(reported)
    return usage


def _less(total: int | None, *parts: int | None) -> int | None:
    return None if total is None else max(0, total - sum(part or 0 for part in parts))


def _first(reported: Mapping[str, Json], *names: str) -> int | None:
    return next((count for name in names if (count := _count(reported.get(name))) is not None), None)


def _count(value: Json) -> int | None:
    return value if _is_count(value) else None


def _is_count(value: Json) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
