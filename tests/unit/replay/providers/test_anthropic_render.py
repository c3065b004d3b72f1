"""The Anthropic renderer: what each mend does to a history that the provider would refuse."""

from __future__ import annotations

import ast
import copy
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ledger.errors import BadInput, UnknownTarget
from replay import Options, replay
from replay.diagnostics import SEVERITY
from replay.providers import codes as renderer_codes
from replay.providers.anthropic import ANCHOR
from tests.unit.replay.providers.rendering import (
    BOUND,
    MODEL,
    answer,
    body,
    call,
    codes,
    complete,
    kinds,
    messages,
    records,
    result,
    start,
    text,
    thinking,
    user,
)

PNG = {"type": "image", "media_type": "image/png", "data": "iVBORw0KGgo="}
PNG_SENT = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def content(found: Any, message: int) -> list[dict[str, Any]]:
    return found.messages[message]["content"]


# -- shape


def test_a_tool_turn_keeps_its_shape() -> None:
    found = answer(
        user("q"),
        start("s1"),
        thinking("s1", "hm", "sig"),
        text("s1"),
        call("s1", args={"path": "a"}),
        result(),
    )
    assert found.messages == [
        {"role": "user", "content": [{"type": "text", "text": "q"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "text", "text": "words"},
                {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "out"}]},
    ]
    assert found.sendable
    assert found.diagnostics == []
    assert found.provenance == [[[1]], [[3], [4], [5]], [[6]]]
    assert body(found)["model"] == MODEL


def test_neighbours_of_one_role_are_one_message() -> None:
    found = answer(user("q"), user("r"), text("s1", "x"), text("s2", "y"), complete(), user("z", "t2"))
    assert kinds(found) == ["u[text,text]", "a[text,text]", "u[text]"]
    assert found.provenance == [[[1], [2]], [[3], [4]], [[6]]]


def test_results_come_first_in_call_order_and_text_after() -> None:
    found = answer(
        user("q"), call("s1", "c1"), call("s1", "c2"), user("and?", steering=True), result("c2"), result("c1")
    )
    assert [block.get("tool_use_id", block["type"]) for block in content(found, 2)] == ["c1", "c2", "text"]


def test_an_unanswered_call_gets_an_error_result() -> None:
    found = answer(user("q"), call("s1"), complete(), user("go on", "t2"))
    assert kinds(found) == ["u[text]", "a[tool_use]", "u[tool_result,text]"]
    assert content(found, 2)[0]["is_error"] is True


def test_a_late_result_is_text_where_it_came() -> None:
    found = answer(user("q"), call("s1"), text("s2"), result(content="late"), complete(), user("r", "t2"))
    assert kinds(found) == ["u[text]", "a[tool_use]", "u[tool_result]", "a[text]", "u[text,text]"]
    assert content(found, 4)[0]["text"] == "[late result of read (c1)] late"


def test_one_result_a_call() -> None:
    found = answer(user("q"), call("s1"), result(content="first"), result(content="second"))
    assert [block["content"] for block in content(found, 2)] == ["second"]


def test_a_step_with_nothing_to_send_is_left_out() -> None:
    found = answer(
        user("q"), text("s1", " "), start("s2"), thinking("s2", "hm", None), complete(), user("r", "t2")
    )
    assert kinds(found) == ["u[text,text]"]


def test_cache_points_are_not_carried_over() -> None:
    point = {"cache_control": {"type": "ephemeral"}}
    found = answer(user([{"type": "text", "text": "q", **point}, {**PNG, **point}]))
    assert "cache_control" not in json.dumps(found.messages)


def test_a_running_call_stays_open_and_is_not_sendable() -> None:
    found = answer(user("q"), call("s1"))
    assert kinds(found) == ["u[text]", "a[tool_use]"]
    assert not found.sendable


def test_a_history_that_starts_with_the_assistant_gets_an_anchor() -> None:
    found = answer(text("s1"), complete(), user("q", "t2"))
    assert content(found, 0) == [{"type": "text", "text": ANCHOR}]
    assert found.provenance == [[[]], [[1]], [[3]]]
    assert codes(found) == ["assistant_first_anchored"]


