"""Which thinking goes back to Anthropic (DESIGN.md 7.3; A13, A20 to A25 of specs/providers.md).

Thinking is sent byte for byte to the provider, api and model that made it, whole steps at a time, in the
recorded order. Where some of the target's own thinking cannot be sent, what follows it is not sent either:
to the end of the turn, or, where the model binds thinking to its prefix, to the next compaction. Every
decision looks back only, so that what was once rendered stays (X7).
"""

from collections.abc import Iterable, Sequence
from copy import copy
from typing import NamedTuple

from ledger.events import Context, Json, JsonObject
from ledger.recorded import RecordedEvent
from replay.items import Block, Step, Thinking
from replay.options import Target
from replay.parts import canonical
from replay.providers.anthropic_models import binds_prefix, taken
from replay.providers.ownership import Ownership
from replay.providers.wire_text import is_clean

PROVIDERS = frozenset({"anthropic"})
APIS = frozenset({"messages", "anthropic-messages", "anthropic.messages"})
"""How runtimes call this wire format; the format has one."""

THINKING = ("thinking", "redacted_thinking")
_READS: dict[str, tuple[str, ...]] = {"claude-fable-5-1": ("claude-opus-5", "claude-opus-5-5")}
"""Whose thinking a model reads beside its own (A14)."""


class Verdict(NamedTuple):
    """What becomes of one thinking block: `wire`, or the code and details of why it is left out."""

    wire: JsonObject | None
    code: str = ""
    detail: JsonObject | None = None


class ThinkingGate:
    """Decides step by step; `closed_since` is the version of the block after which no more thinking is sent.

    `in_force` holds the context that the request has, where it is to be compared with those of the steps;
    `binding` is the request's own `block_binding`.
    """

    def __init__(
        self,
        target: Target,
        model: str | None,
        in_force: tuple[RecordedEvent | None] | None = None,
        binding: Json = None,
    ) -> None:
        self.model = model
        self.binds = binds_prefix(target)
        self._context = in_force[0] if in_force is not None else None
        self._as_now: dict[int, bool] = {}  # by the version of a context: whether it gives what is given now
        self._giver: Step | None = None  # of the compaction that stands first as its own block
        self._given_at = 0
        asked = isinstance(binding, dict) and binding.get("prefix_mismatch_behavior") == "drop_block"
        self._compares = in_force is not None and self.binds and not asked
        self.manual = taken(target.thinking or {}, model).get("type") == "enabled"
        self._ownership = Ownership(target, model, PROVIDERS, APIS, _READS.get(model or "", ()))
        self._closed_since: int | None = None

    def fork(self) -> "ThinkingGate":
        """A copy that goes on apart; what is known by maker or context holds for both."""
        return copy(self)

    def new_turn(self) -> None:
        """User content came: unless thinking is bound to its prefix, the missing no longer matters."""
        if not self.binds:
            self._closed_since = None

    def compacted(self, giver: Step | None = None, given_at: int = 0) -> None:
        """A summary stands in place of the history: thinking after it was made after it.

        `giver` is the step that gave it at `given_at`, where the provider's own block stands there.
        """
        self._closed_since = None
        self._giver, self._given_at = giver, given_at

    def close(self, block: Block) -> None:
        """Thinking is left out for another reason: the first of it closes the way."""
        if self._closed_since is None and self.is_own(block.step):
            self._closed_since = block.version

    def is_own(self, step: Step) -> bool:
        """True when what the provider gave with a step may go back."""
        return self._ownership.foreign(step) is None

    def _is_elsewhere(self, step: Step) -> bool:
        """True when a step was made with another system prompt or other tools than the request has (A12)."""
        if not self._compares or step.context is self._context:
            return False
        made = 0 if step.context is None else step.context.version
        if made not in self._as_now:
            self._as_now[made] = _prefix(step.context) == _prefix(self._context)
        return not self._as_now[made]

    def _is_cut_off(self, block: Thinking) -> bool:
        """True for bound thinking from before a compaction: what it was bound to is gone."""
        step = block.step
        if not (self.binds and step.before_compaction):
            return False
        return step is not self._giver or block.version < self._given_at

    def plainly(self, step: Step, block: Thinking) -> JsonObject | None:
        """The usual case of `admits`, told at once: the target's own signed block, alone in its step."""
        event = block.event
        if (
            self.manual
            or self._closed_since is not None
            or not event.signature
            or event.redacted_data
            or step.before_compaction
            or (self._compares and step.context is not self._context)
            or step.state_invalid
            or block.entry is not None
            or not (is_clean(event.text) and is_clean(event.signature))
            or self._ownership.foreign(step) is not None
        ):
            return None
        return {"type": "thinking", "thinking": event.text, "signature": event.signature}

    def _wire(self, block: Thinking) -> JsonObject | None:
        """The block as it goes back, None when it is neither signed nor redacted."""
        return _wire(block)

    def admits(
        self, step: Step, thinkings: Sequence[Thinking], left_out: Sequence[Block], led: bool | None
    ) -> list[Verdict]:
        """The verdicts on a step's thinking blocks, in their order.

        `left_out` are those of its blocks that the renderer does not send. `led`: the message that the step
        goes on starts with thinking; None when the step begins its message.
        """
        foreign = self._ownership.foreign(step)
        if foreign is not None:
            return [Verdict(None, "foreign_thinking_skipped", foreign)] * len(thinkings)
        unit = self._damage(step, thinkings)
        verdicts: list[Verdict] = []
        before: Thinking | None = None
        for block in thinkings:
            verdict = self._verdict(step, block, before, unit, left_out, led)
            if verdict.wire is not None:
                before = block
            verdicts.append(verdict)
        return verdicts

    def _damage(self, step: Step, thinkings: Sequence[Thinking]) -> tuple[Thinking, str] | None:
        """The first block that the provider made and that cannot go back as it was; all of its step stays out.

        Unsigned thinking at the end of a step is no such block: the stream was cut before it was whole.
        """
        for block in thinkings:
            if step.state_invalid:
                return block, "invalid_replay_state"
            wire = self._wire(block)
            if wire is None:
                if block is not step.blocks[-1]:
                    return block, "unsigned"
            elif not is_clean(wire):
                return block, "lone surrogate"
        return None

    def _verdict(
        self,
        step: Step,
        block: Thinking,
        before: Thinking | None,
        unit: tuple[Thinking, str] | None,
        left_out: Sequence[Block],
        led: bool | None,
    ) -> Verdict:
        if self._is_cut_off(block):
            return Verdict(None, "thinking_suffix_skipped", {"reason": "before a compaction"})
        if self._closed_since is not None and self._closed_since != block.version:
            return Verdict(None, "thinking_suffix_skipped", {"since": self._closed_since})
        if unit is not None:
            self._closed_since = unit[0].version
            if unit[1] == "unsigned" and not block.signed:
                return Verdict(None, "unsigned_thinking_skipped", {})
            return Verdict(None, "damaged_thinking_skipped", {"reason": unit[1], "damaged": unit[0].version})
        wire = self._wire(block)
        if wire is None:
            return Verdict(None, "unsigned_thinking_skipped", {})
        if self._is_elsewhere(step):
            self._closed_since = block.version
            return Verdict(None, "thinking_context_skipped", {})
        misplaced = self._misplaced(step, block, before, left_out, led)
        if misplaced is not None:
            self._closed_since = block.version
            return Verdict(None, "thinking_order_skipped", {"reason": misplaced})
        return Verdict(wire)

    def _misplaced(
        self, step: Step, block: Thinking, before: Thinking | None, left_out: Sequence[Block], led: bool | None
    ) -> str | None:
        """Why a block's place is not the one that it had in its response."""
        if before is None:
            starts = step.blocks[0] is block if led is None else led
            return "manual thinking comes first in its message" if self.manual and not starts else None
        if step.order_assumed:
            return "the order of the step's blocks is assumed"
        here = step.blocks.index(block)
        previous = step.blocks.index(before)
        if any(block in left_out for block in step.blocks[previous + 1 : here]):
            return "a block before it is left out"
        first, last = before.block_index, block.block_index
        if first is None or last is None:
            return None
        if here == previous + 1 and last - first > 1:
            return "a block before it was not recorded"
        missing = [gone.block_index for gone in step.left_out or ()]
        if any(index is not None and first < index < last for index in missing):
            return "a block before it is left out"
        return None


