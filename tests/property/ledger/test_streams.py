"""Streams of providers, generated: whatever comes in whatever order, nothing raises and nothing is lost."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ledger.events import JsonObject
from tests.streams import check_sound, lines, sse, take

words = st.text(max_size=12)
odd = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
index = st.integers(0, 3)
name = st.sampled_from(["m1", "m2", "", "\x00", "x" * 300])


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[JsonObject]:
    """A record with these fields, any of which may be missing or of another type."""
    return st.fixed_dictionaries(
        {}, optional={key: st.one_of(value, value, value, odd) for key, value in fields.items()}
    )


def record(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[JsonObject]:
    return some(**fields).map(lambda found: {"type": kind, **found})


kinds = st.sampled_from(
    [
        *("text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "web_search_tool_result"),
        *("compaction", "fallback", "hologram"),
    ]
)
anthropic = st.one_of(
    record("message_start", message=some(id=name, model=words, usage=some(input_tokens=index))),
    record(
        "content_block_start",
        index=index,
        content_block=some(type=kinds, id=name, name=words, text=words, tool_use_id=name, data=words),
    ),
    record(
        "content_block_delta",
        index=index,
        delta=some(
            type=st.sampled_from(
                ["text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta"]
            ),
            text=words,
            thinking=words,
            signature=words,
            partial_json=words,
        ),
    ),
    record("content_block_stop", index=index),
    record(
        "message_delta",
        delta=some(
            stop_reason=st.sampled_from(["end_turn", "tool_use", "max_tokens", "pause_turn", "refusal"])
        ),
        usage=some(output_tokens=index),
    ),
    record("message_stop"),
    record("error", error=some(type=st.sampled_from(["overloaded_error", "other"]), message=words)),
    record("ping"),
)
item = some(
    type=st.sampled_from(
        [
            *("message", "reasoning", "function_call", "custom_tool_call", "shell_call", "shell_call_output"),
            *("web_search_call", "mcp_call", "compaction", "mcp_approval_request", "new_call", "new"),
        ]
    ),
    id=name,
    call_id=name,
    name=words,
    arguments=words,
    content=st.lists(some(type=st.sampled_from(["output_text", "refusal"]), text=words), max_size=2),
    summary=st.lists(some(text=words), max_size=2),
    encrypted_content=words,
)
response = some(
    id=name,
    model=words,
    status=st.sampled_from(["completed", "incomplete", "failed"]),
    output=st.lists(item, max_size=3),
    incomplete_details=some(reason=st.sampled_from(["max_output_tokens", "content_filter"])),
    error=some(code=st.sampled_from(["server_error", "x"]), message=words),
    usage=some(input_tokens=index),
)
responses = st.one_of(
    *(
        record(f"response.{kind}", response=response)
        for kind in ("created", "in_progress", "completed", "incomplete", "failed", "cancelled")
    ),
    *(
        record(f"response.output_item.{kind}", output_index=index, item=item, item_id=name)
        for kind in ("added", "done")
    ),
    *(
        record(
            f"response.{kind}.delta", output_index=index, delta=words, content_index=index, summary_index=index
        )
        for kind in ("output_text", "refusal", "reasoning_summary_text", "function_call_arguments")
    ),
    record("error", message=words, code=words),
)
chat = st.one_of(
    some(
        id=name,
        model=words,
        choices=st.lists(
            some(
                index=st.integers(0, 1),
                delta=some(
                    role=words,
                    content=words,
                    reasoning_content=words,
                    refusal=words,
                    tool_calls=st.lists(
                        some(index=index, id=name, function=some(name=words, arguments=words)), max_size=2
                    ),
                ),
                finish_reason=st.sampled_from(
                    [None, "stop", "tool_calls", "length", "content_filter", "error"]
                ),
            ),
            max_size=2,
        ),
        usage=some(prompt_tokens=index),
    ),
    some(error=some(message=words, code=st.sampled_from([429, "x"]))),
)
call_id = st.sampled_from(["c1", "c2"])
metadata = some(anthropic=some(signature=words))
ai_sdk = st.one_of(
    record("start", messageId=name),
    record("start-step"),
    record("finish-step", finishReason=words, usage=some(inputTokens=index)),
    record("step-finish"),
    record("reset-step"),
    record("finish", finishReason=st.sampled_from(["stop", "length", "other", "error", "tool-calls"])),
    record("abort", reason=words),
    record("error", errorText=words),
    *(
        record(f"{kind}-{what}", id=st.sampled_from(["0", "1"]), delta=words, providerMetadata=metadata)
        for kind in ("text", "reasoning")
        for what in ("start", "delta", "end")
    ),
    *(
        record(
            kind,
            toolCallId=call_id,
            toolName=words,
            input=odd,
            output=odd,
            errorText=words,
            inputTextDelta=words,
            providerExecuted=st.booleans(),
            preliminary=st.booleans(),
            approvalId=name,
            approved=st.booleans(),
        )
        for kind in (
            "tool-input-start",
            "tool-input-delta",
            "tool-input-available",
            "tool-input-error",
            "tool-output-available",
            "tool-output-error",
            "tool-output-denied",
            "tool-approval-request",
            "tool-approval-response",
        )
    ),
    record("file", url=words),
    record("data-x", data=odd),
)


def streams(records: st.SearchStrategy[JsonObject]) -> st.SearchStrategy[list[JsonObject]]:
    return st.lists(records, max_size=16)


def check(runtime: str, records: list[JsonObject], how: str) -> None:
    data = sse(records, done=how == "done") if how != "lines" else lines(records)
    these = take(runtime, data)
    check_sound(these)
    assert take(runtime, [data[at : at + 3] for at in range(0, len(data), 3)]).events == these.events
    check_sound(take(runtime, data, end="terminated"))


framing = st.sampled_from(["lines", "sse", "done"])


@given(streams(anthropic), framing)
def test_anthropic(records: list[JsonObject], how: str) -> None:
    check("anthropic", records, how)


@given(streams(responses), framing)
def test_openai_responses(records: list[JsonObject], how: str) -> None:
    check("openai-responses", records, how)


@given(streams(chat), framing)
def test_openai_chat(records: list[JsonObject], how: str) -> None:
    check("openai-chat", records, how)


@given(streams(ai_sdk), framing)
def test_ai_sdk(records: list[JsonObject], how: str) -> None:
    check("ai-sdk", records, how)


# -- streams as a provider would send them: everything that was said has to be there

block = st.one_of(
    st.tuples(st.just("text"), st.lists(st.text(min_size=1, max_size=9), min_size=1, max_size=4)),
    st.tuples(st.just("thinking"), st.lists(st.text(min_size=1, max_size=9), min_size=1, max_size=3)),
    st.tuples(st.just("call"), st.dictionaries(words, st.integers(0, 9), max_size=2)),
)


@given(st.lists(st.lists(block, max_size=5), min_size=1, max_size=4), st.integers(0, 10_000), st.randoms())
def test_all_that_a_provider_said_is_there(messages: list[Any], cut: int, chance: Any) -> None:
    """Messages of text, thinking and calls, their deltas interleaved: the blocks come out word for word; cut
    anywhere, what came of a block before the cut is there too."""
    sent: list[JsonObject] = []
    blocks: list[tuple[str, Any]] = []
    for number, parts in enumerate(messages):
        sent.append({"type": "message_start", "message": {"id": f"m{number}", "model": "claude-opus-4-5"}})
        queues = []
        for at, (kind, content) in enumerate(parts):
            if kind == "call":
                start = {"type": "tool_use", "id": f"t{number}-{at}", "name": "f", "input": {}}
                spelled = json.dumps(content)
                half = len(spelled) // 2
                deltas = [
                    {"type": "input_json_delta", "partial_json": p} for p in (spelled[:half], spelled[half:])
                ]
                blocks.append(("call", content))
            else:
                start = {"type": kind, kind: ""}
                deltas = [{"type": f"{kind}_delta", kind: piece} for piece in content]
                if kind == "thinking":
                    deltas.append({"type": "signature_delta", "signature": f"s{number}-{at}"})
                blocks.append((kind, "".join(content)))
            queues.append(
                [
                    {"type": "content_block_start", "index": at, "content_block": start},
                    *({"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas),
                    {"type": "content_block_stop", "index": at},
                ]
            )
        # The starts come in order, everything else in any order that keeps each block's own.
        sent += [queue.pop(0) for queue in queues]
        while any(queues):
            sent.append(chance.choice([queue for queue in queues if queue]).pop(0))
        last = number == len(messages) - 1
        reason = "end_turn" if last else "tool_use"
        sent += [{"type": "message_delta", "delta": {"stop_reason": reason}}, {"type": "message_stop"}]
    these = take("anthropic", sse(sent))
    check_sound(these)
    assert these.ends == [("complete", "end_turn")]
    got = {(e["step_id"], e["block_index"]): e for e in these.events if "block_index" in e}
    in_order = [got[key] for key in sorted(got) if got[key].get("text") != "" or got[key].get("signature")]
    assert [
        ("call", event["args"])
        if event["type"] == "tool_start"
        else (event["type"].removesuffix("_complete"), event["text"])
        for event in in_order
    ] == blocks

    data = sse(sent)
    at = cut % (len(data) + 1)
    part = take("anthropic", data[:at])
    check_sound(part)
    streamed: dict[tuple[str, int], str] = {}
    message = ""
    whole = [number for number in range(len(sent)) if len(sse(sent[: number + 1])) - 2 <= at]
    for record in sent[: len(whole)]:
        told: Any = record
        message = told["message"]["id"] if told["type"] == "message_start" else message
        if told["type"] == "content_block_delta":
            delta = told["delta"]
            place = (message, told["index"])
            streamed[place] = streamed.get(place, "") + delta.get("text", delta.get("thinking", ""))
    there = {(e["step_id"], e["block_index"]): e.get("text") for e in part.events if "block_index" in e}
    for place, text in streamed.items():
        if text.strip():
            assert there[place] == text
