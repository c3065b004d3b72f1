"""A plan as a request to OpenAI's Responses API: what would break its rules (specs/providers.md 3) is mended.

Every text, call and result is an item of `input`; the results of a step stand right behind its items, as the
strict servers of this format want it. Two ways to send reasoning back: from memory (`Target.stored` not set),
sealed and without any item id but its own; or by item id, where the provider keeps responses. Then a response
goes back under its ids whole or not at all (R4, R5).
"""

from collections.abc import Sequence
from typing import Self

from ledger.events import JsonObject
from replay.growing import Growing, Known
from replay.items import Answer, Block, Call, Entry, HostedResult, Item, Step, Thinking
from replay.materialize import Message
from replay.options import Target
from replay.parts import system_as_user
from replay.plan import Plan
from replay.providers import codes as codes  # registers them
from replay.providers.content import is_blank, sendable_text
from replay.providers.names import Names
from replay.providers.openai_responses_compaction import Compacted, last_compaction
from replay.providers.openai_responses_items import (
    call_item,
    output_item,
    reasoning_item,
    text_items,
    user_part,
)
from replay.providers.openai_responses_settings import reasons, settings_of
from replay.providers.openai_responses_tools import definitions
from replay.providers.openai_responses_units import ItemIds, Unit
from replay.providers.ownership import Ownership, model_of
from replay.providers.request_writing import RequestWriting
from replay.providers.settings import settings_in
from replay.providers.wire_text import cleaned_text
from replay.render import Rendered, Writing, written

PROVIDERS = frozenset({"openai", "openai-codex", "openai.responses"})
APIS = frozenset({"openai-responses", "responses", "openai.responses", "openai-codex-responses"})
ID_LIMIT = NAME_LIMIT = 64


def writing(plan: Plan, target: Target) -> Writing:
    """A request in progress."""
    return ResponsesWriting(plan, target)


def render(plan: Plan, messages: Sequence[Message], target: Target) -> Rendered:
    """The request for `plan`, whose neutral messages are `messages`; pure and append-only."""
    return written(writing(plan, target), messages)


