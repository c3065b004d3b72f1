"""Note rows: what people should see of events that are neither messages nor tool calls."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from ledger.events import (
    Abort,
    Compaction,
    Complete,
    Context,
    Erasure,
    Error,
    Event,
    Fork,
    Json,
    JsonObject,
    Note,
    Retraction,
    SystemMessage,
    ToolApproval,
)

STEP_LIMITS = frozenset({"step_limit", "tool_step_cap_reached", "max_steps", "max_turns"})
"""Stop reasons and error codes that say a turn was stopped by its step limit (specs/maka.md 3.2)."""


def content_text(content: Json) -> str:
    """The text of a message's content: the string itself, or its text blocks joined by a blank line."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"]
    return "\n\n".join(text for text in texts if isinstance(text, str))


def at_step_limit(event: Complete | Abort | Error) -> bool:
    """Whether a terminal says that the turn ran into its step limit."""
    if isinstance(event, Complete):
        return event.stop_reason in STEP_LIMITS
    if isinstance(event, Abort):
        return event.reason in STEP_LIMITS
    return event.reason in STEP_LIMITS or event.code in STEP_LIMITS


def step_limit_row(event: Event) -> JsonObject:
    """The note that stands before the turn row of a turn that ran into its step limit."""
    return _row(event, "step limit", "The turn was stopped at its step limit.")


def note_row(event: Event) -> JsonObject:
    """The note row of a control event, an extra terminal or an unknown event."""
    match event:
        case Compaction():
            return _row(event, "compaction", event.summary) | {"through_version": event.through_version}
        case Fork():
            where = f"{event.source_conversation_id} at {event.source_version}"
            return _row(event, "fork", f"Branched from {where}.") | {
                "source_conversation_id": event.source_conversation_id,
                "source_version": event.source_version,
            }
        case SystemMessage():
            return _row(event, "system", content_text(cast(Json, event.content))) | {
                "content": cast(Json, event.content)
            }
        case Context():
            return _row(event, "context", _context(event)) | {"digest": event.digest}
        case Retraction():
            return _row(event, "retraction", _retraction(event))
        case Erasure():
            count = len(event.event_ids)
            return _row(event, "erasure", f"{count} {_plural('event', count)} erased: {event.reason}")
        case ToolApproval():
            return _row(event, "approval", f"{event.decision} for the unknown call {event.tool_call_id}")
        case Error():
            what = "retryable error" if event.retryable else "extra terminal"
            return _row(event, what, event.message) | {"code": event.code, "reason": event.reason}
        case Complete():
            return _row(event, "extra terminal", f"complete: {event.stop_reason or 'no reason given'}")
        case Abort():
            return _row(event, "extra terminal", f"abort: {event.reason or 'no reason given'}")
        case Note():
            named = event.fields.get("kind")
            kind = named if isinstance(named, str) and named else "note"
            return _row(event, kind, _free(event.fields))
    row = _row(event, "unknown event", event.type) | {"event_type": event.type}
    if event.fields:
        row["fields"] = dict(event.fields)
    return row


def _row(event: Event, kind: str, text: str) -> JsonObject:
    return {
        "row": "note",
        "kind": kind,
        "text": text,
        "at": event.at,
        "hidden": event.visibility == "hidden",
        "agent_id": event.agent_id,
        "turn_id": event.turn_id,
    }


def _context(event: Context) -> str:
    parts = []
    if event.system is not None:
        parts.append("system prompt")
    if event.tools is not None:
        count = len(event.tools) if isinstance(event.tools, list | dict) else 1
        parts.append(f"{count} {_plural('tool', count)}")
    if event.settings is not None:
        parts.append("settings")
    return f"Context: {', '.join(parts) or 'nothing'}."


def _retraction(event: Retraction) -> str:
    named = (("turn", event.turn_ids), ("step", event.step_ids), ("event", event.event_ids))
    parts = [f"{len(ids)} {_plural(what, len(ids))}" for what, ids in named if ids]
    return f"Taken back: {', '.join(parts) or 'nothing'}."


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _free(fields: Mapping[str, Json]) -> str:
    """A note's own text, or all that it holds."""
    for name in ("text", "message"):
        value = fields.get(name)
        if isinstance(value, str):
            return value
    kept = {name: value for name, value in fields.items() if name != "kind"}
    return json.dumps(kept, ensure_ascii=True) if kept else ""
