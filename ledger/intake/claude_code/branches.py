"""Which conversation of a session file a record belongs to, told from parent links in file order, nothing
looked ahead.

Most forks of the tree are none of the conversation: results of parallel calls hang each from its own call,
hooks and progress from what they watched. A branch begins only where a person goes on from a message that is
not the last one: a rewind, `--resume-session-at`, or a second process that writes to the same file. What is
kept of a record is one number, by the hash of its name.
"""

from dataclasses import dataclass
from typing import NamedTuple

from ledger.events import Json, JsonObject
from ledger.intake.claude_code.said import brings_results, content_in, goes_on
from ledger.intake.mending import as_text

IN_TREE = frozenset({"user", "assistant", "system", "attachment", "progress"})
_BITS = 40
_LOW = (1 << _BITS) - 1


class Place(NamedTuple):
    """`conversation` counts from 0, the main one. `repeated`: a record of that name came before, `doubled` with
    the same content. `lost`: it names a parent that did not come before. `waits`: also the first of all may.
    `writers`: the model goes on here, though somebody has gone on elsewhere since: another process did."""

    conversation: int
    message: bool = False
    repeated: bool = False
    doubled: bool = False
    lost: bool = False
    waits: bool = False
    writers: bool = False


@dataclass
class Branch:
    """One conversation: `source` and the message of it (from 0) after which this one begins; None for one that
    begins anew."""

    source: int | None = None
    after: int = -1
    messages: int = 0
    step: int = -1
    """Where the model's last message began."""
    step_id: str = ""
    asked: int = -1
    """Where a person spoke last."""


class Branches:
    """The conversations so far. A message is a record of a person, the model, or a tool in the main lane."""

    def __init__(self) -> None:
        self.all = [Branch()]
        self.current = 0
        """The conversation of the last message."""
        self._where: dict[int, int] = {}  # by name: digest, conversation, and the message it is or follows
        self._linked = False
        self._crossed = False  # nobody asked here since somebody went on elsewhere

    def place(self, record: JsonObject, digest: bytes) -> Place:
        """Where the next record of the file belongs."""
        name, kind = record.get("uuid"), record.get("type")
        if not isinstance(name, str) or not name or kind not in IN_TREE:
            return self._unnamed(record)
        key, mark = hash(name), int.from_bytes(digest[:4], "big")
        before = self._where.get(key)
        if before is not None:
            doubled = before >> (2 * _BITS) == mark
            return Place((before >> _BITS) & _LOW, repeated=True, doubled=doubled)
        parent = record.get("parentUuid") or record.get("logicalParentUuid")
        linked = self._where.get(hash(parent)) if isinstance(parent, str) else None
        at, follows = self.current, self.all[self.current].messages - 1
        if linked is not None:
            self._linked = True
            at, follows = (linked >> _BITS) & _LOW, (linked & _LOW) - 1
        message = kind in ("user", "assistant") and record.get("isSidechain") is not True
        writers = message and self._is_crossing(record, at)
        if message:
            asks = kind == "user" and goes_on(record)
            if asks:
                at = self._went_on(at, follows, linked is not None, parent)
            follows = self._count(at, record, asks=asks)
        self._where[key] = mark << (2 * _BITS) | at << _BITS | (follows + 1)
        waits = linked is None and isinstance(parent, str)
        return Place(at, message, lost=waits and len(self._where) > 1, waits=waits, writers=writers)

    def holds(self, name: str) -> bool:
        """Whether a record of that name came."""
        return hash(name) in self._where

    def _is_crossing(self, record: JsonObject, at: int) -> bool:
        """Whether a message shows a second process: an answer in a conversation that was left, and that nobody
        has gone on with. What one process still writes there after a rewind, results and marks, does not."""
        if record.get("type") == "user":
            results = brings_results(content_in(record))
            self._crossed = results and (self._crossed or at != self.current)
            return False
        message = record.get("message")
        synthetic = isinstance(message, dict) and message.get("model") == "<synthetic>"
        if synthetic or record.get("isApiErrorMessage") is True:
            return False
        self._crossed = self._crossed or at != self.current
        return self._crossed

    def message(self, name: str) -> tuple[int, int] | None:
        """The conversation and the number of the message that a record is (or follows on), by its name."""
        found = self._where.get(hash(name))
        return None if found is None else ((found >> _BITS) & _LOW, (found & _LOW) - 1)

    def _unnamed(self, record: JsonObject) -> Place:
        message = record.get("type") in ("user", "assistant") and record.get("isSidechain") is not True
        if message:
            self._count(self.current, record, asks=goes_on(record))
        return Place(self.current, message)

    def _went_on(self, at: int, follows: int, known: bool, parent: Json) -> int:
        """The conversation in which a person goes on after a message of `at`: a new one where more was said."""
        branch = self.all[at]
        if known and follows < max(branch.step, branch.asked):
            self.all.append(Branch(at, follows) if follows >= 0 or at else Branch())
            return len(self.all) - 1
        if parent is None and self._linked and branch.messages:  # from the very beginning
            self.all.append(Branch())
            return len(self.all) - 1
        return at

    def _count(self, at: int, record: JsonObject, *, asks: bool) -> int:
        branch = self.all[at]
        number = branch.messages
        branch.messages += 1
        self.current = at
        if asks:
            branch.asked = number
        elif record.get("type") == "assistant" and record.get("isApiErrorMessage") is not True:
            message = record.get("message")
            step = as_text(message.get("id")) if isinstance(message, dict) else ""
            if not step or step != branch.step_id:
                branch.step, branch.step_id = number, step
        return number
