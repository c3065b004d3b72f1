"""Shared commits: everybody is served once, alone or together, also when a leader is interrupted."""

import threading
from collections.abc import Sequence
from typing import cast

import pytest

from ledger.recorded import EncodedEvent
from ledger.store.draft import Sealed, draft
from ledger.store.group import MOST_EVENTS, Group, Request
from ledger.store.receipts import Appended


def request(events: int = 1) -> Request:
    batch = draft(
        "t",
        "c",
        "a",
        [EncodedEvent(f"e{n}", "note", None, None, b"{}") for n in range(events)],
        None,
        "conflict",
    )
    return Request(batch, cast(Sealed, None))


class Disk:
    """Commits that can be held up, and what each of them stored."""

    def __init__(self) -> None:
        self.commits: list[int] = []
        self.go = threading.Event()
        self.started = threading.Event()

    def commit(self, requests: Sequence[Request]) -> None:
        self.started.set()
        assert self.go.wait(timeout=30)
        self.commits.append(len(requests))
        for each in requests:
            assert each.outcome is None, "stored once"
            each.outcome = Appended(len(self.commits))


def test_a_lone_writer_is_stored_at_once() -> None:
    disk = Disk()
    disk.go.set()
    assert Group(disk.commit).store(request()).first_version == 1
    assert disk.commits == [1]


def run(group: Group, count: int, answers: list[object], events: int = 1) -> list[threading.Thread]:
    def store() -> None:
        try:
            answers.append(group.store(request(events)))
        except BaseException as error:
            answers.append(error)

    threads = [threading.Thread(target=store) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads


def waiting(group: Group, count: int) -> None:
    deadline = threading.Event()
    for _ in range(3000):
        if len(group._waiting) == count:
            return
        deadline.wait(0.01)
    pytest.fail("they never came")


def test_who_comes_during_a_commit_shares_the_next() -> None:
    disk, answers = Disk(), []  # type: tuple[Disk, list[object]]
    group = Group(disk.commit)
    threads = run(group, 1, answers)
    assert disk.started.wait(timeout=30)
    threads += run(group, 9, answers)
    waiting(group, 9)
    disk.go.set()
    for thread in threads:
        thread.join(timeout=30)
    assert disk.commits == [1, 9]
    assert sorted(cast(Appended, answer).first_version or 0 for answer in answers) == [1] + [2] * 9


def test_a_commit_has_a_largest_size() -> None:
    disk, answers = Disk(), []  # type: tuple[Disk, list[object]]
    group = Group(disk.commit)
    threads = run(group, 1, answers)
    assert disk.started.wait(timeout=30)
    threads += run(group, 5, answers, events=MOST_EVENTS // 2)
    waiting(group, 5)
    disk.go.set()
    for thread in threads:
        thread.join(timeout=30)
    assert disk.commits == [1, 2, 2, 1]


def test_an_interrupted_leader_leaves_nobody_behind() -> None:
    entered, go, commits = threading.Event(), threading.Event(), []  # type: tuple[threading.Event, threading.Event, list[int]]

    def commit(requests: Sequence[Request]) -> None:
        commits.append(len(requests))
        if len(commits) == 1:
            entered.set()
            assert go.wait(timeout=30)
        if len(commits) == 2:
            raise KeyboardInterrupt
        for each in requests:
            each.outcome = Appended(1)

    answers: list[object] = []
    group = Group(commit)
    threads = run(group, 1, answers)
    assert entered.wait(timeout=30)
    threads += run(group, 4, answers)
    waiting(group, 4)
    go.set()
    for thread in threads:
        thread.join(timeout=30)
    assert sum(isinstance(answer, KeyboardInterrupt) for answer in answers) == 1
    assert sum(isinstance(answer, Appended) for answer in answers) == 4
    assert commits[:2] == [1, 4]


def test_an_error_of_one_is_raised_for_that_one() -> None:
    def commit(requests: Sequence[Request]) -> None:
        for each in requests:
            each.outcome = ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Group(commit).store(request())
