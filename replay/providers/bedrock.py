"""A plan as a request to Bedrock's Converse API: what would break its rules (specs/providers.md 5) is mended.

Neighbours of one role become one message; where a family takes nothing beside results, an assistant turn
stands between (B10). Thinking of the model's own goes back sealed, decided by Anthropic's rules (A20 to A26);
what ends a step's message is left out, whatever follows. Cache points are never written (B14).
"""

import hashlib
import re
from collections.abc import Sequence
from typing import cast

from ledger.events import Json, JsonObject
from replay.items import Answer, Block, Call, Entry, HostedResult, Step, Thinking
from replay.materialize import Message, Origin
from replay.options import Target
from replay.parts import system_as_user
from replay.plan import Plan
from replay.providers import codes as codes  # registers them
from replay.providers.anthropic_models import asked_thinking, binding_of, only_adaptive
from replay.providers.bedrock_blocks import FILLER, Blocks, text_block, with_text
from replay.providers.bedrock_families import family_of
from replay.providers.bedrock_settings import (
    inference,
    stub_specs,
    thinking_in_force,
    tool_choice,
    tool_specs,
)
from replay.providers.bedrock_thinking import APIS, PROVIDERS, BedrockGate, is_reasoning
from replay.providers.content import ANCHOR, input_object, is_blank, sendable_text
from replay.providers.merging import Merged
from replay.providers.names import Names, Renamed
from replay.providers.ownership import model_of
from replay.providers.request_writing import RequestWriting
from replay.providers.settings import settings_in
from replay.providers.wire_text import cleaned_text
from replay.render import Rendered, Writing, written

__all__ = ["APIS", "PROVIDERS", "BedrockWriting", "render", "writing"]

NAME_LIMIT = 64
_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_.:-]+")


class CallIds(Renamed):
    """Call ids of `[a-zA-Z0-9_.:-]`, one to 64 characters (B4)."""

    def __init__(self) -> None:
        super().__init__(lambda name: _ID.fullmatch(name) is not None, _made_id)


