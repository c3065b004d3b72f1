"""Messages of a request to Anthropic: a message of the assistant's is a step, block by block."""

from __future__ import annotations

from typing import cast

from ledger.events import Json, JsonObject
from ledger.intake.claude_code.blocks import mapped_block
from ledger.intake.contents import content_of
from ledger.intake.mending import as_text
from ledger.intake.requests.conversation import Conversation


class AnthropicRequest(Conversation):
    """One request to the Messages API."""

    provider = "anthropic"
    api = "anthropic-messages"

    def message(self, message: JsonObject) -> None:
        """A message of the user's or of the assistant's."""
        content, role = message.get("content"), as_text(message.get("role"))
        blocks: list[Json] = (
            content if isinstance(content, list) else [{"type": "text", "text": as_text(content)}]
        )
        if role == "assistant":
            self._answer(blocks)
        elif role in ("user", "system"):
            self._asked(content, blocks, role)
        else:
            self.scribe.note("raw", "A message of no known role.", message)

    def _answer(self, blocks: list[Json]) -> None:
        step = self.begin_step()
        for place, block in enumerate(blocks):
            event_type, fields = mapped_block(block)
            metadata = fields.get("provider_metadata")
            if event_type == "text_complete":
                step.end_text(as_text(fields["text"]), place, provider_metadata=metadata)
            elif event_type == "thinking_complete":
                signature, hidden = (
                    cast(str | None, fields.get(key)) for key in ("signature", "redacted_data")
                )
                step.end_thinking(as_text(fields["text"]), place, signature, hidden)
            elif event_type == "tool_start":
                call, hosted = as_text(fields["tool_call_id"]), cast(bool | None, fields["provider_executed"])
                name = as_text(fields["tool_name"])
                step.call(
                    call, name, fields["args"], place, provider_executed=hosted, provider_metadata=metadata
                )
                self.turn.start_call(call)
                if not hosted:
                    self.calls.add(call)
            else:
                step.block(event_type, fields, place)

    def _asked(self, content: Json, blocks: list[Json], role: str) -> None:
        rest: list[Json] = []
        for block in blocks:
            if isinstance(block, dict) and block.get("type") == "tool_result":
                self.end_step()
                fields = mapped_block(block).fields
                call = as_text(fields["tool_call_id"])
                failed, metadata = fields["is_error"], fields["provider_metadata"]
                self.turn.tool_result(
                    call, fields["content"], is_error=cast(bool | None, failed), provider_metadata=metadata
                )
                self.calls.discard(call)
            else:
                rest.append(block)
        if rest:
            answered = len(rest) < len(blocks)
            turn = self.turn if answered else self.for_prompt()
            text = content_of(content if len(rest) == len(blocks) else rest)
            if role == "system":
                turn.system_message(text)
            else:
                turn.user_message(text, steering=True if answered else None)
