"""Claude Code's session files: what the samples give, counted apart, and beside the same runs' streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ledger.errors import NotASession
from projections.conversation import rows
from tests.conformance import needs_shared
from tests.imports import FIXTURES, Taken, take_bytes, take_file
from tests.streams import take

pytestmark = needs_shared

FILES = FIXTURES / "claude-code"
SAMPLES = sorted(str(path.relative_to(FILES)) for path in FILES.rglob("*.jsonl"))
PAIRS = {
    "fix": "edit-resume-compact",
    "interrupt": "interrupt-then-next-turn",
    "maxtok": "max-tokens-resume",
    "maxturns": "max-turns",
    "midfail": "stream-cut",
    "subagent": "async-subagent",
}
"""Streams and files of the same run, by session id."""


def of_file(name: str) -> list[dict[str, Any]]:
    found = []
    for line in (FILES / name).read_bytes().split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        found += [value] if isinstance(value, dict) else []
    return found


def answers(name: str) -> set[str]:
    """Ids of the model's messages, as the file and those of its sub-agents name them."""
    folder = FILES / name.removesuffix(".jsonl") / "subagents"
    files = [name, *(str(path.relative_to(FILES)) for path in folder.glob("*.jsonl"))]
    return {
        record["message"]["id"]
        for file in files
        for record in of_file(file)
        if record.get("type") == "assistant"
        and isinstance(record.get("message"), dict)
        and record["message"].get("model") != "<synthetic>"
    }


@pytest.mark.parametrize("name", [name for name in SAMPLES if "subagents/" not in name.partition("/")[2]])
def test_a_step_is_a_message_of_the_model(name: str) -> None:
    taken = take_file(FILES / name)
    begun = [event.step_id for own in taken.own.values() for event in own if event.type == "step_start"]
    told = answers(name)
    assert set(begun) == told
    by_conversation = [(at, e.step_id) for at, own in taken.own.items() for e in own if e.type == "step_start"]
    assert len(by_conversation) == len(set(by_conversation))
    if len(taken.own) == 1:
        assert len(begun) == len(told)


@pytest.mark.parametrize("name", [name for name in SAMPLES if name.startswith("v")])
def test_counts_are_the_largest_that_the_lines_of_a_message_tell(name: str) -> None:
    most: dict[str, int] = {}
    for record in of_file(name):
        message = record.get("message")
        if record.get("type") == "assistant" and isinstance(message, dict) and message.get("usage"):
            most[message["id"]] = max(most.get(message["id"], 0), message["usage"].get("output_tokens") or 0)
    seen: dict[str, int] = {}
    for own in take_file(FILES / name).own.values():
        for event in own:
            found = json.loads(event.event.model_dump_json(exclude_none=True))
            if event.type in ("step_finish", "token_usage") and found.get("usage"):
                assert event.step_id is not None
                assert event.step_id not in seen
                seen[event.step_id] = found["usage"]["output"]
    assert {step: count for step, count in seen.items() if step in most} == {
        step: most[step] for step in seen if step in most
    }
    assert seen or not most or "vibe" in name or "kill" in name or "bad-request" in name


def _shown(records: Any, steps: set[str] | None = None) -> tuple[list[Any], list[Any]]:
    """What people see of answers and calls. Counts, ends of steps and times are left out: a stream does not say
    the first two before the turn's end."""
    said, calls = [], []
    for row in rows(list(records), "c"):
        if steps is not None and row.get("step_id") not in steps:
            continue
        if row["row"] == "assistant":
            names = ["step_id", "text", "thinking", "model", "provider", "agent_id", "retracted", "hidden"]
            said.append({name: row[name] for name in names})
        elif row["row"] == "tool":
            names = ["step_id", "tool_call_id", "tool_name", "args", "status", "result", "agent_id"]
            calls.append({name: row[name] for name in names})
    return said, calls


@pytest.mark.parametrize("stream", sorted(PAIRS))
def test_a_file_shows_what_the_stream_of_its_run_showed(stream: str) -> None:
    live = take("claude-code", (FIXTURES / f"claude-code-stream/v2.1.332-{stream}.jsonl").read_bytes())
    taken = take_file(FILES / f"v2.1.332-{PAIRS[stream]}.jsonl")
    steps = set(live.steps)
    assert steps
    said, calls = _shown(taken.own[taken.session.current], steps)
    live_said, live_calls = _shown(live.records)

    def by_lane(row: dict[str, Any]) -> str:
        return row["agent_id"] or ""  # lanes run beside each other

    assert sorted(said, key=by_lane) == sorted(live_said, key=by_lane)
    assert sorted(calls, key=by_lane) == sorted(live_calls, key=by_lane)


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("bad-request-400", ["error"]),
        ("edit-resume-compact", ["complete", "complete", "complete"]),
        ("interrupt-then-next-turn", ["abort"]),
        ("kill-9-in-tool", []),
        ("max-turns", ["error"]),
        ("stream-cut", ["error"]),
        ("async-subagent", ["complete"]),
    ],
)
def test_ends_are_told_by_evidence_and_the_last_turn_may_go_on(name: str, ends: list[str]) -> None:
    events = take_file(FILES / f"v2.1.332-{name}.jsonl").events()
    assert [event.type for event in events if event.type in ("complete", "abort", "error")] == ends
    for event in events:
        if event.type == "complete":
            assert event.source is not None
            assert event.source["inferred"] is True


