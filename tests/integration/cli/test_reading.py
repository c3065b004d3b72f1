"""`list`, `show`, `replay`, `explain`: answers for people and machines, and what they say when they cannot."""

from __future__ import annotations

import pytest

from tests.integration.cli.desk import Desk

TURN = [
    {"conversation_id": "oslo", "type": "user_message", "turn_id": "t1", "content": "How warm?", "id": "ask"},
    {
        "conversation_id": "oslo",
        "type": "step_start",
        "turn_id": "t1",
        "step_id": "s1",
        "provider": "anthropic",
        "api": "anthropic-messages",
        "model": "m",
    },
    {
        "conversation_id": "oslo",
        "type": "tool_start",
        "turn_id": "t1",
        "step_id": "s1",
        "tool_call_id": "c 1",
        "tool_name": "weather",
        "args": {"city": "Oslo"},
    },
    {
        "conversation_id": "oslo",
        "type": "thinking_complete",
        "turn_id": "t1",
        "step_id": "s1",
        "text": "Look it up.",
        "signature": "sig",
    },
    {
        "conversation_id": "oslo",
        "type": "text_complete",
        "turn_id": "t1",
        "step_id": "s1",
        "text": "",
        "id": "closer",
    },
    {"conversation_id": "oslo", "type": "abort", "turn_id": "t1", "reason": "crash"},
    {
        "conversation_id": "oslo",
        "type": "user_message",
        "turn_id": "t2",
        "content": "Still there? \x1b[31m\u202e",
    },
]


@pytest.fixture
def oslo(desk: Desk) -> Desk:
    assert desk.append(*TURN).code == 0
    return desk


def test_list(oslo: Desk) -> None:
    oslo.append({"conversation_id": "bergen", "type": "note"})
    assert [one["conversation_id"] for one in oslo("list", "--json").json["conversations"]] == [
        "bergen",
        "oslo",
    ]
    assert [
        one["conversation_id"] for one in oslo("list", "--json", "--prefix", "o").json["conversations"]
    ] == ["oslo"]
    assert len(oslo("list", "--json", "--limit", "1").json["conversations"]) == 1
    assert "oslo" in oslo("list").out


def test_show_for_machines(oslo: Desk) -> None:
    answer = oslo("show", "oslo", "--json").json
    assert (answer["conversation_id"], answer["version"]) == ("oslo", 7)
    assert [row["row"] for row in answer["rows"]] == ["user", "assistant", "tool", "turn", "user", "turn"]
    assert oslo("show", "oslo", "--format", "json").json == answer
    assert [row["row"] for row in oslo("show", "oslo", "--json", "--last", "2").json["rows"]] == [
        "user",
        "turn",
    ]


@pytest.mark.parametrize("projected", [False, True])
def test_show_at_a_version_is_the_past(oslo: Desk, projected: bool) -> None:
    if projected:
        oslo("project", "run")
    rows = oslo("show", "oslo", "--json", "--at", "3").json["rows"]
    assert [(row["row"], row.get("status")) for row in rows] == [
        ("user", None),
        ("tool", "running"),
        ("turn", "running"),
    ]
    assert oslo("show", "oslo", "--json", "--at", "0").json["rows"] == []


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_show_for_people_says_everything_and_lets_nothing_act(oslo: Desk, form: str) -> None:
    shown = oslo("show", "oslo", "--format", form).out
    for text in ("How warm?", "Look it up.", "weather", "Still there?"):
        assert text in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_show_sees_what_was_acknowledged_whatever_was_projected(oslo: Desk) -> None:
    oslo("project", "run")
    oslo.append(
        {"conversation_id": "oslo", "type": "text_complete", "turn_id": "t2", "step_id": "s2", "text": "Yes."}
    )
    rows = oslo("show", "oslo", "--json").json["rows"]
    assert [row.get("text") for row in rows if row["row"] == "assistant"] == ["", "Yes."]
    assert "1 events behind" in oslo("project", "status").out
    oslo("project", "run")
    assert "0 events behind" in oslo("project", "status").out
    assert oslo("show", "oslo", "--json").json["rows"] == rows


def test_replay_mends_and_says_so(oslo: Desk) -> None:
    answer = oslo("replay", "oslo", "--to", "anthropic", "--model", "m", "--json").json
    assert answer["sendable"] is True
    assert answer["target"]["provider"] == "anthropic"
    roles = [message["role"] for message in answer["messages"]]
    assert roles == ["user", "assistant", "user"]
    thinking, call = answer["messages"][1]["content"]
    assert (thinking["type"], thinking["signature"], call["type"]) == ("thinking", "sig", "tool_use")
    result = answer["messages"][2]["content"][0]
    assert (result["tool_use_id"], result["is_error"]) == (call["id"], True)
    assert {one["code"] for one in answer["diagnostics"]} >= {"empty_text_skipped", "unmatched_tool_call"}
    told = oslo("replay", "oslo", "--to", "anthropic", "--model", "m").out
    assert "! unmatched_tool_call at version 3" in told
    assert "sendable; 3 messages" in told


