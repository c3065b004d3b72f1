"""A view as Markdown, for reading and sharing (specs/maka.md 3.7): nothing of its rows is cut."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from ledger.events import Json
from projections.export import lines
from projections.export.bodies import Body, bodies, json_body
from projections.export.lines import Row
from projections.export.nesting import Closes, Lane, Opens, nested
from projections.export.quoting import code, fenced, literal, quoted
from projections.view import View


def markdown(view: View) -> str:
    """The whole view as Markdown: a heading a message and what it says as a quote, tool calls as lists with
    arguments and results in fences. What stands outside of quotes and fences is the document's own."""
    parts = [f"# {_line(view.conversation_id)}", f"*version {view.version}*"]
    depth = 0
    for one in nested(view.rows):
        if isinstance(one, Opens):
            depth = one.lane.depth
            parts.append(_opening(one.lane))
        elif isinstance(one, Closes):
            depth = one.lane.depth - 1
            parts.append(f"*End of sub-agent {_line(one.lane.agent)}.*")
        else:
            parts += _row(one, depth)
    if view.pause is not None:
        parts.append(
            f"**Paused at event {view.pause.version}** ({code(_short(view.pause.event_id))}): "
            f"{_line(view.pause.reason)}"
        )
    return "\n\n".join(parts) + "\n"


def _opening(lane: Lane) -> str:
    if lane.under is None:
        return f"*Sub-agent {_line(lane.agent)}; the call that started it is not known:*"
    name = _line(lane.under.get("tool_name") or "unknown tool")
    return f"*Sub-agent {_line(lane.agent)}, started by the call of {name} at event {lines.first(lane.under)}:*"


def _row(row: Row, depth: int) -> Iterator[str]:
    kind = row["row"]
    said = [_line(mark) for mark in lines.marks(row)]
    aside = f" *({'; '.join(said)})*" if said else ""
    agent = row.get("agent_id")
    who = f" of {_line(agent)}" if isinstance(agent, str) else ""
    heading = "#" * min(2 + depth, 6)
    if kind == "user":
        yield f"{heading} User{who}{aside}"
        yield from _said(bodies(lines.content(row)))
    elif kind == "assistant":
        model = f" ({_line(row['model'])})" if row.get("model") else ""
        yield f"{heading} Assistant{who}{model}{aside}"
        yield from _thinking(row)
        if row["text"]:
            yield quoted(lines.plain(str(row["text"])))
    elif kind == "tool":
        yield from _call(row, who, aside)
    elif kind == "note" and "source_version" in row:
        origin = f"{_line(row.get('source_conversation_id'))} at event {_line(row['source_version'])}"
        yield f"*Branch: all above is of {origin}.*{aside}"
    elif kind == "note":
        yield f"*Note, {_line(row['kind'])}*{who}{aside}:"
        yield from _said(bodies(lines.content(row)))
        if row.get("fields"):
            yield from _said([json_body(row["fields"])])
    else:
        yield f"*Turn {_line(row['turn_id'])}{who}: {_line(lines.turn_summary(row, None))}*{aside}"
        yield "---"


def _said(given: Iterable[Body]) -> Iterator[str]:
    """What was said, in quotes; what is no text beside it."""
    for body in given:
        if body.kind == "text":
            yield quoted(body.text)
        else:
            yield fenced(body.text, "json") if body.kind == "json" else f"*[{literal(body.text)}]*"


def _thinking(row: Row) -> Iterator[str]:
    for thought in row["thinking"] if isinstance(row["thinking"], list) else ():
        if not isinstance(thought, dict):
            continue
        if thought["redacted"]:
            yield "*(redacted thinking)*"
        if thought["text"]:
            signed = ", signed" if thought["signed"] else ""
            yield f"<details><summary>thinking{signed}</summary>"
            yield quoted(lines.plain(str(thought["text"])))
            yield "</details>"
        elif not thought["redacted"]:
            yield "*(signed thinking without text)*"


def _call(row: Row, who: str, aside: str) -> Iterator[str]:
    """A call as an item of a list; all that is of it is indented below it."""
    head = f"- **{_line(row.get('tool_name') or 'unknown tool')}**{who}"
    args = row.get("args")
    short = _short(args)
    written = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
    if len(short) <= lines.SHORT and short == written:
        yield f"{head} {code(short)}{aside}"
    else:
        yield f"{head}{aside}"
        yield _below("arguments:")
        for body in bodies(args) if isinstance(args, str) else (json_body(args),):
            yield _below(fenced(body.text, "json" if body.kind == "json" else ""))
    if row["results_seen"]:
        yield _below("result:")
        for body in bodies(row.get("result")):
            shown = f"*[{literal(body.text)}]*"
            if body.kind != "data":
                shown = fenced(body.text, "json" if body.kind == "json" else "")
            yield _below(shown)


def _below(words: str) -> str:
    return "\n".join(f"  {line}" for line in words.split("\n"))


def _short(data: Json) -> str:
    return lines.value(data, None)


def _line(words: Json) -> str:
    """Anything of the events in a line of the document's own."""
    return literal(_short(words))
