"""Ids and names for providers with a narrow alphabet: a name that fits is kept, any other is made to fit.

A made name is the clean beginning of the recorded one and a digest of the whole. Two recorded names never
get the same: where one was recorded that looks made, the first in the request keeps it. Nothing depends on
what comes later.
"""

import hashlib
import re

_REFUSED = re.compile(r"[^A-Za-z0-9_-]+")
_FITS = re.compile(r"[A-Za-z0-9_-]+")
_MARK = "-tl"
_KEPT = 32


class Names:
    """The names of one request: of `[A-Za-z0-9_-]`, one to `limit` characters (64 or more)."""

    def __init__(self, limit: int = 200) -> None:
        self._limit = limit
        self._sent: dict[str, str] = {}
        self._taken: set[str] = set()

    def sent(self, name: str) -> str:
        """What a recorded name is sent as; always the same within a request."""
        if name.isascii() and name.isidentifier() and _MARK not in name and len(name) <= self._limit:
            return name  # most names, told without a pattern
        sent = self._sent.get(name)
        if sent is None:
            fits = len(name) <= self._limit and _FITS.fullmatch(name)
            sent, attempt = name if fits else _made(name), 0
            while sent in self._taken:
                attempt += 1
                sent = _made(f"{name}\x00{attempt}")
            if sent != name or _MARK in name:
                self._taken.add(sent)
                self._sent[name] = sent
        return sent

    def known(self, name: str) -> str:
        """What a name that was asked for before is sent as."""
        return self._sent.get(name, name)


def _made(name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:20]
    return f"{_REFUSED.sub('_', name)[:_KEPT]}{_MARK}{digest}"
