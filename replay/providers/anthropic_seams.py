"""Answers that a model refused in the middle, alone or with another model going on (A37 of specs/providers.md).

Some of what stands before the last seam must not be sent, which is not said of every block; so nothing of it
is, but calls: a tool may have run.
"""

from collections.abc import Collection

from ledger.recorded import RecordedEvent
from replay.items import Block, Call, HostedResult, Step, Thinking

_NOTHING: frozenset[Block] = frozenset()


def declined(step: Step, providers: Collection[str]) -> frozenset[Block]:
    """The blocks of a step that are left out because a model of one of `providers` refused to go on.

    After a seam the step's thinking is of two models, so none of it is sent.
    """
    refused = step.finish is not None and step.finish_reason == "refusal"
    if step.provider not in providers or not (refused or step.seam is not None):
        return _NOTHING
    return frozenset(block for block in step.blocks if not _stays(block, step, refused))


def is_before(record: RecordedEvent, block: Block) -> bool:
    """True when what `record` holds stands before a block in their response."""
    place = record.event.block_index
    if place is not None and block.block_index is not None:
        return place < block.block_index
    return record.version < block.version


def _stays(block: Block, step: Step, refused: bool) -> bool:
    if isinstance(block, Call) and not block.hosted:
        return True
    if isinstance(block, HostedResult) and block.call.step is not step:
        return True  # its call went out before
    return not refused and not isinstance(block, Thinking) and not _before_seam(block, step)


def _before_seam(block: Block, step: Step) -> bool:
    if step.seam is None:
        return False
    if isinstance(block, HostedResult):  # with its call, on whichever side that is
        block = block.call
    return not is_before(step.seam, block)