def _prefix(record: RecordedEvent | None) -> str:
    """What stands before the messages, as far as thinking is bound to it."""
    event = record.event if record is not None else None
    return canonical([event.system, event.tools] if isinstance(event, Context) else [None, None])


def _wire(block: Thinking) -> JsonObject | None:
    """The block as it goes back, None when it is neither signed nor redacted."""
    event, entry = block.event, block.entry or {}
    sealed = entry.get("thinkingSignature")
    if event.redacted_data:
        return {"type": "redacted_thinking", "data": event.redacted_data}
    if entry.get("redacted") is True and isinstance(sealed, str) and sealed:
        return {"type": "redacted_thinking", "data": sealed}
    signature = event.signature or sealed
    if isinstance(signature, str) and signature:
        return {"type": "thinking", "thinking": event.text, "signature": signature}
    return None


def starts_with_thinking(blocks: Iterable[JsonObject]) -> bool | None:
    """Whether an assistant's blocks do, behind what compacted the history before them; None where there are no
    further blocks."""
    first = next((block["type"] for block in blocks if block["type"] != "compaction"), None)
    return None if first is None else first in THINKING


class ToolLoop:
    """Whether the tool loop that is open at a request's end began with thinking (A24). It is told all that is
    written, so that nobody needs to look back over a long turn."""

    def __init__(self) -> None:
        self._role = ""
        self._results_first = False  # the last user message begins with a result
        self._asked = True  # and holds more than results: a turn begins behind it
        self._begins: bool | None = None  # whether the last answer begins with thinking
        self._led = False  # whether one of the turn does

    def fork(self) -> "ToolLoop":
        """A copy that goes on apart."""
        return copy(self)

    def add(self, role: str, blocks: Sequence[JsonObject]) -> None:
        """Blocks were written, by their `type`; those of one role in a row are one message."""
        if role == "user":
            if self._role != "user":
                self._results_first, self._asked = blocks[0]["type"] == "tool_result", False
            self._asked = self._asked or any(block["type"] != "tool_result" for block in blocks)
        else:
            if self._role != role:
                self._begins = None
                self._led = self._led and not self._asked
            if self._begins is None:
                self._begins = starts_with_thinking(blocks)
                self._led = self._led or self._begins is True
        self._role = role

    @property
    def is_unled(self) -> bool:
        """True when the request ends with results of calls whose turn has no thinking."""
        return self._role == "user" and self._results_first and not self._led


def in_force(config: JsonObject, loop: ToolLoop) -> JsonObject:
    """The thinking configuration for a request with this end.

    Manual thinking goes off while a tool loop is open that did not start with thinking (A24): it cannot be
    made up.
    """
    return {"type": "disabled"} if config.get("type") == "enabled" and loop.is_unled else config