def _made_id(name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{_NOT_IN_IDS.sub('_', name)[:32]}-tl{digest[:20]}"


def writing(plan: Plan, target: Target) -> Writing:
    """A request in progress."""
    return BedrockWriting(plan, target)


def render(plan: Plan, messages: Sequence[Message], target: Target) -> Rendered:
    """The request for `plan`, whose neutral messages are `messages`; pure, and its messages append-only."""
    return written(writing(plan, target), messages)


class BedrockWriting(RequestWriting):
    """One render in progress."""

    def __init__(self, plan: Plan, target: Target) -> None:
        super().__init__(plan, CallIds(), Names(NAME_LIMIT))
        self._target = target
        self._model = model_of(plan.items, target, PROVIDERS)
        self._family = family_of(self._model)
        self._written = Merged()
        self._blocks = Blocks(self._family)
        self._used: dict[str, str] = {}  # recorded tool name -> sent, in the order of use
        self._gate = BedrockGate(target, self._model, plan.context_record, binding_of(target.thinking))
        self._context = plan.context
        self._tools = tool_specs((plan.context or {}).get("tools"), self._names, self._note)
        self._system = self._prompt(plan)

    def rendered(self) -> Rendered:
        extra: JsonObject = {} if self._model is None else {"modelId": cleaned_text(self._model)}
        thinking = self._thinking()
        free = thinking is None or thinking.get("type") == "disabled"
        given = settings_in(self._context)
        tools = self._tools or stub_specs(self._used.values())
        if tools:
            choice = tool_choice(given, self._tools, self._names, self._family, free=free)
            extra["toolConfig"] = {"tools": list(tools), **choice}
        if settings := inference(given, free=free and not only_adaptive(self._model)):
            extra["inferenceConfig"] = settings
        self._note_skipped(given)
        if thinking is not None:
            claude = self._family.name == "anthropic"
            extra["additionalModelRequestFields"] = {"thinking": thinking} if claude else thinking
        done = self._written
        return Rendered(done.messages, self._system, done.provenance, self._diagnostics, self._refusal(), extra)

    def _thinking(self) -> JsonObject | None:
        if self._family.name != "anthropic":
            return self._target.thinking
        config = asked_thinking(self._target.thinking, self._model, self._note)
        if config is None:
            return None
        sent = thinking_in_force(config, self._written.messages)
        if sent != config:
            self._note("thinking_off")
        return sent

    def _prompt(self, plan: Plan) -> list[Json]:
        return [text_block(text) for text in self._system_texts(plan)]

    # -- user side

    def _entry(self, entry: Entry, message: Message) -> None:
        if entry.kind == "summary":
            self._gate.compacted()
        blocks = self._blocks.user(message.parts, self._note)
        if not blocks:
            return
        if message.role == "system":
            self._note("system_message_as_user")
            blocks = [
                text_block(str(system_as_user(str(block["text"]))["text"])) if "text" in block else block
                for block in blocks
            ]
        self._gate.new_turn()
        self._add_user(blocks, [entry] * len(blocks))

    def _results(self, message: Message) -> None:
        blocks: list[JsonObject] = []
        origins: list[Origin | None] = []
        behind: list[JsonObject] = []
        behind_origins: list[Origin | None] = []
        for origin in message.origins:
            if not isinstance(origin, Answer):
                continue
            self._record, self._step_id = origin.record, origin.call.step.step_id
            content, moved = self._blocks.result(origin.content, origin.is_error, self._note)
            result: JsonObject = {"toolUseId": self._ids.known(origin.call.id), "content": list(content)}
            if origin.is_error and self._family.status:
                result["status"] = "error"
            blocks.append({"toolResult": result})
            origins.append(origin)
            behind += moved
            behind_origins += [origin] * len(moved)
        if blocks:
            self._written.add("user", blocks, origins)
        if behind:
            self._add_user(behind, behind_origins)

    def _add_user(self, blocks: list[JsonObject], origins: list[Origin | None]) -> None:
        """User content that is no result: behind results only where the family takes it there (B10)."""
        blocks = with_text(blocks)
        origins = origins + [None] * (len(blocks) - len(origins))
        done = self._written
        if done.role == "user" and any("toolResult" in block for block in done.content):
            alone = self._family.beside == "nothing" or any("document" in block for block in blocks)
            if alone:
                done.add("assistant", [text_block(FILLER)], [None])
        done.add("user", blocks, origins)

    # -- assistant side

    def _step(self, step: Step, message: Message) -> None:
        blocks: list[JsonObject] = []
        origins: list[Origin | None] = []
        left_out: list[Block] = []
        thinkings: list[tuple[int, Thinking]] = []
        for part, origin in zip(message.parts, cast("Sequence[Block]", message.origins), strict=True):
            if isinstance(origin, Thinking):
                thinkings.append((len(blocks), origin))
                continue
            self._record = origin.record
            block = self._block(part, origin)
            if block is None:
                left_out.append(origin)
            else:
                blocks.append(block)
                origins.append(origin)
        if not (thinkings and self._place(step, blocks, origins, thinkings, left_out)):
            texts = [at for at, block in enumerate(blocks) if "text" in block]
            order = texts + [at for at, block in enumerate(blocks) if "text" not in block]  # B8
            blocks, origins = [blocks[at] for at in order], [origins[at] for at in order]
        if blocks:
            self._add_assistant(step, blocks, origins)

    def _place(
        self,
        step: Step,
        blocks: list[JsonObject],
        origins: list[Origin | None],
        thinkings: list[tuple[int, Thinking]],
        left_out: list[Block],
    ) -> bool:
        """Puts the thinking that may go back into its places; True when there is some.

        What would end the message is left out, and so is all that follows it in its turn.
        """
        done = self._written
        led = is_reasoning(done.content[0]) if done.role == "assistant" else None
        verdicts = self._gate.admits(step, [block for _, block in thinkings], left_out, led)
        others, sent = len(blocks), False
        for (place, thinking), verdict in zip(thinkings[::-1], verdicts[::-1], strict=True):
            if verdict.wire is not None and place < others:
                blocks.insert(place, verdict.wire)
                origins.insert(place, thinking)
                sent = True
        for (place, thinking), verdict in zip(thinkings, verdicts, strict=True):
            self._record = thinking.record
            if verdict.wire is None:
                self._note(verdict.code, **(verdict.detail or {}))
            elif place == others:
                self._note("thinking_tail_skipped" if others else "thinking_only_step_skipped")
                self._gate.close(thinking)
        return sent

    def _block(self, part: JsonObject, origin: Block) -> JsonObject | None:
        """A text or a call as this format spells it; None where it is left out."""
        if isinstance(origin, HostedResult) or (isinstance(origin, Call) and origin.hosted):
            self._note("hosted_block_skipped", reason="this format has no such block")
            return None
        if isinstance(origin, Call):
            return self._call(origin)
        text = part["text"]
        if isinstance(text, str) and not is_blank(text):
            return text_block(sendable_text(text, self._note))
        self._note("blank_text_skipped")
        return None

    def _call(self, call: Call) -> JsonObject:
        sent = self._call_id(call)
        name = self._used[call.event.tool_name] = self._tool_name(call)
        return {
            "toolUse": {"toolUseId": sent, "name": name, "input": input_object(call.event.args, self._note)}
        }

    def _add_assistant(self, step: Step, blocks: list[JsonObject], origins: list[Origin | None]) -> None:
        if not self._written.messages:
            self._record = step.record
            self._note("assistant_first_anchored")
            self._written.add("user", [text_block(ANCHOR)], [None])
        self._written.add("assistant", blocks, origins)

    def _refusal(self) -> bool | None:
        """False when nothing can be answered (X5); None leaves the answer to the plan."""
        if self._written.role == "user":
            return None
        return self._unanswerable()
