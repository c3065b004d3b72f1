"""`turnledger doctor`: damage named, with its place, its known cause and what a replay does."""

from __future__ import annotations

import ast
import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import ledger.intake
from ledger import Ledger
from replay.ailments import BY_CODE
from replay.diagnostics import meaning
from tests.claude_files import SESSION, SessionLines
from tests.claude_files import call as claude_call
from tests.integration.cli.desk import Desk
from tests.pi_files import SessionFile, call

DAMAGE = {
    "torn tail": lambda file: file.raw(b'{"type": "message", "id": "half", "mess'),
    "spliced lines": lambda file: file.raw(file.lines[1] + file.lines[2]),
    "lines that are no records": lambda file: file.raw(b"Segmentation fault (core dumped)"),
    "duplicate records": lambda file: file.raw(file.lines[1]),
    "duplicate ids": lambda file: file.user("another", "u1"),
    "broken parent links": lambda file: file.user("lost", "u9", parent="nowhere"),
    "open calls": lambda file: file.assistant(call("c9", command="sleep"), stop="toolUse", entry_id="a9"),
    "orphan results": lambda file: file.result("c8", "of no call", "r8"),
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(f"sqlite:///{tmp_path / 'none.db'}")


def healthy() -> SessionFile:
    file = SessionFile()
    file.user("go", "u1")
    file.assistant("looking", call("c1", command="ls"), stop="toolUse", entry_id="a1")
    file.result("c1", "out", "r1")
    file.assistant("done", entry_id="a2")
    return file


def written(folder: Path, file: SessionFile, *, ended: bool = True) -> Path:
    path = folder / "session.jsonl"
    path.write_bytes(file.data() if ended else file.data().rstrip(b"\n"))
    return path


def test_a_healthy_file_is_healthy(desk: Desk, tmp_path: Path) -> None:
    path = written(tmp_path, healthy())
    answer = desk("doctor", str(path))
    assert answer.code == 0, answer.err
    assert answer.out.splitlines() == [f"{path}: pi 3, 5 lines, 1 conversation, 14 events", "  healthy"]
    assert not (tmp_path / "none.db").exists(), "nothing is stored"


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named_with_its_place_and_what_replay_does(desk: Desk, tmp_path: Path, name: str) -> None:
    file = healthy()
    DAMAGE[name](file)
    path = written(tmp_path, file, ended=name != "torn tail")
    answer = desk("doctor", str(path), "--json")
    assert answer.code == 3
    assert "1 of 1 files is damaged" in answer.err
    (found,) = answer.json["files"]
    (symptom,) = [one for one in found["damage"] if one["class"] == name]
    assert symptom["line"] == 6
    assert symptom["fault"]
    assert symptom["replay"]
    told = desk("doctor", str(path)).out
    assert f"  {name}: 1\n    line 6: " in told
    assert f"    in a replay: {symptom['replay']}" in told


def test_several_files_and_what_cannot_be_looked_at(desk: Desk, tmp_path: Path) -> None:
    good, other = written(tmp_path, healthy()), tmp_path / "notes.txt"
    other.write_text("dear diary\n")
    answer = desk("doctor", str(good), str(other), str(tmp_path / "absent.jsonl"), str(tmp_path))
    assert answer.code == 1
    assert "notes.txt is not a known session file: it looks like none of" in answer.err
    assert "absent.jsonl: there is no such file or folder" in answer.err
    assert "2 of 3 files could not be read" in answer.err, "a folder's files are looked at once"
    assert "healthy" in answer.out


def test_another_format_than_named_says_what_it_looks_like(desk: Desk, tmp_path: Path) -> None:
    answer = desk("doctor", str(written(tmp_path, healthy())), "--format", "codex")
    assert answer.code == 1
    assert "it looks like pi" in answer.err


def append(desk: Desk) -> None:
    turn: dict[str, Any] = {"turn_id": "t"}
    answer = desk(
        "append",
        "-",
        input="""
        {"type": "user_message", "conversation_id": "c", "turn_id": "t", "content": "go"}
        {"type": "tool_start", "conversation_id": "c", "turn_id": "t", "step_id": "s", "tool_call_id": "x", \
"tool_name": "ls", "args": {}}
        """,
    )
    assert answer.code == 0, (answer.err, turn)


def test_our_own_database_healthy_and_changed(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    desk = Desk(f"sqlite:///{path}")
    append(desk)
    elsewhere = Desk(f"sqlite:///{tmp_path / 'none.db'}")
    answer = elsewhere("doctor", str(path))
    assert answer.code == 0, answer.err
    assert answer.out.startswith(f"{path}: turnledger database, 1 conversation, 2 events")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE event SET body = CAST(replace(CAST(body AS TEXT), 'go', 'no') AS BLOB)")
    connection.close()
    changed = elsewhere("doctor", str(path), "--json")
    assert changed.code == 3
    assert {one["class"] for one in changed.json["files"][0]["damage"]} == {"changed after it was recorded"}
    with Ledger.open(f"sqlite:///{path}") as opened:
        assert opened.head("c") is not None, "looking changes nothing"


def test_every_finding_of_an_importer_has_its_class() -> None:
    folder = Path(str(ledger.intake.__path__[0]))
    told: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if name.lower().strip("_") == "problem" and isinstance(node.args[0].value, str):
                    told.add(node.args[0].value)
    assert {"torn_tail", "spliced_line"} <= told
    assert told - set(BY_CODE) == set()


def test_classes_by_diagnostic_name_diagnostics() -> None:
    known = {code for code in BY_CODE if re.search(r"tool|thinking|state|content|terminal|call_id", code)}
    assert all(meaning(code) for code in known - {"tool_id_mismatch"} | {"unmatched_tool_call"})


def of_claude(desk: Desk, folder: Path, file: SessionLines) -> tuple[int, list[tuple[str, int]], str]:
    path = folder / f"{SESSION}.jsonl"
    path.write_bytes(file.data())
    answer = desk("doctor", str(path), "--json")
    damage = answer.json["files"][0]["damage"]
    told = "; ".join(one["text"] for one in damage)
    return answer.code, [(one["class"], one["line"]) for one in damage], told


@pytest.mark.parametrize("parents", [("a1", "u1", "a1"), (None, "u2", "a1"), (None, "u1", "u2")])
def test_a_cycle_of_claude_code_is_a_cycle(desk: Desk, tmp_path: Path, parents: tuple[str | None, ...]) -> None:
    file = SessionLines()
    file.user("u1", "one", parents[0])
    file.model("a1", "m1", "answer", parent=parents[1])
    file.user("u2", "two", parents[2])
    first = next(line for line, name in enumerate(("u1", "a1", "u2"), 1) if parents[line - 1] in ("a1", "u2"))
    code, damage, told = of_claude(desk, tmp_path, file)
    assert (code, damage) == (3, [("cycles", first)])
    assert "not in the file" not in told


def test_a_parent_that_is_in_no_line_is_still_a_broken_link(desk: Desk, tmp_path: Path) -> None:
    file = SessionLines()
    file.user("u1", "one")
    file.model("a1", "m1", "answer", parent="gone")
    code, damage, told = of_claude(desk, tmp_path, file)
    assert (code, damage) == (3, [("broken parent links", 2)])
    assert "its parent is not in the file" in told


def two_prompts(*, again: str | None = None) -> SessionLines:
    file = SessionLines()
    file.user("u0", "start")
    file.model("a0", "m0", "ready")
    file.user("u1", "first", "a0")
    if again is None:
        file.model("a1", "m1", "for the first", parent="u1")
    file.user("u2", "second", "a0")
    file.model("a2", "m2", "for the second", parent="u2")
    if again == "interleaved":
        file.model("a1", "m1", "for the first", parent="u1")
    return file


def test_two_writers_are_told_from_a_rewind(desk: Desk, tmp_path: Path) -> None:
    assert of_claude(desk, tmp_path, two_prompts()) == (0, [], ""), "one rewind"
    returned = two_prompts()
    returned.user("u3", "back on the first", "a1")
    returned.model("a3", "m3", "answered", parent="u3")
    assert of_claude(desk, tmp_path, returned) == (0, [], ""), "and back: as one process would"
    code, damage, _ = of_claude(desk, tmp_path, two_prompts(again="interleaved"))
    assert (code, damage) == (3, [("two writers", 6)])


def test_a_call_answered_beside_another_writer_is_two_writers_once_the_model_goes_on(
    desk: Desk, tmp_path: Path
) -> None:
    file = SessionLines()
    file.user("u0", "start")
    file.model("a0", "m0", "ready")
    file.user("u1", "first", "a0")
    file.model("a1", "m1", claude_call("c1"), stop="tool_use")
    file.user("u2", "second", "a0")
    file.result("r1", "c1", "out", "a1")
    assert of_claude(desk, tmp_path, file)[1] == [], "the result of a call that was left may come late"
    file.model("a3", "m3", "and on", parent="r1")
    assert ("two writers", 7) in of_claude(desk, tmp_path, file)[1]


def test_replay_state_of_dsh_that_does_not_fit_is_a_block_count_mismatch(desk: Desk, tmp_path: Path) -> None:
    response = {"kind": "pi-ai", "version": 2, "api": "messages", "provider": "p", "model": "m"}

    def doctored(*types: str) -> Any:
        state = {"response": {**response, "stopReason": "stop"}, "blocks": [{"type": one} for one in types]}
        source = {"kind": "model", "provider": "p", "model": "m", "replayState": state}
        said = {
            "content": [{"type": "text", "text": "go"}],
            "source": {"kind": "user"},
            "role": "user",
            "id": "u",
        }
        message = {
            "role": "assistant",
            "content": [{"type": "text", "text": "hi"}],
            "source": source,
            "id": "a",
        }
        rows: list[Any] = [
            {"type": "session", "version": 0, "id": "s1", "createdAt": 1, "delegationDepth": 0},
            {"type": "turn/start", "data": {"turn": 1}},
            {"type": "user/message", "data": said, "surfaceOp": "append"},
            {"type": "assistant/message", "data": {"turn": 1, "step": 1, "message": message}},
            {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}},
        ]
        path = tmp_path / "session.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        answer = desk("doctor", str(path), "--json")
        (found,) = answer.json["files"]
        assert found["format"] == "dsh"
        return answer.code, [(one["class"], one["line"]) for one in found["damage"]]

    assert doctored("text") == (0, [])
    assert doctored("text", "tool-call") == (3, [("block-count mismatch", 4)])
    assert doctored("reasoning") == (3, [("block-count mismatch", 4)]), "as many, but of another type"