def test_a_rewind_is_a_branch_and_nothing_is_dropped() -> None:
    taken = take_file(FILES / "v2.1.332-rewind-branch.jsonl")
    main, branch = taken.own
    assert taken.session.current == branch == f"{main}~{branch.partition('~')[2]}"
    prompts = {"HELLO there", "SECOND question, first attempt", "SECOND question, asked another way"}
    assert [text for text in taken.texts() if text in prompts] == [
        "HELLO there",
        "SECOND question, asked another way",
    ]
    assert {t for name in (main, branch) for _, t in taken.context(name) if t in prompts} == prompts
    whole = [record.type for record in taken.whole(branch)]
    assert whole.count("turn_start") == whole.count("complete") + 1, "what the branch leaves behind had ended"


def test_sub_agents_are_lanes_that_begin_with_their_call() -> None:
    taken = take_file(FILES / "v2.1.332-async-subagent.jsonl")
    lane = [event for event in taken.events() if event.agent_id]
    assert {event.agent_id for event in lane} == {"ad71f656c4b76a467"}
    assert {event.parent_tool_call_id for event in lane} == {"toolu_0100060001AAAAAAAAAAAAAAAA"}
    old = take_file(next((FILES / "v2.1.15-subagents").glob("*.jsonl")))
    events = [event for own in old.own.values() for event in own]
    lanes = {event.event.agent_id for event in events} - {None}
    assert lanes == {path.stem.removeprefix("agent-") for path in FILES.glob("v2.1.15-subagents/*/*/*.jsonl")}
    calls = {event.event.tool_call_id for event in events if event.type == "tool_start"}  # type: ignore[union-attr]
    assert {event.event.parent_tool_call_id for event in events if event.event.agent_id} <= calls


def test_inline_sub_agents_are_told_by_what_they_were_asked() -> None:
    events = take_file(FILES / "v1.0.98-large-774k.jsonl").events()
    begun = {event.parent_tool_call_id for event in events if event.agent_id}
    tasks = {
        event.tool_call_id  # type: ignore[union-attr]
        for event in events
        if event.type == "tool_start" and event.tool_name == "Task"  # type: ignore[union-attr]
    }
    assert len(begun) == 5
    assert begun <= tasks


def test_an_agents_file_alone_is_a_conversation_of_its_own() -> None:
    path = next((FILES / "v2.1.332-async-subagent").rglob("agent-*.jsonl"))
    taken = take_file(path)
    (name,) = taken.own
    assert name.endswith("~agent-ad71f656c4b76a467")
    assert {event.agent_id for event in taken.events()} == {None}
    assert sum(event.type == "step_start" for event in taken.events()) == 2


CUT = ("v2.1.332-rewind-branch.jsonl", "v2.1.332-stream-cut.jsonl", "v2.1.197-edit.jsonl")


@pytest.mark.parametrize("name", CUT)
def test_a_longer_version_only_adds(name: str) -> None:
    lines = (FILES / name).read_bytes().splitlines(keepends=True)
    whole = take_file(FILES / name).ids()
    for count in range(3, len(lines), 2):
        try:
            part = take_bytes(b"".join(lines[:count]), FILES / name, "claude-code").ids()
        except NotASession:
            continue
        for conversation, ids in part.items():
            assert whole[conversation][: len(ids)] == ids


def test_a_summary_stands_for_what_was_before_it() -> None:
    taken: Taken = take_file(FILES / "v2.1.332-edit-resume-compact.jsonl")
    texts = taken.texts()
    assert not any(text.startswith("FIXADD") for text in texts)
    assert any(text.startswith("This session is being continued") for text in texts)
    assert "HELLO after compaction" in texts
    # The request that the file keeps says the same: the summary, then the answer that was kept.
    assert [role for role, _ in taken.context()][:2] == ["user", "assistant"]
    assert taken.context()[1] == ("assistant", "A short follow-up. The second answer: 42.")


def test_the_pairs_are_of_the_same_session() -> None:
    for stream, file in PAIRS.items():
        first = json.loads(
            Path(FIXTURES / f"claude-code-stream/v2.1.332-{stream}.jsonl").read_text().splitlines()[0]
        )
        assert take_file(FILES / f"v2.1.332-{file}.jsonl").session.id == first["session_id"]
