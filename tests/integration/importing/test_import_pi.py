"""`turnledger import pi`, as a person runs it, on both engines."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ledger import Ledger
from ledger.intake.lines import split_lines
from ledger.intake.pi import Session
from tests.conformance import SHARED, needs_shared
from tests.pi_files import SESSION, SessionFile, call, take
from turnledger.cli import main
from turnledger.importing.storing import import_file

FIXTURES = SHARED / "fixtures" / "pi"


def run(url: str, *arguments: str | Path, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["--db", url, "import", *map(str, arguments)], input=stdin)


def report(url: str, *arguments: str | Path, code: int = 0) -> dict[str, Any]:
    result = run(url, *arguments, "--json")
    assert result.exit_code == code, result.output
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def sample() -> SessionFile:
    file = SessionFile()
    file.user("u1", "u1")
    file.assistant("looking", call("c1", command="ls"), stop="toolUse", entry_id="a1")
    file.result("c1", "out", "r1")
    file.assistant("a2", entry_id="a2")
    file.user("u2", "u2")
    return file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "one" / "2026_x.jsonl"
    file.parent.mkdir()
    file.write_bytes(sample().data())
    return file


@needs_shared
def test_importing_the_fixtures_twice_adds_nothing(engine_url: str) -> None:
    first = report(engine_url, "pi", FIXTURES / "sessions", FIXTURES / "skeleton")["totals"]
    assert (first["files"], first["conversations"], first["failed"]) == (3, 5, 0)
    assert (first["steps"], first["calls"], first["new"], first["known"]) == (503, 462, 2963, 0)
    second = report(engine_url, "pi", FIXTURES / "sessions", FIXTURES / "skeleton")["totals"]
    assert (second["new"], second["known"], second["differing"]) == (0, 2963, 0)
    with Ledger.open(engine_url) as ledger:
        assert sum(one.version - one.first_version + 1 for one in ledger.conversations()) == 2963


def test_a_longer_version_adds_its_tail_in_order(engine_url: str, path: Path) -> None:
    file = sample()
    report(engine_url, "pi", path)
    file.assistant("half", stop="error", errorMessage="503", entry_id="e1")
    file.assistant("whole", entry_id="a3")
    file.user("another way", "alt", parent="a2")
    file.entry("compaction", "cut", summary="SUM", firstKeptEntryId="alt")
    path.write_bytes(file.data())
    grown = report(engine_url, "pi", path)
    main_one, branch = grown["files"][0]["conversations"]
    assert (main_one["known"], main_one["new"], main_one["differing"]) == (16, 9, 0)
    assert (branch["conversation_id"], branch["current"]) == (f"{SESSION}~alt", True)
    path.with_name("whole.jsonl").write_bytes(file.data())
    with Ledger.open(engine_url) as ledger:
        ids = [event.event_id for event in ledger.read(SESSION)]
        assert len(ids) == 25
        cut = list(ledger.read(f"{SESSION}~alt"))[-1]
        kept = next(event for event in ledger.read(f"{SESSION}~alt") if event.turn_id == "alt")
        assert cut.event.through_version == kept.version - 1  # type: ignore[union-attr]
    assert report(engine_url, "pi", path)["totals"]["new"] == 0


def test_a_dry_run_says_what_would_be_new_and_makes_no_database(sqlite_url: str, path: Path) -> None:
    dry = report(sqlite_url, "pi", path, "--dry-run")
    assert dry["totals"]["new"] == 16
    assert not Path(sqlite_url.removeprefix("sqlite:///")).exists()
    report(sqlite_url, "pi", path)
    again = report(sqlite_url, "pi", path, "--dry-run")["totals"]
    assert (again["new"], again["known"]) == (0, 16)


def test_a_bad_line_is_named_the_rest_is_taken_in_and_the_exit_is_1(engine_url: str, path: Path) -> None:
    path.write_bytes(sample().data().replace(b'"type":"toolResult"', b"") + b"\x00garbage\n" + b'{"type":"mess')
    result = run(engine_url, "pi", path)
    assert result.exit_code == 1
    assert "2026_x.jsonl: line 7: not JSON" in result.stderr
    assert "2026_x.jsonl: line 8: the last line is cut off" in result.stderr
    assert "1 of 1 files could not be read whole" in result.stderr
    assert "Traceback" not in result.output
    with Ledger.open(engine_url) as ledger:
        assert [event.type for event in ledger.read(SESSION)].count("user_message") == 2


def test_files_that_are_none_of_ours_are_named_with_the_reason(
    engine_url: str, path: Path, tmp_path: Path
) -> None:
    bad = {
        "empty.jsonl": (b"", "it is empty"),
        "prose.jsonl": (b"hello\n", "no line of 1 is a JSON object"),
        "other.jsonl": (b'{"type":"user","uuid":"x"}\n', "no session header among 1 records"),
    }
    for name, (data, _) in bad.items():
        (tmp_path / name).write_bytes(data)
    answer = report(engine_url, "pi", tmp_path, tmp_path / "absent.jsonl", code=1)
    failures = {Path(one["file"]).name: one["failure"] for one in answer["files"] if one["failure"]}
    for name, (_, why) in bad.items():
        assert failures[name] == f"{name} is not a pi session file: {why}"
    assert failures["absent.jsonl"] == "there is no such file or folder"
    assert answer["totals"]["new"] == 16


def test_folders_globs_links_and_loops(sqlite_url: str, path: Path, tmp_path: Path) -> None:
    (path.parent / "loop").symlink_to(tmp_path)
    (path.parent / "link.jsonl").symlink_to(path)
    (tmp_path / "empty").mkdir()
    assert report(sqlite_url, "pi", tmp_path / "one")["totals"]["files"] == 1
    assert report(sqlite_url, "pi", tmp_path / "*" / "2026*.jsonl")["totals"]["known"] == 16
    nothing = report(sqlite_url, "pi", tmp_path / "empty", code=1)
    assert nothing["files"][0]["failure"] == "no .jsonl file in this folder"


def test_a_session_from_stdin(sqlite_url: str) -> None:
    result = run(sqlite_url, "pi", "-", stdin=sample().data())
    assert result.exit_code == 0, result.output
    assert "16 new" in result.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(sqlite_url: str, path: Path) -> None:
    path.chmod(0)
    assert report(sqlite_url, "pi", path, code=1)["files"][0]["failure"] == "Permission denied"


def test_what_is_no_file_is_refused(sqlite_url: str) -> None:
    assert report(sqlite_url, "pi", "/dev/null", code=1)["files"][0]["failure"] == "not a regular file"


def test_a_conversation_that_was_recorded_live_is_refused_unless_under_another_name(
    engine_url: str, path: Path
) -> None:
    with Ledger.open(engine_url) as ledger:
        ledger.append(SESSION, [{"type": "user_message", "turn_id": "t", "content": "live"}])
    refused = report(engine_url, "pi", path, code=1)["files"][0]["failure"]
    assert SESSION in refused
    assert "--as NEW" in refused
    renamed = report(engine_url, "pi", path, "--as", "mine")
    assert renamed["files"][0]["conversations"][0]["conversation_id"] == "mine"
    assert report(engine_url, "pi", path, "--as", "mine")["totals"]["new"] == 0


def test_a_conversation_that_went_on_live_is_refused_too(engine_url: str, path: Path) -> None:
    report(engine_url, "pi", path)
    with Ledger.open(engine_url) as ledger:
        ledger.append(SESSION, [{"type": "note", "text": "a remark is fine"}])
    assert report(engine_url, "pi", path)["totals"]["new"] == 0
    with Ledger.open(engine_url) as ledger:
        ledger.append(SESSION, [{"type": "turn_start", "turn_id": "t", "runtime": "pi"}])
    assert "recorded live, at version 18" in report(engine_url, "pi", path, code=1)["files"][0]["failure"]


def test_what_others_appended_does_not_shift_the_versions_that_are_named(engine_url: str, path: Path) -> None:
    file = sample()
    report(engine_url, "pi", path)
    with Ledger.open(engine_url) as ledger:
        ledger.append(SESSION, [{"type": "note", "text": "a remark"}])
    file.assistant("a3", entry_id="a3")
    file.user("u4", "u4")
    file.entry("compaction", "cut", summary="SUM", firstKeptEntryId="u4")
    path.write_bytes(file.data())
    report(engine_url, "pi", path)
    with Ledger.open(engine_url) as ledger:
        events = list(ledger.read(SESSION))
    kept = next(event for event in events if event.turn_id == "u4")
    assert events[-1].event.through_version == kept.version - 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["klingon", "x"], "klingon"),
        (["pi"], "Missing argument"),
        (["pi", "one", "--as", "a\x01"], "--as"),
    ],
)
def test_usage(sqlite_url: str, arguments: list[str], says: str) -> None:
    result = run(sqlite_url, *arguments)
    assert result.exit_code == 2
    assert says in result.stderr


def test_another_name_for_several_files_is_usage(sqlite_url: str, path: Path) -> None:
    path.with_name("second.jsonl").write_bytes(b"")
    result = run(sqlite_url, "pi", path.parent, "--as", "mine")
    assert result.exit_code == 2
    assert "name 2 files" in result.stderr


def test_the_table_names_every_conversation_whole_and_the_current_one(sqlite_url: str, path: Path) -> None:
    file = sample()
    file.user("alt", "alt", parent="a2")
    path.write_bytes(file.data())
    result = run(sqlite_url, "pi", path)
    assert result.exit_code == 0, result.output
    assert f"{SESSION}~alt *" in result.stdout
    assert "1 files, 2 conversations" in result.stdout


def events_of(url: str) -> dict[str, list[str]]:
    with Ledger.open(url) as ledger:
        return {
            one.conversation_id: [event.event_id for event in ledger.read(one.conversation_id)]
            for one in ledger.conversations()
        }


def with_branch() -> SessionFile:
    file = sample()
    file.user("alt", "alt", parent="a2")
    file.assistant("a3", entry_id="a3")
    return file


@pytest.mark.parametrize("stored", [1, 9, 15])
def test_an_import_that_was_cut_short_is_finished_by_the_next(engine_url: str, path: Path, stored: int) -> None:
    data = with_branch().data()
    path.write_bytes(data)
    session = Session.read(split_lines([data]), path.name)
    stream = next(session.streams(lambda offset, length: data[offset : offset + length]))
    with Ledger.open(engine_url) as ledger:
        ledger.append_encoded(SESSION, list(stream.events())[:stored])
    report(engine_url, "pi", path)
    assert events_of(engine_url) == {name: whole_ids(name, data) for name in (SESSION, f"{SESSION}~alt")}


def whole_ids(name: str, data: bytes) -> list[str]:
    return [record.event_id for record in take(data).whole(name)]


def test_imports_of_the_same_files_at_the_same_time_add_everything_once(engine_url: str, path: Path) -> None:
    data = with_branch().data()
    path.write_bytes(data)
    with Ledger.open(engine_url) as ledger, ThreadPoolExecutor(6) as pool:
        made = list(pool.map(lambda _: import_file(ledger, "pi", path, None, False, lambda _: None), range(6)))
    assert [one.failure for one in made] == [None] * 6
    assert sum(conversation.new for one in made for conversation in one.conversations) == 16 + 8
    assert events_of(engine_url) == {name: whole_ids(name, data) for name in (SESSION, f"{SESSION}~alt")}
