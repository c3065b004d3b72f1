"""What the forms for people say alike: short forms of values, and what a row is besides its words."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ledger.events import Json

Row = Mapping[str, Json]

SHORT = 200
RESULT = 2_000

_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(9), 11, 12, *range(14, 32), *range(127, 160))}
_ESCAPES |= {code: f"\\u{code:04x}" for code in range(0xD800, 0xE000)}
# What ends a line or turns the order of characters around: what is shown would not be what was said.
_ESCAPES |= {code: f"\\u{code:04x}" for code in (*range(0x2028, 0x202F), *range(0x2066, 0x206A))}


def plain(text: str) -> str:
    """The text without control characters and lone surrogates, which a terminal or a file may not take.

    Lines end in a newline alone; characters that end them otherwise, or turn the direction of what follows
    around, are written as escapes.
    """
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_ESCAPES)


def value(data: Json, limit: int | None = SHORT) -> str:
    """A JSON value in one line: strings as they are, the rest as JSON; cut at `limit` characters, if any."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return cut(" ".join(plain(text).split()), limit)


def cut(text: str, limit: int | None) -> str:
    """At most `limit` characters, and how many were left out; all of it without a limit."""
    if limit is None or len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit} more characters)"


def result_text(data: Json) -> str:
    """A tool result: its text where it is text, or blocks of it, else JSON; cut when long."""
    if isinstance(data, str):
        return cut(plain(data), RESULT)
    if isinstance(data, list) and data and all(isinstance(block, dict) for block in data):
        parts = [_block(block) for block in data if isinstance(block, dict)]
        return cut(plain("\n".join(parts)), RESULT)
    return value(data, RESULT)


def content_text(row: Row) -> str:
    """What a user row says: its text, with a word for each image or file."""
    content = row.get("content")
    if not isinstance(content, list):
        return plain(str(row.get("text") or ""))
    return plain("\n\n".join(_block(block) for block in content if isinstance(block, dict)))


def content(row: Row) -> Json:
    """What a user row or a note says, whole: its blocks, or its text."""
    blocks = row.get("content")
    return blocks if isinstance(blocks, list) and blocks else str(row.get("text") or "")


def _block(block: Mapping[str, Json]) -> str:
    text = block.get("text")
    if isinstance(text, str):
        return text
    name = block.get("name") or block.get("filename") or block.get("media_type")
    return f"[{block.get('type', 'block')}{f': {name}' if isinstance(name, str) else ''}]"


def marks(row: Row) -> list[str]:
    """What a reader must know of a row besides its words."""
    said = []
    if row["row"] in ("assistant", "tool") and row["status"] not in ("complete", "done"):
        said.append(str(row["status"]))
    said += [name for name in ("hidden", "retracted", "steering") if row.get(name)]
    if row.get("origin") == "runtime":
        said.append("by the runtime")
    if row.get("after_terminal"):
        said.append("after the turn's end")
    if isinstance(seen := row.get("results_seen"), int) and seen > 1:
        said.append(f"{seen} results")
    if isinstance(count := row.get("occurrence"), int) and count > 1:
        said.append(f"use {count} of this id")
    approval = row.get("approval")
    if isinstance(approval, dict):
        said.append(str(approval["decision"]))
    for name in ("hidden_versions", "retracted_versions"):
        if isinstance(versions := row.get(name), list):
            said.append(f"{name.split('_')[0]} in part: {', '.join(map(str, versions))}")
    return said


def usage_text(usage: Json) -> str:
    """Token counts in words; empty when there are none."""
    if not isinstance(usage, dict):
        return ""
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in usage.items())


def duration_text(milliseconds: Json) -> str:
    """A duration as people write it; empty when unknown."""
    if not isinstance(milliseconds, int | float):
        return ""
    if milliseconds < 1_000:
        return f"{milliseconds:g} ms"
    seconds = milliseconds / 1_000
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"


def turn_summary(row: Row, limit: int | None = SHORT) -> str:
    """How a turn ended, in one line; a reason and an error's message are cut at `limit` characters, if any."""
    parts = [str(row["status"])]
    if row.get("stop_reason"):
        parts[0] += f" ({value(row['stop_reason'], limit)})"
    error = row.get("error")
    if isinstance(error, dict):
        parts.append(value(error.get("message"), limit))
    parts += [part for part in (usage_text(row.get("usage")), duration_text(row.get("duration_ms"))) if part]
    return ", ".join(parts)


def versions(row: Row) -> str:
    """The versions a row was made from: `7` or `3-9`."""
    first, last = row["versions"] if isinstance(row["versions"], list) else (0, 0)
    return str(first) if first == last else f"{first}-{last}"


def first(row: Row) -> int:
    """The version of a row's first event, which stays whatever comes later."""
    versions = row["versions"]
    return versions[0] if isinstance(versions, list) and isinstance(versions[0], int) else 0