def test_a_history_that_ends_with_the_assistant_is_not_sendable_and_says_so() -> None:
    found = answer(user("q"), text("s1"), complete())
    assert kinds(found) == ["u[text]", "a[text]"]
    assert not found.sendable
    assert codes(found) == ["nothing_to_answer"]


def test_nothing_to_send_is_not_sendable() -> None:
    found = answer(user(" "))
    assert (found.messages, found.sendable) == ([], False)
    assert codes(found) == ["blank_text_skipped", "nothing_to_answer"]
    assert answer().messages == []


def test_the_system_prompt_stands_apart_and_once() -> None:
    context = {"type": "context", "digest": "d", "system": "Be brief."}
    same = {"type": "system_message", "content": "Be brief."}
    other = {"type": "system_message", "content": "Be kind."}
    found = answer(context, same, other, user("q"))
    assert body(found)["system"] == [
        {"type": "text", "text": "Be brief."},
        {"type": "text", "text": "Be kind."},
    ]


def test_a_system_message_amid_the_history_is_tagged_user_text() -> None:
    found = answer(
        user("q"), text("s1"), {"type": "system_message", "content": "New rules."}, complete(), user("r", "t2")
    )
    assert content(found, 2)[0]["text"] == "<system>\nNew rules.\n</system>"
    assert codes(found) == ["system_message_as_user"]


def test_a_compaction_summary_is_user_text() -> None:
    compaction = {"type": "compaction", "summary": "So far: nothing.", "through_version": 2}
    found = answer(user("q"), text("s1"), compaction, user("r", "t2"))
    assert content(found, 0)[0]["text"] == "So far: nothing."


# -- text, ids, arguments


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u2003"])
def test_blank_text_is_left_out_and_other_text_keeps_its_bytes(blank: str) -> None:
    found = answer(
        user("q"),
        text("s1", blank),
        call("s1"),
        result(),
        text("s2", " x\n"),
        user([{"type": "text", "text": blank}, {"type": "text", "text": "\nr"}], "t2"),
    )
    assert kinds(found) == ["u[text]", "a[tool_use]", "u[tool_result]", "a[text]", "u[text]"]
    assert (content(found, 3)[0]["text"], content(found, 4)[0]["text"]) == (" x\n", "\nr")


def test_ids_of_other_formats_are_renamed_alike_in_call_and_result() -> None:
    found = answer(user("q"), call("s1", "call_1|fc:1"), result("call_1|fc:1"))
    sent = content(found, 1)[0]["id"]
    assert sent.startswith("call_1_fc_1-tl")
    assert content(found, 2)[0]["tool_use_id"] == sent
    assert [(one.code, one.detail) for one in found.diagnostics] == [
        ("tool_id_rewritten", {"tool_call_id": "call_1|fc:1", "sent": sent})
    ]


def test_an_id_that_looks_like_a_renamed_one_cannot_meet_it() -> None:
    renamed = content(answer(user("q"), call("s1", "a:b"), result("a:b")), 1)[0]["id"]
    found = answer(user("q"), call("s1", "a:b"), call("s1", renamed), result("a:b"), result(renamed))
    ids = [block["id"] for block in content(found, 1)]
    assert ids[0] == renamed
    assert len(set(ids)) == 2


def test_empty_and_doubled_ids_stay_apart() -> None:
    found = answer(
        user("q"),
        call("s1", "x|"),
        call("s1", "x/"),
        result("x|"),
        result("x/"),
        call("s2", "x|"),
        result("x|"),
    )
    ids = [block["id"] for message in (1, 3) for block in content(found, message)]
    assert len(set(ids)) == 3


