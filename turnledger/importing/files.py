"""Which files an import reads, and how their bytes are reached."""

import glob
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from zstandard import ZstdDecompressor, ZstdError

from ledger.errors import NotASession
from ledger.events import JsonObject
from ledger.intake.lines import Line, split_lines
from turnledger.importing.databases import rows

CHUNK = 1024 * 1024
SPOOLED = 32 * 1024 * 1024
"""Bytes of a pipe kept in memory before they go to a temporary file."""

HEAD_BYTES = 64 * 1024
"""Bytes of a file's beginning that tell what it is."""

_COMPARED = 4 * 1024
"""Bytes of a file's beginning that tell whether it was written anew."""

_PACKED = 4 * 1024
"""Bytes that are unpacked at once: little, since they may become tens of thousands of times as many."""

STDIN = Path("-")


@dataclass(frozen=True)
class Missing:
    """A path that names nothing to read, and why."""

    path: str
    problem: str


@dataclass(frozen=True)
class OpenFile:
    """An open file of `size` bytes, as a `ledger.intake.transcript.Source`: what is appended later is not read.

    `progress` is told of bytes as they are read; `path` is None for what has no folder. `torn` says why not all
    that was compressed could be unpacked; `head` is how it began when it was opened.
    """

    name: str
    handle: IO[bytes]
    size: int
    path: Path | None = None
    progress: Callable[[int], None] = lambda _: None
    torn: str | None = None
    head: bytes = b""

    def is_changed(self) -> bool:
        """Whether it lost something that it held when it was opened, or began otherwise then: what was read may
        be of both. What was appended changes nothing."""
        self.handle.seek(0)
        begins = self.handle.read(len(self.head))
        return begins != self.head or self.handle.seek(0, os.SEEK_END) < self.size

    def chunks(self) -> Iterator[bytes]:
        """The bytes from the beginning."""
        self.handle.seek(0)
        left = self.size
        while left > 0 and (chunk := self.handle.read(min(CHUNK, left))):
            left -= len(chunk)
            self.progress(len(chunk))
            yield chunk

    def lines(self) -> Iterator[Line]:
        """Its lines that are not blank."""
        return split_lines(self.chunks())

    def fetch(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`; fewer at the end of the file."""
        self.handle.seek(offset)
        found = self.handle.read(length)
        self.progress(len(found))
        return found

    def rows(self, query: str) -> Iterator[JsonObject]:
        """The rows of a query, in the order that it gives; blobs as their text.

        Raises `NotASession` for what is no SQLite database, or one of another layout.
        """
        if self.path is None:
            raise NotASession(
                file=self.name, runtime="database", problem="a database cannot come through a pipe"
            )
        yield from rows(self.path, query)

    def beside(self, pattern: str) -> Iterator["OpenFile"]:
        """The files that a glob names, from the folder of this one, by name."""
        folder = None if self.path is None else self.path.parent
        for path in sorted(folder.glob(pattern)) if folder is not None else ():
            if path.is_file():
                with opened(path, self.progress) as file:
                    yield file


PartOf = Callable[[str, Callable[[], bytes]], str | None]
"""The file that takes in another as a part of itself, by the other's path and its beginning."""


def session_files(
    paths: Iterable[str],
    suffixes: tuple[str, ...] = (".jsonl",),
    part_of: PartOf = lambda _path, _head: None,
) -> Iterator[Path | Missing]:
    """The files that paths name, each once: files, folders (what ends with a suffix below), globs, `-`.

    In the order of the paths, by name below each. A folder that leads back into itself is read once. What a
    folder holds as a part of another file that is there is left to that one.
    """
    given: set[str] = set()
    for path in paths:
        if path == "-":
            yield STDIN
            continue
        found = [path] if os.path.lexists(path) else sorted(glob.glob(path, recursive=True))
        if not found:
            yield Missing(path, _why_missing(path))
        for name in found:
            for file in _files(name, suffixes, part_of):
                real = file.path if isinstance(file, Missing) else os.path.realpath(file)
                if real not in given:
                    given.add(real)
                    yield file


def _files(name: str, suffixes: tuple[str, ...], part_of: PartOf) -> Iterator[Path | Missing]:
    if not Path(name).is_dir():
        yield Path(name)
        return
    unread: list[Missing] = []

    def note(error: OSError) -> None:
        unread.append(Missing(str(error.filename), error.strerror or str(error)))

    inside: set[str] = set()
    empty = True
    for folder, folders, files in os.walk(name, onerror=note, followlinks=True):
        real = os.path.realpath(folder)
        if real in inside:
            folders.clear()
            continue
        inside.add(real)
        folders.sort()
        for file in sorted(files):
            if file.endswith(suffixes):
                empty = False
                path = Path(folder, file)
                if not _can_be_read(path):
                    unread.append(Missing(str(path), "a pipe or a device; it is read only where it is named"))
                    continue
                whole = part_of(str(path), lambda path=path: _head(path))  # type: ignore[misc]
                if whole is None or not os.path.isfile(whole):
                    yield path
    yield from unread
    if empty and not unread:
        yield Missing(name, f"no {' or '.join(suffixes)} file in this folder")


def _why_missing(path: str) -> str:
    try:
        os.lstat(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        return error.strerror or str(error)
    return "there is no such file or folder"


def _can_be_read(path: Path) -> bool:
    """False for what may keep a reader waiting for ever; opening tells what else is wrong."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return True


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as handle:
            return handle.read(HEAD_BYTES) if stat.S_ISREG(os.fstat(handle.fileno()).st_mode) else b""
    except OSError:
        return b""


@contextmanager
def opened(path: Path, progress: Callable[[int], None] = lambda _: None) -> Iterator[OpenFile]:
    """A file as it stands now; stdin, pipes and what is compressed (`.zst`) are first read to their end.

    Raises `OSError` for what cannot be read, naming why.
    """
    if path == STDIN:
        with _spooled(_pieces(sys.stdin.buffer), "stdin", progress) as file:
            yield file
        return
    with path.open("rb") as handle:
        state = os.fstat(handle.fileno())
        if not stat.S_ISREG(state.st_mode) and not stat.S_ISFIFO(state.st_mode):
            raise OSError(None, "not a regular file")
        if path.suffix in (".zst", ".zstd"):
            with _spooled(_unpacked(handle), path.stem, progress, path) as file:
                yield file
        elif stat.S_ISREG(state.st_mode):
            head = handle.read(min(_COMPARED, state.st_size))
            yield OpenFile(path.name, handle, state.st_size, path, progress, head=head)
        else:
            with _spooled(_pieces(handle), path.name, progress) as file:
                yield file


@contextmanager
def _spooled(
    pieces: Iterable[bytes], name: str, progress: Callable[[int], None], path: Path | None = None
) -> Iterator[OpenFile]:
    with tempfile.SpooledTemporaryFile(SPOOLED) as kept:
        size = 0
        torn = None
        try:
            for piece in pieces:
                size += kept.write(piece)
        except _Torn as error:
            torn = f"{error}, after {size:,} bytes that could be unpacked"
            if not size:
                raise OSError(None, str(error)) from None
        yield OpenFile(name, kept, size, path, progress, torn)


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    while piece := stream.read(CHUNK):
        yield piece


class _Torn(Exception):
    """What was compressed ends in a frame that is cut off, or goes on with what is none."""


def _unpacked(handle: IO[bytes]) -> Iterator[bytes]:
    """What zstd compressed, of all frames. Raises `_Torn` after what could be unpacked."""
    packed = handle.read(_PACKED)
    while packed:
        frame = ZstdDecompressor().decompressobj()
        while not frame.eof:
            if not packed:
                raise _Torn("the compressed file is cut off")
            try:
                yield frame.decompress(packed)
            except ZstdError as error:
                raise _Torn(f"not what zstd compressed: {error}") from None
            packed = frame.unused_data if frame.eof else handle.read(_PACKED)
        packed = packed or handle.read(_PACKED)
