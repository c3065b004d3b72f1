"""Anthropic's Messages stream: every kind of block, every way to end."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.events import JsonObject
from tests.streams import Taken, check_request, check_sound, sse
from tests.streams import take as take_stream

MODEL = "claude-opus-4-5"


def take(*records: Any, **options: Any) -> Taken:
    these = take_stream("anthropic", sse(records), **options)
    check_sound(these)
    return these


def start(name: str = "m1", model: str = MODEL, **usage: int) -> JsonObject:
    counts: JsonObject = {"input_tokens": 10, "output_tokens": 1, **usage}
    message: JsonObject = {"id": name, "type": "message", "model": model, "content": [], "usage": counts}
    return {"type": "message_start", "message": message}


def begin(index: int, kind: str, **fields: Any) -> JsonObject:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}}


def piece(index: int, kind: str, **fields: Any) -> JsonObject:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index: int) -> JsonObject:
    return {"type": "content_block_stop", "index": index}


def text(index: int, *pieces: str) -> list[JsonObject]:
    deltas = [piece(index, "text_delta", text=one) for one in pieces]
    return [begin(index, "text", text=""), *deltas, stop(index)]


def thinking(index: int, words: str, signature: str = "sig") -> list[JsonObject]:
    return [
        begin(index, "thinking", thinking="", signature=""),
        piece(index, "thinking_delta", thinking=words),
        piece(index, "signature_delta", signature=signature),
        stop(index),
    ]


def call(
    index: int, call_id: str, *pieces: str, name: str = "read", kind: str = "tool_use"
) -> list[JsonObject]:
    deltas = [piece(index, "input_json_delta", partial_json=one) for one in pieces]
    return [begin(index, kind, id=call_id, name=name, input={}), *deltas, stop(index)]


def end(reason: str | None = "end_turn", **usage: Any) -> list[JsonObject]:
    told: JsonObject = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}}
    return [{**told, "usage": {"output_tokens": 7, **usage}}, {"type": "message_stop"}]


def error(kind: str = "overloaded_error") -> JsonObject:
    return {"type": "error", "error": {"type": kind, "message": "sorry"}, "request_id": "r1"}


def test_thinking_text_and_calls_in_their_places() -> None:
    these = take(
        start(),
        *thinking(0, "first"),
        *text(1, "I ", "look."),
        *call(2, "t1", "", '{"a"', ": 1}"),
        *thinking(3, "again", "sig2"),
        begin(4, "redacted_thinking", data="SEALED"),
        stop(4),
        *call(5, "t2", ""),
        *end("tool_use"),
    )
    blocks = {event["block_index"]: event for event in these.events if "block_index" in event}
    assert [blocks[place]["type"] for place in range(6)] == [
        "thinking_complete",
        "text_complete",
        "tool_start",
        "thinking_complete",
        "thinking_complete",
        "tool_start",
    ]
    assert (blocks[0]["signature"], blocks[3]["signature"]) == ("sig", "sig2")
    assert blocks[4]["redacted_data"] == "SEALED"
    assert these.calls == [("t1", "read", {"a": 1}), ("t2", "read", {})]
    begun = these.only("step_start")
    assert (begun["step_id"], begun["provider"], begun["api"], begun["model"]) == (
        "m1",
        "anthropic",
        "anthropic-messages",
        MODEL,
    )
    assert these.only("step_finish")["response_id"] == "m1"


def test_the_request_gives_the_provider_its_own_blocks_back() -> None:
    these = take(start(), *thinking(0, "why"), *text(1, "Because."), *end())
    (message,) = these.replay({"provider": "anthropic", "model": MODEL}).messages[-1:]
    assert message["content"] == [
        {"type": "thinking", "thinking": "why", "signature": "sig"},
        {"type": "text", "text": "Because."},
    ]


def test_usage_is_disjoint_and_later_numbers_count() -> None:
    these = take(
        start(cache_read_input_tokens=900, cache_creation_input_tokens=50),
        *text(0, "x"),
        *end(output_tokens=40, output_tokens_details={"thinking_tokens": 30}, input_tokens=12),
    )
    usage = these.only("step_finish")["usage"]
    reported = usage.pop("reported")
    assert usage == {"input": 12, "output": 40, "cache_read": 900, "cache_write": 50, "reasoning": 30}
    assert reported["cache_read_input_tokens"] == 900


def test_the_providers_own_tools_are_calls_and_results_of_the_step() -> None:
    hit = {"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "E"}
    these = take(
        start(),
        *call(0, "srvtoolu_1", '{"query": "x"}', name="web_search", kind="server_tool_use"),
        begin(1, "web_search_tool_result", tool_use_id="srvtoolu_1", content=[hit]),
        stop(1),
        *call(2, "srvtoolu_2", '{"code": "1"}', name="code_execution", kind="server_tool_use"),
        begin(
            3,
            "code_execution_tool_result",
            tool_use_id="srvtoolu_2",
            content={"type": "code_execution_tool_result_error", "error_code": "unavailable"},
        ),
        stop(3),
        begin(4, "text", text="", citations=[]),
        piece(4, "text_delta", text="Found."),
        piece(4, "citations_delta", citation={"type": "web_search_result_location", "url": "u"}),
        stop(4),
        *end(),
    )
    assert these.kinds.count("tool_start") == 2
    assert all(call["provider_executed"] for call in these.of("tool_start", "tool_result"))
    assert these.results == [
        ("srvtoolu_1", [hit], None),
        (
            "srvtoolu_2",
            {"type": "code_execution_tool_result_error", "error_code": "unavailable"},
            True,
        ),
    ]
    assert [result["tool_name"] for result in these.of("tool_result")] == ["web_search", "code_execution"]
    assert [event["block_index"] for event in these.of("tool_start", "tool_result")] == [0, 1, 2, 3]
    cited = these.only("text_complete")["provider_metadata"]
    assert cited == {"citations": [{"type": "web_search_result_location", "url": "u"}]}


def test_a_paused_turn_goes_on() -> None:
    search = call(0, "srvtoolu_1", '{"query": "x"}', name="web_search", kind="server_tool_use")
    these = take(start("m1"), *search, *end("pause_turn"), start("m2"), *text(0, "Done."), *end())
    assert these.steps == ["m1", "m2"]
    assert these.ends == [("complete", "end_turn")]
    paused = take(start("m1"), *search, *end("pause_turn"))
    assert paused.ends == [("complete", "pause_turn")]
    assert paused.replay().sendable


def test_steps_of_one_turn_and_turns_of_one_stream() -> None:
    these = take(
        start("m1"),
        *call(0, "t1", "{}"),
        *end("tool_use"),
        start("m2"),
        *text(0, "One."),
        *end(),
        start("m3"),
        *text(0, "Two."),
        *end("stop_sequence"),
        turn_id="mine",
    )
    assert these.steps == ["m1", "m2", "m3"]
    assert these.ends == [("complete", "end_turn"), ("complete", "stop_sequence")]
    first, second = (event["turn_id"] for event in these.of("turn_start"))
    assert first == "mine" != second
    assert [event["turn_id"] for event in these.of("step_start")] == ["mine", "mine", second]


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
def test_out_of_tokens_in_the_middle_of_a_call(reason: str) -> None:
    these = take(
        start(),
        *text(0, "Look:"),
        *call(1, "whole", '{"a": 1}'),
        *call(2, "cut", '{"a": "unfin'),
        *end(reason),
    )
    assert these.calls == []
    assert these.texts == ["Look:"]
    dropped = these.only("step_finish")["dropped"]
    assert [(one["id"], one["why"]) for one in dropped] == [
        ("whole", "out of tokens"),
        ("cut", "out of tokens"),
    ]
    assert these.ends == [("complete", reason)]


def test_a_refusal_keeps_what_was_said_and_runs_nothing() -> None:
    details = {"type": "refusal", "category": "cyber"}
    these = take(
        start(),
        *text(0, "Well"),
        begin(1, "tool_use", id="t1", name="read", input={}),
        piece(1, "input_json_delta", partial_json='{"a'),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "refusal", "stop_details": details},
            "usage": {"output_tokens": 2},
        },
        {"type": "message_stop"},
    )
    assert these.calls == []
    finish = these.only("step_finish")
    assert finish["dropped"] == [{"what": "tool-call", "id": "t1", "why": "the model refused"}]
    assert finish["provider_metadata"] == {"stop_details": details}
    assert these.ends == [("complete", "refusal")]


def test_arguments_that_are_no_json_are_kept_as_they_came() -> None:
    assert take(start(), *call(0, "t1", '{"a": '), *end("tool_use")).calls == [("t1", "read", '{"a": ')]


def test_arguments_that_came_with_the_start() -> None:
    these = take(start(), begin(0, "tool_use", id="t1", name="read", input={"a": 2}), stop(0), *end("tool_use"))
    assert these.calls == [("t1", "read", {"a": 2})]


# -- compaction and fallback


def test_a_compaction_stands_for_all_before_it() -> None:
    these = take(
        start("m0"),
        *text(0, "Long ago."),
        *end(),
        start("m1"),
        begin(0, "compaction", content=None),
        piece(0, "compaction_delta", content="What was ", encrypted_content="E"),
        piece(0, "compaction_delta", content="before."),
        stop(0),
        *text(1, "Now."),
        *end(),
    )
    compaction = these.only("compaction")
    assert compaction["summary"] == "What was before."
    assert compaction["block_index"] == 0
    assert compaction["provider_metadata"]["anthropic"] == {
        "type": "compaction",
        "content": "What was before.",
        "encrypted_content": "E",
    }
    texts = [part["text"] for message in these.replay().messages for part in message["content"]]
    assert texts == ["What was before.", "Now."]


def test_a_compaction_that_failed_changes_nothing() -> None:
    these = take(start(), begin(0, "compaction", content=None), stop(0), *text(1, "x"), *end())
    assert these.of("compaction") == []
    (note,) = these.notes("block")
    assert note["entry"] == {"type": "compaction", "content": None}


def test_after_a_fallback_the_step_is_the_other_models() -> None:
    fallback = begin(0, "fallback", **{"from": {"model": "big"}, "to": {"model": MODEL}})
    these = take(start(model="big"), fallback, stop(0), *thinking(1, "mine"), *text(2, "x"), *end())
    assert [event["model"] for event in these.of("step_start")] == ["big", MODEL]
    assert these.notes("fallback")[0]["block_index"] == 0
    # Thinking of a step with a seam is never sent: whose it is cannot be proved (A37).
    sent = these.replay({"provider": "anthropic", "model": MODEL})
    assert sent.messages[-1]["content"] == [{"type": "text", "text": "x"}]
    assert "refused_block_skipped" in [one.code for one in sent.diagnostics]
    both = take(
        start(model="big"),
        *thinking(0, "the first one's", "sig-big"),
        begin(1, "fallback", **{"from": {"model": "big"}, "to": {"model": MODEL}}),
        stop(1),
        *thinking(2, "the other's", "sig-other"),
        *text(3, "x"),
        *end(),
    )
    for model in ("big", MODEL):
        replayed = both.replay({"provider": "anthropic", "model": model})
        assert replayed.messages[-1]["content"] == [{"type": "text", "text": "x"}]
        assert [one.code for one in replayed.diagnostics].count("refused_block_skipped") == 2


def test_a_block_of_an_unknown_type_has_its_place() -> None:
    these = take(
        start(),
        begin(0, "hologram", size=3),
        piece(0, "hologram_delta", ray=1),
        piece(0, "hologram_delta", ray=2),
        stop(0),
        *text(1, "x"),
        *end(),
    )
    (note,) = these.notes("block")
    assert note["entry"] == {"type": "hologram", "size": 3}
    assert [one["ray"] for one in note["deltas"]] == [1, 2]
    assert note["block_index"] == 0
    assert these.only("text_complete")["block_index"] == 1


# -- cut, failed, repeated


def test_a_cut_stream_keeps_what_streamed_and_is_no_complete() -> None:
    these = take(
        start(),
        *thinking(0, "whole"),
        *call(1, "t1", '{"a": 1}'),
        begin(2, "text", text=""),
        piece(2, "text_delta", text="half a sen"),
    )
    assert these.ends == [("error", "missing_terminal_event")]
    assert these.of("step_finish") == []
    assert these.only("text_complete")["partial"] is True
    assert "partial" not in these.only("thinking_complete")
    assert these.only("token_usage")["usage"]["input"] == 10
    (note,) = these.notes("dropped")  # whole, but never started: not lost either
    assert note["dropped"] == [{"type": "tool-call", "id": "t1", "name": "read", "arguments": '{"a": 1}'}]


def test_a_signature_without_its_blocks_end_is_kept() -> None:
    these = take(
        start(),
        begin(0, "thinking", thinking=""),
        piece(0, "thinking_delta", thinking="hm"),
        piece(0, "signature_delta", signature="sig"),
    )
    thought = these.only("thinking_complete")
    assert (thought["signature"], thought["partial"]) == ("sig", True)


def test_without_the_last_event_the_step_is_whole_and_the_turn_is_not() -> None:
    these = take(start(), *text(0, "All of it."), end()[0])
    assert these.only("step_finish")["finish_reason"] == "end_turn"
    assert these.ends == [("error", "missing_terminal_event")]


@pytest.mark.parametrize(("how", "reason"), [("user_stop", "user_stop"), ("terminated", "terminated")])
def test_stopped_by_a_person(how: Any, reason: str) -> None:
    halfway = [start(), begin(0, "text", text=""), piece(0, "text_delta", text="ha")]
    these = take(*halfway, end=how)
    assert these.ends == [("abort", reason)]
    assert these.texts == ["ha"]
    between = take(start(), *call(0, "t1", "{}"), *end("tool_use"), end=how)
    assert between.ends == [("abort", reason)]


def test_an_overload_and_the_next_try() -> None:
    these = take(
        start("m1"),
        begin(0, "text", text=""),
        piece(0, "text_delta", text="Once up"),
        error(),
        start("m2"),
        *text(0, "Once upon a time."),
        *end(),
    )
    assert these.ends == [("complete", "end_turn")]
    failed = these.only("error")
    assert (failed["step_id"], failed["retryable"], failed["code"]) == ("m1", True, "overloaded_error")
    assert failed["entry"]["request_id"] == "r1"
    assert these.of("step_start")[1]["retry_of"] == "m1"
    (message,) = these.replay().messages
    assert message["content"] == [{"type": "text", "text": "Once upon a time."}]


@pytest.mark.parametrize("tail", [[], [{"type": "ping"}], [error()]])
def test_an_overload_and_nothing_more_is_the_end(tail: list[JsonObject]) -> None:
    these = take(start(), *text(0, "Once"), error(), *tail)
    assert these.ends == [("error", "overloaded_error")]
    assert these.texts == ["Once"]


def test_an_error_before_anything() -> None:
    assert take(error()).ends == [("error", "overloaded_error")]
    these = take(error(), start(), *text(0, "x"), *end())
    assert these.ends == [("complete", "end_turn")]
    assert these.only("error")["retryable"] is True


def test_a_request_that_is_wrong_ends_the_turn() -> None:
    these = take(error("invalid_request_error"), start(), *text(0, "x"), *end())
    assert these.ends == [("error", "invalid_request_error"), ("complete", "end_turn")]


def test_events_that_come_too_late_are_kept_and_change_nothing() -> None:
    these = take(start(), *text(0, "x"), *end(), stop(0), *end())
    assert these.ends == [("complete", "end_turn")]
    assert len(these.notes("raw")) == 3


def test_the_start_repeated_in_mid_stream_says_nothing_new() -> None:
    these = take(start(), begin(0, "text", text=""), piece(0, "text_delta", text="a"), start(), stop(0), *end())
    assert these.steps == ["m1"]
    assert these.texts == ["a"]


def test_one_id_for_two_messages_makes_two_steps() -> None:
    these = take(start("m1"), *call(0, "t1", "{}"), *end("tool_use"), start("m1"), *text(0, "x"), *end())
    assert these.steps == ["m1", "m1~2"]
    assert [event["response_id"] for event in these.of("step_finish")] == ["m1", "m1"]


def test_a_message_whose_end_was_lost_is_whole_when_its_reason_is_known() -> None:
    these = take(start("m1"), *call(0, "t1", "{}"), end("tool_use")[0], start("m2"), *text(0, "x"), *end())
    assert [event["finish_reason"] for event in these.of("step_finish")] == ["tool_use", "end_turn"]
    assert these.of("error") == []


def test_a_message_whose_start_was_lost() -> None:
    these = take(*text(0, "x"), *end())
    assert these.texts == ["x"]
    assert these.ends == [("complete", "end_turn")]


def test_blocks_without_start_or_stop() -> None:
    these = take(
        start(), piece(0, "text_delta", text="no start"), begin(1, "text", text="no "), stop(7), *end()
    )
    assert these.texts == ["no start", "no "]
    (note,) = these.notes("raw")
    assert note["entry"] == stop(7)


def test_a_second_end_of_a_block_and_a_second_start_of_it() -> None:
    these = take(start(), *text(0, "one"), stop(0), *text(0, "two"), *end())
    assert these.texts == ["one"]
    assert [note["entry"]["type"] for note in these.notes("raw")] == [
        "content_block_start",
        "content_block_delta",
    ]


def test_blocks_in_any_order_keep_their_places() -> None:
    these = take(
        start(),
        begin(1, "text", text=""),
        begin(0, "thinking", thinking=""),
        piece(0, "thinking_delta", thinking="t"),
        piece(1, "text_delta", text="x"),
        piece(0, "signature_delta", signature="s"),
        stop(0),
        stop(1),
        *end(),
    )
    assert these.only("text_complete")["block_index"] == 0
    assert these.only("thinking_complete")["block_index"] == 1


# -- text that is not whole


def test_a_hole_in_thinking_voids_its_signature() -> None:
    """The signature would be refused with every later request: it is kept, but not sent."""
    whole, broken = thinking(0, "all of it"), b'{"type": "content_block_delta", "ind'
    these = take(start(), *whole[:2], broken, *whole[2:], *text(1, "x"), *end())
    thought = these.only("thinking_complete")
    assert "signature" not in thought
    assert thought["provider_metadata"] == {"signature": "sig"}
    assert thought["partial"] is True
    assert "partial" not in these.only("text_complete")
    check_request(these, MODEL)
    sent = these.replay({"provider": "anthropic", "model": MODEL}).messages[-1]["content"]
    assert [block["type"] for block in sent] == ["text"]


def test_thinking_that_was_mended_has_no_valid_signature_either() -> None:
    data = sse([start(), *thinking(0, "A?B"), *end()]).replace(b"A?B", b"A\xffB")
    thought = take_stream("anthropic", data).only("thinking_complete")
    assert thought["text"] == "A�B"
    assert thought["normalized"] == ["text"]
    assert "signature" not in thought


def test_values_of_the_wrong_type_are_kept_and_are_no_faults() -> None:
    these = take(
        {"type": "message_start", "message": {"id": 7, "model": ["x"], "usage": "many", "content": "x"}},
        {"type": "message_start"},
        begin(0, "text", text={"no": "text"}),
        piece(0, "text_delta", text=3),
        piece(0, "citations_delta"),
        {"type": "content_block_start", "index": "0", "content_block": {}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": 5}},
        {"type": "content_block_delta", "index": 0, "delta": "x"},
        begin(2, "tool_use", id=None, name=4, input=[1]),
        piece(2, "input_json_delta", partial_json={"a": 1}),
        begin(3, "x_tool_result"),
        begin(4, "fallback", to="somebody"),
        {"type": "message_delta", "delta": "over", "usage": []},
        {"type": "error", "error": "just words"},
        {"type": "message_stop"},
    )
    assert these.gist == [
        {"type": "turn_start", "runtime": "anthropic"},
        {"type": "step_start", "provider": "anthropic", "api": "anthropic-messages", "model": '["x"]'},
        {
            "type": "note",
            "kind": "raw",
            "text": "A message_start that has content.",
            "entry": {
                "type": "message_start",
                "message": {"id": 7, "model": ["x"], "usage": "many", "content": "x"},
            },
        },
        {"type": "note", "kind": "raw", "text": "Line 3: not understood.", "entry": {"type": "message_start"}},
        {
            "type": "note",
            "kind": "raw",
            "text": "Line 11: not understood.",
            "entry": {"type": "content_block_start", "index": "0", "content_block": {}},
        },
        {
            "type": "note",
            "kind": "raw",
            "text": "Line 15: not understood.",
            "entry": {"type": "content_block_delta", "index": 0, "delta": "x"},
        },
        {"type": "tool_start", "tool_call_id": "", "tool_name": "4", "args": {"a": 1}},
        {
            "type": "tool_result",
            "tool_call_id": "",
            "content": None,
            "provider_executed": True,
            "provider_metadata": {"type": "x_tool_result"},
        },
        {
            "type": "note",
            "kind": "fallback",
            "text": "The answer of the model ends here; another model goes on.",
            "entry": {"type": "fallback", "to": "somebody"},
        },
        {
            "type": "text_complete",
            "text": '{"no": "text"}3',
            "provider_metadata": {"citations": [None]},
            "partial": True,
        },
        {"type": "note", "kind": "block", "text": "A block of type 5.", "entry": {"type": 5}, "partial": True},
        {"type": "error", "message": "just words", "entry": {"type": "error", "error": "just words"}},
        {"type": "note", "kind": "raw", "text": "Line 29: not understood.", "entry": {"type": "message_stop"}},
    ]


def test_arguments_that_were_mended_are_said() -> None:
    data = sse([start(), *call(0, "t1", '{"a": ["x?y"]}'), *end("tool_use")]).replace(b"x?y", b"x\xffy")
    called = take_stream("anthropic", data).only("tool_start")
    assert called["args"] == {"a": ["x�y"]}
    assert called["normalized"] == ["args.a[0]"]