def test_a_tool_name_that_the_provider_refuses_is_renamed_like_its_definition() -> None:
    context = {
        "type": "context",
        "digest": "d",
        "tools": [{"name": "fs.read", "inputSchema": {"type": "object"}}],
    }
    found = answer(context, user("q"), {**call("s1"), "tool_name": "fs.read"}, result())
    assert content(found, 1)[0]["name"] == body(found)["tools"][0]["name"] != "fs.read"
    assert codes(found) == ["tool_name_rewritten"]


@pytest.mark.parametrize(
    ("args", "sent", "how"),
    [
        ('{"a": 1}', {"a": 1}, "parsed"),
        ('{"a":', {"_raw": '{"a":'}, "wrapped"),
        ("[1]", {"_raw": "[1]"}, "wrapped"),
        ("NaN", {"_raw": "NaN"}, "wrapped"),
        ("[" * 199, {"_raw": "[" * 199}, "wrapped"),
        ([1, 2], {"_raw": [1, 2]}, "wrapped"),
        (0, {"_raw": 0}, "wrapped"),
        (False, {"_raw": False}, "wrapped"),
    ],
)
def test_arguments_that_are_no_object_become_one(args: Any, sent: Any, how: str) -> None:
    found = answer(user("q"), {**call("s1"), "args": args}, result())
    assert content(found, 1)[0]["input"] == sent
    assert [(one.code, one.detail) for one in found.diagnostics] == [("args_wrapped", {"how": how})]


def test_null_arguments_are_an_empty_object() -> None:
    found = answer(user("q"), {**call("s1"), "args": None}, result())
    assert content(found, 1)[0]["input"] == {}


def test_lone_surrogates_are_replaced_everywhere() -> None:
    context = {"type": "context", "digest": "d", "system": "s\ud800"}
    tools = {
        "type": "context",
        "digest": "e",
        "system": "s\ud800",
        "tools": [{"name": "t", "parameters": {"\udc00": 1}}],
    }
    found = answer(
        context,
        tools,
        user("q\ud800"),
        text("s1", "x\ud800"),
        call("s1", args={"\ud800": ["\udc00"]}),
        result(content={"a": "\ud800"}),
    )
    json.dumps(body(found), ensure_ascii=False).encode()  # would raise
    assert content(found, 0)[0]["text"] == "q\ufffd"
    assert content(found, 1)[1]["input"] == {"\ufffd": ["\ufffd"]}
    assert "surrogates_replaced" in codes(found)


# -- results, images, files


@pytest.mark.parametrize(
    ("recorded", "sent"),
    [
        ("out", "out"),
        ("", None),
        (" \n", None),
        ([], None),
        (None, "null"),
        (7, "7"),
        ({"b": 1, "a": "é"}, '{"a":"é","b":1}'),
        ([1, {"type": "text", "text": "x"}], '[1,{"text":"x","type":"text"}]'),
        ([{"type": "text", "text": "x", "annotations": None}], [{"type": "text", "text": "x"}]),
        ([{"type": "text", "text": ""}, PNG], [PNG_SENT]),
    ],
)
def test_results_are_strings_or_blocks(recorded: Any, sent: Any) -> None:
    found = answer(user("q"), call("s1"), result(content=recorded))
    assert content(found, 2)[0].get("content") == sent


def test_an_error_result_holds_text_and_its_images_stand_behind_the_results() -> None:
    found = answer(
        user("q"),
        call("s1", "c1"),
        call("s1", "c2"),
        result("c1", [{"type": "text", "text": "boom"}, PNG], is_error=True),
        result("c2", [PNG], is_error=True),
    )
    assert kinds(found)[2] == "u[tool_result,tool_result,image,image]"
    assert content(found, 2)[0]["content"] == [{"type": "text", "text": "boom"}]
    assert content(found, 2)[1]["content"]
    assert found.provenance[2] == [[4], [5], [4], [5]]
    assert codes(found) == ["error_media_moved", "error_media_moved"]


