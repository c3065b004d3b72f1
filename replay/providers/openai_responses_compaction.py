"""A compaction that only its provider can read: one item that stands for all that went before it (R12)."""

from typing import NamedTuple

from ledger.events import JsonObject
from ledger.recorded import RecordedEvent
from replay.items import Block, Call, Step
from replay.plan import Plan
from replay.providers.openai_responses_units import is_item_id
from replay.providers.ownership import Ownership
from replay.providers.wire_text import is_clean


class Compacted(NamedTuple):
    """A compaction that the target made itself: its event, its step, and the item as it goes back."""

    record: RecordedEvent
    step: Step
    item: JsonObject

    def replaces(self, block: Block) -> bool:
        """Whether a block of its own response is in it. Calls for the client never are: their outputs come
        after it."""
        if isinstance(block, Call) and not block.hosted:
            return False
        place, index = self.record.event.block_index, block.block_index
        return place is not None and index is not None and index < place


def last_compaction(plan: Plan, ownership: Ownership) -> Compacted | None:
    """The last compaction that may go back to its provider; None keeps the history, which is always right."""
    for record in reversed(plan.opaque_compactions):
        turn = plan.turns.get(record.turn_id or "")
        step = turn.named.get(record.step_id or "") if turn is not None else None
        told = getattr(record.event, "provider_metadata", None)
        given = told.get("openai") if isinstance(told, dict) else None
        if step is None or not isinstance(given, dict) or ownership.foreign(step) is not None:
            continue
        item = _item(given)
        if item is not None:
            return Compacted(record, step, item)
    return None


def _item(given: JsonObject) -> JsonObject | None:
    sealed, name = given.get("encrypted_content"), given.get("id")
    if given.get("type") != "compaction" or not isinstance(sealed, str) or not sealed or not is_clean(sealed):
        return None
    named: JsonObject = {"id": name} if isinstance(name, str) and is_item_id(name, "cmp_") else {}
    return {"type": "compaction", **named, "encrypted_content": sealed}
