"""Judges thinking against the responses it came from (A13, A21, A22, A23): what the wire alone cannot show."""

from collections.abc import Iterator, Sequence

from ledger.events import JsonObject
from replay.providers.judges import Violation
from replay.providers.judges.anthropic_shape import Blocks, found

_THINKING = ("thinking", "redacted_thinking")
_Place = tuple[int, int]


def judge_original(
    runs: Sequence[Blocks], open_runs: int, original: Sequence[Sequence[JsonObject]]
) -> Iterator[Violation]:
    """Compares the request's assistant runs with the provider's responses.

    `runs` are the request's assistant runs, the last `open_runs` of them the latest turn; `original` the
    content of each response, in order. A response none of whose thinking is in the request was left out whole.
    """
    places: dict[str, _Place] = {}
    for response, blocks in enumerate(original):
        for index, block in enumerate(blocks):
            if block.get("type") in _THINKING:
                places.setdefault(_seal(block), (response, index))
    for number, run in enumerate(runs):
        latest = number >= len(runs) - open_runs
        yield from _judge_run(run, latest, places, original)


def _judge_run(
    run: Blocks, latest: bool, places: dict[str, _Place], original: Sequence[Sequence[JsonObject]]
) -> Iterator[Violation]:
    kept: dict[int, list[int]] = {}
    before: tuple[int, _Place] | None = None
    for position, (path, block) in enumerate(run):
        if block.get("type") not in _THINKING:
            continue
        place = places.get(_seal(block))
        if place is None:
            yield found("A21", path, "Invalid `signature` in `thinking` block: no response holds it")
            continue
        response, index = place
        if block.get("thinking") != original[response][index].get("thinking"):
            yield found("A22" if latest else "A21", path, "the block's text is not that of the response")
        if before is not None:
            (last_position, (last_response, last_index)) = before
            if (response, index) < (last_response, last_index):
                yield found("A22", path, "thinking blocks stand in another order than in the response")
            elif last_position == position - 1 and response == last_response and index > last_index + 1:
                yield found("A23", path, "the block that stood between two thinking blocks is missing")
        before = (position, place)
        kept.setdefault(response, []).append(index)
    for response, indexes in kept.items():
        wanted = [i for i, block in enumerate(original[response]) if block.get("type") in _THINKING]
        where = run[0][0]
        if latest and sorted(indexes) != wanted:
            yield found("A22", where, "the thinking of the latest turn comes back complete or not at all")
        if sorted(indexes) != wanted[: len(indexes)]:
            yield found("A13", where, "a thinking block before one that is sent is missing")


def _seal(block: JsonObject) -> str:
    """What tells one thinking block from another: its signature or its data."""
    return f"{block.get('type')}:{block.get('signature') or block.get('data')}"
