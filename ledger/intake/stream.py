"""What the adapter of a runtime's live output is: lines in, calls of a `Recording` out. Pure.

An adapter is made for one stream (`make(recording, options)`), is given every line in order, and then the
end. It never raises: a line that it cannot read becomes a note with its number and its bytes, a record of an
unknown type a note too, and the stream goes on. It makes no ids and reads no clock: `recording.sheet.stamps`
does, unless the stream carries ids of its own (then `ledger.intake.identity.made_id`, as an importer of the
same run makes them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from ledger.errors import TurnledgerError
from ledger.events import JsonObject
from ledger.intake.lines import Line, split_lines
from ledger.turns import Recording, StreamStamps
from ledger.turns.recording import MISSING_TERMINAL

End = Literal["eof", "user_stop", "terminated"]


@dataclass(frozen=True)
class StreamOptions:
    """What the person who records said: the id of the (first) turn; None = the stream or the recorder names
    it. `provider` is who answers, where the stream does not say."""

    turn_id: str | None = None
    provider: str | None = None


class StreamAdapter(Protocol):
    """One stream of one runtime."""

    def line(self, line: Line) -> None:
        """The next line that is not blank."""

    def end(self, end: End) -> None:
        """There is no more: the stream ended (`eof`), or recording was stopped. Ends the turn as the
        runtime's rules say; one that is left open is ended by the recorder: as an `error`
        (`missing_terminal_event`) at `eof`, else as an `abort`."""


Make: TypeAlias = Callable[[Recording, StreamOptions], StreamAdapter]


class Stream:
    """One stream on its way through its adapter, with the ids of its lines and a net under the adapter."""

    def __init__(
        self,
        make: Make,
        source_format: str,
        conversation_id: str,
        options: StreamOptions = StreamOptions(),
        sink: Callable[[JsonObject], None] | None = None,
        hurry: Callable[[], None] | None = None,
    ) -> None:
        self._stamps = StreamStamps(source_format, options.turn_id or "")
        self.recording = Recording(conversation_id, self._stamps, sink=sink, hurry=hurry)
        self.lines = self.faults = 0
        self._adapter = make(self.recording, options)

    @property
    def prefix(self) -> str:
        """What the ids begin with that the stream's bytes gave."""
        return self._stamps.prefix

    def line(self, line: Line) -> None:
        """Take the next line."""
        self.lines += 1
        self._stamps.take(line.raw if line.raw is not None else line.digest or b"")
        try:
            self._adapter.line(line)
        except TurnledgerError:
            raise  # what is written here cannot be stored
        except Exception as error:  # a fault of ours must not cost the rest of the stream
            self.faults += 1
            text = line.raw.decode(errors="replace") if line.raw is not None else None
            said = f"Line {line.number} could not be recorded: {type(error).__name__}: {error}"
            self.recording.note("adapter fault", said, line=line.number, bytes=text)

    def end(self, end: End) -> None:
        """Take the end: whatever the adapter leaves open is ended here, so that every turn has its
        terminal."""
        self._stamps.take(f"\0{end}".encode())
        self.recording.sheet.at_end = end == "eof"
        try:
            self._adapter.end(end)
        except TurnledgerError:
            raise
        except Exception as error:
            self.faults += 1
            self.recording.note(
                "adapter fault", f"The end could not be recorded: {type(error).__name__}: {error}"
            )
        if (turn := self.recording.running) is not None:
            if end == "eof":
                turn.error("The stream ended without a terminal event.", MISSING_TERMINAL)
            else:
                turn.abort(end)


def events_of_stream(
    make: Make,
    source_format: str,
    chunks: Iterable[bytes],
    conversation_id: str,
    options: StreamOptions = StreamOptions(),
    end: End = "eof",
) -> list[JsonObject]:
    """All events of a stream given in chunks of bytes, as they would be recorded; without their marks taken
    off."""
    stream = Stream(make, source_format, conversation_id, options)
    for line in split_lines(chunks):
        stream.line(line)
    stream.end(end)
    return stream.recording.sheet.take()
