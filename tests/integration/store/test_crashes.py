"""Processes killed while they append: nothing acknowledged is lost, nothing doubled, and it goes on."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence

import pytest

from ledger import Ledger, RecordedEvent
from ledger.errors import DatabaseError
from tests.contract.material import assert_gapless, ids, several
from tests.contract.rawstore import execute, raw_events
from tests.contract.test_chain import first_head, recomputed
from tests.writer import Acknowledged, Order, events_of, start

CONVERSATIONS = ("shared", "one", "two", "three", "ünicode 😀")
TEXT = 400


@pytest.fixture
def crashes(long_run: bool) -> int:
    """How many times a process is killed."""
    return int(os.environ.get("TURNLEDGER_CRASHES", 0)) or (200 if long_run else 8)


def assert_whole(followed: Sequence[RecordedEvent], acknowledged: Sequence[Acknowledged]) -> None:
    """Gapless; no event twice; no batch in part; every acknowledged batch where its receipt says."""
    assert_gapless(followed)
    met = Counter((each.conversation_id, each.event_id) for each in followed)
    assert max(met.values(), default=1) == 1, "no event twice"
    by_version = {(each.conversation_id, each.version): each for each in followed}
    for batch in acknowledged:
        versions = range(batch.first_version, batch.last_version + 1)
        found = [by_version.get((batch.conversation_id, version)) for version in versions]
        assert [each and each.event_id for each in found] == batch.event_ids
        positions = [each and each.position for each in found]
        assert positions == list(range(batch.first_position, batch.last_position + 1))
        assert {each and each.book for each in found} == {batch.book}
    names = {each.event_id for each in followed}
    for name in names:
        if "-of-" in name:
            batch_name, _, part = name.rpartition("/")
            size = int(part.rpartition("-")[2])
            missing = [n for n in range(1, size + 1) if f"{batch_name}/{n}-of-{size}" not in names]
            assert missing == [], f"of batch {batch_name} only a part is there"


def assert_chained(url: str) -> None:
    """Every conversation's chain holds, recomputed from the tables."""
    events = raw_events(url)
    for name in {event.conversation_id for event in events}:
        own = [event for event in events if event.conversation_id == name]
        assert [event.version for event in own] == list(range(1, len(own) + 1))
        assert [event.head for event in own] == recomputed(first_head("default", name), own)


def assert_verified(ledger: Ledger) -> None:
    """The product's own verdict."""
    from replay.audit import verify

    assert [str(finding) for finding in verify(ledger).findings] == []


def killed_writer(url: str, round_number: int, choose: random.Random) -> tuple[list[Acknowledged], int]:
    """Run a writer, kill it at a random moment, send again what it did not know about.

    Returns all that is acknowledged now, and how many batches were under way.
    """
    order = Order(
        url,
        f"r{round_number}",
        CONVERSATIONS,
        batches=10**6,
        largest=choose.choice([1, 1, 5, 40, 400]),
        seed=choose.randrange(2**32),
        text=TEXT,
        threads=choose.choice([1, 2, 4]),
    )
    writer = start(order)
    with writer.process:
        try:
            writer.wait_ready()
            writer.go()
            reading = threading.Thread(target=writer.collect)
            reading.start()
            # From "before the first append" to "in the middle of many".
            time.sleep(choose.choice([0.0, 0.002, 0.01, 0.05, 0.2]) * choose.random() * 2)
        finally:
            writer.process.kill()
        reading.join(timeout=60)
        assert not reading.is_alive()
    sure = {tuple(batch.event_ids) for batch in writer.acknowledged}
    unsure = [batch for batch in writer.intended if tuple(batch.event_ids) not in sure]
    acknowledged = list(writer.acknowledged)
    with Ledger.open(url) as ledger:
        for batch in unsure:
            receipt = ledger.append(
                batch.conversation_id, events_of(batch.conversation_id, batch.event_ids, TEXT)
            )
            places = receipt.first_version, receipt.last_version, receipt.book
            places += receipt.first_position, receipt.last_position
            acknowledged.append(Acknowledged(batch.conversation_id, batch.event_ids, *places))
    return acknowledged, len(unsure)


