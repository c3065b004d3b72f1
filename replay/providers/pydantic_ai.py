"""A plan as a message history of pydantic-ai, as its `ModelMessagesTypeAdapter` reads it.

A message a step or entry: `request` with what the model is told, `response` with what it said (below Bedrock
one for all steps in a row); the results of a step are one request right behind it. The library turns thinking
that its provider does not take into visible text, so only what belongs to the provider below the target
(`families`) is in a request. Timestamps are left out: nothing of them reaches a model, and the library sets its
own when it reads. `extra` holds the other arguments of `pydantic_ai.direct.model_request`.
"""

from collections.abc import Sequence
from typing import Self, cast

from ledger.events import Json, JsonObject
from replay.growing import Growing
from replay.items import Answer, Block, Call, Entry, HostedResult, Step, Thinking
from replay.materialize import Message
from replay.options import Target
from replay.parts import system_as_user, text_part
from replay.plan import Plan
from replay.providers import codes as codes  # registers them
from replay.providers.anthropic_models import asked_thinking
from replay.providers.anthropic_thinking import ToolLoop, in_force
from replay.providers.content import ANCHOR, input_object, is_blank, sendable_text
from replay.providers.families import below
from replay.providers.names import Names
from replay.providers.pydantic_ai_parts import (
    parameters_of,
    result_content,
    settings_of,
    thinking_outline,
    user_item,
)
from replay.providers.pydantic_ai_thinking import identified, thinking_parts
from replay.providers.reasoning import Decision, ReasoningGate
from replay.providers.request_writing import RequestWriting
from replay.providers.settings import settings_in
from replay.providers.wire_text import cleaned_text
from replay.render import Rendered, Writing, written

ID_LIMIT = NAME_LIMIT = 64
"""Letters, digits, `_` and `-`, as many as every provider below takes (A5, R9, B4)."""

_OUTCOMES = {"denied": "denied", "stand_in": "interrupted"}


def writing(plan: Plan, target: Target) -> Writing:
    """A request in progress."""
    return PydanticWriting(plan, target)


def render(plan: Plan, messages: Sequence[Message], target: Target) -> Rendered:
    """The request for `plan`, whose neutral messages are `messages`; pure and append-only.

    `target.api` is the wire format of the provider below the library.
    """
    return written(writing(plan, target), messages)


def _apart(message: JsonObject) -> JsonObject:
    return {**message, "parts": list(cast("list[Json]", message["parts"]))}


def _is_response(message: JsonObject) -> bool:
    return message["kind"] == "response"