SOURCES = [
    (PNG, PNG_SENT),
    ({"type": "image", "mimeType": "image/png", "data": "QUJD"}, "base64 image/png"),
    (
        {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "QUJD"}},
        "base64 image/gif",
    ),
    ({"type": "image_url", "image_url": {"url": "data:image/webp;base64,QUJD"}}, "base64 image/webp"),
    ({"type": "image", "image": "https://a.example/b.png"}, "url"),
    ({"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}}, "url"),
    ({"type": "file", "mediaType": "image/jpeg", "data": "QUJD"}, "base64 image/jpeg"),
    (
        {"type": "file", "media_type": "application/pdf", "data": "QUJD", "filename": "a.pdf"},
        "base64 application/pdf",
    ),
    (
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hi"}},
        "text text/plain",
    ),
    ({"type": "file", "media_type": "text/csv", "data": "YSxi"}, "text text/plain"),
    ({"type": "file", "url": "https://a.example/b.pdf", "media_type": "application/pdf"}, "url"),
]


@pytest.mark.parametrize(("recorded", "sent"), SOURCES, ids=lambda value: str(value)[:60])
def test_images_and_files_are_translated(recorded: dict[str, Any], sent: Any) -> None:
    for found in (answer(user([recorded])), answer(user("q"), call("s1"), result(content=[recorded]))):
        block = content(found, -1)[0]
        block = block["content"][0] if block["type"] == "tool_result" else block
        if isinstance(sent, str):
            source = block["source"]
            assert f"{source['type']} {source.get('media_type', '')}".strip() == sent
        else:
            assert block == sent
        assert found.diagnostics == []


@pytest.mark.parametrize(
    "recorded",
    [
        {"type": "image", "media_type": "image/tiff", "data": "QUJD"},
        {"type": "image", "media_type": "image/png", "data": "not base64!"},
        {"type": "image", "media_type": "image/png"},
        {"type": "image", "data": "QUJD"},
        {"type": "file", "media_type": "application/zip", "data": "QUJD"},
        {"type": "file", "media_type": "text/plain", "data": "IA=="},
        {"type": "file", "file_id": "file_1"},
        {"type": "video", "data": "x"},
        {"type": "text", "text": 5},
        {"type": "\ud800"},
    ],
    ids=str,
)
def test_what_cannot_be_sent_is_said_in_text(recorded: dict[str, Any]) -> None:
    found = answer(user([{"type": "text", "text": "look"}, recorded]))
    assert kinds(found) == ["u[text,text]"]
    assert "left out: " in content(found, 0)[1]["text"]
    assert codes(found) == ["content_stand_in"]


# -- thinking


def tool_turn(*blocks: Any, model: str = MODEL, target: str = MODEL, **more: Any) -> Any:
    return answer(user("q"), start("s1", model=model), *blocks, call("s1"), result(), model=target, **more)


def test_signed_and_redacted_thinking_goes_back_as_it_came() -> None:
    found = tool_turn(thinking("s1", "", "sig"))
    assert content(found, 1)[0] == {"type": "thinking", "thinking": "", "signature": "sig"}
    found = tool_turn(thinking("s1", "", None, redacted_data="opaque"))
    assert content(found, 1)[0] == {"type": "redacted_thinking", "data": "opaque"}


@pytest.mark.parametrize(
    "made_by",
    [
        {"model": "claude-opus-4-1"},
        {"provider": "bedrock"},
        {"api": "openai-completions"},
        {"model": None},
    ],
    ids=str,
)
def test_thinking_of_another_maker_is_left_out(made_by: dict[str, Any]) -> None:
    found = answer(user("q"), start("s1", **made_by), thinking("s1", "secret", "sig"), call("s1"), result())
    assert kinds(found)[1] == "a[tool_use]"
    assert "secret" not in json.dumps(body(found))
    assert codes(found) == ["foreign_thinking_skipped"]


@pytest.mark.parametrize("api", ["messages", "anthropic-messages", "anthropic.messages", None])
def test_the_names_of_the_one_api_are_the_same(api: str | None) -> None:
    found = answer(user("q"), start("s1", api=api), thinking("s1"), call("s1"), result())
    assert kinds(found)[1] == "a[thinking,tool_use]"


def test_unsigned_thinking_is_left_out_and_never_text() -> None:
    found = tool_turn(thinking("s1", "secret", None))
    assert kinds(found)[1] == "a[tool_use]"
    assert "secret" not in json.dumps(body(found))
    assert codes(found) == ["unsigned_thinking_skipped"]


def test_without_a_model_the_latest_of_the_history_is_the_target() -> None:
    found = answer(
        user("q"),
        start("s1", model="old"),
        thinking("s1"),
        call("s1"),
        result(),
        start("s2"),
        thinking("s2"),
        text("s2"),
        user("r", "t2"),
        model=None,
    )
    assert kinds(found) == ["u[text]", "a[tool_use]", "u[tool_result]", "a[thinking,text]", "u[text]"]
    assert body(found)["model"] == MODEL


def two_steps(*first: Any, model: str, **more: Any) -> list[str]:
    """A damaged step, a good one of the same turn, and a good one of the next."""
    found = answer(
        user("q"),
        start("s1", model=model),
        *first,
        call("s1", "c1"),
        result("c1"),
        start("s2", model=model),
        thinking("s2"),
        call("s2", "c2"),
        result("c2"),
        complete(),
        user("r", "t2"),
        start("s3", "t2", model=model),
        thinking("s3", turn="t2"),
        call("s3", "c3", turn="t2"),
        result("c3", turn="t2"),
        model=model,
        **more,
    )
    return [kind for kind in kinds(found) if kind.startswith("a")]


LOST = [thinking("s1", "one", "sig"), thinking("s1", "two", None)]


def test_a_step_that_lost_some_thinking_sends_none_and_so_does_the_rest_of_its_turn() -> None:
    assert two_steps(*LOST, model=MODEL) == ["a[tool_use]", "a[tool_use]", "a[thinking,tool_use]"]


def test_where_thinking_is_bound_to_its_prefix_no_later_thinking_is_sent() -> None:
    assert two_steps(*LOST, model=BOUND) == ["a[tool_use]", "a[tool_use]", "a[tool_use]"]
    assert two_steps(*LOST, model=BOUND, binds_prefix=False)[2] == "a[thinking,tool_use]"


def test_signed_thinking_with_half_a_character_cannot_go_back() -> None:
    assert two_steps(thinking("s1", "\ud800"), model=MODEL) == [
        "a[tool_use]",
        "a[tool_use]",
        "a[thinking,tool_use]",
    ]


def test_foreign_thinking_does_not_close_the_way_for_later_thinking() -> None:
    found = answer(
        user("q"),
        start("s1", model="other"),
        thinking("s1"),
        call("s1"),
        result(),
        start("s2"),
        thinking("s2"),
        call("s2", "c2"),
        result("c2"),
    )
    assert [kind for kind in kinds(found) if kind.startswith("a")] == ["a[tool_use]", "a[thinking,tool_use]"]


def test_an_assumed_order_leaves_out_the_later_thinking() -> None:
    found = tool_turn(thinking("s1", "one", "s-1"), thinking("s1", "two", "s-2"))
    assert kinds(found)[1] == "a[thinking,tool_use]"
    assert content(found, 1)[0]["signature"] == "s-1"
    assert "thinking_order_skipped" in codes(found)


def indexed(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**block, "block_index": index} for index, block in enumerate(blocks)]


