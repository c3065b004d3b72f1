"""The recorder tests that `eventsourcing` ships, run against a ledger with one book: an outside check.

Excluded by name, each with its reason:

- `AggregateRecorderTestCase.test_insert_and_select` ends with an event of version 0, and wants None back
  from `insert_events`, where an application recorder gives positions. `test_the_rest_of_insert_and_select`
  below keeps what else it states.
- `ApplicationRecorderTestCase.test_concurrent_no_conflicts`, `test_concurrent_throughput` and
  `NonInterleavingNotificationIDsBaseCase.test` store a version 0; versions of a ledger start at 1. The last
  one is run with versions from 1; the two others' promises are those of `test_racing.py`.
- `test_performance` asserts nothing.

Ids are text here: a conversation's id is a string.
"""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from uuid import uuid4

import pytest
from eventsourcing.persistence import ApplicationRecorder, IntegrityError, StoredEvent
from eventsourcing.tests.persistence import (
    ApplicationRecorderTestCase,
    NonInterleavingNotificationIDsBaseCase,
)

from ledger import Ledger
from ledger.store import BookRecorder


class _OurRecorder(unittest.TestCase):
    """What the library's test cases need to know; `ledgers` is set by the test that runs them."""

    urls: list[str] = []  # noqa: RUF012 - set for one run at a time

    def create_recorder(self) -> ApplicationRecorder:
        ledger = Ledger.open(self.urls[0], books=1)
        self.addCleanup(ledger.close)
        return BookRecorder(ledger)

    def new_originator_id(self) -> str:
        return f"conversation-{uuid4()}"


class OurApplicationRecorder(_OurRecorder, ApplicationRecorderTestCase):
    __test__ = False  # run below, on each engine


class OurPositions(_OurRecorder, NonInterleavingNotificationIDsBaseCase):
    __test__ = False

    def create_stack(self, originator_id: object) -> Sequence[StoredEvent]:
        return [
            StoredEvent(originator_id, version, "non-interleaving-test-event", b"{}")
            for version in range(1, self.insert_num + 1)
        ]


@pytest.mark.parametrize(
    ("case", "name"),
    [
        (OurApplicationRecorder, "test_insert_select"),
        (OurApplicationRecorder, "optional_test_insert_subscribe"),
        (OurPositions, "test"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_the_librarys_own(engine_url: str, case: type[_OurRecorder], name: str) -> None:
    case.urls = [engine_url]
    outcome = case(name).run()
    assert outcome is not None
    assert outcome.testsRun == 1
    assert [text for _, text in (*outcome.failures, *outcome.errors, *outcome.skipped)] == []


def test_the_rest_of_insert_and_select(engine_url: str) -> None:
    """`AggregateRecorderTestCase.test_insert_and_select` without its version 0."""
    with Ledger.open(engine_url, books=1) as ledger:
        recorder = BookRecorder(ledger)
        assert not recorder.insert_events([])
        assert list(recorder.select_events("c1", desc=True, limit=1)) == []
        one, two, three = (StoredEvent("c1", n, f"topic{n}", f"state{n}".encode()) for n in (1, 2, 3))
        recorder.insert_events([one])
        for again in ([one], [one, two], [two, two]):
            with pytest.raises(IntegrityError):
                recorder.insert_events(again)
        assert [each.state for each in recorder.select_events("c1")] == [b"state1"]
        recorder.insert_events([two, three])
        found = recorder.select_events("c1")
        assert [(e.originator_id, e.originator_version, e.topic, e.state) for e in found] == [
            ("c1", n, f"topic{n}", f"state{n}".encode()) for n in (1, 2, 3)
        ]
        assert all(isinstance(each.state, bytes) for each in found)
        assert list(recorder.select_events("c1", desc=True, limit=1)) == [three]
        assert list(recorder.select_events("c1", lte=2, desc=True, limit=1)) == [two]
        assert list(recorder.select_events("c1", gt=1, lte=2)) == [two]
        assert list(recorder.select_events("c2")) == []


def test_versions_leave_no_gap_through_this_door_either(engine_url: str) -> None:
    with Ledger.open(engine_url, books=1) as ledger:
        recorder = BookRecorder(ledger)
        for versions in ((2,), (0,), (100,), (1, 3)):
            with pytest.raises(IntegrityError):
                recorder.insert_events([StoredEvent("c", n, "t", b"{}") for n in versions])
        assert ledger.head("c") is None
        assert recorder.max_notification_id() is None


def test_one_insert_may_hold_events_of_several(engine_url: str) -> None:
    """The library's recorders take events of several aggregates in one transaction."""
    with Ledger.open(engine_url, books=1) as ledger:
        recorder = BookRecorder(ledger)
        try:
            recorder.insert_events([StoredEvent("c", 1, "t", b"{}"), StoredEvent("d", 1, "t", b"{}")])
        except IntegrityError:
            pytest.fail("not a conflict")
        except (ValueError, NotImplementedError):
            assert ledger.head("c") is ledger.head("d") is None, "whole or not at all"
        else:
            assert [each.id for each in recorder.select_notifications(None, 10)] == [1, 2]
