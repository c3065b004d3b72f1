"""A view as the AI SDK's stored UIMessages (specs/formats.md 8): the user's messages, and one a turn."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

from ledger.events import Json, JsonObject
from projections.export.bodies import source_of
from projections.export.lines import Row
from projections.view import View

_FAILED = "The call has no result."
_BEGINNINGS = {"iVBOR": "image/png", "/9j/": "image/jpeg", "R0lG": "image/gif", "UklG": "image/webp"}
"""How the base64 of images begins."""


def ui_messages(view: View) -> list[JsonObject]:
    """The messages of the main agent, in order, as versions 5 to 7 of the SDK take them.

    What was taken back, hidden or replaced by another attempt is not among them, nor are notes, sub-agents and
    results without a call. Signed and redacted state stays out: it belongs to who made it, and the AI SDK keeps
    it by provider.
    """
    replaced = {_step(row) for row in view.rows if row.get("status") == "superseded"}
    messages: list[JsonObject] = []
    names, calls = _Names(), _Names()
    parts: list[Json] | None = None  # of the assistant's message that is being made
    turn: Json = None
    step: Json = None
    for row in view.rows:
        if row.get("agent_id") is not None or row.get("hidden") or row.get("retracted"):
            continue
        if row["row"] == "user":
            told = list(_said(row))
            if told:
                name = names.new(row.get("message_id") or row["id"])
                messages.append({"id": name, "role": "user", "parts": told})
            parts = None
        elif row["row"] in ("assistant", "tool") and row["status"] != "orphan" and _step(row) not in replaced:
            if parts is None or row["turn_id"] != turn:
                parts, turn, step = [], row["turn_id"], None
                messages.append({"id": names.new(row["id"]), "role": "assistant", "parts": parts})
            if row.get("step_id") != step or not parts:
                step = row.get("step_id")
                parts.append({"type": "step-start"})
            parts += _answer(row) if row["row"] == "assistant" else [_call(row, calls)]
    return messages


class _Names:
    """Ids that are used once: another use of one gets a number."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def new(self, wanted: Json) -> str:
        name, number = str(wanted), 1
        while name in self._used:
            number += 1
            name = f"{wanted}~{number}"
        self._used.add(name)
        return name


def _step(row: Row) -> tuple[Json, Json, Json]:
    return row.get("agent_id"), row.get("turn_id"), row.get("step_id")


def _said(row: Row) -> Iterator[Json]:
    content = row.get("content")
    if not isinstance(content, list):
        text = content if isinstance(content, str) else row.get("text")
        if text:
            yield {"type": "text", "text": text}
        return
    for block in content:
        if isinstance(block, dict):
            yield _given(block)


def _given(block: JsonObject) -> JsonObject:
    """A block of the user's message as a part; what is neither text nor a file, as data of its own type."""
    kind, source = str(block.get("type") or "block"), source_of(block)
    text, data, url = block.get("text"), source.get("data"), source.get("url")
    if isinstance(text, str):
        return {"type": "text", "text": text}
    if kind.startswith("data-") and "data" in block:
        return block
    if isinstance(url, str):
        media = source.get("media_type") or _of_url(url)
    elif isinstance(data, str):
        media = source.get("media_type")
        if source.get("type") == "text":
            media = media or "text/plain"
            data = base64.b64encode(data.encode("utf-8", "replace")).decode()
        if not media and "image" in kind:
            media = next((known for start, known in _BEGINNINGS.items() if data.startswith(start)), None)
    else:
        return {"type": f"data-{kind}", "data": block}
    if not isinstance(media, str) or not media:
        media = "image/png" if "image" in kind else "application/octet-stream"
    name = block.get("filename") or block.get("name")
    named: JsonObject = {"filename": name} if isinstance(name, str) else {}
    return {
        "type": "file",
        "mediaType": media,
        **named,
        "url": url if isinstance(url, str) else f"data:{media};base64,{data}",
    }


def _of_url(url: str) -> str | None:
    """The type that a `data:` URL names."""
    head = url[5:].partition(",")[0].partition(";")[0] if url.startswith("data:") else ""
    return head or None


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


def _call(row: Row, calls: _Names) -> JsonObject:
    name, status, result = row.get("tool_name"), row.get("status"), row.get("result")
    call_id = calls.new(row.get("tool_call_id"))
    named: JsonObject = {"type": f"tool-{name}"} if name else {"type": "dynamic-tool", "toolName": "unknown"}
    part: JsonObject = {**named, "toolCallId": call_id, "input": row.get("args")}
    if row.get("provider_executed"):
        part["providerExecuted"] = True
    approval = row.get("approval")
    decision = approval["decision"] if isinstance(approval, dict) else None
    asked: JsonObject = {"id": f"approval of {call_id}"}
    said = _error_text(result)
    if decision in ("denied", "expired") and status != "done":
        told: JsonObject = {"reason": said} if said else {}
        return {**part, "state": "output-denied", "approval": {**asked, "approved": False, **told}}
    if status == "running" and decision == "requested":
        return {**part, "state": "approval-requested", "approval": asked}
    if decision == "approved":
        part["approval"] = {**asked, "approved": True}
    if status == "running":
        return {**part, "state": "input-available" if decision is None else "approval-responded"}
    if status == "done":
        return {**part, "state": "output-available", "output": _output(result)}
    return {**part, "state": "output-error", "errorText": said or _FAILED}


def _output(result: Json) -> Json:
    """A result as it is; blocks that are text and nothing else, as their text."""
    if isinstance(result, list) and result:
        texts = [one.get("text") if isinstance(one, dict) and _is_text(one) else None for one in result]
        if all(isinstance(text, str) for text in texts):
            return "\n\n".join(map(str, texts))
    return result


def _is_text(block: JsonObject) -> bool:
    return block.keys() <= {"type", "text"} and block.get("type", "text") == "text"


def _error_text(result: Json) -> str:
    said = _output(result)
    if said is None or isinstance(said, str):
        return said or ""
    return json.dumps(said, ensure_ascii=False)
