"""From plan to neutral messages (DESIGN.md 7.5): one assistant and one tool message a step, entries between."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from ledger.events import JsonObject
from replay.items import Answer, Block, Entry, Item

Role: TypeAlias = Literal["user", "assistant", "tool", "system"]
Origin: TypeAlias = Block | Answer | Entry


class Message:
    """One neutral message. `parts` are its neutral parts, `origins` what each part was made from, side by side.

    `item` is the step or entry that the message belongs to: by it a renderer knows step and turn.
    """

    __slots__ = ("item", "origins", "parts", "role")

    def __init__(self, role: Role, item: Item, parts: list[JsonObject], origins: Sequence[Origin]) -> None:
        self.role: Role = role
        self.item = item
        self.parts = parts
        self.origins = origins

    def as_json(self) -> JsonObject:
        """`{"role", "content": [parts]}`."""
        return {"role": self.role, "content": list(self.parts)}
