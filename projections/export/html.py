"""A view as one self-contained page: nothing is loaded, nothing runs, everything of the events is escaped."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from jinja2 import Environment, PackageLoader, Template

from ledger.events import Json
from projections.export import lines
from projections.export.lines import Row
from projections.view import View

_SAFE_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def html(view: View) -> str:
    """The whole view as HTML; thinking and tool output are folded, and each row has its anchor."""
    return _template().render(
        title=lines.plain(view.conversation_id),
        version=view.version,
        pause=view.pause,
        rows=[_shown(number, row) for number, row in enumerate(view.rows)],
    )


@functools.cache
def _template() -> Template:
    loader = PackageLoader("projections", "export")
    return Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True).get_template(
        "page.html.j2"
    )


def _shown(number: int, row: Row) -> dict[str, object]:
    """What the page shows of a row, as plain text."""
    kind = str(row["row"])
    shown: dict[str, object] = {
        "kind": kind,
        "number": number,
        "versions": lines.versions(row),
        "at": row.get("at") or "",
        "agent": row.get("agent_id") or "",
        "marks": [lines.plain(mark) for mark in lines.marks(row)],
        "retracted": bool(row.get("retracted")),
    }
    if kind == "user":
        return {**shown, "text": lines.content_text(row), "images": list(_images(row.get("content")))}
    if kind == "assistant":
        thoughts = row["thinking"] if isinstance(row["thinking"], list) else []
        return {
            **shown,
            "model": row.get("model") or "",
            "text": lines.plain(str(row["text"] or "")),
            "thinking": [_thought(one) for one in thoughts if isinstance(one, dict)],
            "usage": lines.usage_text(row.get("usage")),
        }
    if kind == "tool":
        return {
            **shown,
            "name": lines.plain(str(row.get("tool_name") or "unknown tool")),
            "status": row.get("status") or "",
            "args": lines.value(row.get("args"), limit=100_000),
            "result": lines.result_text(row.get("result")) if row["results_seen"] else "",
            "images": list(_images(row.get("result"))),
        }
    if kind == "note":
        return {**shown, "name": lines.plain(str(row["kind"])), "text": lines.plain(str(row["text"] or ""))}
    return {**shown, "text": lines.plain(lines.turn_summary(row))}


def _thought(one: Mapping[str, Json]) -> str:
    return "(redacted thinking)" if one["redacted"] else lines.plain(str(one["text"]))


def _images(content: Json) -> Iterator[str]:
    """Images that are in the events themselves, of types that hold nothing that runs."""
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        source = block.get("source") if isinstance(block.get("source"), dict) else block
        assert isinstance(source, dict)
        kind, data = source.get("media_type"), source.get("data")
        if kind in _SAFE_IMAGES and isinstance(data, str) and data.isascii() and '"' not in data:
            yield f"data:{kind};base64,{data}"
