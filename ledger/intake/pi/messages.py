"""Messages of one turn in a stream of pi: each is recorded once, however often the stream restates it.

The same message comes as `message_start`, `message_end`, in `turn_end` and in `agent_end` (specs/pi.md 1.5).
The first whole telling counts; the later ones only make good what a broken line lost.
"""

from __future__ import annotations

import hashlib

from ledger.events import Json, JsonObject, json_bytes
from ledger.intake.contents import content_of
from ledger.intake.mending import as_text
from ledger.intake.pi.answer import Answer
from ledger.intake.pi.runtime import bash_text
from ledger.intake.pi.tools import Tools
from ledger.intake.times import time_of
from ledger.turns import Turn

_INJECTED = frozenset({"custom", "hookMessage"})
_BASIS = ("role", "type", "id", "timestamp")


class Messages:
    """What the running turn has been told. `answer` is the assistant message under way, or one that failed and
    may be tried again."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.tools = Tools(turn)
        self.answer: Answer | None = None
        self.only_injected = True
        """Whether all that came so far is context that the runtime put in."""
        self._told: set[bytes] = set()  # digests of messages that are recorded
        self._count: dict[str, int] = {}  # messages of this run, by role
        self._starting: bytes | None = None
        self._spoke = False  # whether this step's assistant message has come
        self._prompt: str | list[JsonObject] | None = None
        self._beside: dict[str, Json] = {}  # system, tools, settings

    # -- runs and steps

    def run_started(self) -> None:
        """A run of the agent begins."""
        self.only_injected = self._spoke = False
        self._count.clear()

    def step_started(self) -> None:
        """pi's own "turn": an assistant message and its tools."""
        self.only_injected = self._spoke = False

    def step_ended(self, record: JsonObject) -> None:
        """It ended: its message and its results once more."""
        message = record.get("message")
        if isinstance(message, dict) and not self._spoke:
            self._whole(message)
        self._spoke = False
        results = record.get("toolResults")
        for result in results if isinstance(results, list) else ():
            if isinstance(result, dict):
                self._result(result)

    def run_ended(self, record: JsonObject) -> None:
        """The run's messages once more; says whether the failed one is tried again."""
        told = record.get("messages")
        messages = [message for message in told if isinstance(message, dict)] if isinstance(told, list) else []
        missing = {
            role: len([message for message in messages if message.get("role") == role])
            - self._count.get(role, 0)
            for role in {as_text(message.get("role")) for message in messages}
        }
        for message in messages:
            role = as_text(message.get("role"))
            if role == "toolResult":
                self._result(message)
            elif missing[role] > 0 and _digest(message) not in self._told:
                missing[role] -= 1
                self._message(message)
        if record.get("willRetry") is True:
            self.failed(None)

    def failed(self, entry: Json) -> None:
        """The message that failed is tried again."""
        if self.answer is not None and self.answer.error is not None:
            self.answer.fail(entry)
            self.answer = None

    # -- messages

    def begun(self, message: Json) -> None:
        """A message begins. One of the model streams now; any other is whole already."""
        if not isinstance(message, dict):
            return
        if message.get("role") != "assistant":
            self._starting = _digest(message)
            self._message(message)
            return
        self._replace()
        self.answer = Answer(self.turn, message)

    def ended(self, message: Json) -> None:
        """A message is whole."""
        if not isinstance(message, dict):
            return
        if message.get("role") == "assistant":
            self._whole(message)
            self._spoke = True
            return
        starting, self._starting = self._starting, None
        if starting is None or starting != _digest(message):
            self._message(message)

    def update(self, record: JsonObject) -> bool:
        """A piece of the message under way. False when there is none, or it is of no known kind."""
        if self.answer is None or self.answer.done:
            return False
        return self.answer.update(record)

    def compacted(self, summary: str, beside: JsonObject) -> None:
        """The history was replaced by a summary. In the middle of a turn the runtime keeps the prompt: it is
        recorded again after the summary, as context, or replay would end without it."""
        self.failed(None)
        self.turn.compaction(summary, provider_metadata={"pi": beside})
        if beside.get("willRetry") is True and self._prompt is not None:
            self.turn.user_message(
                self._prompt,
                origin="runtime",
                source={"inferred": True},
                provider_metadata={"pi": {"kept_by": "compaction"}},
            )

    def configure(self, settings: JsonObject) -> None:
        """Settings changed."""
        self._context(settings=dict(settings))

    def close(self) -> None:
        """The turn is about to end: what is under way is cut off."""
        if self.answer is not None:
            self.answer.cut()
            self.answer = None
        self.tools.cut_off()

    # -- inside

    def _replace(self) -> None:
        """Another message of the model begins: the one before it failed, or its end was lost."""
        if self.answer is not None:
            if self.answer.error is not None:
                self.answer.fail()
            else:
                self.answer.cut()
            self.answer = None

    def _whole(self, message: JsonObject) -> None:
        if self.answer is None or self.answer.done:
            self._replace()
            self.answer = Answer(self.turn, message)
        self.only_injected = False
        self._remember(message)
        self.answer.whole(message)
        if self.answer.error is None:
            self.answer = None

    def _result(self, message: JsonObject) -> None:
        self.only_injected = False
        self.tools.message(message)

    def _message(self, message: JsonObject) -> None:
        role = as_text(message.get("role"))
        if role == "assistant":
            self._whole(message)
            return
        if role == "toolResult":
            self._result(message)
            return
        self._remember(message)
        rest: JsonObject = {name: item for name, item in message.items() if name not in (*_BASIS, "content")}
        at, content = time_of(message.get("timestamp")), content_of(message.get("content"))
        metadata: Json = {"pi": rest} if rest else None
        if role == "user":
            self.only_injected = False
            steering = self.turn.last_step_id is not None
            self._prompt = content
            self.turn.user_message(content, steering=steering or None, at=at, provider_metadata=metadata)
        elif role in _INJECTED:
            self.turn.user_message(content, origin="runtime", at=at, provider_metadata=metadata)
        elif role == "bashExecution":
            rest.pop("output", None)
            hidden = "hidden" if message.get("excludeFromContext") is True else None
            self.turn.user_message(
                bash_text(message),
                origin="runtime",
                at=at,
                visibility=hidden,
                provider_metadata={"pi": rest},
            )
        elif role == "system":
            tools = rest.pop("toolsAdded", None)
            self._context(system=_system(message), tools=tools, at=at, provider_metadata=metadata)
        else:
            self.turn.note("message", f"a message of role {role}", entry=message)

    def _context(self, **changed: Json) -> None:
        parts = ("system", "tools", "settings")
        self._beside.update({name: changed.pop(name) for name in parts if changed.get(name) is not None})
        more = {name: value for name, value in changed.items() if name not in parts}
        self.turn.context(**self._beside, **more)

    def _remember(self, message: JsonObject) -> None:
        role = as_text(message.get("role"))
        self._count[role] = self._count.get(role, 0) + 1
        self._told.add(_digest(message))


def _system(message: JsonObject) -> Json:
    """The system prompt: its text, or, where pi gives it in sections, these one after the other."""
    sections = message.get("sections")
    parts = [as_text(message.get("content"))]
    if isinstance(sections, dict):
        parts += [as_text(section) for section in sections.values()]
    return "\n\n".join(part for part in parts if part)


def _digest(message: JsonObject) -> bytes:
    try:
        return hashlib.sha256(json_bytes(message)).digest()[:16]
    except (ValueError, TypeError, RecursionError):  # what the ledger could not hold as it is
        return hashlib.sha256(repr(message).encode(errors="replace")).digest()[:16]
