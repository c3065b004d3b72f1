"""A plan as a request to Gemini's generateContent: what would break its rules (specs/providers.md 4) is mended.

Neighbours of one role are one content, their parts side by side and never joined (G13). A signature goes back
on the very part that it came with; where Gemini 3 demands one of a call that has none to send, a dummy stands
there (G10, G11). It stands in every turn, not in the newest alone: what was sent stays as it was.
"""

from collections.abc import Sequence

from ledger.events import Json, JsonObject
from replay.items import Answer, Block, Call, Entry, HostedResult, Step, Thinking
from replay.materialize import Message, Origin
from replay.options import Target
from replay.parts import system_as_user
from replay.plan import Plan
from replay.providers import codes as codes  # registers them
from replay.providers.content import ANCHOR, input_object, is_blank, sendable_text
from replay.providers.gemini_parts import declarations, response_of, settings_of, user_part
from replay.providers.gemini_signatures import DUMMY, demands_signatures, signature_of
from replay.providers.merging import Merged
from replay.providers.names import FunctionNames, Names
from replay.providers.ownership import Ownership, model_of
from replay.providers.request_writing import RequestWriting
from replay.providers.settings import settings_in
from replay.providers.wire_text import cleaned_text, is_clean
from replay.render import Rendered, Writing, written

PROVIDERS = frozenset({"google", "gemini", "google-generative-ai", "google.generative-ai", "google-gla"})
APIS = frozenset({"google-generative-ai", "google.generative-ai", "gemini", "generate-content"})
VERTEX_PROVIDERS = frozenset({"google-vertex", "vertex", "google.vertex", "google-vertex-ai"})
VERTEX_APIS = frozenset({"vertex", "google-vertex", "google.vertex"})


def writing(plan: Plan, target: Target) -> Writing:
    """A request in progress."""
    return GeminiWriting(plan, target)


def render(plan: Plan, messages: Sequence[Message], target: Target) -> Rendered:
    """The request for `plan`, whose neutral messages are `messages`; pure and append-only.

    `target.api` `vertex` names the other transport: neither reads the other's signatures (G12).
    """
    return written(writing(plan, target), messages)


