"""Following: every event once, in commit order, from any cursor, beside any number of writers."""

from __future__ import annotations

import json
import threading
from collections import Counter

import pytest

from ledger import Cursor, Ledger, RecordedEvent
from tests.contract.material import assert_gapless, ids, several
from tests.writer import Order, running

WRITERS = 8


def resumed(cursor: Cursor) -> Cursor:
    """A cursor as a reader finds it after a restart."""
    return Cursor.from_json(json.loads(json.dumps(cursor.to_json())))


def test_everything_is_met_once_in_order(ledger: Ledger) -> None:
    for n in range(20):
        name = f"c{n % 5}"
        ledger.append(name, several(name, f"{n}-a", f"{n}-b"))
    followed = list(ledger.follow())
    assert len(followed) == 40
    assert_gapless(followed)
    for recorded in followed:
        (same,) = ledger.read(recorded.conversation_id, after=recorded.version - 1, upto=recorded.version)
        assert (same.header, same.state, same.position, same.book) == (
            recorded.header,
            recorded.state,
            recorded.position,
            recorded.book,
        )


def test_an_empty_ledger_ends_at_once(ledger: Ledger) -> None:
    assert list(ledger.follow()) == []
    assert ledger.cursor() == Cursor()


def test_a_reader_resumes_exactly_wherever_it_stopped(ledger: Ledger) -> None:
    for n in range(12):
        name = f"c{n % 3}"
        ledger.append(name, several(name, *(f"{n}-{part}" for part in range(3))))
    whole = [(each.book, each.position) for each in ledger.follow()]
    cursor, met = Cursor(), []
    while True:
        following = ledger.follow(resumed(cursor))
        recorded = next(iter(following), None)
        if recorded is None:
            break
        met.append((recorded.book, recorded.position))
        cursor = cursor.after(recorded)
    assert sorted(met) == sorted(whole)
    assert len(set(met)) == len(met)
    assert cursor == ledger.cursor()


def test_now_is_where_the_last_append_ended(ledger: Ledger) -> None:
    receipt = ledger.append("c", several("c", "a", "b"))
    now = ledger.cursor()
    assert receipt.book is not None
    assert now[receipt.book] == receipt.last_position
    assert list(ledger.follow(now)) == []
    ledger.append("c", several("c", "d"))
    ledger.append("other", several("other", "x"))
    assert sorted(ids(ledger.follow(now))) == ["d", "x"]


def test_a_cursor_is_plain_data() -> None:
    cursor = Cursor({3: 7, 0: 2})
    assert json.loads(json.dumps(cursor.to_json())) == {"0": 2, "3": 7}
    assert resumed(cursor) == cursor
    assert resumed(Cursor()) == Cursor()


@pytest.mark.parametrize("bad", [{"0": -1}, {"-1": 0, "-2": 3}, {"x": 1}, {"0": "y"}, {"0": None}, {"0": 1.5}])
def test_what_is_no_cursor_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises((ValueError, TypeError)):
        Cursor.from_json(bad)


def test_pages_carry_the_cursor_to_commit(engine_url: str) -> None:
    """A page is of one book; its cursor moves on past other tenants' events too."""
    with Ledger.open(engine_url, tenant="one", books=3) as one:
        other = one.scoped(tenant="two")
        for n in range(30):
            (one if n % 3 else other).append(f"c{n}", several(f"c{n}", *(f"{n}-{k}" for k in range(100))))
        cursor, met = Cursor(), []
        for page in one.follow_pages():
            moved = [book for book in page.cursor if page.cursor[book] != cursor[book]]
            assert len(moved) == 1
            assert {each.book for each in page.events} <= set(moved)
            if page.events:
                assert page.events[-1].position <= page.cursor[moved[0]]
            assert page.cursor.covers(cursor)
            met += ids(page.events)
            cursor = resumed(page.cursor)
        assert cursor == one.cursor()
        assert sorted(met) == sorted(f"{n}-{k}" for n in range(30) if n % 3 for k in range(100))
        both = [(each.tenant, each.event_id) for each in one.follow(all_tenants=True)]
        assert len(both) == len(set(both)) == 3000


