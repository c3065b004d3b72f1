"""Files that grow while they are watched: which of them have changed since the last look."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from turnledger.importing.files import STDIN, Missing, PartOf, session_files

State = tuple[int, int, int, int, int]
"""Inode, size, and time of the last change in nanoseconds; then size and time of the log that a database in WAL
mode has beside it: its writer changes that for long, and the file itself only now and then."""


class Watched:
    """The files that paths name, as they were at the last look. A file that appears later is one of them."""

    def __init__(
        self,
        paths: Iterable[str],
        suffixes: tuple[str, ...],
        part_of: PartOf = lambda _path, _head: None,
    ) -> None:
        self._paths = tuple(paths)
        self._part_of = part_of
        self._suffixes = suffixes
        self._states: dict[Path, State] = {}
        self._missing: set[Missing] = set()

    def changed(self) -> Iterator[Path | Missing]:
        """The files that are new, longer or otherwise changed since the last look, and what cannot be looked at
        since then."""
        missing: set[Missing] = set()
        for file in session_files(self._paths, self._suffixes, self._part_of):
            if isinstance(file, Missing):
                missing.add(file)
                if file not in self._missing:
                    yield file
                continue
            if file == STDIN:
                continue
            state = _state(file)
            if state is not None and self._states.get(file) != state:
                self._states[file] = state
                yield file
        self._missing = missing


def _state(file: Path) -> State | None:
    """None for a file that is gone again; the next look tells."""
    try:
        found = file.stat()
    except OSError:
        return None
    try:
        log = file.with_name(f"{file.name}-wal").stat()
    except OSError:
        return found.st_ino, found.st_size, found.st_mtime_ns, 0, 0
    return found.st_ino, found.st_size, found.st_mtime_ns, log.st_size, log.st_mtime_ns
