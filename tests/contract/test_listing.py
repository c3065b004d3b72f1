"""What there is: heads and lists of conversations."""

from __future__ import annotations

import pytest

from ledger import Ledger
from ledger.errors import UnknownConversation
from tests.contract.material import fork, several


def test_a_head_says_how_a_conversation_stands(ledger: Ledger) -> None:
    assert ledger.head("c") is None
    receipt = ledger.append("c", several("c", "a", "b"))
    head = ledger.head("c")
    assert head is not None
    assert (head.conversation_id, head.version, head.book) == ("c", 2, receipt.book)
    assert len(head.digest) == 32
    assert (head.source_conversation_id, head.source_version) == (None, None)
    last = list(ledger.read("c"))[-1]
    assert head.recorded_at == last.recorded_at
    ledger.append("c", several("c", "d"))
    later = ledger.head("c")
    assert later is not None
    assert later.version == 3
    assert later.digest != head.digest
    assert later.created_at == head.created_at


def test_the_head_of_a_branch_names_its_source(ledger: Ledger) -> None:
    ledger.append("c", several("c", *"abc"))
    ledger.append("b", [fork("b", "c", 2)])
    head = ledger.head("b")
    assert head is not None
    assert (head.version, head.source_conversation_id, head.source_version) == (3, "c", 2)


def test_every_conversation_is_listed_once(ledger: Ledger) -> None:
    assert list(ledger.conversations()) == []
    names = [f"c{n:04}" for n in range(300)]
    for name in names:
        ledger.append(name, several(name, "a"))
    for name in names[::3]:
        ledger.append(name, several(name, "b"))
    listed = list(ledger.conversations())
    assert sorted(each.conversation_id for each in listed) == names
    for each in listed:
        assert each.version == (2 if int(each.conversation_id[1:]) % 3 == 0 else 1)


@pytest.mark.parametrize("newest_first", [True, False])
def test_a_list_in_pages_misses_nothing(ledger: Ledger, newest_first: bool) -> None:
    names = [f"c{n * 7919 % 1200:04}" for n in range(1200)]
    for name in names:
        ledger.append(name, several(name, "a"))
    listed = [each.conversation_id for each in ledger.conversations(newest_first=newest_first)]
    assert sorted(listed) == sorted(names)
    if newest_first:
        times = [each.recorded_at for each in ledger.conversations(newest_first=True)]
        assert times == sorted(times, reverse=True)
    else:
        assert listed == sorted(names)
    assert len(list(ledger.conversations(newest_first=newest_first, limit=7))) == 7


@pytest.mark.parametrize("prefix", ["a%", "a_", "a\\", "ä", "😀", "*", "[", "A", "x"])
def test_a_prefix_is_taken_as_it_is_written(ledger: Ledger, prefix: str) -> None:
    names = ["a%1", "a_1", "ab1", "a\\1", "ä1", "a\u0308", "😀1", "*1", "[1", "A1", "a1", "🙂"]
    for name in names:
        ledger.append(name, several(name, "a"))
    listed = [each.conversation_id for each in ledger.conversations(prefix=prefix)]
    assert listed == sorted(name for name in names if name.startswith(prefix))


def test_a_refused_first_append_lists_nothing(ledger: Ledger) -> None:
    with pytest.raises(Exception, match=r"at version 0, not 4"):
        ledger.append("c", several("c", "a"), expected_version=4)
    assert list(ledger.conversations()) == []


def test_reading_what_is_not_there_says_so(ledger: Ledger) -> None:
    ledger.append("conversation-1", several("conversation-1", "a"))
    with pytest.raises(UnknownConversation) as unknown:
        list(ledger.read("conversation-2"))
    assert unknown.value.conversation_id == "conversation-2"
