"""A view as the AI SDK's stored UIMessages (specs/formats.md 8): the user's messages, and one a turn."""

from __future__ import annotations

from collections.abc import Iterator

from ledger.events import Json, JsonObject
from projections.export.lines import Row
from projections.view import View

_FAILED = "The call has no result."


def ui_messages(view: View) -> list[JsonObject]:
    """The messages of the main agent, in order; what was taken back or hidden is not among them.

    Signed and redacted state stays out: it belongs to who made it, and the AI SDK keeps it by provider.
    """
    messages: list[JsonObject] = []
    parts: list[Json] | None = None  # of the assistant's message that is being made
    turn: Json = None
    step: Json = None
    for row in view.rows:
        if row.get("agent_id") is not None or row.get("hidden") or row.get("retracted"):
            continue
        if row["row"] == "user":
            told = list(_said(row))
            if told:
                messages.append({"id": row.get("message_id") or row["id"], "role": "user", "parts": told})
            parts = None
        elif row["row"] in ("assistant", "tool"):
            if parts is None or row["turn_id"] != turn:
                parts, turn, step = [], row["turn_id"], None
                messages.append({"id": row["id"], "role": "assistant", "parts": parts})
            if row.get("step_id") != step or not parts:
                step = row.get("step_id")
                parts.append({"type": "step-start"})
            parts += _answer(row) if row["row"] == "assistant" else [_call(row)]
    return messages


def _said(row: Row) -> Iterator[Json]:
    content = row.get("content")
    if not isinstance(content, list):
        text = content if isinstance(content, str) else row.get("text")
        if text:
            yield {"type": "text", "text": text}
        return
    for block in content:
        if not isinstance(block, dict):
            continue
        source = block.get("source") if isinstance(block.get("source"), dict) else block
        assert isinstance(source, dict)
        data, url, kind = source.get("data"), source.get("url"), source.get("media_type") or "image/png"
        if isinstance(block.get("text"), str):
            yield {"type": "text", "text": block["text"]}
        elif isinstance(url, str):
            yield {"type": "file", "mediaType": kind, "url": url}
        elif isinstance(data, str):
            yield {"type": "file", "mediaType": kind, "url": f"data:{kind};base64,{data}"}


def _answer(row: Row) -> list[Json]:
    thoughts = row["thinking"] if isinstance(row["thinking"], list) else []
    parts: list[Json] = [
        {"type": "reasoning", "text": one["text"], "state": "done"}
        for one in thoughts
        if isinstance(one, dict) and one.get("text")
    ]
    if row["text"]:
        parts.append({"type": "text", "text": row["text"], "state": "done"})
    return parts


def _call(row: Row) -> JsonObject:
    part: JsonObject = {
        "type": f"tool-{row.get('tool_name') or 'unknown'}",
        "toolCallId": row.get("tool_call_id"),
        "input": row.get("args"),
    }
    if row.get("provider_executed"):
        part["providerExecuted"] = True
    status, result = row.get("status"), row.get("result")
    if status == "running":
        return {**part, "state": "input-available"}
    if status == "done":
        return {**part, "state": "output-available", "output": _output(result)}
    said = _output(result)
    return {**part, "state": "output-error", "errorText": said if isinstance(said, str) and said else _FAILED}


def _output(result: Json) -> Json:
    content = result.get("content") if isinstance(result, dict) else result
    if isinstance(content, list) and all(isinstance(one, dict) and "text" in one for one in content):
        return "\n\n".join(str(one["text"]) for one in content if isinstance(one, dict))
    return content
