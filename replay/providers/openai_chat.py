"""A plan as a request to Chat Completions and its dialects: what would break their rules is mended.

A message a step or entry, never merged, so that what was sent keeps its bytes; the results of a step are tool
messages right behind it, and what they hold beside text stands behind them (specs/providers.md 2). Reasoning
goes back only in a dialect that has a field for it, to the model that made it; it is never visible text.
"""

from collections.abc import Sequence

from ledger.events import Json, JsonObject
from replay.growing import Growing
from replay.items import Answer, Call, Entry, HostedResult, Step, Thinking
from replay.materialize import Message
from replay.options import Target
from replay.parts import system_as_user, text_part
from replay.plan import Plan
from replay.providers import codes as codes  # registers them
from replay.providers.content import ANCHOR, is_blank, sendable_text
from replay.providers.gemini_signatures import DUMMY, demands_signatures, signature_of
from replay.providers.names import Names, Renamed
from replay.providers.openai_chat_parts import (
    arguments_text,
    definitions,
    reasoning_details,
    result_text,
    settings_of,
    user_part,
)
from replay.providers.openai_dialects import Dialect, dialect_of
from replay.providers.ownership import Ownership, model_of
from replay.providers.request_writing import RequestWriting
from replay.providers.settings import settings_in
from replay.providers.wire_text import cleaned_text
from replay.render import Rendered, Writing, written

APIS = frozenset({"openai-completions", "openai-chat", "chat", "chat-completions", "openai.chat"})
ID_LIMIT = NAME_LIMIT = 64


def writing(plan: Plan, target: Target) -> Writing:
    """A request in progress. Raises `BadInput` for a dialect that there is not."""
    return ChatWriting(plan, target, dialect_of(target), Names(ID_LIMIT))


def render(plan: Plan, messages: Sequence[Message], target: Target) -> Rendered:
    """The request for `plan`, whose neutral messages are `messages`; pure and append-only.

    Raises `BadInput` for a dialect that there is not.
    """
    return written(writing(plan, target), messages)


