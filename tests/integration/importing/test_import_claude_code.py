"""`turnledger import claude-code`, as a person runs it, on both engines."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ledger import Ledger
from tests.claude_files import SESSION, SessionLines, call
from tests.conformance import SHARED, needs_shared
from tests.integration.cli.desk import Desk
from turnledger.cli import main

FIXTURES = SHARED / "fixtures" / "claude-code"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder; the database may lie above it."""
    path = tmp_path / "projects"
    path.mkdir()
    return path


def report(url: str, *arguments: str | Path, code: int = 0) -> dict[str, Any]:
    result = CliRunner().invoke(main, ["--db", url, "import", *map(str, arguments), "--json"])
    assert result.exit_code == code, result.output
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def main_file() -> SessionLines:
    file = SessionLines()
    file.user("u1", "ask an agent")
    file.model("a1", "m1", call("c1", "Task", prompt="count"), stop="tool_use")
    file.result("r1", "c1", "2", toolUseResult={"agentId": "abc", "status": "completed"})
    file.model("a2", "m2", "there are 2")
    return file


def agent_file() -> SessionLines:
    file = SessionLines(isSidechain=True, agentId="abc")
    file.user("b1", "count")
    file.model("b2", "n1", "2 of them")
    return file


def lay(folder: Path, agent: str) -> Path:
    """A session with its sub-agent's file, in one of the layouts."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{SESSION}.jsonl").write_bytes(main_file().data())
    path = folder / agent
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(agent_file().data())
    return path


@pytest.mark.parametrize("agent", [f"{SESSION}/subagents/agent-abc.jsonl", "agent-abc.jsonl"])
def test_a_folder_takes_sub_agents_in_once_with_their_session(
    engine_url: str, folder: Path, agent: str
) -> None:
    path = lay(folder / "project", agent)
    answer = report(engine_url, "auto", folder)
    (file,) = answer["files"]
    assert (Path(file["file"]).name, file["format"]) == (f"{SESSION}.jsonl", "claude-code")
    (one,) = file["conversations"]
    assert (one["conversation_id"], one["turns"], one["steps"], one["calls"]) == (SESSION, 1, 3, 1)
    with Ledger.open(engine_url) as ledger:
        lane = [record for record in ledger.read(SESSION) if record.event.agent_id == "abc"]
        assert {record.event.parent_tool_call_id for record in lane} == {"c1"}
        assert {(record.event.source or {})["agent_file"] for record in lane} == {"agent-abc.jsonl"}
    assert report(engine_url, "auto", folder)["totals"]["new"] == 0
    grown = agent_file()
    grown.user("b3", "and the tests?")
    path.write_bytes(grown.data())
    again = report(engine_url, "claude-code", folder)["totals"]
    assert again["new"] > 0
    assert again["differing"] == 0


def test_an_agents_file_that_is_named_or_has_no_session_beside_it_is_one_of_its_own(
    engine_url: str, folder: Path
) -> None:
    path = lay(folder, f"{SESSION}/subagents/agent-abc.jsonl")
    named = report(engine_url, "claude-code", path)["files"][0]["conversations"]
    assert [one["conversation_id"] for one in named] == [f"{SESSION}~agent-abc"]
    (folder / f"{SESSION}.jsonl").unlink()
    found = report(engine_url, "claude-code", folder)["files"]
    assert [Path(file["file"]).name for file in found] == ["agent-abc.jsonl"]


def test_a_sidecar_places_a_sub_agent_whose_call_has_no_result(engine_url: str, folder: Path) -> None:
    path = lay(folder, f"{SESSION}/subagents/agent-abc.jsonl")
    cut = main_file()
    del cut.records[2:]
    (folder / f"{SESSION}.jsonl").write_bytes(cut.data())
    file = report(engine_url, "claude-code", folder)["files"][0]
    assert [problem["code"] for problem in file["problems"]] == ["agent_without_call"]
    assert file["conversations"][0]["steps"] == 1
    meta = {"agentType": "general-purpose", "toolUseId": "c1"}
    path.with_name("agent-abc.meta.json").write_text(json.dumps(meta))
    file = report(engine_url, "claude-code", folder)["files"][0]
    assert file["problems"] == []
    assert file["conversations"][0]["steps"] == 2


def test_damage_in_an_agents_file_is_said_with_its_session(engine_url: str, folder: Path) -> None:
    path = lay(folder, f"{SESSION}/subagents/agent-abc.jsonl")
    path.write_bytes(agent_file().data() + b"{nonsense}\n")
    file = report(engine_url, "claude-code", folder, code=1)["files"][0]
    (problem,) = file["problems"]
    assert problem["code"] == "malformed_line"
    assert problem["text"].startswith("agent-abc.jsonl: ")


@needs_shared
def test_a_session_and_its_fork_and_a_longer_version_of_it(engine_url: str, folder: Path) -> None:
    whole = (FIXTURES / "v2.1.332-rewind-branch.jsonl").read_bytes()
    path = folder / "session.jsonl"
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:30]))
    first = report(engine_url, "auto", path)["files"][0]["conversations"]
    path.write_bytes(whole)
    second = report(engine_url, "auto", path)["files"][0]["conversations"]
    assert [one["known"] for one in second] == [first[0]["new"], 0]
    assert [one["current"] for one in second] == [False, True]
    assert second[1]["source_conversation_id"] == second[0]["conversation_id"]
    for name in ("edit-resume-compact", "fork-of-edit"):
        shutil.copy(FIXTURES / f"v2.1.332-{name}.jsonl", folder)
    answer = report(engine_url, "auto", folder)["totals"]
    assert (answer["files"], answer["conversations"], answer["failed"]) == (3, 4, 0)
    again = report(engine_url, "auto", folder)["totals"]
    assert (again["new"], again["differing"]) == (0, 0)


def test_hollow_thinking_is_kept_and_named(sqlite_url: str, tmp_path: Path) -> None:
    block = {"type": "thinking", "thinking": "", "signature": ""}
    said = {"id": "msg_1", "model": "m", "role": "assistant", "stop_reason": "tool_use"}
    lines: list[dict[str, Any]] = [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "go"}},
        {"type": "assistant", "uuid": "a1", "parentUuid": "u1", "message": {**said, "content": [block]}},
        {
            "type": "assistant",
            "uuid": "a2",
            "parentUuid": "a1",
            "message": {**said, "content": [{"type": "text", "text": "looking"}]},
        },
    ]
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(b"".join(json.dumps({"sessionId": SESSION, **line}).encode() + b"\n" for line in lines))
    answer = Desk(sqlite_url)("doctor", str(path), "--json")
    assert answer.code == 3
    (found,) = answer.json["files"][0]["damage"]
    assert (found["class"], found["line"]) == ("hollow thinking", 2)
