"""A plan as a request to Anthropic's Messages API: what would break its rules (specs/providers.md 1) is
mended.

One pass over the neutral messages; neighbours of one role become one message (A8). User content is always a
list of blocks, so that a message that grows keeps its bytes. What the rules are is in `rules.anthropic`;
whether a request keeps them is judged elsewhere (`violations`), by code that shares nothing with this.
"""

from collections.abc import Sequence
from typing import cast

from ledger.events import Json, JsonObject
from replay.diagnostics import diagnostic
from replay.items import Answer, Block, Call, Entry, HostedResult, Step, Thinking
from replay.materialize import Message, Origin
from replay.options import Target
from replay.parts import system_as_user, text_part
from replay.plan import Plan
from replay.providers import codes as codes  # registers them
from replay.providers.anthropic_blocks import content_blocks, result_content
from replay.providers.anthropic_given import caller, citations, compaction, toolset
from replay.providers.anthropic_models import asked_thinking, only_adaptive
from replay.providers.anthropic_seams import declined, is_before
from replay.providers.anthropic_settings import MAX_MESSAGES, bound, settings
from replay.providers.anthropic_thinking import (
    PROVIDERS,
    ThinkingGate,
    ToolLoop,
    Verdict,
    in_force,
    starts_with_thinking,
)
from replay.providers.anthropic_tools import NAME_LIMIT, HostedTools, tool_definitions
from replay.providers.content import ANCHOR, input_object, is_blank, sendable_text, system_texts
from replay.providers.merging import Merged
from replay.providers.names import Names
from replay.providers.noting import Noting
from replay.providers.ownership import model_of
from replay.providers.settings import settings_in
from replay.providers.wire_text import is_clean
from replay.render import Rendered, Writing, written


def writing(plan: Plan, target: Target) -> Writing:
    """A request in progress."""
    return AnthropicWriting(plan, target)


def render(plan: Plan, messages: Sequence[Message], target: Target) -> Rendered:
    """The request for `plan`, whose neutral messages are `messages`; pure and append-only.

    `Rendered.extra` holds the request's other keys: `model`, `tools`, `thinking`.
    """
    return written(writing(plan, target), messages)


