"""The runner on real databases: nothing lost, nothing twice, one bad event costs its own conversation alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from eventsourcing.persistence import IntegrityError, Tracking

from ledger import Ledger
from ledger.errors import UnknownConversation
from projections import PROJECTIONS, Runner, ViewRecorder, delete, rebuild, status, view


@pytest.fixture
def opened(engine_url: str) -> Iterator[Ledger]:
    with Ledger.open(engine_url, components=(PROJECTIONS,)) as ledger:
        yield ledger


def turn(number: int, steps: int = 2) -> list[dict[str, Any]]:
    about = {"turn_id": f"t{number}"}
    events: list[dict[str, Any]] = [{"type": "user_message", "content": f"question {number}", **about}]
    for step in range(steps):
        named = {**about, "step_id": f"m{step}"}
        call = {**named, "tool_call_id": f"c{number}-{step}"}
        events += [
            {"type": "text_complete", "text": f"answer {number}.{step}", **named},
            {"type": "tool_start", "tool_name": "read", "args": {"n": step}, **call},
            {"type": "tool_result", "content": "out", **call},
        ]
    return [*events, {"type": "complete", "stop_reason": "end_turn", **about}]


def run(ledger: Ledger) -> int:
    return sum(progress.events for progress in Runner(ledger).catch_up())


def taken(ledger: Ledger) -> bool:
    return all(lag.taken == lag.last for lag in status(ledger).lags)


def damage(ledger: Ledger, version: int) -> bytes:
    """Break the stored body of an event of conversation `bad`; gives what it was."""
    text = {
        "sqlite": "SELECT body FROM event WHERE place & 4294967295 = :version",
        "postgres": "SELECT body FROM turnledger.event WHERE version = %(version)s",
    }[ledger.engine.name]
    ((body,),) = ledger.engine.fetch(text, {"version": version})
    put_body(ledger, version, bytes(body)[:-1] + b"!")  # type: ignore[arg-type]
    return bytes(body)  # type: ignore[arg-type]


def put_body(ledger: Ledger, version: int, body: bytes) -> None:
    text = {
        "sqlite": "UPDATE event SET body = :body WHERE place & 4294967295 = :version",
        "postgres": "UPDATE turnledger.event SET body = %(body)s WHERE version = %(version)s",
    }[ledger.engine.name]
    with ledger.engine.transaction() as connection:
        connection.execute(text, {"version": version, "body": body})


def test_a_reader_sees_what_was_acknowledged_before_any_runner_came(opened: Ledger) -> None:
    opened.append("c", turn(1))
    before = view(opened, "c")
    assert before.version == 8
    assert [row["row"] for row in before.rows] == ["user", *["assistant", "tool"] * 2, "turn"]
    run(opened)
    assert view(opened, "c") == before
    opened.append("c", turn(2))
    behind = view(opened, "c")
    assert behind.version == 16
    run(opened)
    assert view(opened, "c") == behind


def test_running_again_changes_nothing(opened: Ledger) -> None:
    opened.append("c", turn(1))
    assert run(opened) == 8
    assert run(opened) == 0
    assert taken(opened)


def test_without_tables_a_view_is_folded_from_the_events(engine_url: str) -> None:
    with Ledger.open(engine_url) as ledger:
        ledger.append("c", turn(1))
        assert len(view(ledger, "c").rows) == 6


def test_an_unknown_conversation_is_an_error(opened: Ledger) -> None:
    with pytest.raises(UnknownConversation):
        view(opened, "nobody")


def test_tenants_do_not_see_each_others_rows(opened: Ledger) -> None:
    other = opened.scoped(tenant="other")
    opened.append("c", turn(1))
    other.append("c", turn(2, steps=1))
    run(opened)
    assert view(opened, "c").rows[0]["text"] == "question 1"
    assert view(other, "c").rows[0]["text"] == "question 2"


def test_runners_side_by_side_do_no_harm(opened: Ledger) -> None:
    stop = threading.Event()

    def work() -> None:
        for _ in Runner(opened).follow(stop):
            pass

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    try:
        for number in range(20):
            for name in ("a", "b", "c"):
                opened.append(name, turn(number))
    finally:
        stop.set()
        for worker in workers:
            worker.join(30)
    assert not any(worker.is_alive() for worker in workers)
    run(opened)
    assert taken(opened)
    assert [each.differing for each in rebuild(opened)] == [[], [], []]


def test_follow_takes_what_comes_until_it_is_stopped(opened: Ledger) -> None:
    stop = threading.Event()
    opened.append("c", turn(1))
    seen = 0
    for progress in Runner(opened).follow(stop):
        seen += progress.events
        if seen == 8:
            opened.append("c", turn(2))
        else:
            stop.set()
    assert seen == 16
    assert taken(opened)


@pytest.mark.parametrize("projected", [True, False])
def test_an_event_that_cannot_be_taken_pauses_its_conversation_alone(opened: Ledger, projected: bool) -> None:
    opened.append("bad", turn(1))
    opened.append("good", turn(1)[:3])
    body = damage(opened, 5)
    if projected:
        run(opened)
        assert taken(opened)
        ((paused),) = status(opened).paused
        assert (paused.conversation_id, paused.pause.version) == ("bad", 5)
    shown = view(opened, "bad")
    assert shown.version == 4
    assert shown.pause is not None
    assert shown.pause.version == 5
    assert shown.pause.event_id == [each.event_id for each in opened.read("bad")][4]
    assert [row["row"] for row in shown.rows] == ["user", "assistant", "tool", "turn"]
    opened.append("bad", turn(2))
    run(opened)
    assert view(opened, "bad").rows == shown.rows
    assert view(opened, "good").pause is None
    put_body(opened, 5, body)
    assert [each.pause for each in rebuild(opened)] == [None, None]
    assert view(opened, "bad").version == 16
    assert status(opened).paused == []


def test_a_fold_that_breaks_inside_an_event_pauses_there_too(
    opened: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    from projections import conversation

    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    opened.append("c", turn(1))
    monkeypatch.setitem(conversation._HANDLERS, "complete", broken)
    folded = view(opened, "c")
    assert folded.pause is not None
    assert (folded.version, folded.pause.version, folded.pause.reason) == (7, 8, "RuntimeError: a bug")
    run(opened)
    assert view(opened, "c") == folded
    monkeypatch.undo()
    list(rebuild(opened))
    assert view(opened, "c").version == 8


def test_a_rebuild_names_rows_that_were_wrong_and_mends_them(opened: Ledger) -> None:
    opened.append("c", turn(1))
    run(opened)
    good = view(opened, "c")
    table = "conversation_row" if opened.engine.name == "sqlite" else "turnledger.conversation_row"
    with opened.engine.transaction() as connection:
        connection.execute(f"DELETE FROM {table} WHERE kind = 4", {})
    assert view(opened, "c") != good
    (rebuilt,) = rebuild(opened)
    assert rebuilt.differing == ["user:1"]
    assert view(opened, "c") == good


def test_deleted_views_are_folded_again_from_the_beginning(opened: Ledger) -> None:
    opened.append("c", turn(1))
    run(opened)
    good = view(opened, "c")
    delete(opened)
    assert view(opened, "c") == good
    assert run(opened) == 8
    assert view(opened, "c") == good


def test_a_branch_shows_its_source_up_to_the_fork(opened: Ledger) -> None:
    opened.append("trunk", turn(1))
    fork = {"type": "fork", "source_conversation_id": "trunk", "source_version": 4}
    opened.append("branch", [fork, *turn(2)])
    opened.append("trunk", turn(3))
    behind = view(opened, "branch")
    assert [row.get("text") for row in behind.rows if row["row"] in ("user", "assistant")] == [
        "question 1",
        "answer 1.0",
        "question 2",
        "answer 2.0",
        "answer 2.1",
    ]
    assert behind.version == 13
    run(opened)
    assert view(opened, "branch") == behind
    assert view(opened, "branch", at=5).version == 5
    opened.append("branch", turn(4))
    run(opened)
    assert view(opened, "branch").version == 21


def test_an_earlier_version_and_the_last_rows(opened: Ledger) -> None:
    opened.append("c", turn(1))
    run(opened)
    assert [row["row"] for row in view(opened, "c", at=2).rows] == ["user", "assistant", "turn"]
    assert view(opened, "c", at=0).rows == []
    assert view(opened, "c", at=99).version == 8
    assert [row["row"] for row in view(opened, "c", last=2).rows] == ["tool", "turn"]
    assert [row["row"] for row in view(opened, "c", turns=True).rows] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "turn",
    ]


def test_the_end_of_a_view_is_read_from_the_index(sqlite_url: str) -> None:
    """On SQLite, whose planner speaks of tables by their schema; PostgreSQL's would rather scan so few rows."""
    from projections.finding import statements

    with Ledger.open(sqlite_url, components=(PROJECTIONS,)) as ledger:
        text = statements("sqlite")["last_rows"]
        plan = ledger.engine.fetch(f"EXPLAIN QUERY PLAN {text}", {"vid": 1, "limit": 50})
        said = " ".join(str(line[-1]) for line in plan)
    assert "conversation_row_place" in said
    assert "TEMP B-TREE" not in said


