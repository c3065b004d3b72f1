"""`turnledger doctor`: damage named, with its place, its known cause and what a replay does."""

from __future__ import annotations

import ast
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import ledger.intake
from ledger import Ledger
from replay.ailments import BY_CODE
from replay.diagnostics import meaning
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
