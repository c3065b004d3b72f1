"""A view as one self-contained page: nothing is loaded, nothing runs, everything of the events is escaped."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from jinja2 import Environment, PackageLoader, Template

from ledger.events import Json
from projections.export import lines
from projections.export.bodies import Body, bodies, json_body
from projections.export.lines import Row
from projections.export.nesting import Closes, Opens, nested
from projections.view import View


def html(view: View) -> str:
    """The whole view as HTML, nothing of its rows cut; thinking, tool output and sub-agents are folded.

    Each row has its anchor: its kind and the version of its first event (`#tool-5`). It stays when the
    conversation goes on.
    """
    return _template().render(
        title=view.conversation_id,
        version=view.version,
        pause=view.pause,
        stream=list(_stream(view.rows)),
    )


@functools.cache
def _template() -> Template:
    loader = PackageLoader("projections", "export")
    return Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_plain
    ).get_template("page.html.j2")


def _plain(shown: object) -> object:
    """Whatever the page shows, without control characters; the template escapes it then."""
    return lines.plain(shown) if type(shown) is str else shown


def _stream(rows: Sequence[Row]) -> Iterator[dict[str, object]]:
    """Rows, and where lanes of sub-agents open and close, as the template takes them."""
    for one in nested(rows):
        if isinstance(one, Opens):
            yield {"kind": "opens", "lane": one.lane}
        elif isinstance(one, Closes):
            yield {"kind": "closes"}
        else:
            yield _shown(one)


def _shown(row: Row) -> dict[str, object]:
    """What the page shows of a row."""
    kind = str(row["row"])
    shown: dict[str, object] = {
        "kind": kind,
        "anchor": f"{kind}-{lines.first(row)}",
        "versions": lines.versions(row),
        "at": row.get("at") or "",
        "agent": row.get("agent_id") or "",
        "marks": lines.marks(row),
        "retracted": bool(row.get("retracted")),
    }
    if kind == "user":
        return {**shown, "said": _bodies(lines.content(row))}
    if kind == "assistant":
        thoughts = row["thinking"] if isinstance(row["thinking"], list) else []
        return {
            **shown,
            "model": lines.value(row.get("model") or ""),
            "said": _bodies(row["text"] or ""),
            "thinking": [one for one in thoughts if isinstance(one, dict)],
            "usage": lines.usage_text(row.get("usage")),
        }
    if kind == "tool":
        args = row.get("args")
        return {
            **shown,
            "name": row.get("tool_name") or "unknown tool",
            "status": row.get("status") or "",
            "args": _bodies(args) if isinstance(args, str) else [json_body(args)],
            "answered": bool(row["results_seen"]),
            "result": _bodies(row.get("result")) if row["results_seen"] else [],
        }
    if kind == "note":
        said = _bodies(lines.content(row))
        if row.get("fields"):
            said.append(json_body(row["fields"]))
        origin = row.get("source_conversation_id") if "source_version" in row else None
        return {**shown, "name": row["kind"], "said": said, "origin": origin}
    return {**shown, "turn": row["turn_id"], "summary": lines.turn_summary(row, None)}


def _bodies(content: Json) -> list[Body]:
    return list(bodies(content))
