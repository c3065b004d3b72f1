"""What of the open blocks is in the checkpoint table already, and what goes there next."""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.assembler import Part
from ledger.events import json_bytes
from ledger.store.leases import Piece
from ledger.turns import OpenBlock


class _Kept(NamedTuple):
    """A block that is in the table: its number there, its pieces of text, and how much of the block they
    are."""

    part: Part
    number: int
    pieces: int
    size: int  # characters


class Round(NamedTuple):
    """What one checkpoint writes, and what is true once it is written."""

    pieces: list[Piece]
    done: list[int]
    kept: dict[int, _Kept]
    gone: dict[int, int]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not self.pieces and not self.done


class Checkpoints:
    """The open blocks of one turn, in the table as in memory."""

    def __init__(self) -> None:
        self._kept: dict[int, _Kept] = {}  # by the identity of the block
        self._gone: dict[int, int] = {}  # blocks that are open no more, with what must be stored before they go
        self._next = 0

    def next(self, blocks: Sequence[OpenBlock], put: int, stored: int) -> Round:
        """What to write now. A block that has ended goes when everything that was put until it was missed
        (`put`, a count of events) is stored: its own event is among that, so there never is a moment without
        its text.
        """
        pieces: list[Piece] = []
        kept: dict[int, _Kept] = {}
        number = self._next
        for block in blocks:
            before = self._kept.get(id(block.part)) or _Kept(block.part, number, 0, 0)
            number += before.number == number
            text = block.part.growing.since(before.size)
            if not text:
                kept[id(block.part)] = before
                continue
            event = None if before.pieces else json_bytes({"type": block.event_type, **block.fields})
            pieces.append(Piece(before.number, before.pieces, event, json_bytes(text)))
            after = before._replace(pieces=before.pieces + 1, size=before.size + len(text))
            kept[id(block.part)] = after
        gone = dict(self._gone)
        for name, one in self._kept.items():
            if name not in kept and one.pieces:
                gone[one.number] = put
        done = [which for which, needed in gone.items() if needed <= stored]
        for which in done:
            del gone[which]
        return Round(pieces, done, kept, gone)

    def written(self, done: Round) -> None:
        """The round is in the table."""
        self._kept, self._gone = done.kept, done.gone
        self._next = max([self._next - 1, *(one.number for one in done.kept.values())]) + 1
