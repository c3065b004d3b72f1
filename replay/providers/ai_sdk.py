"""A plan as the arguments of the AI SDK's `generateText` and `streamText`: ModelMessages of v5, v6 or v7.

What the SDK itself refuses is in specs/providers.md 6; beside it the provider below the SDK (`families`) judges
what the SDK hands on, so its rules on reasoning, ids and blank texts are kept here too. A message a step or
entry; the results of a step are one tool message right behind it (V1, V3); what a provider ran itself stays in
the assistant's message (V5). `extra` holds call settings, `tools` by name with JSON Schemas, `providerOptions`.
"""

from collections.abc import Sequence

from ledger.events import JsonObject
from replay.growing import Growing
from replay.items import Answer, Block, Call, Entry, HostedResult, Step, Thinking
from replay.materialize import Message
from replay.options import Target
from replay.parts import system_as_user, text_part
from replay.plan import Plan
from replay.providers import codes as codes  # registers them
from replay.providers.ai_sdk_hosted import hosted_output
from replay.providers.ai_sdk_options import as_anthropic, options_of, reasoning_options, settings_of, tools_of
from replay.providers.ai_sdk_parts import dialect_of, meant, output_of, user_part
from replay.providers.anthropic_thinking import ToolLoop
from replay.providers.content import ANCHOR, input_object, is_blank, sendable_text
from replay.providers.families import below
from replay.providers.names import Names
from replay.providers.reasoning import Decision, ReasoningGate
from replay.providers.request_writing import RequestWriting
from replay.providers.settings import settings_in
from replay.providers.wire_text import cleaned_text
from replay.render import Rendered, Writing, written

ID_LIMIT = NAME_LIMIT = 64
"""Letters, digits, `_` and `-`, as many as every provider below takes (A5, R9, B4)."""


def writing(plan: Plan, target: Target) -> Writing:
    """A request in progress.

    `target.dialect` is the SDK's version, `target.api` the wire format of the provider below it. Raises
    `BadInput` for a version that there is not.
    """
    return AiSdkWriting(plan, target)


def render(plan: Plan, messages: Sequence[Message], target: Target) -> Rendered:
    """The request for `plan`, whose neutral messages are `messages`; pure and append-only. See `writing`."""
    return written(writing(plan, target), messages)


