"""A running hash of a request: one a message, so that two renders can be compared up to any message."""

import hashlib
import json
from collections.abc import Iterable

from ledger.events import Json, JsonObject
from replay.growing import Growing

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


class Printed:
    """The fingerprints of a request that goes on: of the messages that stay each is made once."""

    def __init__(self) -> None:
        self._messages: list[JsonObject] | None = None
        self._found: list[str] = []

    def of(self, beside: Json, messages: Growing[JsonObject]) -> Growing[str]:
        """As `fingerprints`; what is kept is of the messages that `messages` has in common with others."""
        common, count = messages.common
        first = fingerprints(beside, ())
        if common is not self._messages or self._found[:1] != first:
            self._messages, self._found = common, first
        found = self._found
        found += _after(found[-1], common[len(found) - 1 : count])
        return Growing(_after(found[count], messages.own), found, count + 1)


def _after(found: str, messages: Iterable[Json]) -> list[str]:
    return _onwards(bytes.fromhex(found.removeprefix("sha256:")), messages)


def _onwards(head: bytes, messages: Iterable[Json]) -> list[str]:
    found = []
    for message in messages:
        head = hashlib.sha256(head + canonical_bytes(message)).digest()
        found.append(f"sha256:{head.hex()}")
    return found