class AnthropicWriting(Noting):
    """One render in progress."""

    def __init__(self, plan: Plan, target: Target) -> None:
        super().__init__(plan.context_record)
        self._plan = plan
        self._target = target
        self._waiting: list[
            Message
        ] = []  # one whose hosted call what follows decides, and the results behind it
        self._written = Merged()
        self._loop = ToolLoop()
        self._held: list[tuple[JsonObject, Thinking]] = []  # thinking at a step's end: what follows decides
        self._held_whole = False  # it is all that its step has
        self._last_step: Step | None = None
        self._ids = Names()
        self._names = Names(NAME_LIMIT)
        self._tool_names: dict[str, str] = {}
        self._model = model_of(plan.items, target, PROVIDERS)
        asked = asked_thinking(target.thinking, self._model, self._note)
        self._thinking = bound(asked, settings_in(plan.context), self._note)
        binding = None if self._thinking is None else self._thinking.get("block_binding")
        self._gate = ThinkingGate(target, self._model, (plan.context_record,), binding)
        self._tools = tool_definitions((plan.context or {}).get("tools"), self._names, self._note)
        self._hosted = HostedTools(target.provider, self._tools)
        self._system = self._prompt(plan)

    def write(self, message: Message) -> None:
        if self._waiting:
            if message.role == "tool":
                self._waiting.append(message)
                return
            self._write_waiting(message)
        if message.role == "assistant" and self._hosted.waits(message):
            self._waiting.append(message)
        else:
            self._put((message,))

    def _write_waiting(self, *behind: Message) -> None:
        waiting, self._waiting = self._waiting, []
        for at in range(len(waiting)):
            self._put((*waiting[at:], *behind))

    def _put(self, following: Sequence[Message]) -> None:
        """Writes the first of these messages; what is behind it decides about its hosted calls alone."""
        message = following[0]
        item = message.item
        if isinstance(item, Entry):
            self._write_entry(item, message)
        elif message.role == "tool":
            self._write_results(message)
        else:
            self._write_step(item, message, following)

    def rendered(self) -> Rendered:
        self._write_waiting()
        self._drop_held()
        extra: JsonObject = {} if self._model is None else {"model": self._model}
        if self._tools:
            extra["tools"] = list(self._tools)
        if self._thinking is not None:
            extra["thinking"] = in_force(self._thinking, self._loop)
            if extra["thinking"] != self._thinking:
                self._note("thinking_off")
        recorded = settings_in(self._plan.context)
        extra |= settings(
            recorded,
            extra.get("thinking"),
            self._tools,
            self._names,
            newest=self._gate.binds,
            sampled=not only_adaptive(self._model),
        )
        if self._thinking is not None:
            recorded.kept.add("thinking")  # the target's own stands for it
        self._note_skipped(recorded)
        done = self._written
        return Rendered(done.messages, self._system, done.provenance, self._diagnostics, self._refusal(), extra)

    def _prompt(self, plan: Plan) -> list[Json]:
        """The context's system prompt, then the system messages before the conversation; equal texts once."""
        texts = system_texts((plan.context or {}).get("system"), self._note)
        for entry in plan.system:
            self._record = entry.record
            texts += system_texts(cast(Json, entry.parts), self._note)
        return [text_part(text) for text in dict.fromkeys(texts)]

    # -- user side

    def _write_entry(self, entry: Entry, message: Message) -> None:
        self._record, self._step_id = entry.record, None
        if entry.kind == "summary":
            giver = entry.step
            block = compaction(entry.record) if giver is not None and self._gate.is_own(giver) else None
            self._gate.compacted(*(() if block is None else (giver, entry.version)))
            if block is not None:
                self._add("assistant", [block], [entry])
                return
        blocks = content_blocks(message.parts, self._note)
        if not blocks:
            return
        if message.role == "system":
            self._note("system_message_as_user")
            blocks = [
                system_as_user(str(block["text"])) if block["type"] == "text" else block for block in blocks
            ]
        self._gate.new_turn()
        self._write_user(blocks, [entry] * len(blocks))

    def _write_results(self, message: Message) -> None:
        blocks: list[JsonObject] = []
        origins: list[Origin | None] = []
        behind: list[JsonObject] = []
        behind_origins: list[Origin | None] = []
        for origin in message.origins:
            if not isinstance(origin, Answer):
                continue
            call_id, content = origin.call.id, origin.content
            block: JsonObject = {"type": "tool_result", "tool_use_id": self._ids.known(call_id)}
            if isinstance(content, str) and content.isascii() and not is_blank(content):
                block["content"] = content
            else:
                self._record, self._step_id = origin.record, origin.call.step.step_id
                sent, moved = result_content(content, origin.is_error, self._note)
                if sent is not None:
                    block["content"] = cast(Json, sent)
                behind += moved
                behind_origins += [origin] * len(moved)
            if origin.is_error:
                block["is_error"] = True
            if origin.call.event.provider_metadata is not None and self._gate.is_own(origin.call.step):
                name = toolset(origin.call)
                if name is not None:
                    block["toolset_name"] = name
            blocks.append(block)
            origins.append(origin)
        if behind:
            blocks += behind
            origins += behind_origins
        if blocks:
            self._write_user(blocks, origins)

    def _write_user(self, blocks: list[JsonObject], origins: list[Origin | None]) -> None:
        if self._held:  # thinking may end a message that a user message follows (A26)
            self._write_assistant([wire for wire, _ in self._held], [block for _, block in self._held])
            self._held = []
        self._add("user", blocks, origins)

    # -- assistant side

    def _write_step(self, step: Step, message: Message, following: Sequence[Message]) -> None:
        self._step_id, self._last_step = step.step_id, step
        blocks: list[JsonObject] = []
        origins: list[Origin | None] = []
        left_out: list[Block] = []
        thinkings: list[tuple[int, Thinking]] = []
        refused = declined(step, PROVIDERS)
        opaque = self._compaction(step)
        for part, origin in zip(message.parts, cast("Sequence[Block]", message.origins), strict=True):
            if opaque is not None and is_before(opaque.record, origin):
                self._put_compaction(opaque, blocks, origins)
                opaque = None
            if origin in refused:
                self._record = origin.record
                self._note("refused_block_skipped")
                left_out.append(origin)
                if isinstance(origin, Thinking):
                    self._gate.close(origin)
            elif isinstance(origin, Thinking):
                thinkings.append((len(blocks), origin))
            elif (block := self._block(part, origin, following)) is None:
                left_out.append(origin)
            else:
                blocks.append(block)
                origins.append(origin)
        if opaque is not None:
            self._put_compaction(opaque, blocks, origins)
        if thinkings:
            self._write_thinking_step(step, blocks, origins, thinkings, left_out)
        elif blocks:
            if self._held:
                self._drop_held()
            self._write_assistant(blocks, origins)

    def _write_thinking_step(
        self,
        step: Step,
        blocks: list[JsonObject],
        origins: list[Origin | None],
        thinkings: list[tuple[int, Thinking]],
        left_out: list[Block],
    ) -> None:
        """Puts the thinking that may go back into its places; a step's last one waits for what follows."""
        wire = self._gate.plainly(step, thinkings[0][1]) if len(thinkings) == 1 else None
        if wire is not None:
            verdicts = [Verdict(wire)]
        else:
            led = starts_with_thinking(self._written.content) if self._written.role == "assistant" else None
            verdicts = self._gate.admits(step, [block for _, block in thinkings], left_out, led)
        others, held = len(blocks), []
        for (place, thinking), verdict in zip(thinkings[::-1], verdicts[::-1], strict=True):
            if verdict.wire is None:
                continue
            if place == others:
                held.append((verdict.wire, thinking))
            else:
                blocks.insert(place, verdict.wire)
                origins.insert(place, thinking)
        for (_, thinking), verdict in zip(thinkings, verdicts, strict=True):
            if verdict.wire is None:
                self._record = thinking.record
                self._note(verdict.code, **(verdict.detail or {}))
        if not blocks and not held:
            self._note("thinking_only_step_skipped")
            return
        if self._held:
            self._drop_held()
        if blocks:
            self._write_assistant(blocks, origins)
        self._held, self._held_whole = held[::-1], not blocks

    def _compaction(self, step: Step) -> Entry | None:
        """The compaction that a step gave and only its provider reads, where it may stand amid the history."""
        if step.compaction is None or not self._gate.is_own(step):
            return None
        block = compaction(step.compaction)
        if block is None or "signature" in block or block.get("content"):
            return None
        return Entry("summary", step.compaction, [block])

    def _put_compaction(self, entry: Entry, blocks: list[JsonObject], origins: list[Origin | None]) -> None:
        blocks += entry.parts
        origins.append(entry)

    def _block(self, part: JsonObject, origin: Block, following: Sequence[Message]) -> JsonObject | None:
        """A text, a call or a provider-executed block as this format spells it; None where it is left out."""
        if isinstance(origin, Call):
            if not origin.hosted:
                return self._call(origin)
            block = self._hosted.call(origin, following)
        elif isinstance(origin, HostedResult):
            block = self._hosted.result(origin)
        else:
            text = part["text"]
            if isinstance(text, str) and not is_blank(text):
                if not text.isascii():
                    self._record = origin.record
                    part = text_part(sendable_text(text, self._note))
                return part if origin.event.provider_metadata is None else self._cited(part, origin)
            self._record = origin.record
            self._note("blank_text_skipped")
            return None
        if isinstance(block, str):
            self._record = origin.record
            self._note("hosted_block_skipped", reason=block)
            return None
        return self._called(block, origin) if isinstance(origin, Call) else block

    def _cited(self, part: JsonObject, origin: Block) -> JsonObject:
        """A text with the citations that go back with it."""
        own = self._gate.is_own(origin.step)
        kept, lost = citations(origin, self._hosted.urls if own else ())
        if lost:
            self._record = origin.record
            self._note("citations_skipped", count=lost)
        return {**part, "citations": cast(Json, kept)} if kept else part

    def _called(self, block: JsonObject, call: Call) -> JsonObject:
        """A call with what its provider said of it: who made it and of which toolset it is."""
        if call.event.provider_metadata is None or not self._gate.is_own(call.step):
            return block
        made = caller(call, self._hosted.ids)
        if isinstance(made, str):
            self._record = call.record
            self._note("caller_skipped", reason=made)
        elif made is not None:
            block["caller"] = made
        name = toolset(call)
        if name is not None and not call.hosted:
            block["toolset_name"] = name
        return block

    def _call(self, call: Call) -> JsonObject:
        event, call_id = call.event, call.id
        sent = self._ids.sent(call_id)
        if sent != call_id:
            self._record = call.record
            self._note("tool_id_rewritten", tool_call_id=call_id, sent=sent)
        name = self._tool_names.get(event.tool_name)
        if name is None:
            name = self._tool_names[event.tool_name] = self._names.sent(event.tool_name)
            if name != event.tool_name:
                self._record = call.record
                self._note("tool_name_rewritten", tool_name=event.tool_name, sent=name)
        args = event.args
        if not isinstance(args, dict) or not is_clean(args):
            self._record = call.record
            args = input_object(args, self._note)
        return self._called({"type": "tool_use", "id": sent, "name": name, "input": args}, call)

    def _write_assistant(self, blocks: list[JsonObject], origins: list[Origin | None]) -> None:
        if not self._written.messages:
            self._record = self._last_step.record if self._last_step is not None else None
            self._note("assistant_first_anchored")
            self._add("user", [text_part(ANCHOR)], [None])
        self._add("assistant", blocks, origins)

    def _add(self, role: str, blocks: list[JsonObject], origins: list[Origin | None]) -> None:
        if self._gate.manual:
            self._loop.add(role, blocks)
        self._written.add(role, blocks, origins)

    def _drop_held(self) -> None:
        """Held thinking that the next step follows, or nothing: it would fuse with that step's (A23, A26)."""
        code = "thinking_only_step_skipped" if self._held_whole else "thinking_tail_skipped"
        for _, block in self._held:
            self._diagnostics.append(diagnostic(code, block.record, block.step.step_id))
        self._held = []

    def _refusal(self) -> bool | None:
        """False when nothing can be answered (A9); None leaves the answer to the plan."""
        role, step = self._written.role, self._last_step
        if len(self._written.messages) > MAX_MESSAGES:
            self._record = None
            self._note("too_many_messages", count=len(self._written.messages))
            return False
        if role == "user" or (role == "assistant" and self._written.content[-1]["type"] == "compaction"):
            return None
        if step is not None:
            if role == "assistant" and step.finish_reason == "pause_turn":
                kind = str(self._written.content[-1]["type"])
                if kind == "server_tool_use" or kind.endswith("_tool_result"):
                    return None
            self._record, self._step_id = step.record, step.step_id
        self._note("nothing_to_answer")
        return False
