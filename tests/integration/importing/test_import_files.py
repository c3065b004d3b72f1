"""Whatever a path leads to: a clear line each, what can be read is taken in, and nobody waits for ever."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from ledger import Ledger
from ledger.intake import found
from tests.conformance import needs_shared
from tests.imports import FIXTURES
from tests.integration.cli.desk import Desk
from tests.pi_files import SessionFile
from turnledger.importing.files import OpenFile
from turnledger.importing.watching import Watched


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(f"sqlite:///{tmp_path / 'own.db'}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "sessions"
    made.mkdir()
    return made


def session() -> SessionFile:
    file = SessionFile()
    file.user("go", "u1")
    file.assistant("done", entry_id="a1")
    return file


def packed(data: bytes, frames: int = 4) -> bytes:
    lines = data.splitlines(keepends=True)
    size = -(-len(lines) // frames)
    pack = zstandard.ZstdCompressor().compress
    return b"".join(pack(b"".join(lines[at : at + size])) for at in range(0, len(lines), size))


def test_what_a_folder_holds_beside_files_is_said_and_waited_for_by_nobody(desk: Desk, folder: Path) -> None:
    (folder / "good.jsonl").write_bytes(session().data())
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "empty.jsonl").touch()
    (folder / "lost.jsonl").symlink_to(folder / "nowhere")
    (folder / "turning.jsonl").symlink_to(folder / "turning.jsonl")
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    for command in (("import", "auto"), ("doctor",)):
        answer = desk(*command, str(folder))
        assert answer.code == 1
        said = answer.err.splitlines()
        for name, why in {
            "pipe": ": a pipe or a device; it is read only where it is named",
            "empty": " is not a known session file: it is empty",
            "lost": ": No such file or directory",
            "turning": ": Too many levels of symbolic links",
        }.items():
            assert f"{folder}/{name}.jsonl{why}" in said
        assert "4 of 5 files" in said[-1]


def test_files_of_one_name_are_told_apart_by_their_folders(desk: Desk, folder: Path) -> None:
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "session.jsonl").write_bytes(b"dear diary\n" if name == "a" else session().data())
    answer = desk("import", "auto", str(folder), "--json")
    assert [one["file"] for one in answer.json["files"]] == [f"{folder}/{name}/session.jsonl" for name in "ab"]
    assert f"{folder}/a/session.jsonl is not a known session file" in answer.err


@needs_shared
@pytest.mark.parametrize(
    ("named", "path", "said"),
    [
        ("claude-code", "claude-code-stream/v2.1.332-fix.jsonl", "a stream of claude-code; `turnledger record"),
        ("pi", "pi/streams/0.58.3/json.text.jsonl", "a stream of pi; `turnledger record pi` takes it in"),
        ("pi", "pi/streams/0.80.10/rpc.two-turns.stdout.jsonl", "a stream of pi"),
        ("codex", "codex-exec/v0.171.0-fix.jsonl", "a stream of codex-exec"),
        ("ai-sdk", "ai-sdk/v7.0.173-full-stream-fix.jsonl", "a stream of ai-sdk"),
        ("ai-sdk", "ai-sdk/v7.0.173-ui-stream-fix.sse", "a stream of server-sent events"),
        ("openai-agents", "openai-agents/v0.24.0-stream-events.jsonl", "a stream of openai-agents"),
        ("pydantic-ai", "pydantic-ai/v2.68-run-stream-events.jsonl", "a stream of pydantic-ai"),
        ("openai-agents", "langgraph/v1.2-checkpoints.sqlite", "a SQLite database of another layout"),
    ],
)
def test_what_is_no_transcript_says_what_it_is(desk: Desk, named: str, path: str, said: str) -> None:
    for source_format in (named, "auto"):
        answer = desk("import", source_format, str(FIXTURES / path))
        assert answer.code == 1
        assert f"it is {said}" in answer.err


@needs_shared
@pytest.mark.parametrize("kind", ["json", "rpc"])
def test_no_stream_of_pi_looks_like_a_session_file(desk: Desk, kind: str) -> None:
    paths = [
        path for path in FIXTURES.glob(f"pi/streams/*/{kind}.*.jsonl") if path.read_bytes().count(b"\n") > 1
    ]
    answer = desk("import", "auto", "--dry-run", "--json", *map(str, paths))
    assert paths
    assert [one["file"] for one in answer.json["files"] if one["failure"] is None] == []


def test_a_ledgers_own_database_is_told_from_those_of_runtimes(
    desk: Desk, folder: Path, tmp_path: Path
) -> None:
    (folder / "good.jsonl").write_bytes(session().data())
    assert desk("import", "pi", str(folder)).code == 0
    for source_format in ("auto", "pi", "opencode"):
        answer = desk("import", source_format, str(tmp_path / "own.db"))
        assert answer.code == 1
        assert "it is a ledger's own database; `turnledger export`" in answer.err


@needs_shared
@pytest.mark.parametrize("sample", ["opencode/v1.18.33-opencode.db", "openai-agents/v0.24.0-sqlite-session.db"])
def test_a_database_is_known_by_its_tables_whatever_it_is_called(desk: Desk, folder: Path, sample: str) -> None:
    copy = folder / "backup.db"
    shutil.copyfile(FIXTURES / sample, copy)
    answer = desk("import", "auto", str(copy), "--json")
    assert answer.code == 0, answer.err
    assert answer.json["files"][0]["format"] == sample.partition("/")[0]


@needs_shared
@pytest.mark.parametrize("damage", ["cut", "followed by something else"])
def test_a_compressed_file_gives_what_can_be_unpacked_and_says_the_rest(
    desk: Desk, folder: Path, damage: str
) -> None:
    data = (FIXTURES / "dsh/acp/subagent-mixed/session.jsonl").read_bytes()
    whole = packed(data)
    path = folder / "session.jsonl.zst"
    path.write_bytes(whole[: len(whole) * 3 // 4] if damage == "cut" else whole + b"no frame of zstd")
    answer = desk("import", "auto", str(path), "--json")
    assert answer.code == 1
    (told,) = answer.json["files"]
    assert told["conversations"][0]["new"] > 0
    assert told["problems"][-1]["code"] == "torn_frame"
    assert "bytes that could be unpacked" in answer.err
    looked = desk("doctor", str(path), "--json")
    assert looked.code == 3
    assert "torn tail" in {one["class"] for one in looked.json["files"][0]["damage"]}
    path.write_bytes(whole)
    again = desk("import", "auto", str(path), "--json")
    assert again.code == 0, again.err
    assert desk("import", "auto", str(path), "--json").json["totals"]["new"] == 0


def test_a_compressed_file_of_which_nothing_can_be_unpacked(desk: Desk, folder: Path) -> None:
    path = folder / "session.jsonl.zst"
    path.write_bytes(packed(session().data(), frames=1)[:10])
    assert f"{path}: the compressed file is cut off" in desk("import", "auto", str(path)).err


def test_a_text_of_a_document_too_long_to_be_held_is_said(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(found, "MAX_LINE_BYTES", 2 * 1024 * 1024)
    path = folder / "chat.json"
    message = b'{"id": "%s", "role": "user", "parts": [{"type": "text", "text": "%s"}]}'
    path.write_bytes(b"[" + message % (b"m1", b"hello") + b"," + message % (b"m2", b"x" * 5_000_000) + b"]")
    answer = desk("import", "auto", str(path))
    assert answer.code == 1
    assert "too long to be read; what stands before was taken in" in answer.err
    assert " 1 turns" in answer.out


def test_no_way_through_a_closed_folder(desk: Desk, folder: Path) -> None:
    (folder / "file").touch()
    answer = desk("import", "pi", str(folder / "file" / "session.jsonl"))
    assert f"{folder}/file/session.jsonl: Not a directory" in answer.err


def test_who_watches_is_told_once_of_what_cannot_be_looked_at(folder: Path) -> None:
    watched = Watched([str(folder / "absent")], (".jsonl",))
    assert [getattr(one, "problem", None) for one in watched.changed()] == ["there is no such file or folder"]
    assert list(watched.changed()) == []
    (folder / "absent").write_bytes(session().data())
    assert list(watched.changed()) == [folder / "absent"]
    (folder / "absent").unlink()
    assert len(list(watched.changed())) == 1


def test_damage_in_a_ledger_is_placed_by_conversation_and_version(
    desk: Desk, folder: Path, tmp_path: Path
) -> None:
    file = session()
    file.result("c8", "of no call", "r8")
    (folder / "a.jsonl").write_bytes(file.data())
    assert desk("import", "pi", str(folder)).code == 0
    answer = desk("doctor", str(tmp_path / "own.db"), "--json")
    assert answer.code == 3
    (symptom,) = answer.json["files"][0]["damage"]
    with Ledger.open(f"sqlite:///{tmp_path / 'own.db'}") as ledger:
        (conversation,) = ledger.conversations()
    assert symptom["conversation_id"] == conversation.conversation_id
    assert symptom["version"]
    assert symptom["line"] is None
    assert f"{conversation.conversation_id} version " in desk("doctor", str(tmp_path / "own.db")).out


def test_a_database_without_tables(desk: Desk, folder: Path) -> None:
    path = folder / "none.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 3")
    connection.close()
    assert (
        "it is a SQLite database of another layout, with the tables (none)"
        in desk("import", "auto", str(path)).err
    )


@pytest.mark.parametrize("becomes", ["cut", "written anew", "longer"])
def test_a_file_that_changes_while_it_is_read(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch, becomes: str
) -> None:
    path = folder / "a.jsonl"
    data = session().data()
    path.write_bytes(data)
    whole = OpenFile.chunks

    def chunks(self: OpenFile) -> Iterator[bytes]:
        yield from whole(self)
        changed = {"cut": data[:-50], "written anew": b"\n" + data, "longer": data + b"{"}
        path.write_bytes(changed[becomes])

    monkeypatch.setattr(OpenFile, "chunks", chunks)
    answer = desk("import", "pi", str(path))
    assert answer.code == (0 if becomes == "longer" else 1), answer.err
    assert ("it was cut or written anew while it was read" in answer.err) == (becomes != "longer")