class ResponsesWriting(RequestWriting):
    """One render in progress."""

    def __init__(self, plan: Plan, target: Target) -> None:
        super().__init__(plan, Names(ID_LIMIT), Names(NAME_LIMIT))
        self._target = target
        self._context = plan.context
        self._model = model_of(plan.items, target, PROVIDERS)
        self._ownership = Ownership(target, self._model, PROVIDERS, APIS)
        self._items: Growing[JsonObject] = Growing()
        self._provenance: Growing[list[list[int]]] = Growing()
        self._compacted = last_compaction(plan, self._ownership)
        self._compacting: Compacted | None = None  # it stands in the request
        self._context_record = plan.context_record
        self._in_use = False  # the target answered under the context in force: it takes all of its settings
        self._item_ids = ItemIds()
        self._custom: Known[str, None] = (
            Known()
        )  # sent ids of calls that are custom ones: their outputs are, too (R3)
        self._system = self._instructions(plan)
        self._tools = definitions((plan.context or {}).get("tools"), self._names, self._note)

    def fork(self) -> Self:
        """A copy that goes on apart; what it holds of the last item may still grow."""
        twin = super().fork()
        twin._items = self._items.fork(_apart)
        twin._provenance = self._provenance.fork(lambda last: [list(versions) for versions in last])
        return twin

    def write(self, message: Message) -> None:
        item = message.item
        if self._compacted is not None and self._is_after(self._compacted, item):
            self._compact(self._compacted)
        super().write(message)

    def rendered(self) -> Rendered:
        extra: JsonObject = {} if self._model is None else {"model": cleaned_text(self._model)}
        extra["store"] = bool(self._target.stored)
        if not self._target.stored and reasons(self._model):
            extra["include"] = ["reasoning.encrypted_content"]
        if self._tools:
            extra["tools"] = list(self._tools)
        given = settings_in(self._context)
        extra |= settings_of(given, tools=bool(self._tools), native=self._in_use)
        if self._target.thinking is not None:
            extra["reasoning"] = self._target.thinking
            given.kept.add("reasoning")  # the target's own stands for it
        self._note_skipped(given)
        return Rendered(
            self._items,
            self._system,
            self._provenance.whole,
            self._diagnostics,
            self._refusal(),
            extra,
            messages_key="input",
            system_key="instructions",
        )

    def _instructions(self, plan: Plan) -> str:
        return "\n\n".join(self._system_texts(plan))

    def _add(self, item: JsonObject, versions: list[list[int]]) -> None:
        self._items.append(item)
        self._provenance.append(versions)

    # -- a compaction

    def _is_after(self, compacted: Compacted, item: Item) -> bool:
        return item is compacted.step or item.version > compacted.record.version

    def _compact(self, compacted: Compacted) -> None:
        """What was written is in the compaction: it goes, and the item says where it came from."""
        versions = {version for parts in self._provenance for part in parts for version in part}
        self._items, self._provenance, self._item_ids = Growing(), Growing(), ItemIds()
        self._last_step, self._compacted, self._compacting = None, None, compacted
        name = compacted.item.get("id")
        if isinstance(name, str):
            self._item_ids.take([name])
        self._add(dict(compacted.item), [sorted({*versions, compacted.record.version})])

    # -- user side

    def _entry(self, entry: Entry, message: Message) -> None:
        parts: list[JsonObject] = []
        for part in message.parts:
            sent = user_part(part, self._note)
            if sent is not None:
                parts.append(sent)
        if not parts:
            return
        role = message.role
        if role == "system" and any(part["type"] != "input_text" for part in parts):
            self._note("system_message_as_user")
            role = "user"
            parts = [
                {**part, **system_as_user(str(part["text"])), "type": "input_text"} if "text" in part else part
                for part in parts
            ]
        message_item: JsonObject = {"type": "message", "role": role, "content": list(parts)}
        self._add(message_item, [list(entry.versions) for _ in parts])

    def _results(self, message: Message) -> None:
        for origin in message.origins:
            if not isinstance(origin, Answer):
                continue
            self._record, self._step_id = origin.record, origin.call.step.step_id
            failed = origin.is_error and origin.kind in ("result", "progress")  # stand-ins say it themselves
            call_id = self._ids.known(origin.call.id)
            item = output_item(call_id, origin.content, failed, call_id in self._custom, self._note)
            self._add(item, [list(origin.versions)])

    # -- assistant side

    def _step(self, step: Step, message: Message) -> None:
        foreign = self._ownership.foreign(step)
        if foreign is None and step.context is self._context_record:
            self._in_use = True
        blocks = [origin for origin in message.origins if isinstance(origin, Block)]
        compacting = (
            self._compacting if self._compacting is not None and self._compacting.step is step else None
        )
        whole = len(blocks) == len(message.origins) and compacting is None
        unit = Unit(blocks, foreign, bool(self._target.stored) and whole, self._item_ids)
        if self._target.stored and not whole:
            unit.problem = unit.problem or "its response is not whole"
        for part, origin in zip(message.parts, message.origins, strict=True):
            self._record = origin.record
            if compacting is not None and isinstance(origin, Block) and compacting.replaces(origin):
                self._provenance[0][0] = sorted([*self._provenance[0][0], *origin.versions])
                continue
            if isinstance(origin, Thinking):
                self._hold(unit, origin)
            elif isinstance(origin, HostedResult) or (isinstance(origin, Call) and origin.hosted):
                self._hosted(unit, origin)
            elif isinstance(origin, Call):
                self._flush(unit)
                self._call(unit, origin)
            elif isinstance(text := part.get("text"), str) and not is_blank(text):
                self._flush(unit)
                block = origin if isinstance(origin, Block) else None
                for item in text_items(block, sendable_text(text, self._note), unit, self._items):
                    self._add(item, [])
                self._provenance[-1].append(list(origin.versions))
            else:
                self._note("blank_text_skipped")
        self._drop(unit, "thinking_tail_skipped" if unit.sent else "thinking_only_step_skipped")

    def _hold(self, unit: Unit, thinking: Thinking) -> None:
        """Reasoning waits for the item that it was produced with (R4)."""
        if unit.foreign is not None:
            self._note("foreign_thinking_skipped", **unit.foreign)
            return
        item = reasoning_item(thinking, unit, self._item_ids)
        if isinstance(item, str):
            if item == "unsigned":
                self._note("unsigned_thinking_skipped")
            else:
                self._note("damaged_thinking_skipped", reason=item, damaged=thinking.version)
            return
        unit.held.append((item, thinking))

    def _flush(self, unit: Unit) -> None:
        """Another item of the step goes out: reasoning right before it goes with it."""
        for item, thinking in unit.take():
            self._add(item, [list(thinking.versions)])
        unit.sent = True

    def _drop(self, unit: Unit, code: str) -> None:
        record = self._record
        for _, thinking in unit.take():
            self._record = thinking.record
            self._note(code)
        self._record = record

    def _hosted(self, unit: Unit, block: Call | HostedResult) -> None:
        name = unit.ids.get(block)
        if name is None:
            self._note("hosted_block_skipped", reason=unit.problem or "its item is not kept by the provider")
            if unit.held:
                self._drop(unit, "thinking_tail_skipped")
            return
        self._flush(unit)
        if not self._items or self._items[-1] != {"type": "item_reference", "id": name}:
            self._add({"type": "item_reference", "id": name}, [[]])
        self._provenance[-1][-1] += block.versions

    def _call(self, unit: Unit, call: Call) -> None:
        sent, name = self._call_id(call), self._tool_name(call)
        item = call_item(call, sent, name, unit, self._note)
        if item["type"] == "custom_tool_call":
            self._custom.put(sent, None)
        self._add(item, [list(call.versions)])

    def _refusal(self) -> bool | None:
        """False when nothing can be answered (X5, R17); None leaves the answer to the plan."""
        for item in reversed(self._items):
            if item.get("role") == "user" or str(item["type"]).endswith("_output"):
                return None
            if item.get("role") != "system":
                break
        return self._unanswerable()


def _apart(item: JsonObject) -> JsonObject:
    content = item.get("content")
    return {**item, "content": list(content)} if isinstance(content, list) else dict(item)
