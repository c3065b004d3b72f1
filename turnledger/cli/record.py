"""`turnledger record` and `turnledger recover`: a runtime's live output, and turns whose recorder is gone."""

import json
import os
import select
import signal
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO

import click

from ledger.errors import TurnledgerError
from ledger.events import Json
from ledger.intake.lines import split_lines
from ledger.intake.stream import End, StreamOptions
from ledger.intake.streams import STREAMS
from ledger.store import Ledger
from ledger.stream_recorder import StreamRecorder, Summary
from turnledger.cli.front import Front, emit, existing, json_option, say, table

CHUNK_BYTES = 64 * 1024
PAUSE_SECONDS = 0.25
GRACE_SECONDS = 0.5
"""How long a runtime that was stopped together with us may still say how its turn ended."""


class Stopping:
    """Tells when SIGINT or SIGTERM came; a second one ends the process at once."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Take the signals while the block runs."""
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread may take signals
            return
        before = {number: signal.signal(number, self._take) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _take(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.signal = number
        signal.signal(number, signal.SIG_DFL)
        with suppress(BlockingIOError):
            os.write(self._write, b"x")

    def readable(self, descriptor: int, seconds: float | None) -> bool:
        """Whether there is something to read, within so many seconds; False at once when a signal came."""
        if self.signal is not None:
            return bool(select.select([descriptor], [], [], seconds)[0])
        ready, _, _ = select.select([descriptor, self._read], [], [], seconds)
        return descriptor in ready and self.signal is None


class Tee:
    """Passes bytes on unchanged to standard output, as long as somebody reads them."""

    def __init__(self, wanted: bool) -> None:
        self._open = wanted and sys.stdout is not None
        self._descriptor = _descriptor(sys.stdout) if wanted else None

    def write(self, data: bytes) -> None:
        """Pass them on; when the reader has gone, do nothing."""
        if self._open and self._descriptor is None:
            sys.stdout.buffer.write(data)
            return
        rest = memoryview(data)
        while self._open and rest:
            try:
                rest = rest[os.write(sys.stdout.fileno(), rest) :]
            except OSError:
                self._open = False
                # What the interpreter itself would still write at its end must not fail for it.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Reading:
    """The bytes of a stream as they come, passed on, until its end or a signal."""

    def __init__(self, descriptor: int, tee: Tee, stopping: Stopping) -> None:
        self._descriptor = descriptor
        self._tee = tee
        self._stopping = stopping
        self._is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)

    def chunks(self, recorder: StreamRecorder) -> Iterator[bytes]:
        """What comes. The recorder is told when all that is there was given, and when nothing comes for a
        while."""
        while True:
            if not self._stopping.readable(self._descriptor, 0):
                recorder.caught_up()
                while not self._stopping.readable(self._descriptor, PAUSE_SECONDS):
                    if self._stopping.signal is not None:
                        yield from self._last_words(recorder)
                        return
                    recorder.pause()
            data = os.read(self._descriptor, CHUNK_BYTES)
            if not data:
                return
            self._tee.write(data)
            yield data

    def _last_words(self, recorder: StreamRecorder) -> Iterator[bytes]:
        """What a runtime says that was stopped together with us: one that ends its turn is believed."""
        left = GRACE_SECONDS
        while not self._is_file and recorder.is_running and left > 0:
            left -= 0.05
            if self._stopping.readable(self._descriptor, 0.05):
                data = os.read(self._descriptor, CHUNK_BYTES)
                if not data:
                    return
                self._tee.write(data)
                yield data

    def pass_on(self) -> None:
        """Read on without recording, so that what reads our output is served to the end."""
        while self._stopping.signal is None:
            if self._stopping.readable(self._descriptor, None):
                data = os.read(self._descriptor, CHUNK_BYTES)
                if not data:
                    return
                self._tee.write(data)


@click.command("record")
@click.argument("runtime", type=click.Choice(sorted(STREAMS)), metavar="RUNTIME")
@click.argument("file", default="-", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--conversation", "conversation_id", required=True, metavar="ID", help="Where to record it.")
@click.option("--turn", "turn_id", metavar="ID", help="The id of the (first) turn.")
@click.option(
    "--provider", metavar="NAME", help="Who answers, where the stream does not say (openai-chat, ai-sdk)."
)
@click.option("--tee", is_flag=True, help="Pass the bytes on to standard output, unchanged.")
@json_option
@click.pass_obj
def record(
    front: Front,
    runtime: str,
    file: Path,
    conversation_id: str,
    turn_id: str | None,
    provider: str | None,
    tee: bool,
    as_json: bool,
) -> None:
    """Record the live output of RUNTIME from FILE (default: stdin), as it comes.

    The same stream again adds nothing. When it is stopped (SIGINT, SIGTERM), what was streamed is kept and
    the turn ends as aborted. A summary goes to stderr.
    """
    stopping = Stopping()
    with stopping.watching(), _opened(file) as descriptor:
        reading = Reading(descriptor, Tee(tee), stopping)
        try:
            with front.ledger(create=True) as ledger:
                options = StreamOptions(turn_id, provider)
                summary = _record(ledger, reading, stopping, conversation_id, runtime, options)
        except TurnledgerError:
            if tee:
                reading.pass_on()
            raise
    if as_json:
        _tell(runtime, conversation_id, summary, apart=tee)
    else:
        say(_line(runtime, conversation_id, summary))
    if stopping.signal is not None:
        raise click.exceptions.Exit(128 + stopping.signal)


def _record(
    ledger: Ledger,
    reading: Reading,
    stopping: Stopping,
    conversation_id: str,
    runtime: str,
    options: StreamOptions,
) -> Summary:
    recorder = StreamRecorder(
        ledger,
        conversation_id,
        runtime,
        STREAMS[runtime],
        turn_id=options.turn_id,
        provider=options.provider,
    )
    try:
        for line in split_lines(reading.chunks(recorder)):
            recorder.line(line)
        return recorder.end(_end(stopping))
    except BaseException:
        recorder.abandon()
        raise


def _end(stopping: Stopping) -> End:
    if stopping.signal is None:
        return "eof"
    return "user_stop" if stopping.signal == signal.SIGINT else "terminated"


@contextmanager
def _opened(file: Path) -> Iterator[int]:
    """A descriptor to read from."""
    if str(file) == "-":
        if (descriptor := _descriptor(sys.stdin)) is not None:
            yield descriptor
            return
        with tempfile.TemporaryFile() as whole:  # a stdin that the operating system knows nothing of
            whole.write(sys.stdin.buffer.read())
            whole.seek(0)
            yield whole.fileno()
        return
    descriptor = os.open(file, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _descriptor(stream: IO[str]) -> int | None:
    try:
        return stream.fileno()
    except (OSError, ValueError, AttributeError):
        return None


def _line(runtime: str, conversation_id: str, done: Summary) -> str:
    counts = [
        _count(len(done.ends), "turn", f" ({', '.join(done.ends)})" if done.ends else ""),
        _count(done.types["step_start"], "step"),
        _count(done.types["tool_start"], "call"),
        _count(done.types["note"], "note"),
        f"{done.added} new and {done.known} known events",
    ]
    if done.differing:
        counts.append(f"{done.differing} of the known differ")
    return f"recorded {runtime} into {conversation_id}: {_count(done.lines, 'line')}, {', '.join(counts)}"


def _count(count: int, word: str, more: str = "") -> str:
    return f"{count} {word if count == 1 else word + 's'}{more}"


def _tell(runtime: str, conversation_id: str, done: Summary, apart: bool) -> None:
    answer: dict[str, Json] = {
        "conversation_id": conversation_id,
        "runtime": runtime,
        "lines": done.lines,
        "turns": list(done.ends),
        "steps": done.types["step_start"],
        "calls": done.types["tool_start"],
        "notes": done.types["note"],
        "added": done.added,
        "known": done.known,
        "differing": done.differing,
        "version": done.version,
    }
    if apart:
        click.echo(json.dumps(answer), err=True)
    else:
        emit(answer)


@click.command("recover")
@click.argument("conversation_id", required=False, metavar="[CONVERSATION]")
@click.option("--force", is_flag=True, help="Also turns whose recorder may still live.")
@json_option
@click.pass_obj
def recover(front: Front, conversation_id: str | None, force: bool, as_json: bool) -> None:
    """Close turns whose recorder is gone (of CONVERSATION, or all).

    What had streamed is kept, marked partial, and the turn is ended by an `abort` with reason `crash`. A
    recorder is gone when its process ended on this machine, or its lease lapsed.
    """
    with front.ledger() as ledger:
        if conversation_id is not None:
            existing(ledger, conversation_id)
        done = ledger.recover(conversation_id, force)
        left = ledger.leases.running(conversation_id)
    if as_json:
        emit(
            {
                "recovered": [one._asdict() for one in done],
                "running": [
                    {"conversation_id": name, "turn_id": held.turn_id, "holder": held.holder}
                    for name, held in left
                ],
            }
        )
        return
    if done:
        table(
            ("conversation", "turn", "recorded by", "versions added"),
            (
                (
                    one.conversation_id,
                    one.turn_id,
                    one.holder,
                    "none: it had ended"
                    if one.first_version is None
                    else f"{one.first_version}–{one.last_version}",
                )
                for one in done
            ),
        )
    else:
        click.echo("nothing to recover")
    for name, held in left:
        say(f"{name}: turn {held.turn_id} is still recorded by {held.holder}")
