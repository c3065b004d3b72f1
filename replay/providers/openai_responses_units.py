"""A response as the unit that it is for its provider: which item ids go back, all of them or none (R4, R5, R9).

Only a response that the provider keeps is sent by its ids, and only whole: as soon as a block of it is left
out, is another's, or has no id that can stand, the response goes as plain content.
"""

import re
from collections.abc import Sequence

from ledger.events import JsonObject
from replay.growing import Known
from replay.items import Block, Call, HostedResult, Thinking
from replay.providers.content import is_blank
from replay.providers.opaque import Opaque, opaque_of

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def is_item_id(name: str, *prefixes: str) -> bool:
    """Whether an id can stand on an item of the type that begins with one of `prefixes` (R9)."""
    return _ID.fullmatch(name) is not None and name.startswith(prefixes)


class ItemIds:
    """The item ids that a request has: none twice."""

    def __init__(self) -> None:
        self._sent: Known[str, None] = Known()

    def take(self, names: Sequence[str]) -> bool:
        """Keep these for the request; False, and none is kept, where one is in it already."""
        if len(set(names)) != len(names) or any(name in self._sent for name in names):
            return False
        for name in names:
            self._sent.put(name, None)
        return True

    def fork(self) -> "ItemIds":
        """A copy that goes on apart."""
        copy = ItemIds()
        copy._sent = self._sent.fork()
        return copy


class Unit:
    """One step on its way out. `ids` names the item of each block where the response goes back by its ids;
    `problem` says why it does not. `held` is reasoning that waits for its item, `sent` that an item went out.
    """

    def __init__(
        self, blocks: Sequence[Block], foreign: JsonObject | None, stored: bool, taken: ItemIds
    ) -> None:
        self.foreign = foreign
        self.held: list[tuple[JsonObject, Thinking]] = []
        self.sent = False
        self.opaque: dict[Block, Opaque] = {}
        self.problem: str | None = None
        self.ids: dict[Block, str] = {}
        if foreign is not None or (blocks and blocks[0].step.state_invalid):
            self.problem = "another or an unknown provider made it"
            return
        self.opaque = {block: opaque_of(block) for block in blocks}
        if stored:
            self._name(blocks, taken)

    @property
    def own(self) -> bool:
        """Whether opaque data may go back at all."""
        return bool(self.opaque)

    def take(self) -> list[tuple[JsonObject, Thinking]]:
        """The reasoning that waited."""
        held, self.held = self.held, []
        return held

    def _name(self, blocks: Sequence[Block], taken: ItemIds) -> None:
        if blocks and any(
            isinstance(one, Call) or opaque_of(one).item_id for one in blocks[0].step.left_out or ()
        ):
            self.problem = "its response is not whole"
            return
        names: dict[Block, str] = {}
        for place, block in enumerate(blocks):
            name = self.opaque[block].item_id
            if isinstance(block, HostedResult) and name is None:
                name = names.get(block.call)  # one item is the call and its result
            if name is None or not is_item_id(name, *_prefixes(block)):
                self.problem = "not every item of its response has an id"
                return
            if _is_left_out(block) or _is_cut(block) or not _is_followed(blocks, place):
                self.problem = "its response is not whole"
                return
            names[block] = name
        items: list[str] = []
        for block, name in names.items():
            goes_on = not isinstance(block, Thinking | Call) and items and items[-1] == name
            if not goes_on:
                items.append(name)
        if not taken.take(items):
            self.problem = "an item of its response is in the request already"
            return
        self.ids = names


def is_custom(call: Call) -> bool:
    """Whether a call's input is free text: what is recorded of it says so, and holds nothing else."""
    args = call.event.args
    return (
        _item_type(call) == "custom_tool_call"
        and isinstance(args, dict)
        and list(args) == ["input"]
        and isinstance(args["input"], str)
    )


def _item_type(call: Call) -> str | None:
    told = call.provider_metadata
    kind = told.get("type") if isinstance(told, dict) else None
    return kind if isinstance(kind, str) and kind != "function_call" else None


def _prefixes(block: Block) -> tuple[str, ...]:
    if isinstance(block, Thinking):
        return ("rs_",)
    if isinstance(block, Call) and not block.hosted:
        return ("ctc_",) if is_custom(block) else () if _item_type(block) else ("fc_",)
    if isinstance(block, Call | HostedResult):
        return ("",)
    return ("msg_",)


def _is_left_out(block: Block) -> bool:
    return block.kind == "text" and is_blank(getattr(block.event, "text", ""))


def _is_cut(block: Block) -> bool:
    """Whether the provider says of an item that it did not come to its end (R16)."""
    told = block.provider_metadata
    return isinstance(told, dict) and told.get("status") in ("in_progress", "incomplete")


def _is_followed(blocks: Sequence[Block], place: int) -> bool:
    """Whether reasoning still has, right behind it, the item that it was produced with (R4, R5)."""
    block, behind = blocks[place], blocks[place + 1 :]
    if not isinstance(block, Thinking):
        return True
    if all(isinstance(one, Thinking) for one in behind):
        return False
    if block.step.indexed and block.block_index is not None:
        return behind[0].block_index == block.block_index + 1
    return not any(isinstance(one, Thinking) for one in (*blocks[:place], *behind))
