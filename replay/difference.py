"""Where two requests part (DESIGN.md 7.4): the message, the byte in it, and the events behind both sides."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ledger.errors import BadInput
from ledger.events import Json, JsonObject
from replay.diagnostics import Diagnostic
from replay.fingerprint import canonical_bytes
from replay.result import Result

AROUND = 60  # bytes of a side that are shown from a little before the first difference on
_PARTS = ("content", "parts")


@dataclass(slots=True)
class Side:
    """One side of a difference.

    `excerpt` is its canonical text around the first differing byte, None where this side has nothing there.
    `versions` are the events that made the part (or the message) that differs; none for a captured request.
    `diagnostics` are what this side says of the events of either.
    """

    excerpt: str | None
    versions: list[int] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def as_json(self) -> JsonObject:
        """`{"excerpt", "versions", "diagnostics"}`."""
        said: list[Json] = [one.as_json() for one in self.diagnostics]
        return {"excerpt": self.excerpt, "versions": [*self.versions], "diagnostics": said}


@dataclass(slots=True)
class Difference:
    """The first place where two requests differ.

    `beside` names the key beside the messages (`system`, `tools`, `context` …), which is compared first;
    otherwise `message` (from 0) and, where it can be told, `part` do. `offset` counts bytes of the canonical
    JSON (`replay.fingerprint`) of that value or message.
    """

    beside: str | None
    message: int | None
    part: int | None
    offset: int
    left: Side
    right: Side

    def as_json(self) -> JsonObject:
        """The difference as a JSON object."""
        return {
            "beside": self.beside,
            "message": self.message,
            "part": self.part,
            "offset": self.offset,
            "left": self.left.as_json(),
            "right": self.right.as_json(),
        }


def difference(left: Result, right: Result) -> Difference | None:
    """Where two renders part; None exactly when their fingerprints are equal. Pure."""
    return _first(left.beside, left.messages, left, right.beside, right.messages, right)


def difference_from(captured: JsonObject, rendered: Result) -> Difference | None:
    """Where a captured request body (`left`) parts from what the ledger renders (`right`).

    Keys beside the messages that the ledger does not render (`max_tokens`, `stream` …) are the caller's and
    are not compared, but for `tools` and the system prompt. Raises `BadInput` when the body has no list of
    messages where the target's format has it.
    """
    messages = captured.get(rendered.messages_key)
    if not isinstance(messages, list):
        key = rendered.messages_key
        raise BadInput(problem=f"the request has no list {key!r}: a request to {rendered.target.provider} has")
    ours = {name: value for name, value in rendered.request.items() if name != rendered.messages_key}
    compared = {*ours, "tools", rendered.system_key or "tools"}
    theirs = {name: value for name, value in captured.items() if name in compared}
    return _first(theirs, messages, None, ours, rendered.messages, rendered)


def _first(
    left: JsonObject,
    left_messages: Sequence[Json],
    left_result: Result | None,
    right: JsonObject,
    right_messages: Sequence[Json],
    right_result: Result | None,
) -> Difference | None:
    for name in sorted({*left, *right}):
        ours, theirs = _bytes(left, name), _bytes(right, name)
        if ours != theirs:
            versions = [_behind(name, result) for result in (left_result, right_result)]
            return _told(name, None, None, (ours, theirs), versions, (left_result, right_result))
    for number in range(max(len(left_messages), len(right_messages))):
        pair = [each[number] if number < len(each) else None for each in (left_messages, right_messages)]
        ours, theirs = (None if message is None else canonical_bytes(message) for message in pair)
        if ours != theirs:
            part = _part(pair[0], pair[1])
            versions = [
                _made_from(result, number, part, message)
                for result, message in zip((left_result, right_result), pair, strict=True)
            ]
            return _told(None, number, part, (ours, theirs), versions, (left_result, right_result))
    return None


def _bytes(beside: JsonObject, name: str) -> bytes | None:
    return canonical_bytes(beside[name]) if name in beside else None


def _told(
    beside: str | None,
    message: int | None,
    part: int | None,
    sides: tuple[bytes | None, bytes | None],
    versions: Sequence[list[int]],
    results: tuple[Result | None, Result | None],
) -> Difference:
    offset = _offset(*sides)
    about = {version for each in versions for version in each}
    told = [
        Side(
            None if data is None else data[max(0, offset - AROUND // 3) : offset + AROUND].decode("ascii"),
            own,
            [one for one in result.diagnostics if one.version in about] if result is not None else [],
        )
        for data, own, result in zip(sides, versions, results, strict=True)
    ]
    return Difference(beside, message, part, offset, *told)


def _offset(left: bytes | None, right: bytes | None) -> int:
    """The first byte that differs; the length of the shorter when the longer goes on with it."""
    if left is None or right is None:
        return 0
    same = 0
    for ours, theirs in zip(left, right, strict=False):
        if ours != theirs:
            break
        same += 1
    return same


def _parts(message: Json) -> list[Json] | None:
    if isinstance(message, dict):
        for key in _PARTS:
            if isinstance(parts := message.get(key), list):
                return parts
    return None


def _part(left: Json, right: Json) -> int | None:
    """The first part that differs; None where messages differ as a whole, or beside their parts."""
    ours, theirs = _parts(left), _parts(right)
    if ours is None or theirs is None:
        return None
    for number in range(max(len(ours), len(theirs))):
        if number >= min(len(ours), len(theirs)):
            return number
        if canonical_bytes(ours[number]) != canonical_bytes(theirs[number]):
            return number
    return None


def _made_from(result: Result | None, number: int, part: int | None, message: Json) -> list[int]:
    if result is None or message is None:
        return []
    parts = result.provenance[number]
    if part is not None and len(parts) == len(_parts(message) or ()):
        if part < len(parts):
            return sorted(parts[part])
        following = result.provenance[number + 1] if number + 1 < len(result.provenance) else []
        return sorted(following[0]) if following else []  # what this side has where the other goes on
    return sorted({version for versions in parts for version in versions})


def _behind(name: str, result: Result | None) -> list[int]:
    """The events behind what stands beside the messages: the context in force, and system messages."""
    if result is None or name == "model":
        return []
    record = result.plan.context_record
    found = [] if record is None else [record.version]
    if name in ("system", result.system_key):
        found += [entry.version for entry in result.plan.system]
    return sorted(found)
