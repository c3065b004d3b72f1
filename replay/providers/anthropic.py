"""A plan as a request to Anthropic's Messages API: what would break its rules (specs/providers.md 1) is
mended.

One pass over the neutral messages; neighbours of one role become one message (A8). User content is always a
list of blocks, so that a message that grows keeps its bytes. What the rules are is in `rules.anthropic`;
whether a request keeps them is judged elsewhere (`violations`), by code that shares nothing with this.
"""

from collections.abc import Sequence
from typing import cast

from ledger.errors import BadInput
from ledger.events import Json, JsonObject
from ledger.recorded import RecordedEvent
from replay.diagnostics import Diagnostic, diagnostic
from replay.items import Answer, Block, Call, Entry, HostedResult, Step, Thinking
from replay.materialize import Message
from replay.options import Target
from replay.plan import Plan
from replay.providers import codes as codes  # registers them
from replay.providers.anthropic_blocks import (
    content_blocks,
    input_object,
    is_blank,
    result_content,
    sendable_text,
    text_block,
)
from replay.providers.anthropic_thinking import ThinkingGate, model_of
from replay.providers.anthropic_tools import HostedTools, tool_definitions
from replay.providers.names import narrow
from replay.providers.wire_text import is_clean
from replay.render import Rendered

ANCHOR = "[the conversation starts with the assistant]"
"""What stands before a history that starts with the assistant (A7)."""

_SYSTEM = "<system>\n{}\n</system>"
_Piece = tuple[JsonObject, list[int]]


def render(plan: Plan, messages: Sequence[Message], target: Target) -> Rendered:
    """The request for `plan`, whose neutral messages are `messages`; pure and append-only.

    `Rendered.extra` holds the request's other keys: `model`, `tools`, `thinking`. See `request` for the
    whole body.

    Raises `BadInput` for a rung of the ladder that this format does not have.
    """
    if target.rung != "native":
        raise BadInput(problem=f"the target {target.provider} has no rung {target.rung!r} yet; it has: native")
    return _Writing(plan, messages, target).rendered()


def request(rendered: Rendered) -> JsonObject:
    """The body to send: what was rendered as one JSON object (`max_tokens` and the like are the caller's)."""
    system: JsonObject = {"system": rendered.system} if rendered.system else {}
    return {**rendered.extra, **system, "messages": list(rendered.messages)}


