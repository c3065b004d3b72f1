"""The hash chain of DESIGN.md 4, fixed for ever. Pure: salts and times come from the caller.

```
commit    SHA-256(02 || salt || event bytes)
leaf      SHA-256(00 || header || commit)
head[n]   SHA-256(03 || head[n-1] || leaf[n])
head[0]   SHA-256(03 || "turnledger/v1" 00 tenant 00 conversation_id), for a branch || 00 || head of its source
```

Two test vectors, tenant "default", conversation "c1", actor "local", one event `{"type":"note"}` of id "e1" at
version 1, `recorded_at` 1700000000000000, salt 00 01 02 … 0f, no turn and no step:

- head[0] 966d938b33be9452325036053137a51b87594d7445ccd092a33aca8fb70451e2
- head[1] c451e71256dbcf6bdf9c0c4fe0201bae882b13a5a528d59b3f22b34106e132ff

and of the branch "c2" that leaves "c1" at version 1: head[0]
f222217a44f07de1c5d681509a5134cfa006f8907de5c12ce02cd64f65b2391a.
"""

import json
from collections.abc import Callable, Iterable
from hashlib import sha256

DIGEST_BYTES = 32
SALT_BYTES = 16
HEADER_VERSION = 1

_quoted = json.encoder.encode_basestring  # JSON's own quoting with non-ASCII as it is, as the header is defined
_commits = sha256(b"\x02")
_leaves = sha256(b"\x00")
_heads = sha256(b"\x03")

HeaderWriter = Callable[[str, str | None, str | None, str, int], bytes]


def genesis(tenant: str, conversation_id: str, source_head: bytes | None = None) -> bytes:
    """head[0] of a conversation; `source_head` (32 bytes) is the head of its source at the fork, for a
    branch."""
    named = b"\0".join((b"turnledger/v1", tenant.encode(), conversation_id.encode()))
    branch = b"" if source_head is None else b"\0" + source_head
    return sha256(b"\x03" + named + branch).digest()


def header_writer(tenant: str, conversation_id: str, actor: str, recorded_at: int, schema: int) -> HeaderWriter:
    """A function (event_id, step_id, turn_id, type, version) -> header bytes, for the events of one batch.

    Written by hand because `json.dumps` takes twice the time; a property test holds it to the definition: UTF-8
    JSON, keys sorted, no blanks, non-ASCII as it is, absent = null. `recorded_at` is integer microseconds UTC.
    """
    quoted = _quoted
    before_id = f'{{"actor":{quoted(actor)},"conversation_id":{quoted(conversation_id)},"event_id":'
    before_step = f',"recorded_at":{recorded_at},"schema":{schema},"step_id":'
    before_turn = f',"tenant":{quoted(tenant)},"turn_id":'
    before_version = f',"v":{HEADER_VERSION},"version":'

    def header(event_id: str, step_id: str | None, turn_id: str | None, kind: str, version: int) -> bytes:
        step = "null" if step_id is None else quoted(step_id)
        turn = "null" if turn_id is None else quoted(turn_id)
        return (
            f"{before_id}{quoted(event_id)}{before_step}{step}{before_turn}{turn}"
            f',"type":{quoted(kind)}{before_version}{version}}}'
        ).encode()

    return header


def commitment(state: bytes) -> bytes:
    """The commitment to a stored body: `state` is its 16 bytes of salt and then the event's JSON bytes."""
    digest = _commits.copy()
    digest.update(state)
    return digest.digest()


def next_head(head: bytes, header: bytes, commit: bytes) -> bytes:
    """The head after one more event, from the head before it, its header and its commitment."""
    leaf = _leaves.copy()
    leaf.update(header + commit)
    after = _heads.copy()
    after.update(head + leaf.digest())
    return after.digest()


def heads(head: bytes, headers: Iterable[bytes], states: Iterable[bytes]) -> list[bytes]:
    """The heads after each of several events that follow `head`."""
    # As next_head and commitment, written out: calls would cost a third more.
    commit_of, leaf_of, head_of = _commits.copy, _leaves.copy, _heads.copy
    found = []
    for header, state in zip(headers, states, strict=True):
        commit = commit_of()
        commit.update(state)
        leaf = leaf_of()
        leaf.update(header + commit.digest())
        after = head_of()
        after.update(head + leaf.digest())
        head = after.digest()
        found.append(head)
    return found
