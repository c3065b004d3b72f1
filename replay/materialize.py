"""From plan to neutral messages (DESIGN.md 7.5): one assistant and one tool message a step, entries between."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from ledger.events import JsonObject
from replay.items import Answer, Block, Call, Entry, HostedResult, Item, Step, Thinking, Words
from replay.plan import Plan

Role: TypeAlias = Literal["user", "assistant", "tool", "system"]
Origin: TypeAlias = Block | Answer | Entry


class Message:
    """One neutral message. `parts` are its neutral parts, `origins` what each part was made from, side by side.

    `item` is the step or entry that the message belongs to: by it a renderer knows step and turn.
    """

    __slots__ = ("item", "origins", "parts", "role")

    def __init__(self, role: Role, item: Item, parts: list[JsonObject], origins: Sequence[Origin]) -> None:
        self.role: Role = role
        self.item = item
        self.parts = parts
        self.origins = origins

    def as_json(self) -> JsonObject:
        """`{"role", "content": [parts]}`."""
        return {"role": self.role, "content": list(self.parts)}

    def versions(self, part: int) -> list[int]:
        """The versions that a part was made from."""
        return self.origins[part].versions


def neutral(plan: Plan) -> list[Message]:
    """The plan's messages in the neutral form; values of events are shared, not copied: read them only."""
    messages: list[Message] = []
    for item in plan.items:
        if isinstance(item, Step):
            parts: list[JsonObject] = []
            results: list[JsonObject] = []
            answers: list[Answer] = []
            for block in item.blocks:
                parts.append(_part(block))
                if isinstance(block, Call) and block.answer is not None:
                    answers.append(block.answer)
                    results.append(_result(block, block.answer))
            messages.append(Message("assistant", item, parts, item.blocks))
            if answers:
                messages.append(Message("tool", item, results, answers))
        else:
            role: Role = "system" if item.kind == "system" else "user"
            messages.append(Message(role, item, item.parts, [item] * len(item.parts)))
    return messages


def _part(block: Block) -> JsonObject:
    if isinstance(block, Words):
        return {"type": "text", "text": block.event.text}
    if isinstance(block, Call):
        part: JsonObject = {
            "type": "tool_call",
            "tool_call_id": block.id,
            "tool_name": block.event.tool_name,
            "args": block.event.args,
        }
        if block.hosted:
            part["provider_executed"] = True
        return part
    if isinstance(block, Thinking):
        event = block.event
        part = {"type": "thinking", "text": event.text}
        if event.signature:
            part["signature"] = event.signature
        if event.redacted_data:
            part["redacted_data"] = event.redacted_data
        return part
    if isinstance(block, HostedResult):
        result = block.event
        return {
            "type": "tool_result",
            "tool_call_id": block.call.id,
            "content": result.content,
            "is_error": bool(result.is_error),
            "provider_executed": True,
        }
    raise TypeError(f"no neutral form for a block of kind {block.kind}")


def _result(call: Call, answer: Answer) -> JsonObject:
    return {
        "type": "tool_result",
        "tool_call_id": call.id,
        "content": answer.content,
        "is_error": answer.is_error,
    }
