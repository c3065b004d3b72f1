"""Several writers at once, threads of one process and processes: nothing lost, refused, doubled or torn."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from ledger import Ledger
from ledger.errors import VersionConflict
from tests.contract.material import assert_gapless, ids, said, several
from tests.writer import Acknowledged, Order, running

WRITERS = 8


def together(count: int, work: Callable[[int], object]) -> list[object]:
    """Run `work(0)` … `work(count - 1)` in threads that start at the same moment; errors come out."""
    start = threading.Barrier(count)

    def run(number: int) -> object:
        start.wait(timeout=60)
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return [each.result(timeout=120) for each in [pool.submit(run, number) for number in range(count)]]


def assert_all_there(ledger: Ledger, acknowledged: Sequence[Acknowledged]) -> None:
    """Every acknowledged batch stands once, whole and where its receipt says; nothing else does."""
    followed = list(ledger.follow())
    assert_gapless(followed)
    by_version = {(each.conversation_id, each.version): each for each in followed}
    assert len(by_version) == len(followed)
    for batch in acknowledged:
        versions = range(batch.first_version, batch.last_version + 1)
        found = [by_version[batch.conversation_id, version] for version in versions]
        assert ids(found) == batch.event_ids
        assert {each.book for each in found} == {batch.book}
        assert [each.position for each in found] == list(range(batch.first_position, batch.last_position + 1))
    assert len(followed) == sum(len(batch.event_ids) for batch in acknowledged)


def test_threads_of_one_ledger_in_their_own_and_in_one_conversation(ledger: Ledger) -> None:
    def write(number: int) -> None:
        for n in range(30):
            for conversation_id in ("shared", f"own{number}"):
                ledger.append(conversation_id, several(conversation_id, f"{number}-{n}-a", f"{number}-{n}-b"))

    together(WRITERS, write)
    followed = list(ledger.follow())
    assert len(followed) == WRITERS * 30 * 4
    assert_gapless(followed)
    shared = ids(ledger.read("shared"))
    assert len(shared) == WRITERS * 60
    for first, second in zip(shared[::2], shared[1::2], strict=True):
        assert (first[:-1], second[-1]) == (second[:-1], "b"), "a batch stays together"
    for number in range(WRITERS):
        own = [f"{number}-{n}-{half}" for n in range(30) for half in "ab"]
        assert ids(ledger.read(f"own{number}")) == own
        assert [each for each in shared if each.startswith(f"{number}-")] == own, "a writer's own order"


def test_threads_with_a_ledger_each(engine_url: str) -> None:
    def write(number: int) -> None:
        with Ledger.open(engine_url) as ledger:
            for n in range(15):
                ledger.append("shared", several("shared", f"{number}-{n}"))

    Ledger.open(engine_url).close()
    together(WRITERS, write)
    with Ledger.open(engine_url) as ledger:
        assert_gapless(list(ledger.follow()))
        shared = ids(ledger.read("shared"))
        assert sorted(shared) == sorted(f"{number}-{n}" for number in range(WRITERS) for n in range(15))


def test_processes_in_their_own_and_in_one_conversation(engine_url: str) -> None:
    orders = [
        Order(engine_url, f"w{number}", ["shared", f"own{number}"], batches=24, largest=3, seed=number)
        for number in range(WRITERS)
    ]
    with running(orders) as writers:
        for writer in writers:
            writer.go()
        acknowledged = [batch for writer in writers for batch in writer.collect()]
        for writer in writers:
            assert writer.process.returncode == 0, writer.complaint()
    assert len(acknowledged) == WRITERS * 24
    with Ledger.open(engine_url) as ledger:
        assert_all_there(ledger, acknowledged)


@pytest.mark.parametrize("shared", [True, False], ids=["one ledger", "a ledger each"])
def test_of_two_that_expect_the_same_version_one_wins(engine_url: str, shared: bool) -> None:
    with Ledger.open(engine_url) as first, Ledger.open(engine_url) as second:
        ledgers = [first, first if shared else second]
        for round_number in range(20):
            expected = round_number

            def attempt(number: int, expected: int = expected) -> object:
                event = said("c", f"{expected}-{number}")
                try:
                    return ledgers[number].append("c", [event], expected_version=expected)
                except VersionConflict as refused:
                    return refused

            answers = together(2, attempt)
            refusals = [answer for answer in answers if isinstance(answer, VersionConflict)]
            assert len(refusals) == 1
            assert (refusals[0].expected, refusals[0].actual) == (expected, expected + 1)
        assert len(list(first.read("c"))) == 20


def test_optimistic_writers_get_through_by_trying_again(ledger: Ledger) -> None:
    def add(number: int) -> int:
        tries = 0
        for n in range(10):
            while True:
                tries += 1
                head = ledger.head("c")
                try:
                    event = said("c", f"{number}-{n}")
                    ledger.append("c", [event], expected_version=head.version if head else 0)
                    break
                except VersionConflict:
                    continue
        return tries

    together(4, add)
    assert_gapless(list(ledger.follow()))
    assert len(list(ledger.read("c"))) == 40


@pytest.mark.parametrize("shared", [True, False], ids=["one ledger", "a ledger each"])
def test_the_same_batch_from_several_is_stored_once(engine_url: str, shared: bool) -> None:
    """Retries race with the attempt they repeat: one stores, the others are told its answer."""
    with Ledger.open(engine_url) as first:
        ledgers = [first if shared else Ledger.open(engine_url) for _ in range(4)]
        try:
            for n in range(10):
                batch = several("c", f"{n}-a", f"{n}-b")
                receipts = together(4, lambda number, batch=batch: ledgers[number].append("c", batch))
                assert {(r.first_version, r.last_version) for r in receipts} == {(2 * n + 1, 2 * n + 2)}
                assert [r.replayed for r in receipts].count(False) == 1
        finally:
            for each in ledgers:
                if each is not first:
                    each.close()
        assert_gapless(list(first.follow()))


def test_importers_of_the_same_file_at_once_make_no_doubles(engine_url: str) -> None:
    lines = several("c", *(f"e{n}" for n in range(60)))

    def load(number: int) -> None:
        with Ledger.open(engine_url) as ledger:
            for at in range(0, 60, 6):
                ledger.append("c", lines[at : at + 6], known="skip")

    Ledger.open(engine_url).close()
    together(4, load)
    with Ledger.open(engine_url) as ledger:
        assert sorted(ids(ledger.read("c"))) == sorted(each.id or "" for each in lines)
        assert_gapless(list(ledger.follow()))


def test_a_reader_sees_whole_batches_only(engine_url: str) -> None:
    """Beside a writer, a read shows a prefix of the conversation that ends at a batch's end."""
    with Ledger.open(engine_url) as writer, Ledger.open(engine_url) as reader:
        done = threading.Event()
        seen: dict[int, int] = defaultdict(int)

        def write() -> None:
            for n in range(60):
                writer.append("c", several("c", *(f"{n}-{part}" for part in range(5))))
            done.set()

        thread = threading.Thread(target=write)
        thread.start()
        while not done.is_set():
            versions = [each.version for each in reader.read("c")] if reader.head("c") else []
            assert versions == list(range(1, len(versions) + 1))
            assert len(versions) % 5 == 0
            seen[len(versions)] += 1
        thread.join()
        assert len(list(reader.read("c"))) == 300
