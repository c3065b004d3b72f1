"""The chain's judge, without a database: what was done to which event, by the stored bytes alone."""

import json
from hashlib import sha256

import pytest

from ledger import chain
from ledger.recorded import EncodedEvent
from ledger.store.draft import Standing, draft, seal
from ledger.store.engine import Evidence
from replay.chain_judge import Finding, chain_findings

BEFORE = chain.genesis("default", "c")


def stored(count: int = 6, extra: EncodedEvent | None = None) -> tuple[Standing, list[Evidence]]:
    """A conversation as it is appended, in one batch."""
    events = [
        EncodedEvent(
            f"e{n}", "note", "t1", None, json.dumps({"id": f"e{n}", "type": "note", "turn_id": "t1"}).encode()
        )
        for n in range(1, count + 1)
    ]
    if extra is not None:
        events.append(extra)
    fresh = Standing(None, "default", "c", 0, 0, BEFORE, 0, 0, 0, None, None)
    batch = draft("default", "c", "local", events, None, "conflict")
    sealed = seal(batch, fresh, 1_000, bytes(range(16)) * len(events))
    evidence = [
        Evidence(version, event.id, event.type, header, head, state, None, version)
        for version, (event, header, head, state) in enumerate(
            zip(events, sealed.headers, sealed.heads, sealed.states, strict=True), 1
        )
    ]
    return sealed.after(1), evidence


def judged(standing: Standing, evidence: list[Evidence]) -> list[tuple[str, int | None]]:
    return [(found.kind, found.version) for found in chain_findings(standing, BEFORE, evidence)]


def flipped(value: bytes, at: int = -1) -> bytes:
    changed = bytearray(value)
    changed[at] ^= 1
    return bytes(changed)


def test_what_nobody_touched_is_clean() -> None:
    assert judged(*stored()) == []


@pytest.mark.parametrize("place", [0, 2, 5])
def test_a_changed_body_is_named(place: int) -> None:
    standing, evidence = stored()
    evidence[place] = evidence[place]._replace(state=flipped(evidence[place].state or b"", 20))
    assert judged(standing, evidence) == [("edited_body", place + 1)]


@pytest.mark.parametrize("place", [0, 2, 5])
def test_a_changed_salt_is_named(place: int) -> None:
    standing, evidence = stored()
    evidence[place] = evidence[place]._replace(state=flipped(evidence[place].state or b"", 0))
    assert judged(standing, evidence) == [("edited_body", place + 1)]


@pytest.mark.parametrize("place", [0, 2, 5])
@pytest.mark.parametrize(
    ("old", "new"), [(b'"e', b'"f'), (b'"note"', b'"nope"'), (b":", b": "), (b'"t1"', b'"t2"')]
)
def test_a_changed_header_is_named(place: int, old: bytes, new: bytes) -> None:
    standing, evidence = stored()
    header = evidence[place].header
    at = header.index(b'"event_id"') if old == b'"e' else 0
    changed = header[:at] + header[at:].replace(old, new)
    evidence[place] = evidence[place]._replace(header=changed)
    assert ("edited_header", place + 1) in judged(standing, evidence)


@pytest.mark.parametrize("place", [0, 2, 5])
def test_a_changed_head_is_named(place: int) -> None:
    standing, evidence = stored()
    evidence[place] = evidence[place]._replace(head=flipped(evidence[place].head))
    assert judged(standing, evidence) == [("edited_head", place + 1)]


@pytest.mark.parametrize("column", ["id", "type"])
def test_a_column_that_the_chain_does_not_hold_is_held_to_the_header(column: str) -> None:
    standing, evidence = stored()
    evidence[3] = evidence[3]._replace(**{column: "other"})
    assert judged(standing, evidence) == [("edited_header", 4)]


def test_events_that_changed_places_are_reordered() -> None:
    standing, evidence = stored()
    one, other = evidence[1], evidence[3]
    evidence[1], evidence[3] = other._replace(version=2), one._replace(version=4)
    kinds = judged(standing, evidence)
    assert ("reordered", 2) in kinds
    assert ("reordered", 4) in kinds


def test_a_hole_is_named_by_its_first_version() -> None:
    standing, evidence = stored()
    assert judged(standing, evidence[:2] + evidence[4:]) == [("removed", 3)]
    assert judged(standing, evidence[1:]) == [("removed", 1)]


def test_an_end_that_is_gone_is_truncated() -> None:
    standing, evidence = stored()
    assert judged(standing, evidence[:4]) == [("truncated", 5)]
    assert judged(standing, []) == [("truncated", 1)]


def test_a_chain_made_anew_does_not_reach_the_conversations_head() -> None:
    standing, evidence = stored()
    evidence[2] = evidence[2]._replace(state=flipped(evidence[2].state or b"", 20))
    heads = chain.heads(BEFORE, [each.header for each in evidence], [each.state or b"" for each in evidence])
    evidence = [each._replace(head=head) for each, head in zip(evidence, heads, strict=True)]
    assert judged(standing, evidence) == [("head_mismatch", None)]


def test_several_changes_are_all_named() -> None:
    standing, evidence = stored()
    for place in (1, 2, 5):
        evidence[place] = evidence[place]._replace(state=flipped(evidence[place].state or b"", 20))
    assert judged(standing, evidence) == [("edited_body", 2), ("edited_body", 3), ("edited_body", 6)]


def erased(skeleton: bytes, vouched: bytes | None) -> tuple[Standing, list[Evidence]]:
    """A conversation whose second event was erased, and an erasure event that vouches for `vouched`."""
    told = {} if vouched is None else {"e2": sha256(vouched).hexdigest()}
    body = {"type": "erasure", "id": "x", "event_ids": ["e2"], "reason": "asked", "skeletons": told}
    standing, evidence = stored(extra=EncodedEvent("x", "erasure", None, None, json.dumps(body).encode()))
    commit = chain.commitment(evidence[1].state or b"")
    evidence[1] = evidence[1]._replace(state=None, erased=commit + skeleton)
    return standing, evidence


def test_what_was_erased_is_accounted_for() -> None:
    assert judged(*erased(b'{"content":"[erased]"}', b'{"content":"[erased]"}')) == []


@pytest.mark.parametrize("vouched", [None, b"something else"])
def test_what_nobody_vouches_for_is_named(vouched: bytes | None) -> None:
    assert judged(*erased(b'{"content":"[erased]"}', vouched)) == [("not_vouched", 2)]


def test_an_erased_events_commitment_is_chained() -> None:
    standing, evidence = erased(b"{}", b"{}")
    evidence[1] = evidence[1]._replace(erased=flipped(evidence[1].erased or b"", 0))
    assert judged(standing, evidence) == [("edited_body", 2)]


def test_a_finding_reads_as_a_sentence() -> None:
    found = Finding("edited_body", "its content was changed", "acme", "c", 3, "e3")
    assert str(found) == "tenant acme, conversation c, version 3 (event e3): its content was changed"
    assert str(Finding("position", "a hole", book=4)) == "book 4: a hole"