class PydanticWriting(RequestWriting):
    """One render in progress."""

    def __init__(self, plan: Plan, target: Target) -> None:
        self._below = below(plan.items, target)
        super().__init__(plan, self._below.call_ids(ID_LIMIT), Names(NAME_LIMIT))
        self._context = plan.context
        self._target = target
        self._gate = ReasoningGate(target, self._below, plan.context_record)
        self._messages: Growing[JsonObject] = Growing()
        self._provenance: Growing[list[list[int]]] = Growing()
        self._loop = ToolLoop()
        self._led: bool | None = None  # whether the responses in a row begin with thinking
        self._used: dict[str, None] = {}  # names of tools that were sent, in the order of use
        self._asked = False  # a prompt or a result stands in the request
        self._system = self._prompts(plan)
        self._parameters = parameters_of((plan.context or {}).get("tools"), self._names, self._note)

    def fork(self) -> Self:
        """A copy that goes on apart; the last response may still grow."""
        twin = super().fork()
        twin._messages = self._messages.fork(_apart)
        twin._provenance = self._provenance.fork(list)
        return twin

    def rendered(self) -> Rendered:
        extra: JsonObject = {}
        model, family = self._below.model, self._below.family
        if model is not None:
            named = family is not None and family.name != "openai-chat" and ":" not in model
            extra["model"] = cleaned_text(f"{family.system}:{model}" if named and family else model)
        if parameters := self._parameters or self._stubs():
            extra["model_request_parameters"] = parameters
        if settings := self._settings():
            extra["model_settings"] = settings
        refusal = self._refusal()
        return Rendered(
            self._messages,
            self._system,
            self._provenance.whole,
            self._diagnostics,
            refusal,
            extra,
            system_key=None,
        )

    def _stubs(self) -> JsonObject:
        """Tools for a history whose calls have names that nothing defines; Bedrock wants them defined (P13)."""
        if self._gate.family != "bedrock" or not self._used:
            return {}
        schema: JsonObject = {"type": "object"}
        return {"function_tools": [{"name": name, "parameters_json_schema": schema} for name in self._used]}

    def _request(self, parts: Sequence[JsonObject], versions: list[list[int]]) -> None:
        self._led = None
        if self._target.thinking is not None:
            self._loop.add("user", thinking_outline(parts))
        self._messages.append({"kind": "request", "parts": list(parts)})
        self._provenance.append(versions)

    def _prompts(self, plan: Plan) -> Json:
        """The context's system prompt, then the system messages before the conversation; equal texts once."""
        texts = self._system_texts(plan)
        if texts:
            parts: list[JsonObject] = [{"part_kind": "system-prompt", "content": text} for text in texts]
            self._request(parts, list(texts.values()))
        return [text_part(text) for text in texts]

    def _settings(self) -> JsonObject:
        given = settings_in(self._context)
        settings = settings_of(given, tools=bool(self._parameters))
        self._note_skipped(given)
        if self._gate.family != "anthropic":
            return settings
        thinking = asked_thinking(self._target.thinking, self._below.model, self._note)
        if thinking is not None:
            told = in_force(thinking, self._loop)
            if told != thinking:
                self._note("thinking_off")
            settings["anthropic_thinking"] = told
        return settings

    # -- requests

    def _entry(self, entry: Entry, message: Message) -> None:
        if entry.kind == "summary":
            self._gate.compacted()
        content: list[Json] = []
        for part in message.parts:
            if (item := user_item(part, self._note)) is not None:
                content.append(item)
        if not content:
            return
        if message.role == "system":
            self._note("system_message_as_user")
            content = [system_as_user(item)["text"] if isinstance(item, str) else item for item in content]
        self._gate.new_turn()
        self._prompt(content, [list(entry.versions)])

    def _prompt(self, content: Sequence[Json], versions: list[list[int]]) -> None:
        self._asked = True
        self._request([{"part_kind": "user-prompt", "content": list(content)}], versions)

    def _results(self, message: Message) -> None:
        parts: list[JsonObject] = []
        versions: list[list[int]] = []
        behind: list[Json] = []
        origins: set[int] = set()
        for answer in message.origins:
            if not isinstance(answer, Answer):
                continue
            self._record, self._step_id = answer.record, answer.call.step.step_id
            failed = answer.is_error and answer.kind in ("result", "progress")  # stand-ins say it themselves
            content, moved = result_content(answer.content, failed, self._note)
            # No mapping in a result is one of the library's files, whatever it looks like.
            plain: JsonObject = {} if isinstance(content, str) else {"content_file_digests": []}
            parts.append(
                {
                    "part_kind": "tool-return",
                    "tool_name": self._names.sent(answer.call.event.tool_name),
                    "tool_call_id": self._ids.known(answer.call.id),
                    "content": content,
                    "outcome": _OUTCOMES.get(answer.kind, "failed" if answer.is_error else "success"),
                    **plain,
                }
            )
            versions.append(list(answer.versions))
            behind += moved
            origins.update(answer.versions if moved else ())
        if parts:
            self._request(parts, versions)
        if behind:
            self._prompt(behind, [sorted(origins)])

    # -- responses

    def _step(self, step: Step, message: Message) -> None:
        written: dict[Block, JsonObject] = {}
        left_out: list[Block] = []
        blocks = [origin for origin in message.origins if isinstance(origin, Block)]
        for part, block in zip(message.parts, blocks, strict=True):
            if isinstance(block, Thinking):
                continue
            self._record = block.record
            found = self._part(part, block)
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
                made = [identified(written[block], block, decision, self._gate)]
            parts += made
            versions += [list(block.versions)] * len(made)
        if not parts:
            return
        if not self._asked:
            self._anchor(step)
        if self._target.thinking is not None:
            self._loop.add("assistant", thinking_outline(parts))
        if self._led is None:
            self._led = parts[0]["part_kind"] == "thinking"
        named: JsonObject = {} if step.model is None else {"model_name": cleaned_text(step.model)}
        if step.provider is not None:
            own = self._below.family if self._gate.own(step) else None
            chat = own is None or own.name == "openai-chat"
            named["provider_name"] = cleaned_text(step.provider) if chat or own is None else own.system
        if self._gate.family == "bedrock" and _is_response(self._messages[-1]):
            cast("list[Json]", self._messages[-1]["parts"]).extend(parts)  # P12
            self._provenance[-1].extend(versions)
            return
        self._messages.append({"kind": "response", **named, "parts": list(parts)})
        self._provenance.append(versions)

    def _anchor(self, step: Step) -> None:
        """Something is asked before the first response (P8)."""
        self._record = step.record
        self._note("assistant_first_anchored")
        self._prompt([ANCHOR], [[]])

    def _thinking(self, block: Thinking, decision: Decision) -> list[JsonObject]:
        kept = decision.thinkings.get(block)
        if kept is None:
            return []
        self._record = block.record
        made = thinking_parts(block, kept, self._gate) if kept.opaque is not None else kept.code
        if isinstance(made, str):
            self._note(made, **(kept.detail or {}))
            return []
        return made

    def _part(self, part: JsonObject, block: Block) -> JsonObject | None:
        """A text or a call as a part of its own; None where it is left out."""
        if isinstance(block, Call) and not block.hosted:
            return self._call(block)
        if isinstance(block, Call | HostedResult):
            self._note("hosted_block_skipped", reason="messages do not declare the tool that ran it")
            return None
        text = part.get("text")
        if not isinstance(text, str) or is_blank(text):
            self._note("blank_text_skipped")
            return None
        return {"part_kind": "text", "content": sendable_text(text, self._note)}

    def _call(self, call: Call) -> JsonObject:
        sent, name = self._call_id(call), self._tool_name(call)
        self._used[name] = None
        args = input_object(call.event.args, self._note)
        return {"part_kind": "tool-call", "tool_name": name, "tool_call_id": sent, "args": args}

    def _refusal(self) -> bool | None:
        """False when nothing can be answered (X5); None leaves the answer to the plan."""
        if self._asked and self._messages[-1]["kind"] == "request":
            return None
        return self._unanswerable()
