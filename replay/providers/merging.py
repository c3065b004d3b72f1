"""Wire messages in the making: parts of one role in a row are one message, each with what it was made from."""

from collections.abc import Sequence

from ledger.events import JsonObject
from replay.growing import Growing
from replay.materialize import Origin


class Merged:
    """Messages whose neighbours differ in role; their parts stand under `key`. `content` and `origins` belong
    to the last, side by side.

    An origin is the block, answer or entry that a part was made from; None for a part that no event made.
    """

    __slots__ = ("_key", "_origins", "content", "messages", "origins", "role")

    def __init__(self, key: str = "content") -> None:
        self.role = ""
        self._key = key  # under which the parts stand
        self.messages: Growing[JsonObject] = Growing()
        self.content: list[JsonObject] = []
        self.origins: list[Origin | None] = []
        self._origins: Growing[list[Origin | None]] = Growing()

    def add(self, role: str, content: list[JsonObject], origins: list[Origin | None]) -> None:
        """Adds parts to the last message, or starts one with them; the lists are taken over."""
        if role == self.role:
            self.content += content
            self.origins += origins
            return
        self.role, self.content, self.origins = role, content, origins
        self.messages.append({"role": role, self._key: content})  # type: ignore[dict-item]  # list is invariant
        self._origins.append(origins)

    def fork(self) -> "Merged":
        """A copy that goes on apart: the last message, which may grow, is copied; the others are shared."""
        twin = Merged(self._key)
        twin.role = self.role
        twin.content, twin.origins = list(self.content), list(self.origins)
        twin.messages = self.messages.fork(lambda last: {**last, self._key: twin.content})  # type: ignore[dict-item]
        twin._origins = self._origins.fork(lambda _: twin.origins)
        return twin

    def provenance(self) -> list[list[list[int]]]:
        """The versions behind every part of every message."""
        return [[_versions(origin) for origin in origins] for origins in self._origins]


def _versions(origin: Origin | None) -> list[int]:
    return [] if origin is None else origin.versions


def blocks_of(message: JsonObject) -> Sequence[JsonObject]:
    """A written message's blocks."""
    content = message["content"]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