def test_replay_of_a_past_that_waits(oslo: Desk) -> None:
    answer = oslo("replay", "oslo", "--at", "3", "--json").json
    assert (answer["version"], answer["sendable"]) == (3, False)
    told = oslo("replay", "oslo", "--at", "3", "--require-sendable")
    assert told.code == 1
    assert "may still be running: c 1" in told.err
    assert oslo("replay", "oslo", "--at", "3", "--pending-calls", "close", "--json").json["sendable"] is True


def test_replay_options_are_those_of_the_design(oslo: Desk) -> None:
    dropped = oslo("replay", "oslo", "--unanswered-calls", "drop", "--json").json["messages"]
    assert [part["type"] for part in dropped[1]["content"]] == ["thinking"]


def test_replay_to_nowhere_says_what_there_is(oslo: Desk) -> None:
    answer = oslo("replay", "oslo", "--to", "nowhere")
    assert answer.code == 1
    assert "anthropic" in answer.err
    assert "neutral" in answer.err


@pytest.mark.parametrize(
    ("subject", "types"),
    [
        ("message:1", ["tool_start", "thinking_complete"]),
        ("message:1.0", ["thinking_complete"]),
        ("version:5", ["text_complete"]),
        ("version:5-6", ["text_complete", "abort"]),
        ("closer", ["text_complete"]),
        ("row:0", ["user_message"]),
    ],
)
def test_explain_names_the_events(oslo: Desk, subject: str, types: list[str]) -> None:
    answer = oslo("explain", "oslo", subject, "--json").json
    assert [event["type"] for event in answer["events"]] == types


def test_explain_says_why_something_is_missing(oslo: Desk) -> None:
    (event,) = oslo("explain", "oslo", "closer", "--json").json["events"]
    assert (event["outcome"], event["diagnostics"][0]["code"]) == ("left_out", "empty_text_skipped")
    everything = oslo("explain", "oslo")
    assert everything.out.count("\nv") == 7


@pytest.mark.parametrize("subject", ["message:99", "row:99", "version:99", "no-such-event", "message:0.9"])
def test_explain_of_nothing_is_one_clear_line(oslo: Desk, subject: str) -> None:
    answer = oslo("explain", "oslo", subject)
    assert answer.code == 1
    assert answer.err.startswith("turnledger: there is no ")


@pytest.mark.parametrize("command", ["show", "replay", "explain"])
def test_a_missing_conversation_has_near_names(oslo: Desk, command: str) -> None:
    answer = oslo(command, "osla")
    assert answer.code == 1
    assert answer.err == "turnledger: there is no conversation osla; near names: oslo\n"


@pytest.mark.parametrize("command", ["list", "show", "replay", "explain"])
def test_reading_makes_no_database(desk: Desk, command: str) -> None:
    answer = desk(command, *([] if command == "list" else ["x"]))
    assert answer.code == 1
    assert answer.err.startswith("turnledger: there is no database at")


@pytest.mark.parametrize(
    "args",
    [["frob"], ["show"], ["show", "x", "--frob"], ["list", "--limit", "0"], ["replay", "x", "--at", "-1"]],
)
def test_usage_is_exit_two(desk: Desk, args: list[str]) -> None:
    answer = desk(*args)
    assert answer.code == 2
    assert "Usage:" in answer.err or "Error" in answer.err or "turnledger" in answer.err


def test_tenants_do_not_see_each_other(oslo: Desk) -> None:
    assert oslo("--tenant", "other", "list", "--json").json["conversations"] == []
    assert oslo("--tenant", "other", "show", "oslo").code == 1


def test_what_changed_the_past_is_told(oslo: Desk) -> None:
    step = {"conversation_id": "oslo", "turn_id": "t2", "step_id": "s2"}
    undo = {"conversation_id": "oslo", "type": "retraction", "event_ids": ["ask"], "id": "undo"}
    assert oslo.append({**step, "type": "text_complete", "text": "Yes."}, undo).code == 0
    told = oslo("replay", "oslo", "--to", "anthropic", "--model", "m").out
    assert "changed since it was first sent:\n  ! prefix_changed at version 9" in told
    assert '"message": 0' in told
    assert "what had been sent was taken back" in told
    assert "info prefix_changed" in oslo("explain", "oslo", "undo", "--to", "anthropic").out
    assert "prefix_changed" not in oslo("explain", "oslo", "ask", "--to", "anthropic").out
    before = oslo("replay", "oslo", "--to", "anthropic", "--at", "8").out
    assert "changed since" not in before