def test_a_recorded_order_is_kept() -> None:
    blocks = indexed(
        text("s1"), thinking("s1", "one", "s-1"), text("s1"), thinking("s1", "two", "s-2"), call("s1")
    )
    found = answer(user("q"), start("s1"), *blocks, result())
    assert kinds(found)[1] == "a[text,thinking,text,thinking,tool_use]"


@pytest.mark.parametrize(
    "between", [text("s1", ""), text("s1", " "), None], ids=["empty", "blank", "not recorded"]
)
def test_thinking_whose_separator_is_gone_is_left_out(between: dict[str, Any] | None) -> None:
    blocks = indexed(
        thinking("s1", "one", "s-1"), between or text("s1"), thinking("s1", "two", "s-2"), call("s1")
    )
    if between is None:
        del blocks[1]
    found = answer(user("q"), start("s1"), *blocks, result())
    assert kinds(found)[1] == "a[thinking,tool_use]"
    assert "thinking_order_skipped" in codes(found)


def test_neighbouring_thinkings_stay_neighbours() -> None:
    blocks = indexed(thinking("s1", "one", "s-1"), thinking("s1", "two", "s-2"), call("s1"))
    assert kinds(answer(user("q"), start("s1"), *blocks, result()))[1] == "a[thinking,thinking,tool_use]"


