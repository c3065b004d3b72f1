"""The chain's bytes, recomputed from the tables by a second hand: only `hashlib`, `json` and DESIGN.md 4."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from ledger import Ledger
from ledger.events import Note, StepStart
from tests.contract.material import fork, result, said, several
from tests.contract.rawstore import RawEvent, raw_events

SALT = 16


def first_head(tenant: str, conversation_id: str, source: bytes | None = None) -> bytes:
    named = b"turnledger/v1\x00" + tenant.encode() + b"\x00" + conversation_id.encode()
    return sha256(b"\x03" + named + (b"" if source is None else b"\x00" + source)).digest()


def after(head: bytes, event: RawEvent) -> bytes:
    salt, body = event.body[:SALT], event.body[SALT:]
    commit = sha256(b"\x02" + salt + body).digest()
    leaf = sha256(b"\x00" + event.header + commit).digest()
    return sha256(b"\x03" + head + leaf).digest()


def recomputed(head: bytes, events: list[RawEvent]) -> list[bytes]:
    heads = []
    for event in events:
        head = after(head, event)
        heads.append(head)
    return heads


def test_every_head_follows_from_the_stored_bytes(engine_url: str) -> None:
    with Ledger.open(engine_url, tenant="ténant 😀", actor='tok"en\u2028') as ledger:
        ledger.append("c\\ü", [said("c\\ü", "a"), result("c\\ü", "é", {"x": "\ud800\x00"})])
        ledger.append("c\\ü", [said("c\\ü", "f", "x" * 100_000)])
        ledger.append("d", several("d", *"xyz"))
        heads = {name: ledger.head(name) for name in ("c\\ü", "d")}
    stored = raw_events(engine_url)
    for name, head in heads.items():
        own = [event for event in stored if event.conversation_id == name]
        expected = recomputed(first_head("ténant 😀", name), own)
        assert [event.head for event in own] == expected
        assert head is not None
        assert (head.version, bytes(head.digest)) == (len(own), expected[-1])


def test_a_header_is_the_canonical_json_of_its_event(engine_url: str) -> None:
    with Ledger.open(engine_url, tenant="ténant", actor='a"b\\c\u2028\x7e') as ledger:
        ledger.append(
            "c é\u2028",
            [
                said("c é\u2028", "ü😀"),
                StepStart(conversation_id="c é\u2028", id="b", turn_id='t"1', step_id="s\u2029"),
                Note(conversation_id="c é\u2028", id="n"),
            ],
        )
        read = list(ledger.read("c é\u2028"))
    for stored, recorded in zip(raw_events(engine_url), read, strict=True):
        fields = {
            "actor": 'a"b\\c\u2028\x7e',
            "conversation_id": "c é\u2028",
            "event_id": recorded.event_id,
            "recorded_at": recorded.recorded_at,
            "schema": 1,
            "step_id": recorded.step_id,
            "tenant": "ténant",
            "turn_id": recorded.turn_id,
            "type": recorded.type,
            "v": 1,
            "version": recorded.version,
        }
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert stored.header == text.encode()
        assert recorded.header == stored.header
        assert recorded.state == stored.body


def test_a_salt_is_fresh_for_every_event(engine_url: str) -> None:
    with Ledger.open(engine_url) as ledger:
        for conversation_id in "cde":
            ledger.append(conversation_id, several(conversation_id, *(f"e{n}" for n in range(50))))
    salts = [event.body[:SALT] for event in raw_events(engine_url)]
    assert len(set(salts)) == 150
    assert all(any(each) for each in salts)


def test_a_branch_starts_from_its_source_at_the_fork(engine_url: str) -> None:
    with Ledger.open(engine_url) as ledger:
        ledger.append("c", several("c", *"abcd"))
        ledger.append("b", [fork("b", "c", 2), *several("b", "x")])
        ledger.append("b2", [fork("b2", "b", 3)])
        ledger.append("b3", [fork("b3", "b", 1)])
        ledger.append("b4", [fork("b4", "c", 0)])
    events = raw_events(engine_url)

    def own(name: str) -> list[RawEvent]:
        return [event for event in events if event.conversation_id == name]

    c = recomputed(first_head("default", "c"), own("c"))
    b = recomputed(first_head("default", "b", c[1]), own("b"))
    assert [event.head for event in own("b")] == b
    assert [event.version for event in own("b")] == [3, 4]
    assert [event.head for event in own("b2")] == recomputed(first_head("default", "b2", b[0]), own("b2"))
    assert [event.head for event in own("b3")] == recomputed(first_head("default", "b3", c[0]), own("b3"))
    start = first_head("default", "c")
    assert [event.head for event in own("b4")] == recomputed(first_head("default", "b4", start), own("b4"))


def test_the_two_vectors_that_stand_in_the_design_of_the_chain() -> None:
    """Computed here by hand as `ledger/chain.py` states them: they must never change."""
    header = (
        b'{"actor":"local","conversation_id":"c1","event_id":"e1","recorded_at":1700000000000000,"schema":1,'
        b'"step_id":null,"tenant":"default","turn_id":null,"type":"note","v":1,"version":1}'
    )
    start = first_head("default", "c1")
    one = RawEvent("default", "c1", 1, header, b"", bytes(range(16)) + b'{"type":"note"}')
    head = after(start, one)
    branch = first_head("default", "c2", head)
    assert start.hex() == "966d938b33be9452325036053137a51b87594d7445ccd092a33aca8fb70451e2"
    assert head.hex() == "c451e71256dbcf6bdf9c0c4fe0201bae882b13a5a528d59b3f22b34106e132ff"
    assert branch.hex() == "f222217a44f07de1c5d681509a5134cfa006f8907de5c12ce02cd64f65b2391a"


@pytest.mark.parametrize("size", [1, 7])
def test_the_chain_does_not_depend_on_how_batches_were_cut(engine_url: str, size: int) -> None:
    batch = several("c", *(f"e{n}" for n in range(14)))
    with Ledger.open(engine_url) as one, Ledger.open(engine_url) as other:
        for at in range(0, 14, size):
            (one if at % 2 else other).append("c", batch[at : at + size])
    stored = raw_events(engine_url)
    assert [event.head for event in stored] == recomputed(first_head("default", "c"), stored)
