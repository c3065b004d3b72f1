"""What the adapter of a runtime's live output is: lines in, calls of a `Recording` out. Pure.

An adapter is made for one stream (`make(recording, options)`), is given every line in order, and then the
end. It never raises: a line that it cannot read becomes a note with its number and its bytes, a record of an
unknown type a note too, and the stream goes on. It makes no ids and reads no clock: `recording.sheet.stamps`
does, unless the stream carries ids of its own (then `ledger.intake.identity.made_id`, as an importer of the
same run makes them).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from ledger.intake.lines import Line
from ledger.turns import Recording

End = Literal["eof", "user_stop", "terminated"]


@dataclass(frozen=True)
class StreamOptions:
    """What the person who records said: the id of the (first) turn; None = the stream or the recorder names
    it."""

    turn_id: str | None = None


class StreamAdapter(Protocol):
    """One stream of one runtime."""

    def line(self, line: Line) -> None:
        """The next line that is not blank."""

    def end(self, end: End) -> None:
        """There is no more: the stream ended (`eof`), or recording was stopped. Ends the turn as the
        runtime's rules say; one that is left open is ended by the recorder: as an `error`
        (`missing_terminal_event`) at `eof`, else as an `abort`."""


Make: TypeAlias = Callable[[Recording, StreamOptions], StreamAdapter]
