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

CHUNK = 1024 * 1024
SPOOLED = 32 * 1024 * 1024
"""Bytes of a pipe kept in memory before they go to a temporary file."""

STDIN = Path("-")


@dataclass(frozen=True)
class Missing:
    """A path that names nothing to read, and why."""

    path: str
    problem: str


@dataclass(frozen=True)
class OpenFile:
    """An open file of `size` bytes: what is appended to it later is not read."""

    name: str
    handle: IO[bytes]
    size: int

    def chunks(self, progress: Callable[[int], None]) -> Iterator[bytes]:
        """The bytes from the beginning; `progress` is told the length of each chunk."""
        self.handle.seek(0)
        left = self.size
        while left > 0 and (chunk := self.handle.read(min(CHUNK, left))):
            left -= len(chunk)
            progress(len(chunk))
            yield chunk

    def fetch(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`; fewer at the end of the file."""
        self.handle.seek(offset)
        return self.handle.read(length)


def session_files(paths: Iterable[str], suffix: str = ".jsonl") -> Iterator[Path | Missing]:
    """The files that paths name, each once: files, folders (all that ends with `suffix` below), globs, `-`.

    In the order of the paths, by name below each. A folder that leads back into itself is read once.
    """
    given: set[str] = set()
    for path in paths:
        if path == "-":
            yield STDIN
            continue
        found = [path] if os.path.lexists(path) else sorted(glob.glob(path, recursive=True))
        if not found:
            yield Missing(path, "there is no such file or folder")
        for name in found:
            for file in _files(name, suffix):
                real = file.path if isinstance(file, Missing) else os.path.realpath(file)
                if real not in given:
                    given.add(real)
                    yield file


def _files(name: str, suffix: str) -> Iterator[Path | Missing]:
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
            if file.endswith(suffix):
                empty = False
                yield Path(folder, file)
    yield from unread
    if empty and not unread:
        yield Missing(name, f"no {suffix} file in this folder")


@contextmanager
def opened(path: Path) -> Iterator[OpenFile]:
    """A file as it stands now; stdin and pipes are first read to their end.

    Raises `OSError` for what cannot be read, naming why.
    """
    if path == STDIN:
        with _spooled(sys.stdin.buffer, "stdin") as file:
            yield file
        return
    with path.open("rb") as handle:
        state = os.fstat(handle.fileno())
        if stat.S_ISREG(state.st_mode):
            yield OpenFile(path.name, handle, state.st_size)
        elif stat.S_ISFIFO(state.st_mode):
            with _spooled(handle, path.name) as file:
                yield file
        else:
            raise OSError(None, "not a regular file")


@contextmanager
def _spooled(stream: IO[bytes], name: str) -> Iterator[OpenFile]:
    with tempfile.SpooledTemporaryFile(SPOOLED) as kept:
        size = 0
        while chunk := stream.read(CHUNK):
            size += kept.write(chunk)
        yield OpenFile(name, kept, size)
