"""A running hash of a request: one a message, so that two renders can be compared up to any message."""

import hashlib
import json
from collections.abc import Iterable, Sequence

from ledger.events import Json

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def canonical_bytes(value: Json) -> bytes:
    """ASCII JSON with sorted keys and no blanks; lone surrogates are escapes. Equal values, equal bytes."""
    return _encode(value).encode("ascii")


def fingerprints(beside: Json, messages: Iterable[Json]) -> list[str]:
    """The running fingerprint after each message, with that of what is sent beside them first.

    f[0] = SHA-256(canonical bytes of `beside`), f[n] = SHA-256(f[n-1] || canonical bytes of message n); spelled
    `sha256:` and 64 hex digits. Equal f[n] mean that the two requests are the same up to message n.
    """
    head = hashlib.sha256(canonical_bytes(beside)).digest()
    return [f"sha256:{head.hex()}", *_onwards(head, messages)]


def longer(found: Sequence[str], messages: Iterable[Json]) -> list[str]:
    """The fingerprints so far (`found`, one at least), and those of the messages that come."""
    return [*found, *_onwards(bytes.fromhex(found[-1].removeprefix("sha256:")), messages)]


def _onwards(head: bytes, messages: Iterable[Json]) -> list[str]:
    found = []
    for message in messages:
        head = hashlib.sha256(head + canonical_bytes(message)).digest()
        found.append(f"sha256:{head.hex()}")
    return found
