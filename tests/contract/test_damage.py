"""Damage of every kind, past the public door: `audit verify` says so with exit 3 and names what was touched."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from ledger import Ledger
from ledger.events import Json
from tests.contract.material import fork, result, several
from tests.contract.rawstore import RawEvent, delete, engine_of, execute, overwrite, raw_events

CONVERSATIONS = {"alpha": 12, "beta": 7, "gamma": 1}


def verify(url: str) -> Result:
    from turnledger.cli import main

    return CliRunner().invoke(main, ["--db", url, "audit", "verify"])


@pytest.fixture
def kept(engine_url: str) -> str:
    """The URL of a ledger with some conversations and a branch, in batches of several sizes."""
    choose = random.Random(5)
    with Ledger.open(engine_url) as ledger:
        for name, count in CONVERSATIONS.items():
            batch = [
                result(name, f"{name}-{n}", {"n": n, "text": "ü\ud800" * n, "list": [n, None]})
                for n in range(1, count + 1)
            ]
            while batch:
                size = choose.randint(1, 4)
                ledger.append(name, batch[:size])
                batch = batch[size:]
        ledger.append("branch", [fork("branch", "alpha", 5, "branch-1"), *several("branch", "branch-2")])
        ledger.append("alpha", several("alpha", "alpha-13"))
    return engine_url


def assert_names(url: str, *words: str) -> None:
    answer = verify(url)
    assert answer.exit_code == 3, (answer.output, answer.exception)
    for word in words:
        assert word in answer.output
    assert "Traceback" not in answer.output


def test_a_ledger_that_nobody_touched_is_clean(kept: str) -> None:
    answer = verify(kept)
    assert answer.exit_code == 0, (answer.output, answer.exception)


def test_an_empty_ledger_is_clean(engine_url: str) -> None:
    Ledger.open(engine_url).close()
    assert verify(engine_url).exit_code == 0


@pytest.mark.parametrize("column", ["body", "header", "head"])
def test_a_flipped_byte_of_any_event_is_named(kept: str, column: str, long_run: bool) -> None:
    choose = random.Random(column)
    events = raw_events(kept)
    picked = events if long_run else choose.sample(events, 6)
    for event in picked:
        before: bytes = getattr(event, column)
        at = choose.randrange(len(before))
        flipped = bytearray(before)
        flipped[at] ^= 1 << choose.randrange(8)
        overwrite(kept, event.conversation_id, event.version, column, bytes(flipped))
        assert_names(kept, event.conversation_id, str(event.version))
        overwrite(kept, event.conversation_id, event.version, column, before)
    assert verify(kept).exit_code == 0, "put right again, it is clean again"


def test_the_first_and_the_last_byte_count_too(kept: str) -> None:
    event = next(each for each in raw_events(kept) if (each.conversation_id, each.version) == ("beta", 3))
    for column in ("body", "header", "head"):
        before: bytes = getattr(event, column)
        for at in (0, 15, 16, len(before) - 1):
            flipped = bytearray(before)
            flipped[at] ^= 1
            overwrite(kept, "beta", 3, column, bytes(flipped))
            assert_names(kept, "beta", "3")
        overwrite(kept, "beta", 3, column, before)


def test_bytes_added_or_cut_off_are_named(kept: str) -> None:
    for event in raw_events(kept)[::5]:
        for column in ("body", "header", "head"):
            before: bytes = getattr(event, column)
            for changed in (before + b" ", before[:-1], b""):
                overwrite(kept, event.conversation_id, event.version, column, changed)
                assert_names(kept, event.conversation_id, str(event.version))
            overwrite(kept, event.conversation_id, event.version, column, before)


def rechained(url: str, name: str) -> None:
    """Make a conversation's heads right again after a change, as somebody who knows the format would."""
    from tests.contract.test_chain import first_head, recomputed

    own = [event for event in raw_events(url) if event.conversation_id == name]
    for event, head in zip(own, recomputed(first_head("default", name), own), strict=True):
        overwrite(url, name, event.version, "head", head)


def swap_bodies(url: str) -> None:
    one, other = (
        event for event in raw_events(url) if event.conversation_id == "beta" and event.version in (2, 5)
    )
    overwrite(url, "beta", 2, "body", other.body)
    overwrite(url, "beta", 5, "body", one.body)


