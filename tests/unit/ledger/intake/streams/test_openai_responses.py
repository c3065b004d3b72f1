"""OpenAI's Responses stream: every kind of item, every way to end."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.events import JsonObject
from tests.streams import Taken, check_sound, sse
from tests.streams import take as take_stream

MODEL = "gpt-5.9"


def take(*records: Any, **options: Any) -> Taken:
    these = take_stream("openai-responses", sse(records, named=True), **options)
    check_sound(these)
    return these


def response(status: str = "in_progress", name: str = "resp_1", **fields: Any) -> JsonObject:
    return {"id": name, "object": "response", "model": MODEL, "status": status, "output": [], **fields}


def created(name: str = "resp_1", **fields: Any) -> JsonObject:
    return {"type": "response.created", "response": response(name=name, **fields)}


def added(index: int, kind: str, **fields: Any) -> JsonObject:
    item = {"type": kind, "status": "in_progress", **fields}
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index: int, kind: str, **fields: Any) -> JsonObject:
    item = {"type": kind, "status": "completed", **fields}
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def delta(kind: str, index: int, piece: str, **fields: Any) -> JsonObject:
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": piece, **fields}


def message(index: int, text: str, name: str = "msg_1", **fields: Any) -> list[JsonObject]:
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    return [
        added(index, "message", id=name, role="assistant", content=[]),
        delta("output_text", index, text[:2], content_index=0, item_id=name),
        delta("output_text", index, text[2:], content_index=0, item_id=name),
        done(index, "message", id=name, role="assistant", content=content, **fields),
    ]


def function(index: int, call_id: str, arguments: str, name: str = "read") -> list[JsonObject]:
    return [
        added(index, "function_call", id=f"fc_{call_id}", call_id=call_id, name=name, arguments=""),
        delta("function_call_arguments", index, arguments, item_id=f"fc_{call_id}"),
        done(index, "function_call", id=f"fc_{call_id}", call_id=call_id, name=name, arguments=arguments),
    ]


def completed(name: str = "resp_1", **fields: Any) -> JsonObject:
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 120,
    }
    whole = response("completed", name, usage=usage, **fields)
    return {"type": "response.completed", "response": whole}


def reasoning(index: int, *summary: str, name: str = "rs_1", **fields: Any) -> list[JsonObject]:
    parts = [{"type": "summary_text", "text": text} for text in summary]
    pieces = [
        delta("reasoning_summary_text", index, text, summary_index=number, item_id=name)
        for number, text in enumerate(summary)
    ]
    return [
        added(index, "reasoning", id=name, summary=[]),
        *pieces,
        done(index, "reasoning", id=name, summary=parts, **fields),
    ]


def test_reasoning_text_and_calls_with_their_items() -> None:
    these = take(
        created(),
        *reasoning(0, "I plan.", name="rs_1", encrypted_content="E1"),
        *message(1, "Working.", phase="commentary"),
        *reasoning(2, "More", "and more.", name="rs_2", encrypted_content="E2"),
        *function(3, "c1", '{"a": 1}'),
        *function(4, "c2", ""),
        completed(),
    )
    first, second = these.of("thinking_complete")
    assert first["text"] == "I plan."
    assert first["provider_metadata"] == {"item_id": "rs_1", "encrypted_content": "E1"}
    assert second["text"] == "More\n\nand more."
    assert [part["text"] for part in second["provider_metadata"]["summary"]] == ["More", "and more."]
    assert these.only("text_complete")["provider_metadata"] == {"item_id": "msg_1", "phase": "commentary"}
    assert these.calls == [("c1", "read", {"a": 1}), ("c2", "read", {})]
    assert these.of("tool_start")[0]["provider_metadata"] == {"item_id": "fc_c1"}
    assert [event["block_index"] for event in these.events if "block_index" in event] == [0, 1, 2, 3, 4]
    begun = these.only("step_start")
    assert (begun["step_id"], begun["provider"], begun["api"]) == ("resp_1", "openai", "openai-responses")
    usage = these.only("step_finish")["usage"]
    assert usage.pop("reported")["total_tokens"] == 120
    assert usage == {"input": 40, "output": 20, "cache_read": 60, "reasoning": 5}


def test_a_turn_goes_on_while_functions_are_called() -> None:
    these = take(
        created("r1"),
        *function(0, "c1", "{}"),
        completed("r1"),
        created("r2"),
        *message(0, "Done."),
        completed("r2"),
        turn_id="mine",
    )
    assert these.steps == ["r1", "r2"]
    assert these.ends == [("complete", "completed")]
    assert these.only("turn_start")["turn_id"] == "mine"
    alone = take(created(), *function(0, "c1", "{}"), completed())
    assert alone.ends == [("complete", "completed")]


def test_what_the_model_was_given_is_its_context() -> None:
    tools = [{"type": "function", "name": "read", "parameters": {"type": "object"}}]
    given: dict[str, Any] = {"instructions": "Be brief.", "tools": tools, "temperature": 1}
    these = take(
        created("r1", **given),
        *function(0, "c1", "{}"),
        completed("r1", **given),
        created("r2", **given),
        *message(0, "Done."),
        completed("r2", **given),
    )
    context = these.only("context")  # once: it did not change
    assert (context["system"], context["tools"]) == ("Be brief.", tools)
    assert context["settings"] == {"temperature": 1}
    assert {event["context"] for event in these.of("step_start")} == {context["digest"]}


def test_custom_tools_and_shells_are_the_clients() -> None:
    these = take(
        created(),
        added(0, "custom_tool_call", id="ctc_1", call_id="c1", name="sql", input=""),
        delta("custom_tool_call_input", 0, '{"not": "json arguments"}'),
        done(0, "custom_tool_call", id="ctc_1", call_id="c1", name="sql", input='{"not": "json arguments"}'),
        done(1, "local_shell_call", id="lsh_1", call_id="c2", action={"type": "exec", "command": ["ls"]}),
        done(2, "shell_call", id="sh_1", call_id="c3", action={"commands": ["ls"]}),
        done(3, "apply_patch_call", id="apc_1", call_id="c4", operation={"type": "delete_file", "path": "a"}),
        done(4, "computer_call", id="cu_1", call_id="c5", action={"type": "wait"}, pending_safety_checks=[]),
        completed(),
    )
    assert these.calls == [
        ("c1", "sql", {"input": '{"not": "json arguments"}'}),
        ("c2", "local_shell", {"type": "exec", "command": ["ls"]}),
        ("c3", "shell", {"commands": ["ls"]}),
        ("c4", "apply_patch", {"type": "delete_file", "path": "a"}),
        ("c5", "computer", {"action": {"type": "wait"}}),
    ]
    assert not any(call.get("provider_executed") for call in these.of("tool_start"))
    kinds = [call["provider_metadata"]["type"] for call in these.of("tool_start")]
    assert kinds == ["custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call"]


def test_a_shell_whose_output_is_in_the_response_was_the_providers() -> None:
    output = [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
    these = take(
        created(),
        done(0, "shell_call", id="sh_1", call_id="c1", action={"commands": ["ls"]}),
        done(1, "shell_call_output", id="sho_1", call_id="c1", output=output),
        done(2, "tool_search_call", id="ts_1", call_id=None, execution="server", arguments={"q": "x"}),
        done(3, "tool_search_output", id="tso_1", call_id=None, execution="server", tools=[{"name": "t"}]),
        *message(4, "Listed."),
        completed(),
    )
    assert [call["provider_executed"] for call in these.of("tool_start", "tool_result")] == [True] * 4
    assert these.results == [("c1", output, None), ("ts_1", [{"name": "t"}], None)]
    assert these.ends == [("complete", "completed")]


def test_tools_that_the_provider_runs_are_call_and_result_in_one_item() -> None:
    these = take(
        created(),
        added(0, "web_search_call", id="ws_1"),
        {"type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws_1"},
        done(0, "web_search_call", id="ws_1", action={"type": "search", "query": "x"}),
        done(1, "file_search_call", id="fs_1", queries=["q"], results=[{"text": "hit"}]),
        done(2, "mcp_call", id="mcp_1", name="roll", server_label="dice", arguments='{"n": 2}', output="7"),
        done(
            3,
            "mcp_call",
            id="mcp_2",
            name="roll",
            server_label="dice",
            arguments="{}",
            error={"message": "no dice"},
        ),
        done(4, "image_generation_call", id="ig_1", result="aGk=", output_format="png", revised_prompt="a cat"),
        *message(5, "There."),
        completed(),
    )
    assert these.calls == [
        ("ws_1", "web_search", {"type": "search", "query": "x"}),
        ("fs_1", "file_search", {"queries": ["q"]}),
        ("mcp_1", "roll", {"n": 2}),
        ("mcp_2", "roll", {}),
        ("ig_1", "image_generation", {"revised_prompt": "a cat"}),
    ]
    image = [{"type": "image", "media_type": "image/png", "data": "aGk="}]
    assert these.results == [
        ("ws_1", None, None),
        ("fs_1", [{"text": "hit"}], None),
        ("mcp_1", "7", None),
        ("mcp_2", {"message": "no dice"}, True),
        ("ig_1", image, None),
    ]
    assert these.of("tool_start")[2]["provider_metadata"]["server_label"] == "dice"
    places = [event["block_index"] for event in these.of("tool_start", "tool_result", "text_complete")]
    assert places == list(range(11))


def test_items_that_are_no_calls() -> None:
    these = take(
        created(),
        done(0, "mcp_list_tools", id="mcpl_1", server_label="dice", tools=[{"name": "roll"}]),
        done(1, "mcp_approval_request", id="mcpr_1", name="roll", server_label="dice", arguments='{"n": 2}'),
        done(2, "hologram", id="ho_1", size=3),
        completed(),
    )
    assert [note["entry"]["type"] for note in these.notes("block")] == ["mcp_list_tools", "hologram"]
    asked = these.only("tool_approval")
    assert (asked["tool_call_id"], asked["decision"], asked["args"]) == ("mcpr_1", "requested", {"n": 2})
    assert [event["block_index"] for event in these.events if "block_index" in event] == [0, 1, 2]


def test_a_compaction_is_for_its_provider_alone() -> None:
    these = take(
        created(), *message(0, "Hi."), done(1, "compaction", id="cmp_1", encrypted_content="E"), completed()
    )
    compaction = these.only("compaction")
    assert compaction["summary"] == ""
    assert compaction["provider_metadata"]["openai"]["encrypted_content"] == "E"
    assert these.replay().messages[-1]["content"] == [{"type": "text", "text": "Hi."}]


def test_a_refusal_is_a_text_that_says_so() -> None:
    content = [{"type": "output_text", "text": "Hm."}, {"type": "refusal", "refusal": "I will not."}]
    these = take(
        created(),
        added(0, "message", id="msg_1", content=[]),
        delta("output_text", 0, "Hm.", content_index=0),
        delta("refusal", 0, "I will", content_index=1),
        done(0, "message", id="msg_1", content=content),
        completed(),
    )
    assert these.texts == ["Hm.", "I will not."]
    assert [text["provider_metadata"].get("type") for text in these.of("text_complete")] == [None, "refusal"]


def test_raw_reasoning_of_open_models() -> None:
    content = [{"type": "reasoning_text", "text": "Think."}]
    these = take(
        created(),
        delta("reasoning_text", 0, "Thi", content_index=0),
        delta("reasoning_text", 0, "nk.", content_index=0),
        done(0, "reasoning", id="rs_1", summary=[], content=content),
        *message(1, "Said."),
        completed(),
    )
    thought = these.only("thinking_complete")
    assert thought["text"] == "Think."
    assert thought["provider_metadata"] == {"item_id": "rs_1", "content": content}


def test_ids_that_change_in_every_event_do_not_matter() -> None:
    records = [created("r1"), *message(0, "Hello."), completed("r9")]
    for number, record in enumerate(records):
        for holder in (record, record.get("item", {})):
            for field in ("item_id", "id"):
                if field in holder:  # type: ignore[operator]
                    holder[field] = f"id-{number}"  # type: ignore[index, call-overload]
    these = take(*records)
    assert these.texts == ["Hello."]
    assert these.only("step_finish")["response_id"] == "r9"
    assert these.steps == ["r1"]


# -- ends


@pytest.mark.parametrize(
    ("reason", "why"),
    [("max_output_tokens", "out of tokens"), ("content_filter", "incomplete: content_filter")],
)
def test_incomplete(reason: str, why: str) -> None:
    over = response("incomplete", incomplete_details={"reason": reason})
    these = take(
        created(),
        *message(0, "Well"),
        added(1, "function_call", id="fc_1", call_id="c1", name="read", arguments=""),
        delta("function_call_arguments", 1, '{"a'),
        {"type": "response.incomplete", "response": over},
    )
    finish = these.only("step_finish")
    assert finish["finish_reason"] == reason
    assert [one["why"] for one in finish["dropped"]] == [why]
    assert these.calls == []
    assert these.ends == [("complete", reason)]


def test_failed_for_good() -> None:
    failure = response("failed", error={"code": "invalid_prompt", "message": "no"})
    these = take(created(), *message(0, "Well"), {"type": "response.failed", "response": failure})
    assert these.ends == [("error", "invalid_prompt")]
    assert these.texts == ["Well"]


def test_failed_and_tried_again() -> None:
    failure = response("failed", "r1", error={"code": "server_error", "message": "oops"})
    these = take(
        created("r1"),
        added(0, "message", id="m", content=[]),
        delta("output_text", 0, "Onc", content_index=0),
        {"type": "response.failed", "response": failure},
        created("r2"),
        *message(0, "Once."),
        completed("r2"),
    )
    assert these.ends == [("complete", "completed")]
    assert these.only("error")["step_id"] == "r1"
    assert these.of("step_start")[1]["retry_of"] == "r1"
    assert [part["text"] for part in these.replay().messages[-1]["content"]] == ["Once."]


def test_an_error_and_the_failure_that_says_it_again_are_one_end() -> None:
    error = {"type": "error", "code": "insufficient_quota", "message": "pay"}
    failure = response("failed", error={"code": "insufficient_quota", "message": "pay"})
    these = take(created(), error, {"type": "response.failed", "response": failure})
    assert these.ends == [("error", "insufficient_quota")]
    assert these.notes() == []
    body = take({"error": {"message": "bad key", "type": "invalid_request_error", "code": "invalid_api_key"}})
    assert body.ends == [("error", "invalid_api_key")]


def test_cancelled() -> None:
    over = {"type": "response.cancelled", "response": response("cancelled")}
    these = take(created(), *message(0, "Well"), over)
    assert these.ends == [("abort", "cancelled")]


def test_a_cut_stream_keeps_what_streamed() -> None:
    these = take(
        created(),
        *reasoning(0, "Whole."),
        *function(1, "c1", "{}"),
        added(2, "message", id="msg_1", content=[]),
        delta("output_text", 2, "half", content_index=0),
    )
    assert these.ends == [("error", "missing_terminal_event")]
    assert these.only("text_complete")["partial"] is True
    assert these.thoughts == ["Whole."]
    assert these.notes("dropped")[0]["dropped"][0]["id"] == "c1"


def test_items_that_were_missed_are_taken_from_the_end() -> None:
    records = [*reasoning(0, "Hm."), *message(1, "Said."), *function(2, "c1", '{"a": 1}')]
    output = [record["item"] for record in records if record["type"] == "response.output_item.done"]
    whole = take(created(), *records, completed(output=output))
    lost = take(created(), records[0], completed(output=output))
    for these in (whole, lost):
        assert (these.thoughts, these.texts, these.calls) == (["Hm."], ["Said."], [("c1", "read", {"a": 1})])


def test_a_response_whose_start_was_lost_and_events_that_come_too_late() -> None:
    these = take(*message(0, "x"), completed(), *message(0, "late"))
    assert these.texts == ["x", "late"]
    assert these.ends == [("complete", "completed"), ("error", "missing_terminal_event")]
    dreaming = {"type": "response.dreaming", "output_index": 0, "depth": 1}
    assert take(created(), dreaming, completed()).notes("raw")[0]["entry"] == dreaming


def test_values_of_the_wrong_type_are_kept_and_are_no_faults() -> None:
    these = take(
        {"type": "response.created", "response": {"id": 5, "model": [], "tools": "x", "instructions": 3}},
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": None}},
        {"type": "response.output_item.done", "output_index": 0, "item": {"type": 7, "id": {}}},
        done(1, "message", id=3, content="words"),
        done(2, "message", id=3, content=[{"type": "output_text"}, 4, {"type": "x", "text": [1]}]),
        done(3, "reasoning", summary="s", content=[3]),
        done(4, "function_call", call_id=None, name=None, arguments={"a": 1}),
        done(5, "code_interpreter_call", outputs=3),
        done(6, "shell_call_output", call_id=[1], output="o"),
        done(7, "new_call", id="n"),
        delta("output_text", 8, {"a": 1}, content_index="0"),  # type: ignore[arg-type]
        {"type": "response.completed", "response": {"output": {"0": 1}, "usage": [], "incomplete_details": 5}},
        {"type": "error", "error": "words"},
    )
    assert these.gist == [
        {"type": "turn_start", "runtime": "openai-responses"},
        {"type": "context", "system": 3, "tools": "x"},
        {"type": "step_start", "provider": "openai", "api": "openai-responses", "model": "[]"},
        {"type": "note", "kind": "block", "text": "An item of type 7.", "entry": {"type": 7, "id": {}}},
        {"type": "text_complete", "text": "words", "provider_metadata": {"item_id": 3}},
        {"type": "text_complete", "text": "", "provider_metadata": {"item_id": 3}},
        {"type": "text_complete", "text": "4", "provider_metadata": {"item_id": 3}},
        {"type": "text_complete", "text": "[1]", "provider_metadata": {"item_id": 3, "type": "x"}},
        {"type": "thinking_complete", "text": "", "provider_metadata": {"summary": "s", "content": [3]}},
        {
            "type": "tool_start",
            "tool_call_id": "call-5",
            "tool_name": "code_interpreter",
            "args": {},
            "provider_executed": True,
            "provider_metadata": {"type": "code_interpreter_call"},
        },
        {
            "type": "tool_result",
            "tool_call_id": "call-5",
            "content": 3,
            "tool_name": "code_interpreter",
            "provider_executed": True,
            "provider_metadata": {"type": "code_interpreter_call"},
        },
        {
            "type": "tool_result",
            "tool_call_id": "[1]",
            "content": "o",
            "provider_executed": True,
            "provider_metadata": {"type": "shell_call_output", "status": "completed"},
        },
        {
            "type": "tool_start",
            "tool_call_id": "n",
            "tool_name": "new",
            "args": {},
            "provider_executed": True,
            "provider_metadata": {"type": "new_call", "item_id": "n"},
        },
        {
            "type": "tool_result",
            "tool_call_id": "n",
            "content": None,
            "tool_name": "new",
            "provider_executed": True,
            "provider_metadata": {"type": "new_call"},
        },
        {"type": "text_complete", "text": '{"a": 1}'},
        {
            "type": "tool_start",
            "tool_call_id": "call-4",
            "tool_name": "function",
            "args": {"a": 1},
            "provider_metadata": {},
        },
        {"type": "step_finish", "finish_reason": "completed", "provider_metadata": {"incomplete_details": 5}},
        {"type": "error", "message": "words", "entry": {"type": "error", "error": "words"}},
    ]
