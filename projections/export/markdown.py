"""A view as Markdown, for reading and sharing (specs/maka.md 3.7)."""

from __future__ import annotations

from collections.abc import Iterator

from projections.export import lines
from projections.export.lines import Row
from projections.view import View


def markdown(view: View) -> str:
    """The whole view as Markdown: a heading a message, tool calls as lists with their results in fences."""
    parts = [f"# {_one_line(view.conversation_id)}", f"*version {view.version}*"]
    parts += [part for row in view.rows for part in _row(row)]
    if view.pause is not None:
        parts.append(
            f"> **Paused at event {view.pause.version}** (`{_one_line(view.pause.event_id)}`): "
            f"{_one_line(view.pause.reason)}"
        )
    return "\n\n".join(parts) + "\n"


def _row(row: Row) -> Iterator[str]:
    kind = row["row"]
    said = lines.marks(row)
    aside = f" *({'; '.join(said)})*" if said else ""
    agent = row.get("agent_id")
    who = f" of {_one_line(str(agent))}" if isinstance(agent, str) else ""
    if kind == "user":
        yield f"## User{who}{aside}"
        yield lines.content_text(row)
    elif kind == "assistant":
        model = f" ({_one_line(str(row['model']))})" if row.get("model") else ""
        yield f"## Assistant{who}{model}{aside}"
        yield from _thinking(row)
        if row["text"]:
            yield lines.plain(str(row["text"]))
    elif kind == "tool":
        name = _one_line(str(row.get("tool_name") or "unknown tool"))
        yield f"- **{name}**{who} {_code(row.get('args'))}{aside}"
        if row["results_seen"]:
            yield _fenced(lines.result_text(row.get("result")))
    elif kind == "note":
        yield f"> *{_one_line(str(row['kind']))}*{aside}: {_quoted(str(row['text']))}"
    else:
        yield f"*Turn {_one_line(str(row['turn_id']))}{who}: {_one_line(lines.turn_summary(row))}*{aside}"
        yield "---"


def _thinking(row: Row) -> Iterator[str]:
    for thought in row["thinking"] if isinstance(row["thinking"], list) else ():
        if isinstance(thought, dict):
            words = "*(redacted thinking)*" if thought["redacted"] else _quoted(str(thought["text"]))
            yield f"> {words}"


def _quoted(words: str) -> str:
    return lines.plain(words).replace("\n", "\n> ")


def _one_line(words: str) -> str:
    return " ".join(lines.plain(words).split())


def _code(data: object) -> str:
    words = lines.value(data)  # type: ignore[arg-type]
    ticks = "`"
    while ticks in words:
        ticks += "`"
    pad = " " if words[:1] == "`" or words[-1:] == "`" else ""
    return f"{ticks}{pad}{words}{pad}{ticks}"


def _fenced(words: str) -> str:
    fence = "```"
    while fence in words:
        fence += "`"
    body = "\n".join(f"  {line}" for line in words.split("\n"))
    return f"  {fence}\n{body}\n  {fence}"
