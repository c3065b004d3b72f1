"""What a batch means beside the ids that are stored already (DESIGN.md 4). Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.chain import SALT_BYTES
from ledger.errors import BadFork, IdConflict, VersionConflict
from ledger.store.draft import Draft, Standing, same_value
from ledger.store.receipts import Appended


class KnownEvent(NamedTuple):
    """A stored event whose id came again. `state` is None when it was erased."""

    id: str
    version: int
    state: bytes | None
    position: int


def settle(batch: Draft, book: int, found: Sequence[KnownEvent]) -> Draft | Appended:
    """What is still to be stored of a batch, or the answer when nothing is.

    With `known="conflict"` a batch found whole, contiguous and in order is answered as it was the first time.
    Raises `IdConflict` when it is there in part, in another order, or with another body.
    """
    if not found:
        return batch
    stored = {event.id: event for event in found}
    ids = [event.id for event in batch.events]
    if batch.known == "skip":
        places = {at for at, name in enumerate(ids) if name in stored}
        differing = sum(_differs(batch, at, stored[ids[at]]) for at in places)
        rest = batch.without(places, differing)
        return rest if rest.events else nothing_stored(rest)
    for at, name in enumerate(ids):
        if name in stored and _differs(batch, at, stored[name]):
            raise _conflict(batch, at, f"it is stored at version {stored[name].version} with another body")
    for at, name in enumerate(ids):
        if name not in stored:
            taken = next(other for other, known in enumerate(ids) if known in stored)
            version = stored[ids[taken]].version
            raise _conflict(
                batch,
                taken,
                f"it is stored at version {version}, but {batch.events[at].id!r} of the batch is not",
            )
    first = stored[ids[0]]
    for at, name in enumerate(ids):
        if stored[name].version != first.version + at:
            raise _conflict(
                batch,
                at,
                f"it is stored at version {stored[name].version}, not at {first.version + at} as in the batch",
            )
    last = stored[ids[-1]]
    return Appended(
        first.version, last.version, book, first.position, last.position, replayed=True, live=batch.live
    )


def nothing_stored(batch: Draft) -> Appended:
    """The answer when nothing of a batch is to be stored."""
    return Appended(known=batch.skipped, differing=batch.differing, live=batch.live)


def check_version(batch: Draft, before: Standing) -> None:
    """Raises `VersionConflict` when the conversation stands elsewhere than the caller thought.

    A new branch stands at 0 or, in its own numbering, at its source's version: either is right.
    """
    if batch.expected_version is None or batch.expected_version == before.version:
        return
    if before.cid is None and batch.expected_version == 0:
        return
    actual = before.version if before.cid is not None else 0
    raise VersionConflict(conversation_id=batch.conversation_id, expected=batch.expected_version, actual=actual)


def check_fork(batch: Draft, before: Standing) -> None:
    """Raises `BadFork` when a batch would start a branch in a conversation that is there already."""
    fork = batch.fork
    if fork is not None and before.cid is not None:
        raise BadFork(
            conversation_id=batch.conversation_id,
            source_conversation_id=fork[0],
            source_version=fork[1],
            problem="it has events of its own already; branch under a new name",
        )


def _differs(batch: Draft, at: int, known: KnownEvent) -> bool:
    return known.state is not None and not same_value(known.state[SALT_BYTES:], batch.events[at].body)


def _conflict(batch: Draft, at: int, problem: str) -> IdConflict:
    return IdConflict(conversation_id=batch.conversation_id, event_id=batch.events[at].id, problem=problem)
