"""Wire messages in the making: parts of one role in a row are one message, each with its versions."""

from collections.abc import Sequence

from ledger.events import JsonObject


class Merged:
    """Messages whose neighbours differ in role. `content` and `versions` belong to the last, side by side."""

    __slots__ = ("content", "messages", "provenance", "role", "versions")

    def __init__(self) -> None:
        self.role = ""
        self.messages: list[JsonObject] = []
        self.provenance: list[list[list[int]]] = []
        self.content: list[JsonObject] = []
        self.versions: list[list[int]] = []

    def add(self, role: str, content: list[JsonObject], versions: list[list[int]]) -> None:
        """Adds parts to the last message, or starts one with them; the lists are taken over."""
        if role == self.role:
            self.content += content
            self.versions += versions
            return
        self.role, self.content, self.versions = role, content, versions
        self.messages.append({"role": role, "content": content})  # type: ignore[dict-item]  # list is invariant
        self.provenance.append(versions)

    def first_type(self) -> object:
        """The type of the last message's first block; None without a message."""
        return self.content[0]["type"] if self.content else None


def blocks_of(message: JsonObject) -> Sequence[JsonObject]:
    """A written message's blocks."""
    content = message["content"]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
