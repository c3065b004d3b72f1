"""The chain's judge: which of a conversation's stored events is not as it was appended. Pure.

Every event is hashed again and held against the head that was stored with it, so that a change is named
where it was made. What was erased on purpose is accounted for: its commitment keeps the chain whole, and an
`erasure` event vouches for the skeleton that is left (DESIGN.md 4).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import NamedTuple

from ledger.chain import DIGEST_BYTES, SALT_BYTES, commitment, next_head
from ledger.store.draft import Standing
from ledger.store.engine import Evidence


class Finding(NamedTuple):
    """One thing that is not as it was appended. `version` and `event_id` name the event, where it is one's."""

    kind: str
    """`edited_body`, `edited_header`, `edited_head`, `reordered`, `removed`, `truncated`, `unknown_event`
    (beyond the conversation's version), `head_mismatch`, `edited_row`, `source_missing`, `not_vouched`
    (erased without an erasure event that says so), `position`, `damaged_file`."""
    problem: str
    tenant: str | None = None
    conversation_id: str | None = None
    version: int | None = None
    event_id: str | None = None
    book: int | None = None

    def __str__(self) -> str:
        where = []
        if self.conversation_id is not None:
            tenant = "" if self.tenant in (None, "default") else f"tenant {self.tenant}, "
            where.append(f"{tenant}conversation {self.conversation_id}")
        if self.version is not None:
            where.append(f"version {self.version}" + (f" (event {self.event_id})" if self.event_id else ""))
        if self.book is not None:
            where.append(f"book {self.book}")
        return f"{', '.join(where) or 'the database'}: {self.problem}"


def chain_findings(standing: Standing, before: bytes, evidence: Iterable[Evidence]) -> Iterator[Finding]:
    """What is wrong with a conversation's own events, up to its version; pure. `before` is the chain's head
    before its first own event.
    """
    version = standing.source_version or 0
    head = before
    suspect: tuple[Evidence, bytes] | None = None
    erased: dict[str, tuple[int, str]] = {}
    vouched: dict[str, str] = {}
    times: list[object] = []
    for event in evidence:
        first_missing, version = version + 1, event.version
        expected = next_head(head, event.header, _commitment(event))
        if version > first_missing:
            if suspect is not None:
                yield _edited(standing, suspect[0], None)
                suspect = None
            yield _removed(standing, first_missing, version - 1)
            expected = event.head  # what it followed is gone: it can only be taken at its word
        elif suspect is not None:
            # The one before did not match its head. Which of the two was changed, this one tells.
            reached = next_head(suspect[1], event.header, _commitment(event))
            kind = "edited_head" if expected != event.head == reached else None
            yield _edited(standing, suspect[0], kind)
            expected = reached if kind else expected
            suspect = None
        if event.head != expected:
            suspect = (event, expected)
        else:
            yield from _misplaced(standing, event)
        head = event.head
        times = [*times[:1], _told(event).get("recorded_at")]
        if event.state is None:
            erased[event.id] = (event.version, sha256((event.erased or b"")[DIGEST_BYTES:]).hexdigest())
        elif event.type == "erasure":
            vouched.update(_skeletons(event))
    if suspect is not None:
        last = suspect[0].version == standing.version and suspect[1] == standing.head
        yield _edited(standing, suspect[0], "edited_head" if last else None)
        head = suspect[1] if last else head
    yield from _end(standing, version, head)
    if version == standing.version and times not in (
        [standing.created_at],
        [standing.created_at, standing.recorded_at],
    ):
        yield finding(standing, "edited_row", "its times are not those of its first and last event")
    for event_id, (at, digest) in erased.items():
        if vouched.get(event_id) != digest:
            said = "another skeleton" if event_id in vouched else "no erasure event"
            text = f"its content is gone, and {said} accounts for it"
            yield finding(standing, "not_vouched", text, at, event_id)


def _commitment(event: Evidence) -> bytes:
    return (event.erased or b"")[:DIGEST_BYTES] if event.state is None else commitment(event.state)


def _edited(standing: Standing, event: Evidence, kind: str | None) -> Finding:
    """The problem of an event that does not match its head: of its header, where that shows, else of its
    body."""
    if kind is None:
        kind = "edited_header" if _header_is_off(standing, event) else "edited_body"
        if _told(event).get("version", event.version) != event.version:
            kind = "reordered"
    text = {
        "edited_head": "the stored head is not the chain's",
        "edited_header": "its header was changed",
        "edited_body": "its content was changed, or what its header alone says of it",
        "reordered": f"the event that stands there was version {_told(event).get('version')}",
    }[kind]
    return finding(standing, kind, text, event.version, event.id)


def _header_is_off(standing: Standing, event: Evidence) -> bool:
    told = _told(event)
    canonical = json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    if canonical.encode("utf-8", "replace") != event.header:
        return True
    if (told.get("tenant"), told.get("conversation_id")) != (standing.tenant, standing.id):
        return True
    body = _json((event.state or b"")[SALT_BYTES:])
    return not _fits(event, told) or any(
        told.get(name) != body.get(name) for name in ("turn_id", "step_id") if body
    )


def _fits(event: Evidence, told: Mapping[str, object]) -> bool:
    """Whether the columns that an event is found by are what its header says."""
    named = (told.get("event_id"), told.get("type"), told.get("version"))
    return named == (event.id, event.type, event.version)


def _misplaced(standing: Standing, event: Evidence) -> Iterator[Finding]:
    if not _fits(event, _told(event)):
        text = "the columns that it is found by are not what its header says"
        yield finding(standing, "edited_header", text, event.version, event.id)


def _told(event: Evidence) -> Mapping[str, object]:
    return _json(event.header)


def _json(text: bytes) -> Mapping[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _skeletons(event: Evidence) -> dict[str, str]:
    told = _json((event.state or b"")[SALT_BYTES:]).get("skeletons")
    return {str(key): str(value) for key, value in told.items()} if isinstance(told, dict) else {}


def _removed(standing: Standing, first: int, last: int) -> Finding:
    which = f"version {first} is" if first == last else f"versions {first} to {last} are"
    return finding(standing, "removed", f"{which} not there", first)


def _end(standing: Standing, version: int, head: bytes) -> Iterator[Finding]:
    if version < standing.version:
        text = f"the events from here to version {standing.version} are not there"
        yield finding(standing, "truncated", text, version + 1)
    elif head != standing.head:
        text = "its last event does not lead to the head that the conversation has"
        yield finding(standing, "head_mismatch", text)


def finding(
    standing: Standing, kind: str, text: str, version: int | None = None, event_id: str | None = None
) -> Finding:
    """A finding about a conversation, or one of its events."""
    return Finding(kind, text, standing.tenant, standing.id, version, event_id)
