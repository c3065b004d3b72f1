"""Chat Completions and its dialects: every kind of delta, every way to end."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.events import JsonObject
from tests.streams import Taken, check_sound, sse
from tests.streams import take as take_stream


def take(*records: Any, done: bool = True, **options: Any) -> Taken:
    these = take_stream("openai-chat", sse(records, done=done), **options)
    check_sound(these)
    return these


def chunk(delta: Any = None, reason: str | None = None, name: str = "chatcmpl-1", **more: Any) -> JsonObject:
    choice: JsonObject = {"index": 0, "delta": delta or {}, "finish_reason": reason}
    return {"id": name, "object": "chat.completion.chunk", "model": "some-model", "choices": [choice], **more}


def said(text: str, **more: Any) -> JsonObject:
    return chunk({"content": text}, **more)


def call(index: int | None, arguments: Any, call_id: str | None = None, name: str | None = None) -> JsonObject:
    function: JsonObject = {"arguments": arguments}
    if name is not None:
        function["name"] = name
    piece: JsonObject = {"function": function}
    if index is not None:
        piece["index"] = index
    if call_id is not None:
        piece["id"] = call_id
    return chunk({"tool_calls": [piece]})


USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def counted(usage: Any = USAGE, name: str = "chatcmpl-1") -> JsonObject:
    return {"id": name, "object": "chat.completion.chunk", "choices": [], "usage": usage}


def test_text_and_calls_of_one_answer() -> None:
    these = take(
        chunk({"role": "assistant", "content": ""}),
        said("Let me "),
        said("look."),
        call(0, "", "c1", "read"),
        call(1, "", "c2", "list"),
        call(1, '{"b"'),
        call(0, '{"a": 1}'),
        call(1, ": 2}"),
        chunk(reason="tool_calls"),
        counted(),
        chunk({"content": "Done."}, name="chatcmpl-2"),
        chunk(reason="stop", name="chatcmpl-2"),
        turn_id="mine",
    )
    assert these.texts == ["Let me look.", "Done."]
    assert these.calls == [("c1", "read", {"a": 1}), ("c2", "list", {"b": 2})]
    assert these.steps == ["chatcmpl-1", "chatcmpl-2"]
    assert these.ends == [("complete", "stop")]
    counted_late = these.only("token_usage")
    assert counted_late["usage"] == {"input": 10, "output": 5, "reported": USAGE}
    assert counted_late["step_id"] == "chatcmpl-1"
    begun = these.of("step_start")[0]
    assert (begun["api"], begun["model"], begun.get("provider")) == ("openai-completions", "some-model", None)


def test_the_provider_can_be_named() -> None:
    assert (
        take(said("x"), chunk(reason="stop"), provider="deepseek").only("step_start")["provider"] == "deepseek"
    )


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_under_its_dialects_name(field: str) -> None:
    these = take(
        chunk({"role": "assistant", "content": None, field: "First "}),
        chunk({field: "this."}),
        said("Then that."),
        chunk(reason="stop"),
    )
    thought = these.only("thinking_complete")
    assert (thought["text"], thought["provider_metadata"]) == ("First this.", {"field": field})
    assert (thought["block_index"], these.only("text_complete")["block_index"]) == (0, 1)


def test_structured_reasoning_grows_together_and_is_not_said_twice() -> None:
    details = [
        {"type": "reasoning.text", "index": 0, "text": "Fir"},
        {"type": "reasoning.text", "index": 0, "text": "st.", "signature": "sig"},
        {"type": "reasoning.encrypted", "index": 1, "data": "E"},
    ]
    with_text = [chunk({"reasoning": one.get("text", ""), "reasoning_details": [one]}) for one in details]
    alone = [chunk({"reasoning_details": [one]}) for one in details]
    for records in (with_text, alone):
        thought = take(*records, said("x"), chunk(reason="stop")).only("thinking_complete")
        assert thought["text"] == "First."
        assert thought["provider_metadata"]["reasoning_details"] == [
            {"type": "reasoning.text", "index": 0, "text": "First.", "signature": "sig"},
            details[2],
        ]


def test_content_in_parts() -> None:
    parts = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}]
    these = take(chunk({"content": parts}), said(" So."), chunk(reason="stop"))
    assert (these.thoughts, these.texts) == (["Hm."], ["Yes. So."])


def test_thinking_parts_that_hold_parts() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}, {"type": "text", "text": " Hm."}]}
    ]
    assert take(chunk({"content": parts}), chunk(reason="stop")).thoughts == ["Hm. Hm."]


@pytest.mark.parametrize(
    "pieces",
    [
        [call(0, "{}", "c1", "a"), call(0, "{}", "c2", "b")],  # one index for all
        [call(None, "{}", "c1", "a"), call(None, "{}", "c2", "b")],  # none
        [call(0, "{", "c1", "a"), call(0, "}", "c1", "a"), call(1, "{}", "c2", "b")],  # id and name each time
        [call(0, {}, "c1", "a"), call(1, {}, "c2", "b")],  # arguments as an object
        [call(0, None, "c1", "a"), call(1, None, "c2", "b")],  # or not at all
        [call(0, "", "c1", "a"), call(0, "{}"), call(0, "", "c2", "b"), call(0, "{}")],
    ],
    ids=["one index", "no index", "repeated", "objects", "null", "one index in pieces"],
)
def test_calls_as_servers_spell_them(pieces: list[JsonObject]) -> None:
    these = take(*pieces, chunk(reason="tool_calls"))
    assert these.calls == [("c1", "a", {}), ("c2", "b", {})]


def test_calls_without_ids_and_the_old_function_call() -> None:
    these = take(call(0, "{}", None, "a"), call(1, "{}", "", "b"), chunk(reason="tool_calls"))
    assert [(name, args) for _, name, args in these.calls] == [("a", {}), ("b", {})]
    assert len({call_id for call_id, _, _ in these.calls}) == 2
    old = [chunk({"function_call": {"name": "f", "arguments": piece}}) for piece in ("", '{"a"', ": 1}")]
    these = take(*old, chunk(reason="function_call"))
    assert [(name, args) for _, name, args in these.calls] == [("f", {"a": 1})]


def test_what_belongs_to_a_call_stays_with_it() -> None:
    extra = {"google": {"thought_signature": "TS"}}
    piece = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}, "extra_content": extra}
    these = take(chunk({"tool_calls": [piece]}), chunk(reason="stop"))
    assert these.only("tool_start")["provider_metadata"] == {"extra_content": extra}
    assert these.ends == [("complete", "stop")]


# -- ends


def test_out_of_tokens_drops_the_calls() -> None:
    these = take(said("Well"), call(0, '{"a', "c1", "f"), chunk(reason="length"))
    assert these.calls == []
    assert these.only("step_finish")["dropped"] == [{"what": "tool-call", "id": "c1", "why": "out of tokens"}]
    assert these.ends == [("complete", "length")]


def test_filtered_content() -> None:
    these = take(said("Well"), call(0, "{}", "c1", "f"), chunk(reason="content_filter"))
    assert (these.texts, these.calls) == (["Well"], [])
    assert these.ends == [("complete", "content_filter")]


def test_a_refusal_is_a_text_that_says_so() -> None:
    these = take(chunk({"refusal": "I will "}), chunk({"refusal": "not."}), chunk(reason="stop"))
    assert these.texts == ["I will not."]
    assert these.only("text_complete")["provider_metadata"] == {"type": "refusal"}


def test_without_done_the_reason_is_evidence_enough() -> None:
    assert take(said("x"), chunk(reason="stop"), done=False).ends == [("complete", "stop")]
    assert take(said("x"), done=False).ends == [("error", "missing_terminal_event")]
    assert take(said("x"), done=True).ends == [("error", "missing_terminal_event")]


def test_a_cut_stream_keeps_what_streamed() -> None:
    these = take(chunk({"reasoning_content": "Because"}), said("half"), call(0, '{"a', "c1", "f"), done=False)
    assert (these.thoughts, these.texts) == (["Because"], ["half"])
    assert all(event["partial"] for event in these.of("thinking_complete", "text_complete"))
    assert these.notes("dropped")[0]["dropped"][0]["id"] == "c1"


def test_an_error_in_mid_stream() -> None:
    wrong = {"error": {"message": "no", "type": "invalid_request_error", "code": None}}
    assert take(said("x"), wrong).ends == [("error", "invalid_request_error")]
    passing = {
        "id": "chatcmpl-1",
        "error": {"message": "busy", "code": 502},
        "choices": chunk({}, "error")["choices"],
    }
    these = take(said("Onc"), passing, said("Once.", name="b"), chunk(reason="stop", name="b"))
    assert these.ends == [("complete", "stop")]
    assert these.of("step_start")[1]["retry_of"] == "chatcmpl-1"
    over = take(said("x"), chunk(reason="insufficient_system_resource"))
    assert over.ends == [("error", "insufficient_system_resource")]


# -- ids


def test_every_chunk_with_an_id_of_its_own_is_one_answer() -> None:
    these = take(
        *(said(text, name=f"id-{number}") for number, text in enumerate("abc")), chunk(reason="stop", name="z")
    )
    assert these.texts == ["abc"]
    assert len(these.steps) == 1


def test_the_first_chunk_without_an_id() -> None:
    first = {"id": "", "choices": [], "usage": None, "prompt_filter_results": [{"index": 0}]}
    these = take(first, said("x"), said("y"), chunk(reason="stop"))
    assert these.texts == ["xy"]


def test_another_answer_in_mid_stream_replaces_this_one() -> None:
    these = take(said("a", name="1"), said("b", name="1"), said("c", name="2"), chunk(reason="stop", name="2"))
    assert these.of("step_start")[1]["retry_of"] == "1"
    assert [part["text"] for part in these.replay().messages[-1]["content"]] == ["c"]


def test_one_id_for_all_answers() -> None:
    answer = [chunk({"role": "assistant", "content": ""}), said("a"), chunk(reason="tool_calls"), counted()]
    last = [
        chunk({"role": "assistant", "content": ""}),
        said("b"),
        chunk(reason="stop"),
        chunk({"content": ""}),
    ]
    these = take(*answer, *last, done=False)
    assert these.texts == ["a", "b"]
    assert these.steps == ["chatcmpl-1", "chatcmpl-1~2"]
    assert these.ends == [("complete", "stop")]


def test_other_choices_are_notes() -> None:
    other = {"index": 1, "delta": {"content": "other"}, "finish_reason": "stop"}
    record = said("first")
    record["choices"] = [*record["choices"], other]  # type: ignore[misc]
    these = take(record, chunk(reason="stop"))
    assert these.texts == ["first"]
    assert these.notes("choice")[0]["entry"] == {"index": 1, "text": "other", "finish_reason": "stop"}


def test_usage_with_the_reason_is_the_steps() -> None:
    these = take(said("x"), chunk(reason="stop", usage=USAGE), counted())
    assert these.only("step_finish")["usage"]["output"] == 5
    assert these.of("token_usage") == []


def test_usage_with_every_chunk_counts_once() -> None:
    grown = [said(text, usage={**USAGE, "completion_tokens": count}) for count, text in enumerate("abc", 1)]
    these = take(*grown, chunk(reason="stop"))
    assert these.only("step_finish")["usage"]["output"] == 3
    assert these.of("token_usage") == []


def test_whole_messages_and_unknown_fields() -> None:
    whole = chunk()
    whole["choices"] = [
        {"index": 0, "message": {"role": "assistant", "content": "All."}, "finish_reason": "stop"}
    ]
    assert take(whole).texts == ["All."]
    audio = [chunk({"audio": {"id": "a", "data": piece}}) for piece in ("AA", "BB")]
    these = take(*audio, chunk({"annotations": [{"url": "u"}]}), chunk(reason="stop"))
    beside = these.only("step_finish")["provider_metadata"]
    assert [one["data"] for one in beside["audio"]] == ["AA", "BB"]


def test_values_of_the_wrong_type_are_kept_and_are_no_faults() -> None:
    these = take(
        {"id": 4, "choices": "x", "usage": {"prompt_tokens": "many"}},
        {"choices": [3, {"index": "a"}, {"delta": 5, "index": 0}]},
        chunk({"content": 5, "reasoning": {"a": 1}, "tool_calls": {"a": 1}, "refusal": [1]}),
        chunk({"content": [None, 3, {"type": "text"}, {"type": "thinking"}], "reasoning_details": [3, {}]}),
        chunk({"tool_calls": [4, {}, {"index": "z", "function": "f"}, {"id": 3, "function": {"name": 3}}]}),
        chunk({"function_call": {"arguments": [1]}}, reason="stop"),
        {"error": "words"},
        {"error": 3},
        {"object": "chat.completion.chunk"},
    )
    assert these.gist == [
        {"type": "turn_start", "runtime": "openai-chat"},
        {"type": "step_start", "api": "openai-completions"},
        {
            "type": "thinking_complete",
            "text": '{"a": 1}',
            "provider_metadata": {"field": "reasoning", "reasoning_details": [{}]},
        },
        {"type": "text_complete", "text": "5"},
        {"type": "text_complete", "text": "[1]", "provider_metadata": {"type": "refusal"}},
        {"type": "tool_start", "tool_call_id": "call-0", "tool_name": "", "args": {}},
        {"type": "tool_start", "tool_call_id": "3", "tool_name": "3", "args": {}},
        {"type": "tool_start", "tool_call_id": "call-2", "tool_name": "", "args": [1]},
        {
            "type": "step_finish",
            "finish_reason": "stop",
            "response_id": "4",
            "provider_metadata": {"content": [3]},
        },
        {
            "type": "note",
            "kind": "choice",
            "text": "Choice a, not the one taken.",
            "entry": {"index": "a", "text": ""},
        },
        {"type": "error", "message": "words", "entry": {"error": "words"}},
        {"type": "turn_start", "runtime": "openai-chat"},
        {"type": "error", "message": "3", "entry": {"error": 3}},
        {
            "type": "note",
            "kind": "raw",
            "text": "Line 17: not understood.",
            "entry": {"object": "chat.completion.chunk"},
        },
    ]