def test_a_live_follower_gets_what_comes_later(engine_url: str) -> None:
    with Ledger.open(engine_url) as reader, Ledger.open(engine_url) as other:
        other.append("c", several("c", "a"))
        following = reader.follow(live=True)
        assert next(following).event_id == "a"
        for n in range(5):
            timer = threading.Timer(0.05, lambda n=n: other.append("c", several("c", f"later{n}")))
            timer.start()
            assert next(following).event_id == f"later{n}"
            timer.join()
        following.close()


def test_a_live_follower_is_woken_by_its_own_process(ledger: Ledger) -> None:
    following = ledger.follow(live=True)
    for n in range(3):
        threading.Timer(0.02, lambda n=n: ledger.append("c", several("c", f"e{n}"))).start()
        assert next(following).event_id == f"e{n}"
    following.close()


def follow_until(reader: Ledger, expected: int, *, restart_every: int) -> list[RecordedEvent]:
    """Follow live until `expected` events were met, starting afresh from the cursor every so many events."""
    met: list[RecordedEvent] = []
    cursor = Cursor()
    while len(met) < expected:
        following = reader.follow(resumed(cursor), live=True)
        for _ in range(min(restart_every, expected - len(met))):
            recorded = next(following)
            met.append(recorded)
            cursor = cursor.after(recorded)
        following.close()
    assert list(reader.follow(cursor)) == [], "nothing was behind"
    return met


def assert_nothing_missed(met: list[RecordedEvent], written: Counter[str]) -> None:
    assert_gapless(met)
    assert Counter(ids(met)) == written


@pytest.mark.parametrize("restart_every", [7, 10**9], ids=["resuming", "in one go"])
def test_a_follower_beside_threads(engine_url: str, restart_every: int) -> None:
    batches = 25
    names = [f"{writer}-{n}" for writer in range(WRITERS) for n in range(2 * batches)]
    with Ledger.open(engine_url) as ledger, Ledger.open(engine_url) as reader:

        def write(writer: int) -> None:
            for n in range(batches):
                name = f"own{writer}" if n % 2 else "shared"
                ledger.append(name, several(name, f"{writer}-{2 * n}", f"{writer}-{2 * n + 1}"))

        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
        for thread in threads:
            thread.start()
        met = follow_until(reader, len(names), restart_every=restart_every)
        for thread in threads:
            thread.join()
    assert_nothing_missed(met, Counter(names))


def test_a_follower_beside_processes(engine_url: str) -> None:
    orders = [
        Order(engine_url, f"w{n}", ["shared", f"own{n}", f"more{n}"], batches=30, largest=4, seed=n)
        for n in range(WRITERS)
    ]
    met: list[RecordedEvent] = []
    with Ledger.open(engine_url) as reader, running(orders) as writers:
        stop = threading.Event()

        def follow() -> None:
            """Catch up again and again: the moments right after a commit are the ones that matter."""
            cursor = Cursor()
            while True:
                last_look = stop.is_set()
                for recorded in reader.follow(cursor):
                    met.append(recorded)
                    cursor = cursor.after(recorded)
                if last_look:
                    return

        follower = threading.Thread(target=follow)
        follower.start()
        for writer in writers:
            writer.go()
        written = Counter(name for writer in writers for each in writer.collect() for name in each.event_ids)
        stop.set()
        follower.join(timeout=120)
        assert not follower.is_alive()
    assert sum(written.values()) >= WRITERS * 30
    assert_nothing_missed(met, written)


def test_a_follower_of_one_book_is_held_up_by_no_open_transaction(postgres_url: str) -> None:
    """A transaction elsewhere in the cluster does not stall readers, nor writers."""
    import psycopg

    with Ledger.open(postgres_url) as ledger, psycopg.connect(postgres_url) as stranger:
        stranger.execute("CREATE TABLE elsewhere (n int)")
        stranger.execute("INSERT INTO elsewhere VALUES (1)")
        ledger.append("c", several("c", "a"))
        assert ids(ledger.follow()) == ["a"]


def test_large_events_do_not_stop_a_follower(ledger: Ledger) -> None:
    from tests.contract.material import said

    for n in range(6):
        ledger.append("c", [said("c", f"e{n}", "x" * 3_000_000)])
    assert ids(ledger.follow()) == [f"e{n}" for n in range(6)]
