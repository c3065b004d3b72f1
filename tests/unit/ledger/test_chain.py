"""The chain is fixed for ever: its vectors, and the header held to its definition."""

import json
from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from ledger import chain

GENESIS = "966d938b33be9452325036053137a51b87594d7445ccd092a33aca8fb70451e2"
HEAD = "c451e71256dbcf6bdf9c0c4fe0201bae882b13a5a528d59b3f22b34106e132ff"
BRANCH = "f222217a44f07de1c5d681509a5134cfa006f8907de5c12ce02cd64f65b2391a"
HEADER = (
    b'{"actor":"local","conversation_id":"c1","event_id":"e1","recorded_at":1700000000000000,"schema":1,'
    b'"step_id":null,"tenant":"default","turn_id":null,"type":"note","v":1,"version":1}'
)
STATE = bytes(range(16)) + b'{"type":"note"}'

names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)
maybe = st.none() | names


def digest(*parts: bytes) -> bytes:
    return sha256(b"".join(parts)).digest()


def test_the_vectors_that_the_module_documents() -> None:
    assert chain.genesis("default", "c1").hex() == GENESIS
    write = chain.header_writer("default", "c1", "local", 1_700_000_000_000_000, 1)
    assert write("e1", None, None, "note", 1) == HEADER
    (head,) = chain.heads(bytes.fromhex(GENESIS), [HEADER], [STATE])
    assert head.hex() == HEAD
    assert chain.genesis("default", "c2", head).hex() == BRANCH
    for vector in (GENESIS, HEAD, BRANCH):
        assert vector in (chain.__doc__ or "")


def test_the_formulas_word_for_word() -> None:
    first = digest(b"\x03", b"turnledger/v1\x00t\xc3\xa9nant\x00c")
    assert chain.genesis("ténant", "c") == first
    assert chain.genesis("ténant", "c", HEADER[:32]) == digest(
        b"\x03", b"turnledger/v1\x00t\xc3\xa9nant\x00c\x00", HEADER[:32]
    )
    commit = digest(b"\x02", STATE)
    assert chain.commitment(STATE) == commit
    leaf = digest(b"\x00", HEADER, commit)
    assert chain.next_head(first, HEADER, commit) == digest(b"\x03", first, leaf)


@given(names, names, names, st.integers(0, 2**53), names, maybe, maybe, names, st.integers(1, 2**40))
def test_a_header_is_what_json_says(
    tenant: str,
    conversation: str,
    actor: str,
    at: int,
    event: str,
    step: str | None,
    turn: str | None,
    kind: str,
    version: int,
) -> None:
    told = {
        "actor": actor,
        "conversation_id": conversation,
        "event_id": event,
        "recorded_at": at,
        "schema": 1,
        "step_id": step,
        "tenant": tenant,
        "turn_id": turn,
        "type": kind,
        "v": 1,
        "version": version,
    }
    defined = json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    assert chain.header_writer(tenant, conversation, actor, at, 1)(event, step, turn, kind, version) == defined


@given(st.lists(st.tuples(st.binary(max_size=50), st.binary(max_size=50))), st.binary(min_size=32, max_size=32))
def test_heads_at_once_are_heads_one_by_one(events: list[tuple[bytes, bytes]], head: bytes) -> None:
    at_once = chain.heads(head, [header for header, _ in events], [state for _, state in events])
    one_by_one = []
    for header, state in events:
        head = chain.next_head(head, header, chain.commitment(state))
        one_by_one.append(head)
    assert at_once == one_by_one