def test_tracking_speaks_the_librarys_language(opened: Ledger) -> None:
    recorder = ViewRecorder(opened.engine)
    assert recorder.max_tracking_id("book:7") is None
    recorder.insert_tracking(Tracking("book:7", 3))
    assert recorder.max_tracking_id("book:7") == 3
    assert recorder.has_tracking_id("book:7", 3)
    assert not recorder.has_tracking_id("book:7", 4)
    with pytest.raises(IntegrityError):
        recorder.insert_tracking(Tracking("book:7", 3))
    opened.append("c", turn(1))
    run(opened)
    head = opened.head("c")
    assert head is not None
    recorder.wait(f"book:{head.book}", 8)


def test_an_erasure_folds_its_conversation_anew(opened: Ledger) -> None:
    opened.append("c", turn(1))
    run(opened)
    events = list(opened.read("c"))
    secret = events[0]
    skeleton = secret.body.replace(b"question 1", b"[erased]")
    put_body(opened, 1, bytes(16) + skeleton)  # what an erasure leaves, as far as a reader can tell
    erasure = {"type": "erasure", "event_ids": [secret.event_id], "reason": "asked", "skeletons": {}}
    opened.append("c", [erasure])
    run(opened)
    assert view(opened, "c").rows[0]["text"] == "[erased]"