def test_kill_9_at_random_moments(engine: str, engine_url: str, crashes: int) -> None:
    seed = int(os.environ.get("TURNLEDGER_SEED", 0)) or random.SystemRandom().randrange(2**32)
    choose = random.Random(seed)
    acknowledged: list[Acknowledged] = []
    under_way = 0
    try:
        for round_number in range(crashes):
            done, unsure = killed_writer(engine_url, round_number, choose)
            acknowledged += done
            under_way += unsure
            with Ledger.open(engine_url) as ledger:
                for batch in done:
                    span = ledger.read(batch.conversation_id, batch.first_version - 1, batch.last_version)
                    assert ids(span) == batch.event_ids
                receipt = ledger.append("after", several("after", f"after-crash-{round_number}"))
                assert receipt.first_version == round_number + 1, "it goes on"
        with Ledger.open(engine_url) as ledger:
            followed = list(ledger.follow())
            assert_whole(followed, acknowledged)
            assert_verified(ledger)
        assert_chained(engine_url)
    except BaseException:
        print(f"\nseed: TURNLEDGER_SEED={seed}")
        raise
    events = sum(len(batch.event_ids) for batch in acknowledged)
    assert events + crashes == len(followed), "nothing is there that nobody sent"
    print(
        f"\n{engine}: {crashes} processes killed, {len(acknowledged)} batches ({events} events) acknowledged, "
        f"{under_way} under way when killed; all there once, gapless, verified (seed {seed})"
    )


def test_killed_while_it_makes_the_database(engine_url: str, long_run: bool) -> None:
    """A first start that is cut off anywhere leaves something that the next start completes."""
    choose = random.Random(7)
    for number in range(20 if long_run else 4):
        writer = start(Order(engine_url, f"w{number}", ["c"], batches=1))
        with writer.process:
            time.sleep(0.25 + choose.random() * 0.5)
            writer.process.kill()
    with Ledger.open(engine_url) as ledger:
        ledger.append("c", several("c", "a"))
        assert ids(ledger.read("c")) == ["a"]


def test_backends_terminated_while_they_append(postgres_url: str, long_run: bool) -> None:
    """The server drops connections at any moment: the client tries again or says so, and nothing is doubled."""
    each, writers = (200 if long_run else 40), 4
    done = threading.Event()
    refusals: list[DatabaseError] = []
    acknowledged: list[tuple[str, int | None]] = []
    with Ledger.open(postgres_url) as ledger:

        def write(number: int) -> None:
            for n in range(each):
                batch = several("shared" if n % 3 else f"own{number}", f"{number}-{n}-a", f"{number}-{n}-b")
                while True:
                    try:
                        receipt = ledger.append(batch[0].conversation_id, batch)
                        break
                    except DatabaseError as refused:
                        refusals.append(refused)
                acknowledged.append((f"{number}-{n}", receipt.first_version))

        def terminate() -> None:
            choose = random.Random(11)
            while not done.is_set():
                execute(
                    postgres_url,
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()",
                )
                done.wait(0.02 + choose.random() * 0.05)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
        killer = threading.Thread(target=terminate)
        for thread in (*threads, killer):
            thread.start()
        for thread in threads:
            thread.join(timeout=300)
        done.set()
        killer.join(timeout=60)
        followed = list(ledger.follow())
        expected = Counter(f"{w}-{n}-{half}" for w in range(writers) for n in range(each) for half in "ab")
        assert Counter(ids(followed)) == expected
        assert_gapless(followed)
        by_id = {recorded.event_id: recorded.version for recorded in followed}
        assert all(by_id[f"{name}-a"] == version for name, version in acknowledged)
    for refused in refusals:
        assert "\n" not in str(refused)
    assert_chained(postgres_url)