class ChatWriting(RequestWriting):
    """One render in progress, in a dialect of the format and with its call ids."""

    def __init__(self, plan: Plan, target: Target, dialect: Dialect, ids: Renamed) -> None:
        super().__init__(plan, ids, Names(NAME_LIMIT))
        self._context = plan.context
        self._dialect = dialect
        self._model = model_of(plan.items, target, dialect.providers)
        self._ownership = Ownership(target, self._model, dialect.providers, APIS)
        self._messages: Growing[JsonObject] = Growing()
        self._begun = False  # something stands behind the system prompt
        self._provenance: Growing[list[list[int]]] = Growing()
        self._system = self._prompt(plan)
        self._tools = definitions((plan.context or {}).get("tools"), self._names, self._note)

    def rendered(self) -> Rendered:
        extra: JsonObject = {} if self._model is None else {"model": cleaned_text(self._model)}
        if self._tools:
            extra["tools"] = list(self._tools)
        given = settings_in(self._context)
        extra |= settings_of(given, tools=bool(self._tools))
        self._note_skipped(given)
        return Rendered(
            self._messages,
            self._system,
            self._provenance.whole,
            self._diagnostics,
            self._refusal(),
            extra,
            system_key=None,
        )

    def _add(self, message: JsonObject, versions: list[list[int]]) -> None:
        if self._dialect.between is not None:
            self._keep_order(str(message["role"]), self._dialect.between)
        self._begun = self._begun or message["role"] != "system"
        self._messages.append(message)
        self._provenance.append(versions)

    def _keep_order(self, role: str, between: str) -> None:
        """Puts in what has to stand before a message of `role`."""
        if role == "assistant" and not self._begun:
            self._note("assistant_first_anchored")
            self._messages.append({"role": "user", "content": [text_part(ANCHOR)]})
        elif role == "user" and self._messages and self._messages[-1]["role"] == "tool":
            self._messages.append({"role": "assistant", "content": between})
        else:
            return
        self._provenance.append([[]])

    def _prompt(self, plan: Plan) -> list[Json]:
        """The context's system prompt, then the system messages before the conversation; equal texts once."""
        texts = self._system_texts(plan)
        for text, versions in texts.items():
            self._add({"role": "system", "content": text}, [versions])
        return [text_part(text) for text in texts]

    # -- user side

    def _entry(self, entry: Entry, message: Message) -> None:
        parts: list[JsonObject] = []
        for part in message.parts:
            written = user_part(part, self._dialect.images, self._note)
            if written is not None:
                parts.append(written)
        if not parts:
            return
        versions = [list(entry.versions) for _ in parts]
        if message.role != "system":
            self._add({"role": "user", "content": list(parts)}, versions)
        elif self._dialect.late_system and all(part["type"] == "text" for part in parts):
            self._add({"role": "system", "content": list(parts)}, versions)
        else:
            self._note("system_message_as_user")
            tagged: list[Json] = [
                system_as_user(str(part["text"])) if part["type"] == "text" else part for part in parts
            ]
            self._add({"role": "user", "content": tagged}, versions)

    def _results(self, message: Message) -> None:
        behind: list[Json] = []
        origins: list[list[int]] = []
        for origin in message.origins:
            if not isinstance(origin, Answer):
                continue
            self._record, self._step_id = origin.record, origin.call.step.step_id
            failed = origin.is_error and origin.kind in ("result", "progress")  # stand-ins say it themselves
            text, moved = result_text(origin.content, failed, self._dialect.images, self._note)
            call_id = self._ids.known(origin.call.id)
            self._add({"role": "tool", "tool_call_id": call_id, "content": text}, [list(origin.versions)])
            behind += moved
            origins += [list(origin.versions)] * len(moved)
        if behind:
            self._add({"role": "user", "content": behind}, origins)

    # -- assistant side

    def _step(self, step: Step, message: Message) -> None:
        texts: list[str] = []
        text_versions: list[int] = []
        calls: list[Json] = []
        call_versions: list[list[int]] = []
        thinkings: list[Thinking] = []
        for part, origin in zip(message.parts, message.origins, strict=True):
            self._record = origin.record
            if isinstance(origin, Thinking):
                thinkings.append(origin)
            elif isinstance(origin, Call) and not origin.hosted:
                calls.append(self._call(origin, first=not calls))
                call_versions.append(list(origin.versions))
            elif isinstance(origin, Call | HostedResult):
                self._note("hosted_block_skipped", reason="this format has no such block")
            elif isinstance(text := part.get("text"), str) and not is_blank(text):
                texts.append(sendable_text(text, self._note))
                text_versions += origin.versions
            else:
                self._note("blank_text_skipped")
        reasoning, sent = self._reasoning(step, thinkings)
        if not texts and not calls:
            for thinking in sent:
                self._record = thinking.record
                self._note("thinking_only_step_skipped")
            return
        written: JsonObject = {"role": "assistant"}
        versions: list[list[int]] = []
        field = self._dialect.field
        if field is not None:
            demanded = self._dialect.fill == "always" or (self._dialect.fill == "calls" and bool(calls))
            if reasoning or demanded:
                written[field] = reasoning or self._dialect.filler
                versions.append([one.version for one in sent])
            if self._dialect.details and (details := reasoning_details(sent)):
                written["reasoning_details"] = details
        if texts:
            written["content"] = "\n\n".join(texts)
            versions.append(text_versions)
        if calls:
            written["tool_calls"] = calls
            versions += call_versions
        self._add(written, versions)

    def _reasoning(self, step: Step, thinkings: list[Thinking]) -> tuple[str, list[Thinking]]:
        """The reasoning that goes back in the dialect's field, and the blocks that it is made of."""
        if not thinkings:
            return "", []
        foreign = self._ownership.foreign(step)
        sent: list[Thinking] = []
        for thinking in thinkings:
            self._record = thinking.record
            if foreign is not None:
                self._note("foreign_thinking_skipped", **foreign)
            elif step.state_invalid:
                self._note("damaged_thinking_skipped", reason="invalid_replay_state", damaged=thinking.version)
            elif self._dialect.field is None:
                self._note("reasoning_not_taken", dialect=self._dialect.name)
            elif is_blank(thinking.event.text):
                self._note("blank_text_skipped")
            else:
                sent.append(thinking)
        return "\n\n".join(cleaned_text(one.event.text) for one in sent), sent

    def _call(self, call: Call, *, first: bool) -> JsonObject:
        sent, name = self._call_id(call), self._tool_name(call)
        arguments = arguments_text(call.event.args, self._note)
        signed = self._signed(call, first) if self._dialect.thoughts else {}
        return {"id": sent, "type": "function", "function": {"name": name, "arguments": arguments}, **signed}

    def _signed(self, call: Call, first: bool) -> JsonObject:
        """Gemini's signature of a call, as its layer of this format takes it (O27): see `gemini`."""
        own = self._ownership.foreign(call.step) is None and not call.step.state_invalid
        signature = signature_of(call) if own else None
        if signature is None and first and demands_signatures(self._model):
            self._note("signature_dummy")
            signature = DUMMY
        return {} if signature is None else {"extra_content": {"google": {"thought_signature": signature}}}

    def _refusal(self) -> bool | None:
        """False when nothing can be answered; None leaves the answer to the plan."""
        last = next((one for one in reversed(self._messages) if one["role"] != "system"), None)
        if last is not None and last["role"] in ("user", "tool"):
            return None
        return self._unanswerable()