def test_a_thinking_only_step_stays_before_a_user_message_and_goes_before_another_step() -> None:
    alone = [user("q"), start("s1"), thinking("s1")]
    assert kinds(answer(*alone, complete(), user("r", "t2"))) == ["u[text]", "a[thinking]", "u[text]"]
    before_step = answer(*alone, start("s2"), thinking("s2"), call("s2"), result())
    assert kinds(before_step) == ["u[text]", "a[thinking,tool_use]", "u[tool_result]"]
    assert codes(before_step) == ["thinking_only_step_skipped"]
    last = answer(*alone, complete())
    assert kinds(last) == ["u[text]"]


def test_a_thinking_tail_goes_before_another_step() -> None:
    tail = indexed(text("s1"), thinking("s1"))
    found = answer(user("q"), start("s1"), *tail, start("s2"), thinking("s2"), call("s2"), result())
    assert kinds(found)[1] == "a[text,thinking,tool_use]"
    assert codes(found) == ["thinking_tail_skipped"]


def test_an_answer_that_opens_with_a_compaction_starts_with_its_thinking() -> None:
    opened = {
        "type": "compaction",
        "turn_id": "t1",
        "step_id": "s1",
        "summary": "",
        "through_version": 2,
        "provider_metadata": {"anthropic": {"type": "compaction", "content": None, "encrypted_content": "e"}},
    }
    manual = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    told = [user("q"), start("s1"), opened, thinking("s1", "hm", "sig"), text("s1")]
    for more in ([call("s1"), result()], [start("s2"), thinking("s2", "oh", "gis"), call("s2"), result()]):
        found = answer(*told, *more, **manual)
        assert kinds(found)[1].startswith("a[compaction,thinking,text")
        assert found.extra["thinking"] == manual["thinking"]
        assert "thinking_off" not in codes(found)


def test_thinking_from_before_a_compaction_is_left_out_where_it_is_bound() -> None:
    def compacted(model: str) -> list[str]:
        compaction = {"type": "compaction", "summary": "So far.", "through_version": 4}
        found = answer(
            user("q"),
            start("s1", model=model),
            thinking("s1"),
            call("s1"),
            result(),
            compaction,
            start("s2", model=model),
            thinking("s2"),
            call("s2", "c2"),
            result("c2"),
            model=model,
        )
        return [kind for kind in kinds(found) if kind.startswith("a")]

    assert compacted(BOUND) == ["a[tool_use]", "a[thinking,tool_use]"]
    assert compacted(MODEL) == ["a[thinking,tool_use]", "a[thinking,tool_use]"]


MANUAL = {"type": "enabled", "budget_tokens": 2000}


def test_manual_thinking_goes_off_when_the_open_loop_did_not_start_with_it() -> None:
    found = answer(user("q"), call("s1"), result(), thinking=MANUAL)
    assert body(found)["thinking"] == {"type": "disabled"}
    assert codes(found) == ["thinking_off"]
    assert body(tool_turn(thinking("s1"), thinking=MANUAL))["thinking"] == MANUAL
    assert body(answer(user("q"), text("s1"), user("r", "t2"), thinking=MANUAL))["thinking"] == MANUAL
    adaptive = {"type": "adaptive"}
    assert body(answer(user("q"), call("s1"), result(), thinking=adaptive))["thinking"] == adaptive


