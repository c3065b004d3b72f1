"""`turnledger import` of databases that runtimes write: OpenCode's, and the one of OpenAI Agents' sessions."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ledger import Ledger
from ledger.events import to_json
from projections import view
from projections.conversation import rows
from tests import streams
from tests.conformance import SHARED, needs_shared
from tests.imports import Taken, take_file
from tests.opencode_files import OpenCodeFile
from turnledger.cli import main
from turnledger.importing.storing import import_file
from turnledger.importing.watching import Watched

agents = pytest.importorskip("agents")

from agents.memory import SQLiteSession  # noqa: E402

from turnledger.runtimes.openai_agents import LedgerSession  # noqa: E402

FIXTURES = SHARED / "fixtures" / "openai-agents"


def report(url: str, *arguments: str | Path, code: int = 0) -> dict[str, Any]:
    result = CliRunner().invoke(main, ["--db", url, "import", *map(str, arguments), "--json"])
    assert result.exit_code == code, result.output
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


@pytest.fixture
def opencode(tmp_path: Path) -> Iterator[OpenCodeFile]:
    (tmp_path / "data").mkdir()
    made = OpenCodeFile(tmp_path / "data" / "opencode.db", wal=True)
    yield made
    made.connection.close()


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def model(text: str) -> Any:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "type": "message",
        "role": "assistant",
        "id": f"msg_{text}",
        "content": [part],
        "status": "completed",
    }


def called(name: str) -> list[Any]:
    call = {"type": "function_call", "call_id": name, "name": "add", "arguments": '{"a":1}', "id": f"fc_{name}"}
    return [call, {"type": "function_call_output", "call_id": name, "output": "1"}]


def kept(path: Path, session: str, *items: Any) -> None:
    """More items of a session, as the library stores them."""

    async def act() -> None:
        own = SQLiteSession(session, path)
        await own.add_items(list(items))
        own.close()

    asyncio.run(act())


# -- OpenCode


def test_opencode_while_it_writes(engine_url: str, opencode: OpenCodeFile) -> None:
    one, two = opencode.session(), opencode.session()
    for name in (one, two):
        opencode.said(name, opencode.prompt(name, "hi"), f"Hello {name}.")
    first = report(engine_url, "auto", opencode.path.parent)
    assert first["files"][0]["format"] == "opencode"
    assert (first["totals"]["conversations"], first["totals"]["turns"], first["totals"]["steps"]) == (2, 2, 2)
    opencode.said(two, opencode.prompt(two, "more"), "More.")
    second = report(engine_url, "auto", opencode.path.parent)["totals"]
    assert (second["known"], second["differing"]) == (first["totals"]["new"], 0)
    assert second["new"] == 6
    again = report(engine_url, "opencode", opencode.path)["totals"]
    assert (again["new"], again["differing"]) == (0, 0)
    with Ledger.open(engine_url) as ledger:
        texts = [row.get("text") for row in view(ledger, two).rows if row["row"] in ("user", "assistant")]
    assert texts == ["hi", f"Hello {two}.", "more", "More."]


def test_what_is_only_in_the_log_of_a_database_is_a_change(sqlite_url: str, opencode: OpenCodeFile) -> None:
    watched = Watched([str(opencode.path.parent)], (".db",))
    session = opencode.session()
    assert list(watched.changed()) == [opencode.path]
    report(sqlite_url, "opencode", opencode.path)
    assert list(watched.changed()) == [], "to read it is no change"
    before = opencode.path.stat().st_mtime_ns
    opencode.said(session, opencode.prompt(session, "hi"), "Hello.")
    assert opencode.path.stat().st_mtime_ns == before
    assert list(watched.changed()) == [opencode.path]
    assert report(sqlite_url, "opencode", opencode.path)["totals"]["steps"] == 1


def test_what_opencode_deleted_stays_and_is_said(sqlite_url: str, opencode: OpenCodeFile) -> None:
    session = opencode.session()
    opencode.said(session, opencode.prompt(session, "one"), "First.")
    prompt = opencode.prompt(session, "two")
    opencode.said(session, prompt, "Second.")
    before = report(sqlite_url, "opencode", opencode.path)
    assert before["files"][0]["problems"] == []
    opencode.connection.execute("DELETE FROM message WHERE id >= ?", (prompt,))
    opencode.said(session, opencode.prompt(session, "instead"), "Third.")
    (problem,) = report(sqlite_url, "opencode", opencode.path)["files"][0]["problems"]
    assert problem["code"] == "records_gone"
    assert problem["text"].startswith(f"6 events of {session} that were taken in before")
    assert not problem["lost"]


def test_a_database_that_is_locked_is_said_in_one_line(sqlite_url: str, tmp_path: Path) -> None:
    file = OpenCodeFile(tmp_path / "opencode.db")
    file.session()
    file.connection.execute("BEGIN EXCLUSIVE")
    from turnledger.importing import databases

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(databases, "_BUSY_SECONDS", 0.05)
        failure = report(sqlite_url, "opencode", file.path, code=1)["files"][0]["failure"]
    assert failure == "the database is locked by its runtime: database is locked; try again"
    file.connection.execute("ROLLBACK")
    assert report(sqlite_url, "opencode", file.path)["totals"]["conversations"] == 1
    file.connection.close()


def test_a_database_that_nobody_has_open_is_left_as_it_is(sqlite_url: str, opencode: OpenCodeFile) -> None:
    session = opencode.session()
    opencode.said(session, opencode.prompt(session, "hi"), "Hello.")
    opencode.connection.close()
    folder = opencode.path.parent
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert list(before) == ["opencode.db"]
    assert report(sqlite_url, "opencode", opencode.path)["totals"]["steps"] == 1
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_only_one_session_can_have_another_name(sqlite_url: str, opencode: OpenCodeFile) -> None:
    session = opencode.session()
    opencode.said(session, opencode.prompt(session, "hi"), "Hello.")
    named = report(sqlite_url, "opencode", opencode.path, "--as", "mine")
    assert [one["conversation_id"] for one in named["files"][0]["conversations"]] == ["mine"]
    opencode.session()
    failure = report(sqlite_url, "opencode", opencode.path, "--as", "mine", code=1)["files"][0]["failure"]
    assert failure == "opencode.db holds 2 sessions, which cannot all be named mine; leave the name out"


def test_what_is_no_database_of_opencode(sqlite_url: str, tmp_path: Path) -> None:
    other = tmp_path / "opencode.db"
    sqlite3.connect(other).execute("CREATE TABLE x (y)").connection.close()
    failure = report(sqlite_url, "auto", other, code=1)["files"][0]["failure"]
    assert "no such table: session" in failure
    (tmp_path / "opencode.json").write_text('{"info": {}, "messages": [], "projectID": 1, "directory": 2}')
    failure = report(sqlite_url, "auto", tmp_path / "opencode.json", code=1)["files"][0]["failure"]
    assert "no info with a session's id" in failure


@needs_shared
@pytest.mark.parametrize(
    ("name", "sample"),
    [
        ("opencode", "opencode/v1.18.33-opencode.db"),
        ("openai-agents", "openai-agents/v0.24.0-sqlite-session.db"),
    ],
)
def test_a_database_damaged_anywhere_is_said(tmp_path: Path, name: str, sample: str, long_run: bool) -> None:
    data = (SHARED / "fixtures" / sample).read_bytes()
    path = tmp_path / f"{name}.db"
    failures = 0
    for seed in range(2_000 if long_run else 40):
        chance = random.Random(seed)
        damaged = bytearray(data)
        if seed % 3:
            for _ in range(chance.choice((1, 20, 400))):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        else:
            del damaged[chance.randrange(100, len(damaged)) :]
        path.write_bytes(damaged)
        found = import_file(None, name, path, None, True, lambda _: None)
        failures += found.failure is not None
    assert failures


# -- OpenAI Agents


def told(taken: Taken, session: str) -> list[tuple[str, str | None]]:
    return [(event.type, event.step_id) for event in taken.events(session)]


def test_every_session_of_a_database(engine_url: str, tmp_path: Path) -> None:
    path = tmp_path / "agents.sqlite"
    kept(path, "a", user("Add."), *called("c1"), *called("c2"), model("Done."))
    kept(path, "b", user("Hi."), model("Hello."))
    first = report(engine_url, "auto", tmp_path)
    assert [one["conversation_id"] for one in first["files"][0]["conversations"]] == ["a", "b"]
    assert (first["totals"]["turns"], first["totals"]["steps"], first["totals"]["calls"]) == (2, 4, 2)
    kept(path, "a", user("Thanks."), model("Welcome."))
    second = report(engine_url, "auto", path)["totals"]
    assert (second["known"], second["differing"]) == (first["totals"]["new"], 0)
    assert report(engine_url, "openai-agents", path)["totals"]["new"] == 0
    with Ledger.open(engine_url) as ledger:
        ends = [event.event for event in ledger.read("a") if event.type in ("complete", "abort")]
    assert [(end.type, (end.source or {}).get("inferred")) for end in ends] == [("complete", True)]


def test_steps_end_with_what_was_answered(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    kept(path, "a", user("Add."), *called("c1"), *called("c2"), model("Done."), user("And?"))
    taken = take_file(path)
    calls = [event for event in taken.events() if event.type in ("tool_start", "tool_result")]
    assert [event.step_id for event in calls[::2]] == [event.step_id for event in calls[1::2]]
    assert len({event.step_id for event in calls}) == 2
    assert all((event.source or {})["inferred"] for event in taken.events() if event.type == "step_start")
    lines = [int(str((event.source or {})["line"])) for event in taken.events()]
    assert lines == sorted(lines), "the row's id"


@pytest.mark.parametrize("cut", range(1, 7))
def test_a_longer_database_begins_as_the_shorter(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "agents.db"
    items = [user("Add."), *called("c1"), model("Done."), user("And?"), model("Yes.")]
    kept(path, "a", *items[:cut])
    before = [to_json(event) for event in take_file(path).events()]
    kept(path, "a", *items[cut:])
    assert [to_json(event) for event in take_file(path).events()][: len(before)] == before


def test_items_that_were_taken_back_stay_and_are_said(sqlite_url: str, tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    kept(path, "a", user("One."), model("First."), user("Two."))
    kept(path, "b", user("Hi."))
    stored = report(sqlite_url, "openai-agents", path)["totals"]["new"]

    async def act() -> None:
        own = SQLiteSession("a", path)
        await own.pop_item()
        await own.add_items([user("Other.")])
        own.close()
        other = SQLiteSession("b", path)
        await other.clear_session()
        other.close()

    asyncio.run(act())
    again = report(sqlite_url, "openai-agents", path)
    (problem,) = again["files"][0]["problems"]
    assert problem["text"].startswith("2 events of a that were taken in before"), "turn and message"
    assert again["totals"]["new"] == 2
    with Ledger.open(sqlite_url) as ledger:
        held = [ledger.head(name) for name in ("a", "b")]
        assert sum(head.version for head in held if head is not None) == stored + 2
        texts = [row.get("text") for row in view(ledger, "a").rows if row["row"] == "user"]
    assert texts == ["One.", "Two.", "Other."]


def test_rows_that_are_no_items_are_kept(sqlite_url: str, tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    kept(path, "a", user("One."), model("First."))
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE agent_messages SET message_data = '{\"role\"' WHERE id = 1")
    connection.close()
    answer = report(sqlite_url, "openai-agents", path, code=1)
    assert [problem["code"] for problem in answer["files"][0]["problems"]] == ["malformed_row"]
    assert "item 1 is damaged" in answer["files"][0]["problems"][0]["text"]
    assert answer["totals"]["steps"] == 1


def test_a_session_goes_on_in_the_ledger_after_it_was_imported(engine_url: str, tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    items = [user("Add."), *called("c1"), model("Done.")]
    kept(path, "a", *items)
    report(engine_url, "openai-agents", path)

    async def act(ledger: Ledger) -> list[Any]:
        session = LedgerSession("a", ledger)
        assert await session.get_items() == items
        await session.add_items([user("Thanks."), model("Welcome.")])
        return [*await LedgerSession("a", ledger).get_items(limit=2)]

    with Ledger.open(engine_url) as ledger:
        assert asyncio.run(act(ledger)) == [user("Thanks."), model("Welcome.")]
        ends = [event.type for event in ledger.read("a") if event.type in ("complete", "abort", "error")]
    assert ends == ["complete", "complete"]
    assert "recorded live" in report(engine_url, "openai-agents", path, code=1)["files"][0]["failure"]


_PLACE = frozenset({"id", "conversation_id", "turn_id", "step_id", "at", "versions", "duration_ms"})
_UNSAID = frozenset({"usage", "finish_reason", "model", "provider", "stop_reason"})
"""What rows of the database do not say, and the stream does."""


@needs_shared
def test_the_stream_of_the_same_run_gives_the_same_rows() -> None:
    taken = take_file(FIXTURES / "v0.24.0-sqlite-session.db")
    turn = taken.events()[0].turn_id
    mine = rows([record for record in taken.whole() if record.event.turn_id == turn], "c")
    theirs = rows(
        streams.take("openai-agents", (FIXTURES / "v0.24.0-stream-events.jsonl").read_bytes()).records, "c"
    )

    def compared(found: list[Any]) -> list[Any]:
        return [
            {name: value for name, value in row.items() if name not in _PLACE | _UNSAID}
            for row in found
            if row["row"] in ("assistant", "tool")
        ]

    assert compared(mine) == compared(theirs)
    assert len(compared(mine)) == 8


@needs_shared
def test_the_live_session_writes_what_an_import_gives() -> None:
    """The same items through `LedgerSession`, but for the end of the last turn, which a file does not show."""
    from ledger.intake.openai_agents.session import SessionState
    from ledger.turns import LiveStamps

    path = FIXTURES / "v0.24.0-sqlite-session.db"
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    items = [
        json.loads(text)
        for (text,) in connection.execute("SELECT message_data FROM agent_messages ORDER BY id")
    ]
    connection.close()
    stamps = LiveStamps(lambda: "x", lambda: "2026-01-01T00:00:00Z")
    live = SessionState().added("c", stamps, items, provider="openai")
    mine = [to_json(event) for event in take_file(path).events()]
    names = {"id", "conversation_id", "turn_id", "step_id", "at", "source"}
    both = [
        [{name: it for name, it in event.items() if name not in names} for event in some]
        for some in (mine, live)
    ]
    assert [event["type"] for event in live[len(mine) :]] == ["step_finish", "complete"]
    assert both[0] == both[1][: len(mine)]
