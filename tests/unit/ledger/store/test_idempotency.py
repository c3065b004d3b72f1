"""What a batch means beside ids that are stored already: every case, without a database."""

import pytest

from ledger.errors import BadFork, IdConflict, VersionConflict
from ledger.recorded import EncodedEvent
from ledger.store.draft import Draft, Standing, draft
from ledger.store.idempotency import KnownEvent, check_fork, check_version, settle
from ledger.store.receipts import Appended


def batch(*names: str, known: str = "conflict", expected: int | None = None) -> Draft:
    events = [EncodedEvent(name, "note", None, None, f'{{"id":"{name}"}}'.encode()) for name in names]
    return draft("t", "c", "a", events, expected, known)  # type: ignore[arg-type]


def stored(name: str, version: int, position: int | None = None, body: bytes | None = b"") -> KnownEvent:
    state = None if body is None else bytes(16) + (body or f'{{ "id": "{name}" }}'.encode())
    return KnownEvent(name, version, state, position or version)


def standing(version: int, cid: int | None = 1) -> Standing:
    return Standing(cid, "t", "c", 0, version, bytes(32), 0, 0, 0, None, None)


def test_what_is_new_is_to_be_stored() -> None:
    new = batch("a", "b")
    assert settle(new, 3, []) is new


def test_a_whole_batch_is_answered_again() -> None:
    found = [stored("b", 5, 90), stored("a", 4, 77)]  # other events may stand between them in the book
    assert settle(batch("a", "b"), 3, found) == Appended(4, 5, 3, 77, 90, replayed=True)


@pytest.mark.parametrize(
    ("names", "found", "word"),
    [
        (("a", "b"), [stored("a", 4)], "'b' of the batch is not"),
        (("a", "b"), [stored("b", 4)], "'a' of the batch is not"),
        (("a", "b"), [stored("a", 5), stored("b", 4)], "version 4, not at 6"),
        (("a", "b"), [stored("a", 4), stored("b", 6)], "version 6, not at 5"),
        (("a",), [stored("a", 4, body=b'{"id":"z"}')], "another body"),
    ],
)
def test_a_part_another_order_or_another_body_is_a_conflict(
    names: tuple[str, ...], found: list[KnownEvent], word: str
) -> None:
    with pytest.raises(IdConflict, match=word):
        settle(batch(*names), 0, found)


def test_an_erased_event_is_known_whatever_the_body() -> None:
    answer = settle(batch("a"), 0, [stored("a", 4, body=None)])
    assert isinstance(answer, Appended)
    assert answer.replayed
    skipped = settle(batch("a", known="skip"), 0, [stored("a", 4, body=None)])
    assert skipped == Appended(known=1, differing=0)


def test_known_ids_are_skipped_and_counted() -> None:
    found = [stored("a", 9), stored("c", 2, body=b'{"id":"other"}')]
    rest = settle(batch("a", "b", "c", "d", known="skip"), 0, found)
    assert isinstance(rest, Draft)
    assert [event.id for event in rest.events] == ["b", "d"]
    assert (rest.skipped, rest.differing) == (2, 1)


@pytest.mark.parametrize("expected", [None, 4])
def test_the_version_that_was_expected_is_fine(expected: int | None) -> None:
    check_version(batch("a", expected=expected), standing(4))


@pytest.mark.parametrize(("expected", "cid"), [(3, 1), (5, 1), (0, 1), (3, None)])
def test_another_version_is_a_conflict(expected: int, cid: int | None) -> None:
    with pytest.raises(VersionConflict) as refused:
        check_version(batch("a", expected=expected), standing(4, cid))
    assert (refused.value.expected, refused.value.actual) == (expected, 4 if cid else 0)


@pytest.mark.parametrize("expected", [0, 4, None])
def test_a_new_branch_stands_at_nothing_or_at_its_source(expected: int | None) -> None:
    check_version(batch("a", expected=expected), standing(4, None))


def test_a_fork_needs_a_new_conversation() -> None:
    event = EncodedEvent("f", "fork", None, None, b'{"source_conversation_id":"s","source_version":3}')
    forked = draft("t", "c", "a", [event], None, "conflict")
    check_fork(forked, standing(3, None))
    check_fork(batch("a"), standing(3))
    with pytest.raises(BadFork):
        check_fork(forked, standing(3))
