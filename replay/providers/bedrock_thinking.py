"""Which thinking goes back through Bedrock (B6): Anthropic's own rules (`anthropic_thinking`), under Bedrock's
names, in Converse's spelling."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from ledger.events import Json, JsonObject
from ledger.recorded import RecordedEvent
from replay.items import Block, Step, Thinking
from replay.options import Target
from replay.providers.anthropic_thinking import ThinkingGate, Verdict
from replay.providers.bedrock_families import binds
from replay.providers.media import is_base64
from replay.providers.opaque import opaque_of
from replay.providers.ownership import Ownership

PROVIDERS = frozenset({"bedrock", "amazon-bedrock"})
APIS = frozenset({"bedrock", "bedrock-converse-stream", "bedrock.converse", "amazon-bedrock"})


class BedrockGate(ThinkingGate):
    """Decides step by step; what it admits are content blocks of Converse."""

    def __init__(
        self, target: Target, model: str | None, in_force: RecordedEvent | None, binding: Json = None
    ) -> None:
        """`in_force` is the context that the request has: bound thinking is of that alone (A12)."""
        super().__init__(replace(target, binds_prefix=binds(target, model)), model, (in_force,), binding)
        self._ownership = Ownership(target, model, PROVIDERS, APIS)

    def _wire(self, block: Thinking) -> JsonObject | None:
        """As `ThinkingGate` has it; what seals the block may also stand in its metadata alone."""
        wire = super()._wire(block)
        if wire is not None:
            return wire
        opaque = opaque_of(block)
        if opaque.redacted is not None:
            return {"type": "redacted_thinking", "data": opaque.redacted}
        if opaque.signature is not None:
            return {"type": "thinking", "thinking": block.event.text, "signature": opaque.signature}
        return None

    def admits(
        self, step: Step, thinkings: Sequence[Thinking], left_out: Sequence[Block], led: bool | None
    ) -> list[Verdict]:
        """The verdicts on a step's thinking blocks, in their order; see `ThinkingGate.admits`.

        Redacted data that is no base64 cannot stand for bytes: then all of the step's stays out.
        """
        verdicts = super().admits(step, thinkings, left_out, led)
        for block, verdict in zip(thinkings, verdicts, strict=True):
            if verdict.wire is not None and _block(verdict.wire) is None:
                self.close(block)
                detail: JsonObject = {"reason": "its data is not base64", "damaged": block.version}
                return [Verdict(None, "damaged_thinking_skipped", detail)] * len(thinkings)
        return [one if one.wire is None else Verdict(_block(one.wire)) for one in verdicts]


def _block(wire: JsonObject) -> JsonObject | None:
    """Anthropic's spelling of sealed thinking as Converse's; None where it has none."""
    if wire["type"] == "redacted_thinking":
        data = cast(str, wire["data"])
        return {"reasoningContent": {"redactedContent": data}} if is_base64(data) else None
    text: JsonObject = {"text": wire["thinking"], "signature": wire["signature"]}
    return {"reasoningContent": {"reasoningText": text}}


def is_reasoning(block: Json) -> bool:
    """True for a block of thinking."""
    return isinstance(block, dict) and "reasoningContent" in block
