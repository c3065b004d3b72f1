"""Which reasoning goes back through a runtime to the provider below it (specs/providers.md V7, V8 and the rules
of that provider).

The runtimes hand opaque data on as they are given it; what the provider below would refuse has to stay out
here. A step's reasoning is decided as a whole, and looking back only (X7). Thinking for Anthropic and for
Bedrock is decided by their own rules (`anthropic_thinking`, `bedrock_thinking`).
"""

import copy
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

from ledger.events import JsonObject
from ledger.recorded import RecordedEvent
from replay.growing import Known
from replay.items import Block, Step, Thinking
from replay.options import Target
from replay.providers.anthropic_models import binding_of
from replay.providers.anthropic_thinking import ThinkingGate
from replay.providers.bedrock_thinking import BedrockGate
from replay.providers.content import is_blank
from replay.providers.families import Below
from replay.providers.media import is_base64
from replay.providers.opaque import Opaque, opaque_of
from replay.providers.ownership import Ownership
from replay.providers.wire_text import is_clean

_ITEM_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_REASONING_ID = re.compile(r"rs_[A-Za-z0-9_-]{1,61}")


class Kept(NamedTuple):
    """Thinking that goes back: its texts and its opaque data; or the code and detail of why it does not."""

    texts: tuple[str, ...] = ()
    opaque: Opaque | None = None
    code: str = ""
    detail: JsonObject | None = None


class Decision(NamedTuple):
    """What becomes of a step's thinking, and the item ids under which its blocks go out."""

    thinkings: dict[Thinking, Kept]
    ids: dict[Block, str]


