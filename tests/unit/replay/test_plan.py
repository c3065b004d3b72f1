"""What the conformance cases leave open: edges of the rules, and the structure that renderers build on."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.recorded import RecordedEvent
from replay import Options, Plan, neutral, plan
from replay.items import NO_RESULT, Call, Entry, LateResult, Step, Thinking
from tests.unit.replay.talk import call, complete, event, result, talk, text, thinking, user


def codes(planned: Plan) -> list[tuple[str, int | None]]:
    return [(one.code, one.version) for one in planned.diagnostics]


def spoken(planned: Plan) -> list[tuple[str, list[Any]]]:
    """Roles with the text, id or content of each part."""
    return [
        (
            message.role,
            [part.get("tool_call_id") or part.get("text") for part in message.parts],
        )
        for message in neutral(planned)
    ]


def test_a_stored_event_that_cannot_be_read_costs_only_itself() -> None:
    records = talk(user("q"), text("lost", "m1"), text("a", "m2"))
    broken = records[1]
    records[1] = RecordedEvent(
        "c", 2, "e2", broken.type, "t1", "m1", bytes(16) + b"{not json", b"", 0, "default", "local", 1, 0, 2
    )
    planned = plan(records)
    assert spoken(planned) == [("user", ["q"]), ("assistant", ["a"])]
    assert codes(planned) == [("unreadable_event_skipped", 2)]


def test_the_context_in_force_is_the_last_one_not_taken_back() -> None:
    records = talk(
        event("context", None, digest="d1", system="Be brief.", tools=[{"name": "shell"}]),
        user("q"),
        event("context", None, digest="d2", system="Be long."),
        event("retraction", None, event_ids=["e3"]),
    )
    planned = plan(records)
    assert planned.context == {"system": "Be brief.", "tools": [{"name": "shell"}], "digest": "d1"}
    assert planned.context_record is records[0]


def test_steps_keep_turn_place_source_and_finish() -> None:
    planned = plan(
        talk(
            user("q"),
            event("step_start", step="m1", provider="anthropic", api="messages", model="big"),
            thinking("hm", "m1", signature="sig", block_index=0, provider_metadata={"k": 1}),
            text("", "m1", block_index=1),
            call("c1", "m1", block_index=2),
            event("step_finish", step="m1", finish_reason="tool_use", response_id="msg_1"),
            result("c1"),
            complete(),
        )
    )
    [step] = planned.steps
    assert (step.turn_id, step.step_id, step.version) == ("t1", "m1", 2)
    assert (step.provider, step.api, step.model) == ("anthropic", "messages", "big")
    assert (step.finish_reason, step.response_id) == ("tool_use", "msg_1")
    assert step.indexed
    assert not step.order_assumed
    assert step.turn.terminal is not None
    assert step.turn.terminal.version == 8
    first, second = step.blocks
    assert isinstance(first, Thinking)
    assert first.signed
    assert first.provider_metadata == {"k": 1}
    assert isinstance(second, Call)
    assert [block.version for block in step.left_out or ()] == [4], "A23: separators are known to a renderer"
    assert second.answer is not None
    assert (second.answer.kind, second.answer.record.version) == ("result", 7)
    assert [message.versions(0) for message in neutral(planned)] == [[1], [3], [7]]


def test_stand_ins_name_the_call_that_they_answer_for() -> None:
    planned = plan(
        talk(
            user("q"),
            call("c1", "m1"),
            call("c2", "m1"),
            call("c3", "m1"),
            event("tool_approval", tool_call_id="c2", decision="denied"),
            result("c3", "half", final=False),
            complete(),
        )
    )
    tool = neutral(planned)[-1]
    assert [part["content"] for part in tool.parts] == [
        NO_RESULT,
        "[the call was denied; it did not run]",
        "half",
    ]
    assert [part["is_error"] for part in tool.parts] == [True, True, False]
    assert [tool.versions(place) for place in range(3)] == [[2], [3, 5], [6]]


def test_a_denial_after_the_next_step_changes_nothing_that_was_sent() -> None:
    records = talk(
        user("q"),
        call("c1", "m1"),
        text("going on", "m2"),
        event("tool_approval", tool_call_id="c1", decision="denied"),
    )
    planned = plan(records)
    assert codes(planned) == [("unmatched_tool_call", 2)]


def test_an_approval_takes_a_denial_back() -> None:
    planned = plan(
        talk(
            user("q"),
            call("c1", "m1"),
            event("tool_approval", tool_call_id="c1", decision="denied"),
            event("tool_approval", tool_call_id="c1", decision="approved"),
        )
    )
    assert codes(planned) == [("pending_tool_call", 2)]


def test_a_denied_call_with_a_result_has_that_result() -> None:
    planned = plan(
        talk(
            user("q"),
            call("c1", "m1"),
            event("tool_approval", tool_call_id="c1", decision="denied"),
            result("c1", "the user said no", is_error=True),
        )
    )
    assert codes(planned) == []
    assert neutral(planned)[-1].parts[0]["content"] == "the user said no"


def test_a_result_that_was_taken_back_leaves_the_call_unanswered_not_pending() -> None:
    planned = plan(talk(user("q"), call("c1", "m1"), result("c1"), event("retraction", None, event_ids=["e3"])))
    assert codes(planned) == [("unmatched_tool_call", 2), ("retracted_skipped", 3)]
    assert planned.sendable


def test_the_result_before_a_retracted_one_is_used() -> None:
    planned = plan(
        talk(
            user("q"),
            call("c1", "m1"),
            result("c1", "first"),
            result("c1", "second"),
            event("retraction", None, event_ids=["e4"]),
        )
    )
    assert neutral(planned)[-1].parts[0]["content"] == "first"
    assert codes(planned) == [("retracted_skipped", 4)]


def test_step_ids_of_a_retraction_mean_the_latest_step_where_its_own_turn_has_none() -> None:
    planned = plan(
        talk(
            user("a"),
            text("A.", "m1"),
            user("b", "t2"),
            text("B.", "m1", "t2"),
            event("retraction", "t3", step_ids=["m1"]),
            user("c", "t3"),
        )
    )
    assert spoken(planned) == [("user", ["a"]), ("assistant", ["A."]), ("user", ["b"]), ("user", ["c"])]


def test_a_turn_taken_back_by_another_goes_with_its_late_events() -> None:
    planned = plan(
        talk(
            user("a"),
            call("c1", "m1"),
            event("retraction", "t2", turn_ids=["t1"]),
            user("b", "t2"),
            result("c1", "late"),
            text("late words", "m2"),
        )
    )
    assert spoken(planned) == [("user", ["b"])]
    assert [code for code, _ in codes(planned)] == ["retracted_skipped"] * 4


def test_a_turn_that_takes_itself_back_goes_on_afterwards() -> None:
    planned = plan(
        talk(user("a"), text("A.", "m1"), event("retraction", turn_ids=["t1"]), user("b"), text("B.", "m2"))
    )
    assert spoken(planned) == [("user", ["b"]), ("assistant", ["B."])]


def test_a_retraction_of_the_main_agent_reaches_a_sub_agents_turn() -> None:
    records = talk(
        user("sub task", "k1", agent_id="sub"),
        text("Sub done.", "n1", "k1", agent_id="sub"),
        event("retraction", "t1", turn_ids=["k1"]),
    )
    assert spoken(plan(records, Options(agent_id="sub"))) == []


def test_an_undone_retry_brings_the_attempt_back() -> None:
    planned = plan(
        talk(
            user("q"),
            text("first", "m1"),
            event("step_start", step="m2", retry_of="m1"),
            text("second", "m2"),
            event("retraction", step_ids=["m2"]),
        )
    )
    assert spoken(planned) == [("user", ["q"]), ("assistant", ["first"])]


def test_a_hosted_call_that_was_answered_keeps_its_replaced_attempt() -> None:
    planned = plan(
        talk(
            user("q"),
            call("w1", "m1", provider_executed=True),
            result("w1", "hit", provider_executed=True, step_id="m1"),
            event("step_start", step="m2", retry_of="m1"),
            text("Found.", "m2"),
            complete(),
        )
    )
    assert spoken(planned) == [("user", ["q"]), ("assistant", ["w1", "w1"]), ("assistant", ["Found."])]


def test_a_hosted_result_without_a_step_never_changes_an_earlier_message() -> None:
    planned = plan(
        talk(
            user("q"),
            call("w1", "m1", provider_executed=True),
            text("second", "m2"),
            result("w1", "hit", provider_executed=True),
        )
    )
    assert spoken(planned) == [("user", ["q"]), ("assistant", ["w1"]), ("assistant", ["w1", "second"])]


def test_of_two_hosted_results_before_the_next_step_the_last_is_used() -> None:
    planned = plan(
        talk(
            user("q"),
            call("w1", "m1", provider_executed=True),
            result("w1", "one", provider_executed=True),
            result("w1", "two", provider_executed=True),
            result("w1", "half", final=False, provider_executed=True),
            text("Found.", "m2"),
            result("w1", "three", provider_executed=True),
        )
    )
    assert neutral(planned)[1].parts[1]["content"] == "two"
    assert codes(planned) == [
        ("duplicate_tool_result", 3),
        ("progress_skipped", 5),
        ("duplicate_tool_result", 7),
    ]


def test_hoisting_uses_the_last_result_of_all() -> None:
    planned = plan(
        talk(
            user("q"),
            call("c1", "m1"),
            result("c1", "in time"),
            text("going on", "m2"),
            result("c1", "late"),
            result("c1", "later"),
        ),
        Options(late_results="hoist"),
    )
    assert neutral(planned)[2].parts[0]["content"] == "later"
    assert codes(planned) == [
        ("duplicate_tool_result", 3),
        ("late_tool_result", 5),
        ("duplicate_tool_result", 5),
        ("late_tool_result", 6),
    ]


def test_a_late_result_beside_one_in_time_is_added_as_text() -> None:
    planned = plan(talk(user("q"), call("c1", "m1"), result("c1", "a"), text("on", "m2"), result("c1", "b")))
    assert spoken(planned)[2:] == [
        ("tool", ["c1"]),
        ("assistant", ["on"]),
        ("user", ["[late result of shell (c1)] b"]),
    ]
    late = planned.items[-1]
    assert isinstance(late, LateResult)
    assert late.call.version == 2


def test_late_blocks_of_other_kinds_are_json_but_media_stay_blocks() -> None:
    image = {"type": "image", "media_type": "image/png", "data": "QUJD"}
    content = [{"type": "text", "text": "page"}, {"type": "table", "rows": [1]}, image]
    planned = plan(talk(user("q"), call("c1", "m1"), text("on", "m2"), result("c1", content)))
    assert neutral(planned)[-1].parts == [
        {"type": "text", "text": '[late result of shell (c1)] page\n\n{"rows":[1],"type":"table"}'},
        image,
    ]


def test_a_compaction_without_words_and_data_cuts_nothing() -> None:
    planned = plan(talk(user("q"), text("a", "m1"), event("compaction", None, summary="", through_version=2)))
    assert spoken(planned) == [("user", ["q"]), ("assistant", ["a"])]
    assert codes(planned) == [("empty_text_skipped", 3)]
    assert planned.compaction is None


def test_a_compaction_that_only_its_provider_reads_is_handed_to_renderers() -> None:
    data = {"anthropic": {"type": "compaction"}}
    records = talk(
        user("q"),
        event("compaction", None, summary="", through_version=1, provider_metadata=data),
        user("p", "t2"),
    )
    planned = plan(records)
    assert planned.opaque_compactions == [records[1]]
    assert planned.compaction is None


def test_a_compaction_that_was_taken_back_cuts_nothing() -> None:
    planned = plan(
        talk(
            user("q"),
            event("compaction", None, summary="s", through_version=1),
            event("retraction", None, event_ids=["e2"]),
        )
    )
    assert spoken(planned) == [("user", ["q"])]
    assert codes(planned) == [("retracted_skipped", 2)]


def test_system_messages_before_the_start_survive_the_cut() -> None:
    planned = plan(
        talk(
            event("system_message", None, content="Be brief."),
            user("q"),
            event("system_message", None, content="Be long."),
            event("compaction", None, summary="s", through_version=3),
            user("p", "t2"),
        )
    )
    assert [entry.parts for entry in planned.system] == [[{"type": "text", "text": "Be brief."}]]
    assert spoken(planned) == [("user", ["s"]), ("user", ["p"])]
    assert [item.kind for item in planned.items if isinstance(item, Entry)] == ["summary", "user"]


def test_steps_begun_before_the_compaction_say_so() -> None:
    planned = plan(
        talk(
            user("q"),
            text("a", "m1"),
            event("compaction", None, summary="s", through_version=1),
            text("b", "m2"),
        )
    )
    assert [step.before_compaction for step in planned.steps] == [True, False]


def test_an_empty_block_in_a_user_message_goes_alone() -> None:
    image = {"type": "image", "media_type": "image/png", "data": "QUJD"}
    planned = plan(talk(user([{"type": "text", "text": ""}, image]), user([], "t2")))
    assert [message.parts for message in neutral(planned)] == [[image]]
    assert codes(planned) == [("empty_text_skipped", 1), ("empty_text_skipped", 2)]


def test_thinking_with_data_of_its_provider_is_something() -> None:
    planned = plan(talk(user("q"), thinking("", "m1", provider_metadata={"encrypted": "E1"}), text("a", "m1")))
    assert codes(planned) == []
    assert [block.kind for block in planned.steps[0].blocks] == ["thinking", "text"]


def test_only_a_person_is_a_person() -> None:
    planned = plan(
        talk(user("q"), user("reminder", origin="runtime"), call("c1", "m1"), text("a", "m2"), result("c1"))
    )
    entries = [item for item in planned.items if isinstance(item, Entry)]
    assert [entry.person for entry in entries] == [True, False, False]


@pytest.mark.parametrize("reason", ["stop", None])
def test_only_a_paused_step_may_end_a_request(reason: str | None) -> None:
    fields = {} if reason is None else {"finish_reason": reason}
    planned = plan(talk(user("q"), text("a", "m1"), event("step_finish", step="m1", **fields)))
    assert not planned.sendable


def test_deltas_and_unknown_events_make_no_message() -> None:
    planned = plan(talk(user("q"), event("text_delta", text="par"), event("hologram", None, size=3)))
    assert spoken(planned) == [("user", ["q"])]
    assert codes(planned) == [("unknown_event_skipped", 3)]


def test_a_legacy_group_is_a_step_without_a_name() -> None:
    planned = plan(talk(user("q"), text("a", None), call("c1", None), result("c1"), text("b", None)))
    assert [(step.step_id, step.version) for step in planned.steps] == [(None, 2), (None, 5)]
    assert all(isinstance(item, Step) for item in planned.items[1:])


def test_a_legacy_group_takes_source_and_finish_from_events_without_a_name() -> None:
    planned = plan(
        talk(
            user("q"),
            event("step_start", provider="anthropic", model="big"),
            text("a", None),
            event("step_finish", finish_reason="pause_turn"),
        )
    )
    [step] = planned.steps
    assert (step.provider, step.model, step.finish_reason) == ("anthropic", "big", "pause_turn")
    assert planned.sendable


def test_a_retryable_error_does_not_close_a_step_that_begins_with_it() -> None:
    failed = event("error", step="m1", message="no connection", retryable=True)
    planned = plan(talk(user("q"), failed, text("the answer", "m1"), text("more", "m2")))
    assert spoken(planned) == [("user", ["q"]), ("assistant", ["the answer"]), ("assistant", ["more"])]
