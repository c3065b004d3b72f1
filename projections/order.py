"""Order keys: bytes whose plain comparison is the order of a conversation view (DESIGN.md 6).

Turns stand by first event; inside a turn user rows, notes and steps by first event; inside a step the
assistant row, then tool rows in the order of the calls; the turn row last. A sub-agent's turn takes its parent
tool row's key as its prefix, so its rows stand between that row and the next one. Keys are made of fixed-width
big-endian numbers, so an index over them (BLOB or bytea) reads a view in order, forwards or from the end.
"""

WIDTH = 6
_MIDDLE = 1 << 47
_LAST = b"\xff" * WIDTH

CALL_BY_INDEX = 0  # the step's blocks all carry an index: the model's own order
CALL_OF_PROVIDER = 1  # else provider-executed calls stand before the client's
CALL_OF_CLIENT = 2
CALL_MISSING = 3  # a result of the step without a call


def turn_prefix(parent: bytes, first: int) -> bytes:
    """Prefix of all rows of a turn whose first event is `first`; `parent` is b"" or a tool row's key."""
    return parent + first.to_bytes(WIDTH, "big")


def item(prefix: bytes, version: int) -> bytes:
    """Key of a user row or note at `version`, and the prefix of a step that starts there."""
    return prefix + version.to_bytes(WIDTH, "big")


def assistant(step: bytes) -> bytes:
    """Key of the assistant row of the step with this prefix."""
    return step + b"\0"


def tool(step: bytes, rank: int, index: int, version: int) -> bytes:
    """Key of a tool row: after the assistant row, by rank, then block index, then version."""
    if not -_MIDDLE <= index < _MIDDLE:
        index = -_MIDDLE if index < 0 else _MIDDLE - 1
    return step + (((256 + rank << 48) + index + _MIDDLE << 48) + version).to_bytes(2 + 2 * WIDTH, "big")


def turn_row(prefix: bytes) -> bytes:
    """Key of the turn row: the last of its turn."""
    return prefix + _LAST