class _Writing:
    """One render in progress."""

    def __init__(self, plan: Plan, messages: Sequence[Message], target: Target) -> None:
        self._plan = plan
        self._target = target
        self._source = messages
        self._diagnostics: list[Diagnostic] = []
        self._messages: list[JsonObject] = []
        self._provenance: list[list[list[int]]] = []
        self._role = ""
        self._content: list[JsonObject] = []  # of the last message
        self._versions: list[list[int]] = []  # of the last message, part by part
        self._held: list[tuple[_Piece, Thinking]] = []  # thinking at a step's end, until what follows is known
        self._held_whole = False  # the held thinking is all of its step
        self._last_step: Step | None = None
        self._record: RecordedEvent | None = None  # what `_note` is about
        self._step_id: str | None = None
        self._ids: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._model = model_of(plan.items, target)
        self._gate = ThinkingGate(target, self._model)
        self._record = plan.context_record
        context = plan.context or {}
        self._tools = tool_definitions(context.get("tools"), self._note)
        self._hosted = HostedTools(target.provider, self._tools, messages)

    def rendered(self) -> Rendered:
        system = self._system()
        for at, message in enumerate(self._source):
            if message.role == "assistant":
                self._write_step(message, at)
            elif message.role == "tool":
                self._write_results(message)
            else:
                self._write_entry(message)
        self._drop_held()
        extra: JsonObject = {} if self._model is None else {"model": self._model}
        if self._tools:
            extra["tools"] = list(self._tools)
        if self._target.thinking is not None:
            extra["thinking"] = self._thinking(self._target.thinking)
        return Rendered(self._messages, system, self._provenance, self._diagnostics, self._refusal(), extra)

    def _note(self, code: str, **detail: Json) -> None:
        if self._record is None:
            self._diagnostics.append(Diagnostic(code, "info", None, None, None, None, dict(detail)))
        else:
            self._diagnostics.append(diagnostic(code, self._record, self._step_id, **detail))

    # -- system

    def _system(self) -> list[Json]:
        """The context's system prompt, then the system messages before the conversation; equal texts once."""
        given = (self._plan.context or {}).get("system")
        parts = [text_block(given)] if isinstance(given, str) else given
        texts: list[str] = []
        self._add_texts(parts if isinstance(parts, list) else [], texts)
        for entry in self._plan.system:
            self._record = entry.record
            self._add_texts(entry.parts, texts)
        return [text_block(text) for text in texts]

    def _add_texts(self, parts: Sequence[Json], texts: list[str]) -> None:
        blocks = content_blocks([part for part in parts if isinstance(part, dict)], self._note)
        texts.extend(
            text for block in blocks if isinstance(text := block.get("text"), str) and text not in texts
        )

    # -- user side

    def _write_entry(self, message: Message) -> None:
        entry = message.item
        if not isinstance(entry, Entry):
            return
        self._record, self._step_id = entry.record, None
        if entry.kind == "summary":
            self._gate.compacted()
        parts = message.parts
        if len(parts) == 1 and len(part := parts[0]) == 2 and isinstance(text := part.get("text"), str):
            # one plain text: most user messages
            blocks = content_blocks(parts, self._note) if is_blank(text) or not text.isascii() else parts
        else:
            blocks = content_blocks(parts, self._note)
        if message.role == "system" and blocks:
            self._note("system_message_as_user")
            blocks = [
                text_block(_SYSTEM.format(block["text"])) if block["type"] == "text" else block
                for block in blocks
            ]
        if blocks:
            self._gate.new_turn()
            self._write("user", [(block, [entry.version]) for block in blocks])

    def _write_results(self, message: Message) -> None:
        pieces: list[_Piece] = []
        behind: list[_Piece] = []
        for origin in message.origins:
            if not isinstance(origin, Answer):
                continue
            call_id = origin.call.id
            block: JsonObject = {
                "type": "tool_result",
                "tool_use_id": self._ids.get(call_id) or narrow(call_id),
            }
            content, versions = origin.content, origin.versions
            if isinstance(content, str) and content.isascii() and content and not content.isspace():
                block["content"] = content
            else:
                self._record, self._step_id = origin.record, origin.call.step.step_id
                sent, moved = result_content(content, origin.is_error, self._note)
                if sent is not None:
                    block["content"] = cast(Json, sent)
                behind.extend((item, versions) for item in moved)
            if origin.is_error:
                block["is_error"] = True
            pieces.append((block, versions))
        if pieces:
            self._write("user", pieces + behind)

    # -- assistant side

    def _write_step(self, message: Message, at: int) -> None:
        step = message.item
        if not isinstance(step, Step):
            return
        self._step_id, self._last_step = step.step_id, step
        pieces: list[_Piece] = []
        left_out: list[Block] = []
        any_thinking = False
        for part, origin in zip(message.parts, message.origins, strict=True):
            if not isinstance(origin, Block):
                continue
            self._record = origin.record
            if origin.kind == "thinking":
                any_thinking = True
                continue
            block = self._block(part, origin, at)
            if block is None:
                left_out.append(origin)
            else:
                pieces.append((block, [origin.version]))
        if any_thinking:
            self._write_thinking_step(step, pieces, left_out)
        elif pieces:
            self._drop_held()
            self._write("assistant", pieces)

    def _write_thinking_step(self, step: Step, pieces: list[_Piece], left_out: Sequence[Block]) -> None:
        """Puts the thinking that may go back into its places; a step's last thinking waits for what follows."""
        led: bool | None = None
        if self._role == "assistant":
            led = self._content[0]["type"] in ("thinking", "redacted_thinking")
        others = iter(pieces)
        verdicts = self._gate.admits(step, left_out, led)
        whole: list[tuple[_Piece, Thinking | None]] = []
        for block in step.blocks:
            self._record = block.record
            if isinstance(block, Thinking):
                verdict = verdicts[block]
                if verdict.wire is not None:
                    whole.append(((verdict.wire, [block.version]), block))
                else:
                    self._note(verdict.code, **(verdict.detail or {}))
            elif block not in left_out:
                whole.append((next(others), None))
        end = len(whole)
        while end and whole[end - 1][1] is not None:
            end -= 1
        if not whole:
            self._note("thinking_only_step_skipped")
            return
        self._drop_held()
        if end:
            self._write("assistant", [piece for piece, _ in whole[:end]])
        self._held = [(piece, block) for piece, block in whole[end:] if block is not None]
        self._held_whole = not end

    def _block(self, part: JsonObject, origin: Block, at: int) -> JsonObject | None:
        """A text, a call or a provider-executed block as this format spells it; None where it is left out."""
        if isinstance(origin, Call):
            if origin.hosted:
                return self._hosted_block(self._hosted.call(origin, at))
            return self._call(origin)
        if isinstance(origin, HostedResult):
            return self._hosted_block(self._hosted.result(origin))
        text = part["text"]
        if not isinstance(text, str) or is_blank(text):
            self._note("blank_text_skipped")
            return None
        return part if text.isascii() else text_block(sendable_text(text, self._note))

    def _call(self, call: Call) -> JsonObject:
        event = call.event
        sent = self._ids[call.id] = narrow(call.id)
        if sent != call.id:
            self._note("tool_id_rewritten", tool_call_id=call.id, sent=sent)
        name = self._names.get(event.tool_name)
        if name is None:
            name = self._names[event.tool_name] = narrow(event.tool_name, 128)
            if name != event.tool_name:
                self._note("tool_name_rewritten", tool_name=event.tool_name, sent=name)
        args = event.args
        if not isinstance(args, dict) or not is_clean(args):
            args = input_object(args, self._note)
        return {"type": "tool_use", "id": sent, "name": name, "input": args}

    def _hosted_block(self, block: JsonObject | str) -> JsonObject | None:
        if isinstance(block, str):
            self._note("hosted_block_skipped", reason=block)
            return None
        return block

    # -- messages

    def _write(self, role: str, pieces: Sequence[_Piece]) -> None:
        """Adds to the last message, or starts one; held thinking goes first when it is the user's turn."""
        if role == "user" and self._held:
            held, self._held = self._held, []
            self._write("assistant", [piece for piece, _ in held])
        if role != self._role:
            if not self._messages and role == "assistant":
                self._note("assistant_first_anchored")
                self._start("user")
                self._content.append(text_block(ANCHOR))
                self._versions.append([])
            self._start(role)
        for block, versions in pieces:
            self._content.append(block)
            self._versions.append(versions)

    def _start(self, role: str) -> None:
        self._role, self._content, self._versions = role, [], []
        self._messages.append({"role": role, "content": self._content})  # type: ignore[dict-item]  # list is invariant
        self._provenance.append(self._versions)

    def _drop_held(self) -> None:
        """Held thinking that the next step follows, or nothing: it would fuse with that step's (A23, A26)."""
        for _, block in self._held:
            self._record, self._step_id = block.record, block.step.step_id
            self._note("thinking_only_step_skipped" if self._held_whole else "thinking_tail_skipped")
            if self._held_whole:
                break
        self._held = []

    # -- the end

    def _refusal(self) -> bool | None:
        """False when nothing can be answered (A9); None leaves the answer to the plan."""
        if self._role == "user":
            return None
        if (
            self._role == "assistant"
            and self._last_step is not None
            and self._last_step.finish_reason == "pause_turn"
        ):
            kind = self._content[-1]["type"]
            if isinstance(kind, str) and (kind == "server_tool_use" or kind.endswith("_tool_result")):
                return None
        if self._last_step is not None:
            self._record, self._step_id = self._last_step.record, self._last_step.step_id
        self._note("nothing_to_answer")
        return False

    def _thinking(self, config: JsonObject) -> JsonObject:
        """The configuration; manual thinking goes off when the open tool loop did not start with it (A24)."""
        if config.get("type") != "enabled" or self._role != "user" or self._content[0]["type"] != "tool_result":
            return config
        for message in reversed(self._messages[:-1]):
            content = message["content"]
            first = content[0] if isinstance(content, list) else None
            kind = first["type"] if isinstance(first, dict) else None
            if message["role"] == "assistant":
                if kind in ("thinking", "redacted_thinking"):
                    return config
            elif isinstance(content, list) and any(
                isinstance(block, dict) and block["type"] != "tool_result" for block in content
            ):
                break
        self._note("thinking_off")
        return {"type": "disabled"}
