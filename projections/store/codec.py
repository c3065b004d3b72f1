"""A record as it is stored: its row, and beside it the little that the fold must know besides the row.

Texts, arguments and results are stored once, in the row; the state says only how to take the row apart again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import cast

from ledger.events import Json, JsonObject, json_bytes
from projections.lanes import Lane
from projections.records import Block, Call, Facts, Record, Step, Turn
from projections.rows import block_place
from projections.usage import Totals

KINDS = {"lane": 0, "turn": 1, "assistant": 2, "tool": 3, "user": 4, "note": 5, "orphan": 6}
NAMES = {number: name for name, number in KINDS.items()}


def dump_json(data: Json) -> bytes:
    """JSON as it is stored."""
    return json_bytes(data)


def load_json(data: bytes) -> JsonObject:
    """The object that `dump_json` wrote."""
    return cast(JsonObject, json.loads(data))


def state_of(record: Record) -> JsonObject:
    """What is kept of a record besides its row and its key columns. Its row must be up to date."""
    kept: JsonObject = {
        name: value for name, usual in record.KEPT.items() if (value := getattr(record, name)) != usual
    }
    if isinstance(record, Turn):
        if record.host is not None:
            kept["host"] = record.host.first
        if record.parent is not None:
            kept["parent"] = record.parent.first
        if record.suspects:
            kept["suspects"] = [*record.suspects]
        kept["usage"] = {
            name: value if isinstance(value, int) else [value.numerator, value.denominator]
            for name, value in (record.usage or {}).items()
        }
        kept["settled"] = cast(Json, record.settled)
    elif isinstance(record, Step):
        blocks = record.blocks if record.unindexed else sorted(record.blocks, key=block_place)
        kept["blocks"] = [
            [index, version, hidden, _shape(content)] for index, version, hidden, content in blocks
        ]
        if record.gone:
            kept["gone"] = [*sorted(record.gone)]
    elif isinstance(record, Call):
        kept["step"] = record.step.first
    elif isinstance(record, Lane):
        kept["group"] = record.group.first if record.group is not None else None
        kept["hidden_group"] = record.hidden_group.first if record.hidden_group is not None else None
        kept["attempts"] = [[first, turn_id] for turn_id, first in record.attempts.items()]
        kept["parents"] = {**record.parents}
    return kept


def _shape(content: str | JsonObject) -> Json:
    """The length of a text; true for a thought that the row shows, false for one that is nothing."""
    if isinstance(content, str):
        return len(content)
    return bool(content["text"] or content["signed"] or content["redacted"])


def restore(record: Record, state: Mapping[str, Json]) -> None:
    """Give a record back its own facts; what the state says of other records is the shelf's to follow."""
    for name in record.KEPT:
        if name in state:
            setattr(record, name, state[name])


def totals(usage: Json) -> Totals | None:
    """A turn's usage as it is added up."""
    found: Totals = {}
    for name, value in cast("dict[str, int | list[int]]", usage).items():
        found[name] = value if isinstance(value, int) else Fraction(*value)
    return found or None


def settled(facts: Json) -> Facts | None:
    """A turn's facts as they were last looked at."""
    if facts is None:
        return None
    end, attempts, retracted = cast("tuple[list[Json], list[Json], bool]", facts)
    return (
        cast("tuple[int, str | None, bool]", tuple(end)),
        cast("tuple[int, int, int]", tuple(attempts)),
        retracted,
    )


def blocks(shapes: Json, row: JsonObject | None) -> list[Block]:
    """A step's blocks in ledger order, taken apart from its row by their shapes (in the row's order)."""
    text = cast(str, row["text"]) if row is not None else ""
    thinking = iter(cast("list[JsonObject]", row["thinking"]) if row is not None else ())
    found: list[Block] = []
    at = 0
    for index, version, hidden, shape in cast("list[tuple[int | None, int, bool, int | bool]]", shapes):
        content: str | JsonObject
        if shape is True:
            content = next(thinking)
        elif shape is False:
            content = {"text": "", "signed": False, "redacted": False}
        elif shape:
            content = text[at : at + shape]
            at += shape + 2
        else:
            content = ""
        found.append((index, version, hidden, content))
    found.sort(key=lambda block: block[1])
    return found
