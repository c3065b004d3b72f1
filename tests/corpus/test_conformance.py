"""Every conformance case by its id, on both engines, through the doors that users have."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from click.testing import CliRunner

from ledger import Cursor, Ledger
from ledger.errors import TurnledgerError
from projections import PROJECTIONS, Runner, rebuild, view
from replay import Options, Target, replay
from replay.providers.violations import violations
from replay.render import targets
from tests.conformance import (
    Case,
    check_diagnostics,
    check_messages,
    check_never,
    check_rows,
    check_turns,
    load,
    named,
    needs_shared,
    recorded,
    same,
)
from tests.postgres import PostgresServer
from turnledger.cli import main

pytestmark = needs_shared

CASES = [case for case in load("regroup", "field", "assembler") if case.kind in ("replay", "rows", "render")]
APPENDS = [case for case in load("field") if case.kind == "append"]

by_id = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One database an engine; every case is a tenant of its own in it."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('conformance') / 'ledger.db'}"
        return
    postgres: PostgresServer = request.getfixturevalue("postgres")
    with postgres.database() as url:
        yield url


@pytest.fixture
def stored(database: str, case: Case) -> Iterator[Ledger]:
    """The case's conversations in the database, sources of forks first."""
    with Ledger.open(database, tenant=case.id) as ledger:
        if ledger.head(case.id) is None:
            for conversation, events in case.conversations().items():
                ledger.append(conversation, named(events, conversation))
        yield ledger


def options_of(case: Case) -> Options:
    return Options(**{name: value for name, value in case.options.items() if name != "target"})


@by_id
def test_messages(case: Case, stored: Ledger) -> None:
    answer = replay(stored.read(case.id), case.id, options=options_of(case)).as_json()
    check_answer(case.expect, answer)
    if case.kind == "replay":
        check_never(case.expect.get("never", ()), answer)


def check_answer(expect: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    if "messages" in expect:
        check_messages(expect["messages"], answer["messages"])
    if "sendable" in expect:
        assert answer["sendable"] is expect["sendable"]
    if "diagnostics" in expect:
        check_diagnostics(expect["diagnostics"], answer["diagnostics"])


@by_id
def test_rows(case: Case, stored: Ledger) -> None:
    for at in (None, stored.head(case.id).version):  # what a reader gets, and straight from the events
        rows = view(stored, case.id, at=at).as_json()["rows"]
        check_rows_of(case.expect, rows)


def check_rows_of(expect: Mapping[str, Any], rows: list[dict[str, Any]]) -> None:
    if "rows" in expect:
        check_rows(expect["rows"], rows)
    if "turns" in expect:
        check_turns(expect["turns"], rows)


def test_rows_as_projected(database: str) -> None:
    """The same rows again from the tables, after the runner has folded all cases at once."""
    for case in CASES:
        with Ledger.open(database, tenant=case.id) as ledger:
            if ledger.head(case.id) is None:
                for conversation, events in case.conversations().items():
                    ledger.append(conversation, named(events, conversation))
    with Ledger.open(database, components=(PROJECTIONS,)) as ledger:
        assert sum(page.events for page in Runner(ledger).catch_up())
    for case in CASES:
        with Ledger.open(database, tenant=case.id) as ledger:
            try:
                check_rows_of(case.expect, view(ledger, case.id).as_json()["rows"])
            except AssertionError as error:
                raise AssertionError(f"{case.id}: {error}") from error


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.kind == "render"],
    ids=lambda case: case.id,
)
def test_requests(case: Case, stored: Ledger) -> None:
    target = Target(**case.options["target"])
    answer = replay(stored.read(case.id), case.id, target=target, options=options_of(case))
    request = answer.request
    assert violations(target, request) == []
    check_never(case.expect.get("never", ()), request)


