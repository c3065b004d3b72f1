"""The order of blocks inside a step (DESIGN.md 7.2 rule 2)."""

from collections.abc import Sequence

from replay.items import Block, Call, HostedResult, Thinking, Words


def ordered(blocks: list[Block]) -> tuple[list[Block], bool]:
    """The blocks (given in ledger order) in message order, and whether that order was recorded.

    By `block_index` when every block has one (a hosted result may go without: it follows its call); else
    thinking, hosted calls with their results, text, calls, each kind in ledger order. May give `blocks` back.
    """
    last = -1
    rising = True  # already in the order of the indexes
    for block in blocks:
        index = block.event.block_index
        if index is None:
            if not isinstance(block, HostedResult):
                return (blocks if len(blocks) == 1 else _by_kind(blocks)), False
            rising = False
        elif index < last:
            rising = False
        else:
            last = index
    return (blocks if rising else sorted(blocks, key=_place)), True


def _place(block: Block) -> tuple[int, int, int]:
    index = block.event.block_index
    if index is not None:
        return index, block.version, 0
    if isinstance(block, HostedResult) and block.call.step is block.step:
        anchor = block.call.event.block_index
        return -1 if anchor is None else anchor, block.call.version, block.version
    return -1, block.version, 0  # the result of an earlier step's hosted call comes first


def _by_kind(blocks: Sequence[Block]) -> list[Block]:
    thinking: list[Block] = []
    hosted: list[Block] = []
    texts: list[Block] = []
    calls: list[Block] = []
    here = set(blocks)
    for block in blocks:
        if isinstance(block, Thinking):
            thinking.append(block)
        elif isinstance(block, Words):
            texts.append(block)
        elif isinstance(block, Call):
            if block.hosted_result is not None and block.hosted_result in here:
                hosted += (block, block.hosted_result)
            else:
                calls.append(block)
        elif isinstance(block, HostedResult) and block.call not in here:
            hosted.append(block)
    return thinking + hosted + texts + calls
