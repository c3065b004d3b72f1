"""`codex exec --json`, rule by rule."""

from __future__ import annotations

from typing import Any

from tests.streams import Taken, check_sound, take

Record = dict[str, Any]
STARTED: Record = {"type": "turn.started"}


def item(event: str, kind: str, name: str, **more: Any) -> Record:
    return {"type": f"item.{event}", "item": {"id": name, "type": kind, **more}}


def completed(total: int) -> Record:
    usage = {
        "input_tokens": total,
        "cached_input_tokens": total // 2,
        "cache_write_input_tokens": 0,
        "output_tokens": total // 10,
        "reasoning_output_tokens": total // 20,
    }
    return {"type": "turn.completed", "usage": usage}


def taken(*records: Record, **more: Any) -> Taken:
    these = take("codex-exec", list(records), **more)
    check_sound(these)
    return these


def test_a_step_goes_up_to_the_first_output() -> None:
    command: Record = {"command": "ls", "aggregated_output": "", "status": "in_progress"}
    done: Record = {"command": "ls", "aggregated_output": "a\n", "exit_code": 0, "status": "completed"}
    these = taken(
        STARTED,
        item("completed", "reasoning", "i0", text="hm"),
        item("completed", "agent_message", "i1", text="Looking."),
        item("started", "command_execution", "i2", **command),
        item("started", "command_execution", "i3", **command),
        item("completed", "command_execution", "i3", **done),
        item("completed", "command_execution", "i2", **done),
        item("completed", "agent_message", "i4", text="Done."),
        completed(100),
    )
    assert len(these.steps) == 2
    assert all(step["source"] == {"format": "codex-exec", "inferred": True} for step in these.of("step_start"))
    assert {event["step_id"] for event in these.of("tool_start", "tool_result")} == {these.steps[0]}
    assert these.calls == [
        ("i2", "command_execution", {"command": "ls"}),
        ("i3", "command_execution", {"command": "ls"}),
    ]
    assert these.results == [("i3", "a\n", False), ("i2", "a\n", False)]
    assert these.of("tool_result")[0]["structured"]["exit_code"] == 0


def test_what_failed_or_was_declined() -> None:
    these = taken(
        STARTED,
        item(
            "completed",
            "command_execution",
            "i0",
            command="x",
            aggregated_output="no",
            exit_code=2,
            status="failed",
        ),
        item(
            "completed",
            "command_execution",
            "i1",
            command="rm",
            aggregated_output="",
            exit_code=None,
            status="declined",
        ),
        item(
            "completed",
            "mcp_tool_call",
            "i2",
            server="docs",
            tool="find",
            arguments={"q": 1},
            result={"content": [1]},
            status="completed",
        ),
        item(
            "completed",
            "mcp_tool_call",
            "i3",
            server="docs",
            tool="find",
            arguments={},
            error={"message": "gone"},
            status="failed",
        ),
        item("completed", "web_search", "i4", query="x"),
        completed(1),
    )
    assert [(name, failed) for name, _, failed in these.results] == [
        ("i0", True), ("i1", True), ("i2", False), ("i3", True), ("i4", False),
    ]  # fmt: skip
    assert these.only("tool_approval")["decision"] == "denied"
    assert these.calls[2] == ("i2", "docs.find", {"q": 1})
    assert (these.results[2][1], these.results[3][1]) == ([1], "gone")
    assert these.calls[4] == ("i4", "web_search", {"query": "x"})


def test_running_totals_are_no_usage() -> None:
    """The first total of a stream may be that of a thread that was resumed; from then on differences count."""
    said = item("completed", "agent_message", "i0", text="a")
    these = taken(STARTED, said, completed(100), STARTED, said, completed(300), STARTED, said, completed(40))
    (usage,) = these.of("token_usage")
    assert usage["turn_id"] == these.of("turn_start")[1]["turn_id"]
    counts = {
        name: usage["usage"][name] for name in ("input", "cache_read", "cache_write", "output", "reasoning")
    }
    assert counts == {"input": 100, "cache_read": 100, "cache_write": 0, "output": 20, "reasoning": 10}
    totals = [
        end["provider_metadata"]["codex-exec"]["usage_total"]["input_tokens"] for end in these.of("complete")
    ]
    assert totals == [100, 300, 40]


def test_how_turns_fail() -> None:
    reconnecting: Record = {"type": "error", "message": "Reconnecting... 1/5"}
    failed: Record = {"type": "turn.failed", "error": {"message": "too much"}}
    these = taken(STARTED, reconnecting, failed)
    assert these.only("error")["message"] == "too much"
    assert these.notes("error")[0]["entry"] == reconnecting
    assert taken(STARTED, reconnecting).only("error")["message"] == "Reconnecting... 1/5"
    assert taken(STARTED, reconnecting, completed(1)).ends == [("complete", None)]
    both = taken(STARTED, STARTED, completed(1))
    assert both.ends == [("error", "missing_terminal_event"), ("complete", None)]


def test_a_killed_process() -> None:
    these = taken(
        STARTED,
        item("started", "command_execution", "i0", command="sleep", aggregated_output="", status="in_progress"),
        item(
            "updated",
            "command_execution",
            "i0",
            command="sleep",
            aggregated_output="so far",
            status="in_progress",
        ),
        item("updated", "agent_message", "i1", text="half a sen"),
    )
    assert these.ends == [("error", "missing_terminal_event")]
    progress = these.only("tool_result")
    assert (progress["content"], progress["final"]) == ("so far", False)
    said = these.only("text_complete")
    assert (said["text"], said["partial"]) == ("half a sen", True)
    assert taken(STARTED, end="terminated").ends == [("abort", "terminated")]


def test_items_that_are_no_part_of_the_conversation_are_notes() -> None:
    todo = item("updated", "todo_list", "i0", items=[{"text": "x", "completed": False}])
    these = taken(
        {"type": "thread.started", "thread_id": "th"},
        item("completed", "error", "e", message="not fatal"),
        STARTED,
        todo,
        item("completed", "item_of_tomorrow", "i9", x=1),
        {"type": "turn.of_tomorrow"},
        completed(1),
    )
    assert [note["kind"] for note in these.notes()] == [
        "thread",
        "error",
        "todo_list",
        "item_of_tomorrow",
        "raw",
    ]
    assert these.notes("todo_list")[0]["entry"] == todo["item"]
    assert these.ends == [("complete", None)]
