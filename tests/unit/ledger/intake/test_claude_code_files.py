"""Claude Code's session files, rule by rule: steps, turns, branches, and what was seen to go wrong in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.claude_files import SESSION, SessionLines, call
from tests.imports import Taken, take_bytes


def of(taken: Taken, *types: str, conversation: str | None = None) -> list[dict[str, Any]]:
    """Events of some types, as they are stored."""
    found = [json.loads(event.model_dump_json(exclude_none=True)) for event in taken.events(conversation)]
    return [event for event in found if event["type"] in types]


def ends(taken: Taken) -> list[str]:
    return [event["type"] for event in of(taken, "complete", "abort", "error")]


def test_results_of_parallel_calls_are_no_branches() -> None:
    file = SessionLines()
    file.user("u1", "go")
    first = file.model("a1", "m1", call("c1"), stop="tool_use")
    second = file.model("a2", "m1", call("c2"), stop="tool_use")
    file.result("r1", "c1", "one", first)
    file.result("r2", "c2", "two", second)
    file.model("a3", "m2", "done", parent="r1")  # whichever result it hangs from
    file.user("u2", "next", parent="a3")
    taken = file.take()
    assert list(taken.own) == [SESSION]
    assert taken.texts() == ["go", "<c1> <c2>", "one two", "done", "next"]
    assert [event["step_id"] for event in of(taken, "step_start")] == ["m1", "m2"]
    assert ends(taken) == ["complete"]


def test_results_between_the_blocks_of_a_message_leave_it_one_step() -> None:
    file = SessionLines()
    file.user("u1", "go")
    file.model("a1", "m1", "look", stop="tool_use")
    file.model("a2", "m1", call("c1"), stop="tool_use")
    file.result("r1", "c1", "one")
    file.model("a3", "m1", call("c2"), stop="tool_use")
    file.result("r2", "c2", "two")
    file.model("a4", "m2", "done")
    file.user("u2", "next")
    taken = file.take()
    assert [event["step_id"] for event in of(taken, "step_start")] == ["m1", "m2"]
    calls = of(taken, "tool_start")
    assert [(event["step_id"], event["block_index"]) for event in calls] == [("m1", 1), ("m1", 2)]
    (finish, _) = of(taken, "step_finish")
    assert (finish["finish_reason"], finish["usage"]["output"]) == ("tool_use", 7)


def test_two_processes_that_write_to_one_file_are_two_conversations() -> None:
    file = SessionLines()
    file.user("u0", "start")
    file.model("a0", "m0", "ready")
    file.user("u1", "first asks", "a0")
    file.user("u2", "second asks", "a0")
    file.model("a1", "m1", "for the first", parent="u1")
    file.model("a2", "m2", "for the second", parent="u2")
    file.user("u3", "first again", "a1")
    file.model("a3", "m3", "last", parent="u3")
    taken = file.take()
    other = f"{SESSION}~u2"
    assert taken.sources == {other: (SESSION, taken.sources[other][1])}
    told = [text for _, text in taken.context(SESSION)]
    assert told == ["start", "ready", "first asks", "for the first", "first again", "last"]
    assert [text for _, text in taken.context(other)] == ["start", "ready", "second asks", "for the second"]
    assert taken.session.current == SESSION


def test_a_rewind_into_a_rewound_part_branches_off_that_branch() -> None:
    file = SessionLines()
    file.user("u1", "one")
    file.model("a1", "m1", "answer one")
    file.user("u2", "two")
    file.model("a2", "m2", "answer two")
    file.user("u3", "two, again", "a1")
    file.model("a3", "m3", "answer three")
    file.user("u4", "on")
    file.model("a4", "m4", "answer four")
    file.user("u5", "on, again", "a3")
    taken = file.take()
    assert list(taken.own) == [SESSION, f"{SESSION}~u3", f"{SESSION}~u5"]
    assert taken.sources[f"{SESSION}~u5"][0] == f"{SESSION}~u3"
    assert taken.texts() == ["one", "answer one", "two, again", "answer three", "on, again"]


def test_a_rewind_into_the_middle_of_a_turn_ends_it_there() -> None:
    file = SessionLines()
    file.user("u1", "go")
    file.model("a1", "m1", call("c1"), stop="tool_use")
    file.result("r1", "c1", "out")
    file.model("a2", "m2", "done")
    file.user("u2", "not like that", "r1")
    file.model("a3", "m3", "as you like")
    taken = file.take()
    other = f"{SESSION}~u2"
    assert [text for _, text in taken.context(other)] == ["go", "<c1>", "out", "not like that", "as you like"]
    assert [event["type"] for event in of(taken, "fork", "abort", "turn_start", conversation=other)] == [
        "fork",
        "abort",
        "turn_start",
    ]
    assert taken.texts() == ["go", "<c1>", "out", "not like that", "as you like"]


def test_a_rewind_to_the_first_prompt_begins_anew() -> None:
    file = SessionLines()
    file.user("u1", "one")
    file.model("a1", "m1", "answer one")
    file.user("u2", "one, said better", None)
    file.model("a2", "m2", "answer two")
    taken = file.take()
    assert taken.texts() == ["one, said better", "answer two"]
    assert taken.sources == {}


def test_what_a_hook_says_before_the_prompt_hides_no_rewind() -> None:
    file = SessionLines()
    file.user("u1", "one")
    file.model("a1", "m1", "answer one")
    file.user("u2", "two")
    file.model("a2", "m2", "answer two")
    file.add("attachment", "h1", "a1", attachment={"type": "hook_success", "content": "resumed"})
    file.user("u3", "two, again", "h1")
    assert file.take().texts() == ["one", "answer one", "two, again"]


def test_a_file_whose_chain_is_broken_is_read_in_the_order_of_its_lines() -> None:
    file = SessionLines()
    file.user("u1", "one")
    file.model("a1", "m1", "answer one", parent="never-written")
    file.user("u2", "two", "nor-this")
    file.model("a2", "m2", "answer two")
    taken = file.take()
    assert taken.texts() == ["one", "answer one", "two", "answer two"]
    assert taken.codes == ["missing_parent"]
    assert not any(problem.lost for problem in taken.session.problems)


def test_a_doubled_line_counts_once_and_another_of_its_name_is_kept() -> None:
    file = SessionLines()
    file.user("u1", "one")
    file.model("a1", "m1", "answer")
    file.records.append(file.records[-1])
    file.records.append({**file.records[-1], "message": {"id": "m9", "content": "other"}})
    taken = file.take()
    assert taken.texts() == ["one", "answer"]
    assert (taken.codes, taken.session.repaired) == (["doubled_line"], 1)
    (note,) = of(taken, "note")
    assert note["entry"]["message"]["content"] == "other"


def test_blocks_that_grow_from_line_to_line_are_taken_back() -> None:
    file = SessionLines(version="1.0.98")
    file.user("u1", "go")
    file.model("a1", "m1", "The ans", stop=None, tokens=1)
    file.model("a2", "m1", "The answer", stop=None, tokens=9)
    file.model("a3", "m1", call("c1"), stop=None, tokens=4)
    file.model("a4", "m1", call("c1"), stop=None, tokens=4)
    file.model("a5", "m1", call("c1", path="x"), stop=None, tokens=4)
    file.result("r1", "c1", "out")
    file.model("a6", "m2", "done", stop=None)
    taken = file.take()
    assert taken.texts() == ["go", "The answer <c1>", "out", "done"]
    assert len(of(taken, "retraction")) == 1
    assert [event["entry"]["input"] for event in of(taken, "note")] == [{"path": "x"}], "a call is what was run"
    assert [event["usage"]["output"] for event in of(taken, "step_finish")] == [9]


def test_blocks_that_say_their_place_are_never_taken_back() -> None:
    file = SessionLines()
    file.user("u1", "go")
    file.model("a1", "m1", "yes", apiBlockIndex=0)
    file.model("a2", "m1", "yes, and", apiBlockIndex=1)
    taken = file.take()
    assert [event["text"] for event in of(taken, "text_complete")] == ["yes", "yes, and"]
    assert of(taken, "retraction") == []


def test_an_error_that_is_shown_ends_the_turn_and_is_no_step() -> None:
    file = SessionLines()
    file.user("u1", "go")
    said = {"id": "e1", "model": "<synthetic>", "role": "assistant", "stop_reason": "stop_sequence"}
    content = [{"type": "text", "text": "API Error: 529"}]
    message = {**said, "content": content}
    file.add("assistant", "x1", message=message, isApiErrorMessage=True, error="overloaded")
    file.user("u2", "again")
    file.model("a1", "m1", "now it works")
    taken = file.take()
    (error,) = of(taken, "error")
    assert (error["message"], error["code"], error["reason"]) == ("API Error: 529", "overloaded", "api_error")
    assert "source" in error
    assert "inferred" not in error["source"]
    assert [event["step_id"] for event in of(taken, "step_start")] == ["m1"]
    assert taken.texts() == ["go", "again", "now it works"]


def test_an_interrupt_is_an_abort_and_a_kill_is_one_once_something_follows() -> None:
    file = SessionLines()
    file.user("u1", "go")
    file.model("a1", "m1", call("c1"), stop="tool_use")
    assert ends(file.take()) == []
    file.user("u2", "hello?")
    (abort,) = of(file.take(), "abort")
    assert (abort["reason"], abort["source"]["inferred"]) == ("unknown", True)
    file.user("u3", [{"type": "text", "text": "[Request interrupted by user]"}])
    *_, abort = of(file.take(), "abort")
    assert abort["reason"] == "user_stop"
    assert "inferred" not in abort["source"]


def test_what_claude_code_says_is_of_the_runtime_and_what_is_typed_meanwhile_steers() -> None:
    file = SessionLines()
    file.user("u1", "go")
    file.model("a1", "m1", call("c1"), stop="tool_use")
    file.result("r1", "c1", "out")
    file.add("attachment", "q1", attachment={"type": "queued_command", "prompt": "and the tests"})
    shown = [{"content": "<system-reminder>\nsoon\n</system-reminder>"}]
    file.add("attachment", "t1", attachment={"type": "total_tokens_reminder"}, rendered=shown)
    file.model("a2", "m2", "This is lo", stop="max_tokens")
    file.user("u2", "Output token limit hit. Resume directly", isMeta=True)
    file.model("a3", "m3", "ng")
    taken = file.take()
    said = [(e["content"], e.get("origin"), e.get("steering")) for e in of(taken, "user_message")]
    assert said == [
        ("go", None, None),
        ("and the tests", None, True),
        ("<system-reminder>\nsoon\n</system-reminder>", "runtime", None),
        ("Output token limit hit. Resume directly", "runtime", None),
    ]
    assert len(of(taken, "turn_start")) == 1


def test_a_compaction_on_the_way_stays_in_its_turn() -> None:
    file = SessionLines()
    file.user("u1", "go")
    file.model("a1", "m1", call("c1"), stop="tool_use")
    file.result("r1", "c1", "out")
    file.add(
        "system",
        "b1",
        None,
        subtype="compact_boundary",
        logicalParentUuid="r1",
        compactMetadata={"trigger": "auto"},
    )
    file.user("s1", "What was done: nothing.", isCompactSummary=True)
    file.model("a2", "m2", "done")
    taken = file.take()
    assert taken.texts() == ["What was done: nothing.", "done"]
    (event,) = of(taken, "compaction")
    assert event["provider_metadata"]["claude-code"]["compactMetadata"] == {"trigger": "auto"}
    assert len(of(taken, "turn_start")) == 1


def test_records_that_are_not_known_are_kept_whole() -> None:
    file = SessionLines()
    file.plain("of-later-years", what={"ever": 1})
    file.plain("file-history-snapshot", messageId="u1", snapshot={})
    file.plain("queue-operation", operation="enqueue", content="go")
    file.user("u1", "go")
    file.add("system", "s1", subtype="api_error", error={"status": 529}, retryAttempt=1)
    file.add("progress", "p1", data={"type": "bash_progress"})
    file.model("a1", "m1", {"type": "later_block", "x": 1}, "said")
    taken = file.take()
    kinds = [event["kind"] for event in of(taken, "note")]
    assert kinds == ["of-later-years", "queue-operation", "api_error", "block"]
    assert of(taken, "note")[0]["entry"]["what"] == {"ever": 1}
    assert taken.texts() == ["go", "said"]


def test_images_and_the_twin_of_a_result_are_kept() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    file = SessionLines()
    file.user("u1", [image, {"type": "text", "text": "what is it?"}])
    file.model("a1", "m1", call("c1", "Read"), stop="tool_use")
    file.result("r1", "c1", [image], toolUseResult={"type": "image", "file": {"type": "image/png"}})
    taken = file.take()
    (said,) = of(taken, "user_message")
    assert said["content"][0] == image
    (result,) = of(taken, "tool_result")
    assert result["content"] == [image]
    assert result["structured"]["file"] == {"type": "image/png"}


@pytest.mark.parametrize("cut", [1, 40, 90])
def test_a_torn_line_loses_nothing_but_itself(cut: int) -> None:
    file = SessionLines()
    file.user("u1", "one")
    file.model("a1", "m1", "answer one")
    file.user("u2", "two")
    file.model("a2", "m2", "answer two")
    first, second, third, fourth = file.data().splitlines(keepends=True)
    data = first + second[:-cut] + third + fourth
    taken = take_bytes(data, Path("x.jsonl"), "claude-code")
    texts = taken.texts()
    assert (texts[0], texts[-2:]) == ("one", ["two", "answer two"])
    assert "spliced_line" in taken.codes


def test_a_task_that_ended_begins_a_turn() -> None:
    file = SessionLines()
    file.user("u1", "go")
    file.model("a1", "m1", "started")
    file.user("u2", "<task-notification>\n<task-id>t</task-id>", origin={"kind": "task-notification"})
    file.model("a2", "m2", "it is done")
    taken = file.take()
    assert len(of(taken, "turn_start")) == 2
    assert [event.get("origin") for event in of(taken, "user_message")] == [None, "runtime"]