def body_of(url: str, version: int) -> RawEvent:
    return next(e for e in raw_events(url) if (e.conversation_id, e.version) == ("beta", version))


def rewrite_and_rechain(url: str) -> None:
    """A changed body with all later heads made right: only the conversation's own head still knows."""
    event = body_of(url, 4)
    overwrite(url, "beta", 4, "body", event.body.replace(b'"n":4', b'"n":5'))
    rechained(url, "beta")


def move_the_end(url: str) -> None:
    """Only PostgreSQL keeps a counter; on SQLite a book ends where its last batch does."""
    if engine_of(url) == "postgres":
        execute(url, "UPDATE book SET position = 1")
    else:
        execute(
            url, "UPDATE batch SET n = n + 3 WHERE first_position = (SELECT max(first_position) FROM batch)"
        )


DAMAGE: dict[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
    "two bodies swapped": (swap_bodies, ("beta", "2")),
    "a body replaced by another's": (
        lambda url: overwrite(url, "beta", 2, "body", body_of(url, 1).body),
        ("beta", "2"),
    ),
    "rewritten and chained anew": (rewrite_and_rechain, ("beta",)),
    "an event gone in the middle": (lambda url: delete(url, "beta", 4), ("beta", "4")),
    "the first event gone": (lambda url: delete(url, "beta", 1), ("beta", "1")),
    "the last event gone": (lambda url: delete(url, "beta", 7), ("beta", "7")),
    "the only event gone": (lambda url: delete(url, "gamma", 1), ("gamma", "1")),
    "an event of a branch's source gone": (lambda url: delete(url, "alpha", 3), ("alpha", "3")),
    "the conversation's head changed": (
        lambda url: execute(url, "UPDATE conversation SET head = ? WHERE id = 'beta'", (bytes(32),)),
        ("beta",),
    ),
    "the conversation's version lowered": (
        lambda url: execute(url, "UPDATE conversation SET version = 5 WHERE id = 'beta'"),
        ("beta",),
    ),
    "the conversation's version raised": (
        lambda url: execute(url, "UPDATE conversation SET version = 9 WHERE id = 'beta'"),
        ("beta",),
    ),
    "the conversation renamed": (
        lambda url: execute(url, "UPDATE conversation SET id = 'other' WHERE id = 'beta'"),
        ("other",),
    ),
    "the conversation given to another tenant": (
        lambda url: execute(url, "UPDATE conversation SET tenant = 'other' WHERE id = 'beta'"),
        ("beta",),
    ),
    "a branch moved to another version of its source": (
        lambda url: execute(url, "UPDATE conversation SET source_version = 4 WHERE id = 'branch'"),
        ("branch",),
    ),
    "a branch made a conversation of its own": (
        lambda url: execute(url, "UPDATE conversation SET source_cid = NULL WHERE id = 'branch'"),
        ("branch",),
    ),
    "a batch gone from its book": (
        lambda url: execute(
            url,
            "DELETE FROM batch WHERE first_version = 1"
            " AND cid IN (SELECT cid FROM conversation WHERE id = 'beta')",
        ),
        ("beta",),
    ),
    "the end of a book moved": (move_the_end, ("book",)),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_other_damage_is_named(kept: str, name: str) -> None:
    harm, words = DAMAGE[name]
    harm(kept)
    assert_names(kept, *words)


def test_several_damages_are_all_named(kept: str) -> None:
    for name, version in (("alpha", 2), ("beta", 6), ("gamma", 1)):
        overwrite(kept, name, version, "body", bytes(16) + b"{}")
    assert_names(kept, "alpha", "beta", "gamma")


def test_damage_of_one_conversation_leaves_the_others_readable(kept: str) -> None:
    overwrite(kept, "beta", 3, "body", b"not json at all, and longer than a salt")
    with Ledger.open(kept) as ledger:
        assert len(list(ledger.read("alpha"))) == 13
        read = list(ledger.read("beta"))
        assert len(read) == 7
        with pytest.raises(ValueError, match=r".+"):
            read[2].event  # noqa: B018
        assert read[3].event.id == "beta-4"
        content: Json = read[3].event.content
        assert isinstance(content, dict)
        assert content["n"] == 4