def test_manual_thinking_comes_first_in_its_message_or_not_at_all() -> None:
    blocks = indexed(text("s1"), thinking("s1"), call("s1"))
    assert kinds(answer(user("q"), start("s1"), *blocks, result(), thinking=MANUAL))[1] == "a[text,tool_use]"
    assert kinds(answer(user("q"), start("s1"), *blocks, result()))[1] == "a[text,thinking,tool_use]"


def test_a_replay_state_seals_the_thinking_that_it_fits() -> None:
    response = {
        "kind": "pi-ai",
        "version": 2,
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": MODEL,
        "stopReason": "stop",
    }
    state = {
        "response": response,
        "blocks": [{"type": "reasoning", "thinkingSignature": "sealed"}, {"type": "text"}],
    }
    finish = {"type": "step_finish", "turn_id": "t1", "step_id": "s1", "replay_state": state}
    events = [user("q"), start("s1"), thinking("s1", "hm", None), text("s1")]
    found = answer(*events, finish, user("r", "t2"))
    assert content(found, 1)[0] == {"type": "thinking", "thinking": "hm", "signature": "sealed"}
    broken = {**finish, "replay_state": {**state, "response": {**response, "model": "other"}}}
    found = answer(*events, broken, user("r", "t2"))
    assert kinds(found)[1] == "a[text]"


# -- tools


TOOLS = [{"type": "web_search_20250305", "name": "web_search"}]
HIT = {
    "type": "web_search_result",
    "url": "https://a.example",
    "title": "A",
    "encrypted_content": "e",
    "extra": 1,
}


def hosted(**more: Any) -> list[dict[str, Any]]:
    search = call("s1", "srvtoolu_1", {"query": "q"}, tool_name="web_search", provider_executed=True)
    hits = result("srvtoolu_1", [HIT], step_id="s1", provider_executed=True)
    return [{**search, **more}, hits]


def searched(*events: Any, tools: Any = TOOLS, **more: Any) -> Any:
    context = {"type": "context", "digest": "d", "tools": tools}
    return answer(context, user("q"), start("s1", **more), *events, text("s1", "found"), user("r", "t2"))


def test_a_search_by_the_provider_goes_back_as_its_own_blocks() -> None:
    found = searched(*hosted())
    assert kinds(found)[1] == "a[server_tool_use,web_search_tool_result,text]"
    hit = content(found, 1)[1]["content"][0]
    assert hit == {key: value for key, value in HIT.items() if key != "extra"}


@pytest.mark.parametrize(
    "changed",
    [
        {"events": [{**event, "tool_call_id": "w1"} for event in hosted()]},
        {"events": hosted(tool_name="code_execution")},
        {"events": [hosted()[0]]},
        {"events": [hosted()[0], {**hosted()[1], "content": "three hits"}]},
        {"events": hosted(), "tools": []},
        {"events": hosted(), "provider": "openai"},
    ],
    ids=["id", "tool", "no result", "result", "not declared", "provider"],
)
def test_provider_executed_blocks_that_cannot_go_back_are_left_out_in_pairs(changed: dict[str, Any]) -> None:
    more = {name: value for name, value in changed.items() if name != "events"}
    found = searched(*changed["events"], **more)
    assert kinds(found)[1] == "a[text]"
    assert set(codes(found)) == {"hosted_block_skipped"}