class AiSdkWriting(RequestWriting):
    """One render in progress."""

    def __init__(self, plan: Plan, target: Target) -> None:
        self._below = below(plan.items, target)
        super().__init__(plan, self._below.call_ids(ID_LIMIT), Names(NAME_LIMIT))
        self._context = plan.context
        self._target = target
        self._dialect = dialect_of(target)
        self._gate = ReasoningGate(target, self._below, plan.context_record)
        self._messages: Growing[JsonObject] = Growing()
        self._provenance: Growing[list[list[int]]] = Growing()
        self._loop = ToolLoop()
        self._led: bool | None = None  # whether the assistant's messages so far begin with reasoning
        self._used: dict[str, None] = {}  # names of tools that were sent, in the order of use
        self._system = self._prompt(plan)
        recorded = (plan.context or {}).get("tools")
        self._tools = tools_of(recorded, self._names, self._dialect, self._gate.family, self._note)

    def rendered(self) -> Rendered:
        model = self._below.model
        extra: JsonObject = {} if model is None else {"model": cleaned_text(model)}
        tools = self._tools or self._stubs()
        if tools:
            extra["tools"] = tools
        given = settings_in(self._context)
        extra |= settings_of(given, tools=bool(self._tools))
        self._note_skipped(given)
        if options := options_of(self._gate, self._target, self._loop, self._note):
            extra["providerOptions"] = options
        return Rendered(
            self._messages,
            self._system,
            self._provenance.whole,
            self._diagnostics,
            self._refusal(),
            extra,
            system_key="instructions" if self._dialect == "v7" else "system",
        )

    def _stubs(self) -> JsonObject:
        """Tools for a history whose calls have names that nothing defines; Bedrock wants them defined (V17)."""
        if self._gate.family != "bedrock":
            return {}
        return {name: {"inputSchema": {"type": "object"}} for name in self._used}

    def _add(self, role: str, content: Sequence[JsonObject], versions: list[list[int]]) -> None:
        if role == "assistant":
            if not self._messages:
                self._record = self._last_step.record if self._last_step is not None else None
                self._note("assistant_first_anchored")
                self._add("user", [text_part(ANCHOR)], [[]])
            if self._led is None:
                self._led = content[0]["type"] == "reasoning"
        else:
            self._led = None
        if self._target.thinking is not None:
            self._loop.add(*as_anthropic(role, content))
        self._messages.append({"role": role, "content": list(content)})
        self._provenance.append(versions)

    def _prompt(self, plan: Plan) -> str:
        """The system prompt: one string, which every version takes; equal texts once."""
        return "\n\n".join(self._system_texts(plan))

    # -- user side

    def _entry(self, entry: Entry, message: Message) -> None:
        if entry.kind == "summary":
            self._gate.compacted()
        parts = [
            part for one in message.parts if (part := user_part(one, self._dialect, self._note)) is not None
        ]
        if not parts:
            return
        if message.role == "system":
            self._note("system_message_as_user")
            parts = [system_as_user(str(part["text"])) if part["type"] == "text" else part for part in parts]
        self._gate.new_turn()
        self._add("user", parts, [list(entry.versions) for _ in parts])

    def _results(self, message: Message) -> None:
        parts: list[JsonObject] = []
        versions: list[list[int]] = []
        behind: list[JsonObject] = []
        origins: list[list[int]] = []
        for answer in message.origins:
            if not isinstance(answer, Answer):
                continue
            self._record, self._step_id = answer.record, answer.call.step.step_id
            output, moved = output_of(answer.content, answer.kind, answer.is_error, self._dialect, self._note)
            parts.append(self._result_part(answer.call, output))
            versions.append(list(answer.versions))
            behind += moved
            origins += [list(answer.versions)] * len(moved)
        if parts:
            self._add("tool", parts, versions)
        if behind:
            self._add("user", behind, origins)

    def _result_part(self, call: Call, output: JsonObject) -> JsonObject:
        return {
            "type": "tool-result",
            "toolCallId": self._ids.known(call.id),
            "toolName": self._names.sent(call.event.tool_name),
            "output": output,
        }

    # -- assistant side

    def _step(self, step: Step, message: Message) -> None:
        written: dict[Block, JsonObject] = {}
        left_out: list[Block] = []
        blocks = [origin for origin in message.origins if isinstance(origin, Block)]
        for part, block in zip(message.parts, blocks, strict=True):
            if isinstance(block, Thinking):
                continue
            self._record = block.record
            found = self._block(part, block, written)
            if found is None:
                left_out.append(block)
            else:
                written[block] = found
        decision = self._gate.admits(step, list(written), left_out, self._led)
        parts: list[JsonObject] = []
        versions: list[list[int]] = []
        for block in blocks:
            made = self._thinking(block, decision) if isinstance(block, Thinking) else []
            if block in written:
                made = [self._identified(written[block], block, decision)]
            parts += made
            versions += [list(block.versions)] * len(made)
        if parts:
            self._add("assistant", parts, versions)

    def _thinking(self, block: Thinking, decision: Decision) -> list[JsonObject]:
        kept = decision.thinkings.get(block)
        if kept is None or kept.opaque is None:
            if kept is not None:
                self._record = block.record
                self._note(kept.code, **(kept.detail or {}))
            return []
        options = reasoning_options(self._gate.family, kept.opaque)
        return [{"type": "reasoning", "text": text, **options} for text in kept.texts]

    def _identified(self, part: JsonObject, block: Block, decision: Decision) -> JsonObject:
        """With the item id of a stored response, or Gemini's thought signature: on the part it came with."""
        name, thought = decision.ids.get(block), self._gate.thought(block)
        if name is not None:
            return {**part, "providerOptions": {"openai": {"itemId": name}}}
        if thought is not None:
            return {**part, "providerOptions": {"google": {"thoughtSignature": thought}}}
        return part

    def _block(self, part: JsonObject, block: Block, written: dict[Block, JsonObject]) -> JsonObject | None:
        """A text, a call or what a provider ran, as a part of its own; None where it is left out."""
        if isinstance(block, Call):
            if not block.hosted:
                return self._call(block)
            output = hosted_output(block, block.hosted_result, self._gate, self._tools)
            if isinstance(output, str):
                self._note("hosted_block_skipped", reason=output)
                return None
            return {**self._call(block), "providerExecuted": True}
        if isinstance(block, HostedResult):
            result = hosted_output(block.call, block, self._gate, self._tools)
            if isinstance(result, str) or block.call not in written:
                reason = result if isinstance(result, str) else "its call is left out"
                self._note("hosted_block_skipped", reason=reason)
                return None
            return self._result_part(block.call, result)
        text = part.get("text")
        if not isinstance(text, str) or is_blank(text):
            self._note("blank_text_skipped")
            return None
        return text_part(sendable_text(text, self._note))

    def _call(self, call: Call) -> JsonObject:
        sent, name = self._call_id(call), self._tool_name(call)
        self._used[name] = None
        args = meant(input_object(call.event.args, self._note), self._note)
        return {"type": "tool-call", "toolCallId": sent, "toolName": name, "input": args}

    def _refusal(self) -> bool | None:
        """False when nothing can be answered (X5); None leaves the answer to the plan."""
        if self._messages and self._messages[-1]["role"] in ("user", "tool"):
            return None
        return self._unanswerable()
