"""The real pi files: what each one gives, counted against the file itself and against pi's own loader."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ledger.events import Compaction, StepFinish, TokenUsage, ToolResult, ToolStart
from projections.conversation import rows
from replay import neutral, plan
from tests.conformance import SHARED, needs_shared
from tests.pi_files import Taken, take

pytestmark = needs_shared

PI = SHARED / "fixtures" / "pi"
TREE = PI / "sessions" / "v3-tree.jsonl"
CLONE = PI / "sessions" / "v3-clone.jsonl"
SKELETON = PI / "skeleton" / "before-compaction.skeleton.jsonl"
MAIN = "01a22e1b-6a05-77ba-a80a-e18ea9570599"
FIRST_BRANCH, LEAF_BRANCH = f"{MAIN}~0c20a47f", f"{MAIN}~f2e6a04d"


def taken(path: Path) -> Taken:
    return take(path.read_bytes(), file=path.name)


def entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def counted(these: Taken) -> Counter[str]:
    return Counter(record.type for own in these.own.values() for record in own)


@pytest.mark.parametrize("path", [TREE, CLONE, SKELETON], ids=lambda path: path.stem)
def test_every_message_of_the_file_is_there_once(path: Path) -> None:
    these = taken(path)
    roles = Counter(entry["message"]["role"] for entry in entries(path) if entry["type"] == "message")
    kinds = Counter(entry["type"] for entry in entries(path))
    blocks = Counter(
        block["type"]
        for entry in entries(path)
        if entry["type"] == "message" and entry["message"]["role"] == "assistant"
        for block in entry["message"]["content"]
    )
    events = counted(these)
    assert these.codes == []
    assert events["step_start"] == events["token_usage"] == roles["assistant"]
    assert events["tool_result"] == roles["toolResult"]
    assert events["tool_start"] == blocks["toolCall"]
    assert events["text_complete"] == blocks["text"]
    assert events["thinking_complete"] == blocks["thinking"]
    injected = kinds["custom_message"] + kinds["branch_summary"] + roles["bashExecution"]
    assert events["user_message"] == roles["user"] + injected
    assert events["compaction"] == kinds["compaction"]
    assert events["context"] == kinds["model_change"] + kinds["thinking_level_change"]
    assert events["note"] == kinds["session"] + kinds["custom"] + kinds["label"] + kinds["session_info"]


@pytest.mark.parametrize("path", [TREE, CLONE, SKELETON], ids=lambda path: path.stem)
def test_rows_are_folded_and_usage_adds_up(path: Path) -> None:
    these = taken(path)
    for name in these.own:
        shown = rows(these.whole(name), name)
        assert not [row for row in shown if row["row"] == "tool" and row["status"] == "orphan"]
    theirs: Counter[str] = Counter()
    for entry in entries(path):
        if entry["type"] == "message" and entry["message"]["role"] == "assistant":
            theirs.update({name: entry["message"]["usage"][name] for name in ("input", "output", "cacheRead")})
    ours: Counter[str] = Counter()
    for own in these.own.values():
        for record in own:
            if isinstance(record.event, TokenUsage):
                ours.update({name: record.event.usage[name] for name in ("input", "output", "cache_read")})
    assert (ours["input"], ours["output"], ours["cache_read"]) == (
        theirs["input"],
        theirs["output"],
        theirs["cacheRead"],
    )


def test_the_skeleton_counts_as_its_original() -> None:
    events = counted(taken(SKELETON))
    assert (events["step_start"], events["tool_result"], events["tool_start"]) == (484, 448, 454)
    assert (events["text_complete"], events["thinking_complete"]) == (253, 49)
    assert events["user_message"] == 55 + 3
    assert events["compaction"] == 2
    # 484 model calls: 434 tool uses and 31 stops finished, 18 were aborted, 1 failed.
    assert events["step_finish"] == 434 + 31
    assert events["complete"] == 31
    assert sum(event.usage["output"] for event in of(taken(SKELETON), TokenUsage)) == 187_895


def of(these: Taken, kind: type[Any]) -> list[Any]:
    return [record.event for own in these.own.values() for record in own if isinstance(record.event, kind)]


def test_the_skeletons_orphan_calls_are_left_open_in_rows() -> None:
    these = taken(SKELETON)
    answered = {event.tool_call_id for event in of(these, ToolResult)}
    assert len([event for event in of(these, ToolStart) if event.tool_call_id not in answered]) == 6
    shown = rows(these.whole(), these.session.current)
    assert Counter(row["status"] for row in shown if row["row"] == "tool")["interrupted"] == 6


def test_the_skeletons_context_after_its_last_compaction_is_that_of_pis_loader() -> None:
    """specs/pi.md 6: 446 context messages: 1 summary, 31 user, 219 assistant, 192 results, 3 shell commands."""
    these = taken(SKELETON)
    made = plan(these.whole())
    messages = neutral(made)
    roles = Counter(message.role for message in messages)
    assert roles["user"] == 1 + 31 + 3
    empty = 4  # aborted or failed before the model said anything: pi drops these when it replays
    assert roles["assistant"] == 219 - empty
    results = [part for message in messages if message.role == "tool" for part in message.parts]
    unanswered = [one for one in made.diagnostics if one.code == "unmatched_tool_call"]
    assert len(results) == 192 + len(unanswered)
    assert messages[0].parts[0]["text"] == of(these, Compaction)[-1].summary
    assert {one.code for one in made.diagnostics} == {"unmatched_tool_call"}


def test_the_tree_gives_three_conversations_and_the_leaf_has_eleven_context_messages() -> None:
    these = taken(TREE)
    assert list(these.own) == [MAIN, FIRST_BRANCH, LEAF_BRANCH]
    assert these.session.current == LEAF_BRANCH
    assert len(these.context(LEAF_BRANCH)) == 11
    assert these.texts()[-4:] == ["SCN:first", "FIRST", "SCN:second", "SECOND"]
    assert these.sources[FIRST_BRANCH] == these.sources[LEAF_BRANCH]


def test_the_trees_call_a_is_answered_by_another_result_on_each_path() -> None:
    these = taken(TREE)
    assert ("tool", "one\n two\n") in these.context(MAIN)
    assert ("tool", "hi\n") in these.context(FIRST_BRANCH)


def test_the_trees_retried_error_is_left_out_and_its_aborted_answer_kept() -> None:
    these = taken(TREE)
    assert these.context(MAIN)[-4:] == [
        ("user", "SCN:retry"),
        ("assistant", "after retry"),
        ("user", "SCN:slow"),
        ("assistant", "slow start "),
    ]
    assert not [text for _, text in these.context(MAIN) if "secret" in text]


def test_the_clone_shares_entries_with_the_tree_and_counts_its_own_usage() -> None:
    tree, clone = taken(TREE), taken(CLONE)
    ids = [{entry["id"] for entry in entries(path) if entry["type"] != "session"} for path in (TREE, CLONE)]
    assert len(ids[0] & ids[1]) == 17
    steps = [{event.step_id for event in of(these, StepFinish)} for these in (tree, clone)]
    assert len(steps[0] & steps[1]) == 5
    assert not set(tree.own) & set(clone.own)
    assert len(of(clone, TokenUsage)) == 6