class GeminiWriting(RequestWriting):
    """One render in progress."""

    def __init__(self, plan: Plan, target: Target) -> None:
        super().__init__(plan, Names(), FunctionNames())
        self._target = target
        self._context = plan.context
        vertex = target.api in VERTEX_APIS
        providers = VERTEX_PROVIDERS if vertex else PROVIDERS
        self._model = model_of(plan.items, target, providers)
        self._ownership = Ownership(target, self._model, providers, VERTEX_APIS if vertex else APIS)
        self._signs = demands_signatures(self._model)
        self._written = Merged("parts")
        self._system = self._instruction(plan)
        self._tools = declarations((plan.context or {}).get("tools"), self._names, self._note)

    def rendered(self) -> Rendered:
        extra: JsonObject = {}
        if self._tools:
            extra["tools"] = [{"functionDeclarations": list(self._tools)}]
        given = settings_in(self._context)
        extra |= settings_of(given, self._target.thinking, tools=bool(self._tools))
        self._note_skipped(given)
        return Rendered(
            self._written.messages,
            self._system,
            self._written.provenance,
            self._diagnostics,
            self._refusal(),
            extra,
            messages_key="contents",
            system_key="systemInstruction",
        )

    def _instruction(self, plan: Plan) -> Json:
        parts: list[Json] = [{"text": text} for text in self._system_texts(plan)]
        return {"parts": parts} if parts else None

    # -- user side

    def _entry(self, entry: Entry, message: Message) -> None:
        parts = [sent for part in message.parts if (sent := user_part(part, self._note)) is not None]
        if not parts:
            return
        if message.role == "system":
            self._note("system_message_as_user")
            parts = [{"text": _tagged(part)} if "text" in part else part for part in parts]
        self._written.add("user", parts, [entry] * len(parts))

    def _results(self, message: Message) -> None:
        parts: list[JsonObject] = []
        origins: list[Origin | None] = []
        behind: list[JsonObject] = []
        behind_origins: list[Origin | None] = []
        for origin in message.origins:
            if not isinstance(origin, Answer):
                continue
            self._record, self._step_id = origin.record, origin.call.step.step_id
            response, moved = response_of(origin.content, origin.is_error, self._note)
            name = self._names.sent(origin.call.event.tool_name)
            answered: JsonObject = {"name": name, "response": response}
            if self._has_id(origin.call.step):
                answered["id"] = cleaned_text(origin.call.id)
            parts.append({"functionResponse": answered})
            origins.append(origin)
            behind += moved
            behind_origins += [origin] * len(moved)
        if parts:
            self._written.add("user", parts + behind, origins + behind_origins)

    # -- the model's side

    def _step(self, step: Step, message: Message) -> None:
        foreign = self._ownership.foreign(step)
        own = foreign is None and not step.state_invalid
        parts: list[JsonObject] = []
        origins: list[Origin | None] = []
        called = False
        sent: JsonObject | None
        for part, origin in zip(message.parts, message.origins, strict=True):
            self._record = origin.record
            if isinstance(origin, Thinking):
                sent = self._thinking(origin, foreign)
            elif isinstance(origin, HostedResult) or (isinstance(origin, Call) and origin.hosted):
                self._note("hosted_block_skipped", reason="the parts of its tools are not kept as they came")
                sent = None
            elif isinstance(origin, Call):
                sent = self._call(origin, own, first=not called and not (self._calls_are_open() and not parts))
                called = True
            else:
                signature = signature_of(origin) if own and isinstance(origin, Block) else None
                sent = self._text(part, signature)
            if sent is not None:
                parts.append(sent)
                origins.append(origin)
        if all("thought" in part for part in parts):
            for thinking in origins:
                if thinking is not None:
                    self._record = thinking.record
                    self._note("thinking_only_step_skipped")
            return
        if not self._written.messages:
            self._record = step.record
            self._note("assistant_first_anchored")
            self._written.add("user", [{"text": ANCHOR}], [None])
        self._written.add("model", parts, origins)

    def _text(self, part: JsonObject, signature: str | None) -> JsonObject | None:
        text = part.get("text")
        if not isinstance(text, str) or (is_blank(text) and signature is None):
            self._note("blank_text_skipped")
            return None
        signed: JsonObject = {} if signature is None else {"thoughtSignature": signature}
        return {"text": sendable_text(text, self._note), **signed}

    def _thinking(self, thinking: Thinking, foreign: JsonObject | None) -> JsonObject | None:
        """Signed thinking goes back as it came; it is optional, so what is in doubt stays out (G14)."""
        if foreign is not None:
            self._note("foreign_thinking_skipped", **foreign)
        elif thinking.step.state_invalid:
            self._note("damaged_thinking_skipped", reason="invalid_replay_state", damaged=thinking.version)
        elif (signature := signature_of(thinking)) is None:
            self._note("unsigned_thinking_skipped")
        elif not is_clean(thinking.event.text):
            self._note("damaged_thinking_skipped", reason="lone surrogate", damaged=thinking.version)
        else:
            return {"text": thinking.event.text, "thought": True, "thoughtSignature": signature}
        return None

    def _call(self, call: Call, own: bool, *, first: bool) -> JsonObject:
        function: JsonObject = {
            "name": self._tool_name(call),
            "args": input_object(call.event.args, self._note),
        }
        if self._has_id(call.step):
            function["id"] = cleaned_text(call.id)
        sent: JsonObject = {"functionCall": function}
        signature = signature_of(call) if own else None
        if signature is not None:
            sent["thoughtSignature"] = signature
        elif first and self._signs:
            self._note("signature_dummy")
            sent["thoughtSignature"] = DUMMY
        return sent

    def _has_id(self, step: Step) -> bool:
        """Whether the calls of a step have ids that Gemini gave, which go back with call and response (G7)."""
        return self._signs and self._ownership.foreign(step) is None

    def _calls_are_open(self) -> bool:
        """Whether the model's own calls come last so far: what follows is of the same content and step."""
        return self._written.role == "model" and "functionCall" in self._written.content[-1]

    def _refusal(self) -> bool | None:
        """False when nothing can be answered (X5); None leaves the answer to the plan."""
        if self._written.role == "user":
            return None
        return self._unanswerable()


def _tagged(part: JsonObject) -> Json:
    return system_as_user(str(part["text"]))["text"]