class ReasoningGate:
    """Decides step by step, in the order of the request."""

    def __init__(self, target: Target, below: Below, in_force: RecordedEvent | None) -> None:
        """`in_force` is the context that the request has: bound thinking is of that alone (A12)."""
        self.below = below
        self.family = "" if below.family is None else below.family.name
        self.stored = bool(target.stored) and self.family == "openai-responses"
        self._target = target
        self._gate: ThinkingGate | None = None
        binding = binding_of(target.thinking)
        if self.family == "anthropic":
            self._gate = ThinkingGate(below.as_target(target), below.model, (in_force,), binding)
        elif self.family == "bedrock":
            self._gate = BedrockGate(below.as_target(target), below.model, in_force, binding)
        family = below.family
        self._ownership = Ownership(
            target, below.model, family.providers if family else (), family.apis if family else ()
        )
        self._items: Known[str, None] = Known()  # ids of items that were sent
        self._closed: int | None = None  # the version of thinking for Anthropic that could not be sent

    def fork(self) -> "ReasoningGate":
        """A copy that goes on apart."""
        twin = copy.copy(self)
        twin._gate = copy.copy(self._gate)
        twin._items = self._items.fork()
        return twin

    def new_turn(self) -> None:
        """User content came."""
        if self._gate is not None:
            self._gate.new_turn()
            if not self._gate.binds:
                self._closed = None

    def compacted(self) -> None:
        """A summary stands in place of the history."""
        self._closed = None
        if self._gate is not None:
            self._gate.compacted()

    def own(self, step: Step) -> bool:
        """Whether a step's opaque data may go back at all."""
        return not step.state_invalid and self._ownership.foreign(step) is None

    def admits(
        self, step: Step, sent: Sequence[Block], left_out: Sequence[Block], led: bool | None
    ) -> Decision:
        """The decision on a step.

        `sent` are its blocks that go out beside thinking; `left_out` those that do not. `led`: the assistant's
        message that the step goes on starts with thinking; None when the step begins one.
        """
        thinkings = [block for block in step.blocks if isinstance(block, Thinking)]
        if not thinkings and not self.stored:
            return Decision({}, {})
        foreign = self._ownership.foreign(step)
        if foreign is not None:
            return Decision(dict.fromkeys(thinkings, Kept(code="foreign_thinking_skipped", detail=foreign)), {})
        if step.state_invalid:
            return Decision({one: _damaged(one, "invalid_replay_state") for one in thinkings}, {})
        if not sent:
            self._close(thinkings)
            return Decision(dict.fromkeys(thinkings, Kept(code="thinking_only_step_skipped")), {})
        behind = next(count for count, block in enumerate(reversed(step.blocks)) if block in sent)
        tail = [one for one in step.blocks[len(step.blocks) - behind :] if isinstance(one, Thinking)]
        inside = thinkings[: len(thinkings) - len(tail)]
        kept = dict.fromkeys(tail, Kept(code="thinking_tail_skipped"))
        ids = self._ids(step, [*left_out, *tail]) if self.stored else {}
        if inside:
            kept |= self._inside(step, inside, left_out, led, ids)
        self._close(tail)
        return Decision({one: kept[one] for one in thinkings}, ids)

    def thought(self, block: Block) -> str | None:
        """Gemini's thought signature of a text or call (G10)."""
        if self.family != "google" or not self.own(block.step):
            return None
        return _base64(opaque_of(block).thought)

    # -- by provider

    def _ids(self, step: Step, left_out: Sequence[Block]) -> dict[Block, str]:
        """The item ids of a stored response: all of its items go out under theirs, or none does (R4, R5)."""
        found: dict[Block, str] = {}
        for block in step.blocks:
            name = opaque_of(block).item_id
            if name is None or not _ITEM_ID.fullmatch(name) or name in self._items or block in left_out:
                return {}
            if name in found.values() and not isinstance(block, Thinking):
                return {}
            found[block] = name
        self._send(found.values())
        return found

    def _send(self, names: Iterable[str]) -> None:
        for name in names:
            self._items.put(name, None)

    def _inside(
        self,
        step: Step,
        thinkings: Sequence[Thinking],
        left_out: Sequence[Block],
        led: bool | None,
        ids: dict[Block, str],
    ) -> dict[Thinking, Kept]:
        if self._gate is not None:
            return self._by_gate(self._gate, step, thinkings, left_out, led)
        if self.family == "openai-responses":
            return self._responses(step, thinkings, left_out, ids)
        kept: dict[Thinking, Kept] = {}
        for thinking in thinkings:
            opaque = opaque_of(thinking)
            text = thinking.event.text
            sealed = _base64(opaque.thought)
            if not is_clean([text, sealed]):
                kept[thinking] = _damaged(thinking, "lone surrogate")
            elif self.family == "openai-chat":
                blank = is_blank(text)
                kept[thinking] = Kept(code="unsigned_thinking_skipped") if blank else Kept((text,), Opaque())
            elif sealed is None:
                kept[thinking] = Kept(code="unsigned_thinking_skipped")
            else:
                kept[thinking] = Kept((text,), opaque)
        return kept

    def _by_gate(
        self,
        gate: ThinkingGate,
        step: Step,
        thinkings: Sequence[Thinking],
        left_out: Sequence[Block],
        led: bool | None,
    ) -> dict[Thinking, Kept]:
        if self._closed is not None:
            since = Kept(code="thinking_suffix_skipped", detail={"since": self._closed})
            return dict.fromkeys(thinkings, since)
        if self.family == "anthropic" and len(thinkings) == 1:
            wire = gate.plainly(step, thinkings[0])
            if wire is not None:
                return {
                    thinkings[0]: Kept((thinkings[0].event.text,), Opaque(signature=str(wire["signature"])))
                }
        kept: dict[Thinking, Kept] = {}
        for thinking, verdict in zip(thinkings, gate.admits(step, thinkings, left_out, led), strict=True):
            if verdict.wire is None:
                kept[thinking] = Kept(code=verdict.code, detail=verdict.detail)
            else:
                opaque = _sealed(verdict.wire)
                kept[thinking] = Kept((thinking.event.text if opaque.redacted is None else "",), opaque)
        return kept

    def _responses(
        self, step: Step, thinkings: Sequence[Thinking], left_out: Sequence[Block], ids: dict[Block, str]
    ) -> dict[Thinking, Kept]:
        """Reasoning items: stored ones by their ids, with all of their response; else sealed ones."""
        kept: dict[Thinking, Kept] = {}
        mine: set[str] = set(ids.values())
        for thinking in thinkings:
            opaque = opaque_of(thinking)
            name = opaque.item_id
            after = step.blocks[step.blocks.index(thinking) + 1]
            texts = opaque.summary if opaque.summary else (thinking.event.text,)
            if self.stored and thinking not in ids:
                reason = "its response cannot be sent whole"
                kept[thinking] = Kept(code="thinking_order_skipped", detail={"reason": reason})
            elif name is None or not _REASONING_ID.fullmatch(name) or not (opaque.encrypted or ids):
                kept[thinking] = Kept(code="unsigned_thinking_skipped")
            elif name in self._items and name not in mine:
                kept[thinking] = Kept(
                    code="thinking_order_skipped", detail={"reason": "its item was sent before"}
                )
            elif after in left_out:
                reason = "the block that it was made with is left out"
                kept[thinking] = Kept(code="thinking_order_skipped", detail={"reason": reason})
            elif not is_clean([*texts, opaque.encrypted]):
                kept[thinking] = _damaged(thinking, "lone surrogate")
            else:
                mine.add(name)
                kept[thinking] = Kept(texts, opaque)
        self._send(mine)
        return kept

    def _close(self, lost: Sequence[Thinking]) -> None:
        """Thinking for Anthropic that is not sent: none goes out after it (A13), until `new_turn` says so."""
        if self._gate is not None and lost and self._closed is None:
            self._closed = lost[0].version


def _sealed(wire: JsonObject) -> Opaque:
    """What seals a block of thinking that a gate admits, in Anthropic's spelling or Converse's."""
    held = cast(JsonObject, wire.get("reasoningContent", wire))
    redacted = held.get("redactedContent", held.get("data"))
    if redacted is not None:
        return Opaque(redacted=str(redacted))
    return Opaque(signature=str(cast(JsonObject, held.get("reasoningText", held))["signature"]))


def _base64(thought: str | None) -> str | None:
    return thought if thought is not None and is_base64(thought) else None


def _damaged(thinking: Thinking, reason: str) -> Kept:
    return Kept(code="damaged_thinking_skipped", detail={"reason": reason, "damaged": thinking.version})
