"""`project`, `db`: the read models and the schema from outside."""

from __future__ import annotations

from tests.integration.cli.desk import Desk

EVENTS = [
    {"conversation_id": name, "type": kind, "turn_id": "t1", **fields}
    for name in ("a", "b")
    for kind, fields in (
        ("user_message", {"content": "q"}),
        ("text_complete", {"step_id": "s1", "text": "r"}),
        ("complete", {}),
    )
]


def test_project_run_folds_once(desk: Desk) -> None:
    desk.append(*EVENTS)
    assert desk("project", "run", "--json").json["events"] == 6
    assert desk("project", "run", "--json").json["events"] == 0
    status = desk("project", "status", "--json").json
    assert (status["lag"], status["paused"]) == (0, [])


def test_rebuild_changes_nothing_that_was_right(desk: Desk) -> None:
    desk.append(*EVENTS)
    desk("project", "run")
    before = desk("show", "a", "--json").json
    for options in ([], ["--delete"]):
        answer = desk("project", "rebuild", "--json", *options)
        assert (answer.code, answer.json["differing"]) == (0, {})
        assert desk("show", "a", "--json").json == before


def test_migrate_and_status_apart_from_use(desk: Desk) -> None:
    pending = desk("db", "status", "--json").json["components"]
    assert {one["component"] for one in pending} == {"ledger", "projections"}
    assert all(one["applied"] == 0 and one["pending"] for one in pending)
    assert desk("db", "migrate", "--json").json["applied"]
    assert desk("db", "migrate").out == "up to date, nothing to do\n"
    assert all(one["applied"] == one["known"] for one in desk("db", "status", "--json").json["components"])
    assert "up to date" in desk("db", "status").out
    assert desk("list", "--json").json == {"conversations": []}


def test_an_address_that_is_none_is_one_clear_line() -> None:
    for url in ("", "ledger.db", "mysql://x", "sqlite://relative", "postgresql://nobody@127.0.0.1:1/none"):
        answer = Desk(url)("list")
        assert answer.code == 1, url
        assert answer.err.startswith("turnledger: "), url
        assert answer.err.count("\n") == 1, url
