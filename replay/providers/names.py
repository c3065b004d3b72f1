"""Ids and names for providers with a narrow alphabet: a name that fits is kept, any other is made to fit.

A made name is (the clean beginning of the recorded one and) a digest of the whole. Two recorded names never
get the same: where one was recorded that looks made, the first in the request keeps it. Nothing depends on
what comes later.
"""

import hashlib
import re
from collections.abc import Callable
from copy import copy
from typing import Self

from replay.growing import Known

_REFUSED = re.compile(r"[^A-Za-z0-9_-]+")
_FITS = re.compile(r"[A-Za-z0-9_-]+")
_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_MARK = "-tl"
_KEPT = 32


class Renamed:
    """The names of one request, none like another: one that fits is kept, any other is made to fit."""

    def __init__(self, fits: Callable[[str], bool], made: Callable[[str], str]) -> None:
        self._fits = fits
        self._made = made
        self._sent: Known[str, str] = Known()
        self._taken: Known[str, None] = Known()

    def sent(self, name: str) -> str:
        """What a recorded name is sent as; always the same within a request."""
        sent = self._sent.get(name)
        if sent is None:
            sent, attempt = name if self._fits(name) else self._made(name), 0
            while sent in self._taken:
                attempt += 1
                sent = self._made(f"{name}\x00{attempt}")
            self._taken.add(sent, None)
            self._sent.add(name, sent)
        return sent

    def fork(self) -> Self:
        """A copy that goes on apart."""
        twin = copy(self)
        twin._sent, twin._taken = self._sent.fork(), self._taken.fork()
        return twin

    def known(self, name: str) -> str:
        """What a name that was asked for before is sent as."""
        sent = self._sent.get(name)
        return name if sent is None else sent


class Names(Renamed):
    """Names of `[A-Za-z0-9_-]`, one to `limit` characters (64 or more)."""

    def __init__(self, limit: int = 200) -> None:
        super().__init__(lambda name: len(name) <= limit and _FITS.fullmatch(name) is not None, _marked)
        self._limit = limit

    def sent(self, name: str) -> str:
        """What a recorded name is sent as; always the same within a request."""
        plain = name.isascii() and f"_{name.replace('-', '_')}".isidentifier()
        if plain and _MARK not in name and 0 < len(name) <= self._limit:
            return name  # most names, told without a pattern; no made one is like them
        return super().sent(name)


class NineIds(Renamed):
    """Names of nine letters and digits, for Mistral (M1)."""

    def __init__(self) -> None:
        super().__init__(lambda name: len(name) == 9 and name.isascii() and name.isalnum(), _nine)


class FunctionNames(Renamed):
    """Names of functions for Gemini: a letter or `_`, then up to 63 of `[A-Za-z0-9_.-]`."""

    def __init__(self) -> None:
        super().__init__(lambda name: _FUNCTION.fullmatch(name) is not None, lambda name: f"t_{_marked(name)}")


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()


def _marked(name: str) -> str:
    return f"{_REFUSED.sub('_', name)[:_KEPT]}{_MARK}{_digest(name).hex()[:20]}"


def _nine(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:9]
