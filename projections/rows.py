"""Row shapes (DESIGN.md 6): a record, with its step and turn, as the JSON object that readers get."""

from __future__ import annotations

from typing import cast

from ledger.events import Json, JsonObject, ToolResult, UserMessage
from projections.clock import elapsed_ms
from projections.notes import content_text
from projections.records import Block, Call, Plain, Record, Step, Turn
from projections.usage import summed


def row_of(record: Record, conversation_id: str) -> JsonObject | None:
    """The row of a record as things stand; None when it has none (a step with tool calls alone, say)."""
    kind = record.kind
    if kind == "tool":
        return _tool(cast(Call, record), conversation_id)
    if kind == "assistant":
        return _assistant(cast(Step, record), conversation_id)
    if kind == "turn":
        return _turn(cast(Turn, record), conversation_id)
    plain = cast(Plain, record)
    turn = plain.turn
    body = plain.body
    row: JsonObject = {
        "row": body["row"],
        "id": f"{kind}:{plain.first}",
        "conversation_id": conversation_id,
        **body,
        "retracted": plain.retracted or (turn is not None and turn.retracted and body["turn_id"] is not None),
        "versions": [plain.first, plain.first],
    }
    return row


def user_row(event: UserMessage) -> JsonObject:
    """The parts of a user row that its event alone decides."""
    return {
        "row": "user",
        "turn_id": event.turn_id,
        "text": content_text(cast(Json, event.content)),
        "content": cast(Json, event.content),
        "message_id": event.message_id,
        "steering": bool(event.steering),
        "origin": event.origin or "person",
        "at": event.at,
        "hidden": event.visibility == "hidden",
        "agent_id": event.agent_id,
    }


def orphan_row(event: ToolResult) -> JsonObject:
    """The tool row of a result that answers no call."""
    return {
        "row": "tool",
        "turn_id": event.turn_id,
        "step_id": event.step_id,
        "tool_call_id": event.tool_call_id,
        "occurrence": None,
        "tool_name": event.tool_name,
        "args": None,
        "status": "orphan",
        "result": event.content,
        "is_error": bool(event.is_error),
        "results_seen": 1,
        "after_terminal": False,
        "duration_ms": event.duration_ms,
        "at": event.at,
        "hidden": event.visibility == "hidden",
        "agent_id": event.agent_id,
    }


def superseded(step: Step) -> bool:
    """Whether an attempt is replaced: named, none of its calls answered, and the turn not over without it."""
    if not step.named or step.answered:
        return False
    turn = step.turn
    return turn.last_block > step.first or not turn.over_since(step.first)


def block_place(block: Block) -> tuple[int, int]:
    """Order of a step's blocks while every kept one has an index."""
    return (block[0] or 0, block[1])


def _assistant(step: Step, conversation_id: str) -> JsonObject | None:
    blocks = step.blocks
    if not blocks:
        return None
    if len(blocks) > 1 and not step.unindexed:
        blocks = sorted(blocks, key=block_place)
    texts: list[str] = []
    thinking: list[Json] = []
    hidden: list[Json] = []
    for block in blocks:
        content = block[3]
        if isinstance(content, str):
            if content:
                texts.append(content)
        elif content["text"] or content["signed"] or content["redacted"]:
            thinking.append(content)
        if block[2]:
            hidden.append(block[1])
    turn = step.turn
    status = "complete"
    if step.named and superseded(step):
        status = "superseded"
    elif not step.finished:
        ended = turn.ended()
        if ended is not None and ended.end_kind != "complete":
            status = "partial"
    all_hidden = len(hidden) == len(blocks)
    gone = step.gone
    retracted = turn.retracted or step.retracted or len(gone) == len(blocks)
    row: JsonObject = {
        "row": "assistant",
        "id": f"assistant:{step.first}",
        "conversation_id": conversation_id,
        "turn_id": turn.turn_id,
        "step_id": step.step_id,
        "text": texts[0] if len(texts) == 1 else "\n\n".join(texts),
        "thinking": thinking,
        "model": step.model,
        "provider": step.provider,
        "finish_reason": step.finish_reason,
        "usage": step.usage if step.usage is not None else step.finish_usage,
        "status": status,
        "duration_ms": elapsed_ms(step.at_first, step.at_last) if step.timed else None,
        "at": step.at_last,
        "hidden": all_hidden,
        "retracted": retracted,
        "agent_id": turn.lane.agent,
        "versions": [step.low, step.high],
    }
    if hidden and not all_hidden:
        row["hidden_versions"] = hidden
    if gone and not retracted:
        row["retracted_versions"] = [*sorted(gone)]
    return row


def _tool(call: Call, conversation_id: str) -> JsonObject:
    turn, step = call.turn, call.step
    ended = turn.ended()
    if call.final:
        status = "error" if call.is_error else "done"
    elif call.closed or ended is not None or _denied(call):
        status = "interrupted"
    else:
        status = "running"
    duration = call.duration_ms
    if duration is None and call.final:
        duration = elapsed_ms(call.at, call.result_at)
    retracted = turn.retracted or step.retracted or call.retracted
    row: JsonObject = {
        "row": "tool",
        "id": f"tool:{call.first}",
        "conversation_id": conversation_id,
        "turn_id": turn.turn_id,
        "step_id": step.step_id,
        "tool_call_id": call.call_id,
        "occurrence": call.occurrence,
        "tool_name": call.name,
        "args": call.args,
        "status": status,
        "result": call.result,
        "results_seen": call.seen,
        "after_terminal": ended is not None and call.result_version > ended.end,
        "duration_ms": duration,
        "provider_executed": call.provider_executed,
        "approval": call.approval,
        "at": call.at,
        "hidden": call.hidden,
        "retracted": retracted,
        "agent_id": turn.lane.agent,
        "versions": [call.first, call.last],
    }
    if call.gone and not retracted:
        row["retracted_versions"] = [call.result_version]
    return row


def _denied(call: Call) -> bool:
    return call.approval is not None and call.approval["decision"] in ("denied", "expired")


def _turn(turn: Turn, conversation_id: str) -> JsonObject | None:
    if not turn.real or (turn.host is not None and not turn.explicit):
        return None
    kind = turn.end_kind
    return {
        "row": "turn",
        "id": f"turn:{turn.first}",
        "conversation_id": conversation_id,
        "turn_id": turn.turn_id,
        "status": kind or "running",
        "stop_reason": turn.stop_reason,
        "error": turn.error,
        "partial_output_retained": turn.output and kind in ("error", "aborted"),
        "usage": summed(turn.usage) if turn.usage else None,
        "duration_ms": elapsed_ms(turn.at, turn.end_at) if turn.end else None,
        "at": turn.end_at if turn.end else turn.at,
        "hidden": False,
        "retracted": turn.retracted,
        "agent_id": turn.lane.agent,
        "versions": [turn.first, turn.last],
    }
