"""A view as plain text, for terminals and diffs."""

from __future__ import annotations

from collections.abc import Iterator

from projections.export import lines
from projections.export.lines import Row
from projections.view import View

INDENT = "    "


def text(view: View) -> str:
    """The whole view as text, ending in a newline."""
    return "\n".join(text_lines(view)) + "\n"


def text_lines(view: View) -> Iterator[str]:
    """The same line by line, without newlines: a head line a row, its words indented below."""
    yield f"{lines.plain(view.conversation_id)}, version {view.version}"
    for row in view.rows:
        yield from row_lines(row)
    if view.pause is not None:
        yield ""
        yield f"paused at event {view.pause.version} ({view.pause.event_id}): {lines.plain(view.pause.reason)}"


def row_lines(row: Row) -> Iterator[str]:
    """One row: who, which versions, what is special about it; then the words."""
    kind = row["row"]
    said = lines.marks(row)
    if isinstance(row.get("agent_id"), str):
        said.append(f"agent {lines.value(row['agent_id'])}")
    aside = f" ({'; '.join(said)})" if said else ""
    where = f"[{lines.versions(row)}]"
    if kind == "turn":
        yield f"{where} turn {lines.value(row['turn_id'])}: {lines.turn_summary(row)}{aside}"
        yield ""
    elif kind == "note":
        yield f"{where} note, {row['kind']}{aside}"
        yield from _indented(lines.plain(str(row["text"])))
    elif kind == "user":
        yield f"{where} user{aside}"
        yield from _indented(lines.content_text(row))
    elif kind == "assistant":
        model = f" {lines.value(row['model'])}" if row.get("model") else ""
        yield f"{where} assistant{model}{aside}"
        yield from _thinking(row)
        yield from _indented(lines.plain(str(row["text"])))
    else:
        name = lines.value(row.get("tool_name") or "unknown tool")
        yield f"{where} tool {name} {lines.value(row.get('args'))}{aside}"
        if row["results_seen"]:
            yield from _indented(lines.result_text(row.get("result")))


def _thinking(row: Row) -> Iterator[str]:
    for thought in row["thinking"] if isinstance(row["thinking"], list) else ():
        if isinstance(thought, dict):
            words = "(redacted)" if thought["redacted"] else lines.plain(str(thought["text"]))
            yield from (f"{INDENT}~ {line}" for line in words.split("\n"))


def _indented(words: str) -> Iterator[str]:
    if words:
        yield from (f"{INDENT}{line}".rstrip() for line in words.split("\n"))