def test_a_search_that_goes_on_in_the_next_response_stays_whole() -> None:
    call_, hits = hosted()
    context = {"type": "context", "digest": "d", "tools": TOOLS}
    paused = {"type": "step_finish", "turn_id": "t1", "step_id": "s1", "finish_reason": "pause_turn"}
    before = [context, user("q"), start("s1"), call_, paused]
    found = answer(*before)
    assert kinds(found) == ["u[text]", "a[server_tool_use]"]
    assert found.sendable
    found = answer(*before, start("s2"), {**hits, "step_id": "s2"}, text("s2"), user("r", "t2"))
    assert kinds(found)[1] == "a[server_tool_use,web_search_tool_result,text]"


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "read", "description": "d", "input_schema": {"type": "object"}, "strict": True},
        {"name": "read", "description": "d", "parameters": {"properties": {}}},
        {"name": "read", "description": "d", "inputSchema": {"type": "object"}},
        {"type": "function", "function": {"name": "read", "description": "d", "parameters": {}}},
    ],
    ids=["anthropic", "plain", "mcp", "openai"],
)
def test_tool_definitions_are_translated(tool: dict[str, Any]) -> None:
    sent = body(answer({"type": "context", "digest": "d", "tools": [tool]}, user("q")))["tools"][0]
    assert (sent["name"], sent["description"], sent["input_schema"]["type"]) == ("read", "d", "object")


def test_a_tool_that_cannot_be_declared_is_left_out() -> None:
    found = answer({"type": "context", "digest": "d", "tools": ["read", {"name": "x"}, 5]}, user("q"))
    assert "tools" not in body(found)
    assert codes(found) == ["tool_definition_skipped"] * 3


# -- the renderer as a function


LEDGER = [
    {"type": "context", "digest": "d", "system": "s", "tools": TOOLS},
    user([{"type": "text", "text": "q"}, PNG]),
    start("s1"),
    thinking("s1"),
    *hosted(),
    call("s1", "a b", '{"x":'),
    result("a b", [{"type": "text", "text": "\ud800"}, PNG], is_error=True),
    text("s2"),
    user("r", "t2"),
]


def test_rendering_twice_gives_the_same_and_changes_nothing() -> None:
    stored = records(LEDGER)
    bodies = [one.body for one in stored]
    first, second = (replay(stored, "c", {"provider": "anthropic", "model": MODEL}) for _ in range(2))
    before = copy.deepcopy(first.messages)
    assert (first.messages, first.as_json()) == (second.messages, second.as_json())
    assert first.messages == before
    assert [one.body for one in records(LEDGER)] == bodies


def test_every_part_names_the_events_that_it_was_made_from() -> None:
    found = answer(*LEDGER)
    assert [len(parts) for parts in found.provenance] == [
        len(content(found, n)) for n in range(len(found.messages))
    ]
    assert all(versions for parts in found.provenance for versions in parts)


def test_every_code_of_the_renderer_is_met_here() -> None:
    sources = [ast.parse(path.read_bytes()) for path in Path(__file__).parent.glob("test_*.py")]
    met = {node.value for one in sources for node in ast.walk(one) if isinstance(node, ast.Constant)}
    added = set(SEVERITY) & set(re.findall(r'"([a-z_]+)"', inspect.getsource(renderer_codes)))
    assert len(added) >= 27
    assert added <= met


def test_what_was_damaged_and_what_it_took_with_it() -> None:
    found = answer(
        user("q"),
        start("s1"),
        *LOST,
        call("s1"),
        result(),
        start("s2"),
        thinking("s2"),
        call("s2", "c2"),
        result("c2"),
    )
    assert [(one.code, one.version, one.detail) for one in found.diagnostics if "thinking" in one.code] == [
        ("damaged_thinking_skipped", 3, {"reason": "unsigned", "damaged": 4}),
        ("unsigned_thinking_skipped", 4, {}),
        ("thinking_suffix_skipped", 8, {"since": 4}),
    ]


def test_a_rung_that_there_is_not_is_refused() -> None:
    with pytest.raises(BadInput, match="no rung 'text_only'; there is: native, no-foreign"):
        messages(user("q"), rung="text_only")


def test_a_target_that_there_is_not_is_refused() -> None:
    with pytest.raises(UnknownTarget, match="anthropic"):
        replay(records([user("q")]), "c", "acme")


def test_pending_calls_can_be_closed() -> None:
    found = answer(user("q"), call("s1"), options=Options(pending_calls="close"))
    assert kinds(found) == ["u[text]", "a[tool_use]", "u[tool_result]"]
    assert found.sendable