@pytest.mark.parametrize("provider", [name for name in targets() if name != "neutral"])
@by_id
def test_no_case_breaks_a_rule(case: Case, provider: str) -> None:
    """Whatever a case expects, its request to every provider breaks none of that provider's rules."""
    for model in (None, "made-up-large", "claude"):
        target = Target(provider, model)
        answer = replay(recorded(case), case.id, target=target, options=options_of(case))
        assert violations(target, answer.request, sendable=answer.sendable) == []


@pytest.mark.parametrize("case", APPENDS, ids=lambda case: case.id)
def test_appending(case: Case, engine_url: str) -> None:
    desk = Desk(engine_url)
    try:
        for op, expected in itertools.zip_longest(case.data["input"]["ops"], case.expect["answers"]):
            desk.check(expected, desk.do(op))
        for conversation, count in case.expect["stored"].items():
            assert len(list(desk.ledger.read(conversation))) == count
        for conversation, expect in case.expect.get("conversations", {}).items():
            check_answer(expect, replay(desk.ledger.read(conversation), conversation).as_json())
            check_rows_of(expect, view(desk.ledger, conversation).as_json()["rows"])
    finally:
        desk.ledger.close()


class Desk:
    """Carries out the operations of an `append` case, one after the other."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.ledger = Ledger.open(url, components=(PROJECTIONS,))
        self.saved: dict[str, Cursor] = {}

    def do(self, op: Mapping[str, Any]) -> dict[str, Any] | None:
        """The operation's answer: a receipt, an error, what a follower saw, or nothing."""
        match op["op"]:
            case "append":
                return self._append(op)
            case "append_text":
                return self._cli(op["text"].encode())
            case "append_bytes":
                return self._cli(bytes.fromhex(op["hex"]))
            case "follow":
                return self._follow(op)
            case "parallel":
                with ThreadPoolExecutor() as pool:
                    list(pool.map(lambda one: self._append(one), op["appends"]))
            case "restart":
                self.ledger.close()
                self.ledger = Ledger.open(self.url, components=(PROJECTIONS,))
            case "project":
                list(Runner(self.ledger).catch_up())
            case "rebuild":
                list(rebuild(self.ledger))
            case other:
                raise NotImplementedError(other)
        return None

    def _append(self, op: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self.ledger.append(op["conversation"], op["events"], op.get("expected_version"))._asdict()
        except TurnledgerError as error:
            return {"error": {"class": type(error).__name__, **error.attributes}}

    def _cli(self, text: bytes) -> dict[str, Any]:
        result = CliRunner().invoke(main, ["--db", self.url, "append", "-", "--json"], input=text)
        answers = [json.loads(line) for line in result.stdout.splitlines()]
        failed = next((answer for answer in answers if "error" in answer), None)
        assert result.exit_code == (1 if failed else 0), result.stderr
        return failed or answers[-1]

    def _follow(self, op: Mapping[str, Any]) -> dict[str, Any]:
        cursor = self.saved.get(op.get("after", ""), Cursor())
        seen = []
        for event in self.ledger.follow(cursor):
            seen.append([event.conversation_id, event.version])
            cursor = cursor.after(event)
        if "save" in op:
            self.saved[op["save"]] = cursor
        return {"seen": sorted(seen)}

    @staticmethod
    def check(expected: Mapping[str, Any] | None, answer: dict[str, Any] | None) -> None:
        """Compare an answer with the case's; error class `*` is any."""
        if expected is None:
            assert answer is None or "error" not in answer
            return
        assert answer is not None
        if "error" in expected:
            wanted = {key: value for key, value in expected["error"].items() if (key, value) != ("class", "*")}
            assert "error" in answer, answer
            assert same(wanted, answer["error"]), answer
        else:
            assert same(expected, answer), answer


def test_every_case_is_run() -> None:
    """No case of the files that this suite answers for is left out."""
    run = {case.id for case in CASES} | {case.id for case in APPENDS}
    assert run == {case.id for case in load("regroup", "field")} | {
        case.id for case in load("assembler") if case.kind != "assemble"
    }
    renders = [case for case in CASES if case.kind == "render"]
    assert {case.id for case in renders if case.options["target"]["provider"] not in targets()} == set()
