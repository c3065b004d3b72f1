"""A turn in progress, without its surroundings: calls in, events out. Pure; `ledger.recorder` is the shell
around it."""

from ledger.turns.lane import Lane
from ledger.turns.recording import Recording, Turn
from ledger.turns.stamps import LiveStamps, Stamps, StreamStamps
from ledger.turns.step import OpenBlock, Step

__all__ = ["Lane", "LiveStamps", "OpenBlock", "Recording", "Stamps", "Step", "StreamStamps", "Turn"]
