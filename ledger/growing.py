"""A text that grows by many small pieces, and is read by another thread meanwhile."""

import hashlib
import json

from ledger.events import MAX_EVENT_BYTES, json_bytes
from ledger.intake.mending import Mended

_PIECES = 1_024  # that many are joined into one: a string a word would take ten times the memory
_LONG = 1024 * 1024


class GrowingText:
    """Pieces, in order. One thread adds; others may ask for what came since they last did.

    Of a text over the limit of an event only the size and the digest of its JSON are kept (DESIGN.md 3.3).
    """

    __slots__ = ("_chunks", "_digest", "_limit", "_mended", "_moves", "_omitted", "_pieces", "size")

    def __init__(self, limit: int = MAX_EVENT_BYTES) -> None:
        self.size = 0
        """Characters that are kept."""
        self._limit = limit
        self._chunks: list[str] = []
        self._pieces: list[str] = []
        self._mended = False  # a piece stands for bytes that could not be kept as they were
        self._moves = 0  # odd while pieces are moved: a reader looks again
        self._digest: _Digest | None = None  # of the chunks; only of long texts
        self._omitted = False

    def add(self, piece: str) -> None:
        """One more piece."""
        self._pieces.append(piece)
        self.size += len(piece)
        if type(piece) is Mended:
            self._mended = True
        if len(self._pieces) >= _PIECES or len(piece) >= _LONG:
            self._gather()

    @property
    def text(self) -> str:
        """All of it."""
        if self._omitted:
            self._gather()
            return self._digest.told if self._digest is not None else ""
        if len(self._chunks) + len(self._pieces) > 1:
            whole = "".join([*self._chunks, *self._pieces])
            self._move([whole])
        else:
            whole = (self._chunks or self._pieces or [""])[0]
        return Mended(whole) if self._mended else whole

    def since(self, size: int) -> str:
        """What came after so many characters; from any thread."""
        while True:
            moves = self._moves
            parts = [*self._chunks, *self._pieces]
            if moves == self._moves and moves % 2 == 0:
                break
        missing = sum(map(len, parts)) - size
        if missing <= 0:
            return ""
        tail: list[str] = []
        for part in reversed(parts):
            tail.append(part)
            missing -= len(part)
            if missing <= 0:
                break
        return "".join(reversed(tail))[-missing if missing < 0 else 0 :]

    def clear(self) -> None:
        """Let go of it."""
        self._move([])
        self.size = 0

    def _gather(self) -> None:
        """Make one chunk of the pieces; of a text that is too long, only count it."""
        chunk = "".join(self._pieces)
        if self._digest is None and self.size > _LONG:
            self._digest = _Digest()
            for earlier in self._chunks:
                self._digest.add(earlier)
        if self._digest is not None:
            self._digest.add(chunk)
            self._omitted = self._omitted or self.size > self._limit
        self._move([] if self._omitted else [*self._chunks, chunk])
        if self._omitted:
            self.size = 0

    def _move(self, chunks: list[str]) -> None:
        self._moves += 1
        self._chunks, self._pieces = chunks, []
        self._moves += 1


class _Digest:
    """Size and digest of the JSON of a text that comes in pieces."""

    def __init__(self) -> None:
        self._size = 2
        self._hash = hashlib.sha256(b'"')

    def add(self, piece: str) -> None:
        body = json_bytes(piece)[1:-1]
        self._size += len(body)
        self._hash.update(body)

    @property
    def told(self) -> str:
        """What stands for the text."""
        whole = self._hash.copy()
        whole.update(b'"')
        return Mended(json.dumps({"omitted_bytes": self._size, "sha256": whole.hexdigest()}))
