"""Rows in tables: the runner in any cuts, the reader's tail, a rebuild: always the rows of the plain fold."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import Ledger
from ledger.events import JsonObject
from projections import PROJECTIONS, Found, Runner, rebuild, rows, view
from tests.postgres import PostgresServer
from tests.property.ledgers import EventDict
from tests.property.projections.nested import any_ledger

names = itertools.count()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def ledger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """One database an engine; every example is a conversation of its own in it."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('views') / 'ledger.db'}"
        with Ledger.open(url, components=(PROJECTIONS,)) as opened:
            yield opened
        return
    postgres: PostgresServer = request.getfixturevalue("postgres")
    with postgres.database() as url, Ledger.open(url, components=(PROJECTIONS,)) as opened:
        yield opened


def plain(ledger: Ledger, name: str) -> list[JsonObject]:
    events = list(ledger.read(name))
    found = {each.event_id: Found(each.version, each.event) for each in events}
    return rows(events, name, found.get)


@given(dicts=any_ledger.filter(bool), data=st.data())
def test_any_cut_gives_the_plain_rows(ledger: Ledger, dicts: list[EventDict], data: st.DataObject) -> None:
    name = f"c{next(names)}"
    events = [{"id": f"e{number}", **event} for number, event in enumerate(dicts, start=1)]
    for event in events:
        if "through_version" in event:  # the door refuses what the pure fold would bear
            event["through_version"] = max(0, event["through_version"])
    kept = Runner(ledger)
    while events:
        size = data.draw(st.integers(1, 8))
        ledger.append(name, events[:size])
        events = events[size:]
        what = data.draw(st.sampled_from(["kept", "fresh", "view", "nothing"]))
        if what == "kept":
            list(kept.catch_up())
        elif what == "fresh":  # a new process: what it needs it loads by key
            list(Runner(ledger).catch_up())
        elif what == "view":
            assert view(ledger, name).rows == plain(ledger, name)
    expected = plain(ledger, name)
    assert view(ledger, name).rows == expected
    last = data.draw(st.integers(0, 6))
    assert view(ledger, name, last=last).rows == (expected[-last:] if last else [])
    list(Runner(ledger).catch_up())
    assert view(ledger, name).rows == expected
    assert view(ledger, name, last=last).rows == (expected[-last:] if last else [])
    at = data.draw(st.integers(0, len(dicts)))
    seen = [each for each in ledger.read(name) if each.version <= at]
    found = {each.event_id: Found(each.version, each.event) for each in seen}
    assert view(ledger, name, at=at).rows == rows(seen, name, found.get)


def test_a_rebuild_finds_no_difference(ledger: Ledger) -> None:
    list(Runner(ledger).catch_up())
    rebuilt = list(rebuild(ledger))
    assert [each for each in rebuilt if each.differing] == []
    assert {each.conversation_id for each in rebuilt} == {
        each.conversation_id for each in ledger.conversations()
    }
