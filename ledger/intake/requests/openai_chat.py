"""Messages of a request to Chat Completions, in any dialect: reasoning keeps the name of its field."""

from __future__ import annotations

from ledger.events import Json, JsonObject
from ledger.intake.contents import content_of
from ledger.intake.mending import as_text
from ledger.intake.openai_chat.answer import Answer
from ledger.intake.requests.conversation import Conversation
from ledger.intake.scribe import Scribe

_MAKERS = {
    "deepseek": "deepseek",
    "kimi": "moonshotai",
    "moonshot": "moonshotai",
    "glm": "zai",
    "minimax": "minimax",
    "mistral": "mistral",
    "gemini": "google",
}
"""Whose models these are, by how their names begin; reasoning goes back to its own maker alone."""


class ChatRequest(Conversation):
    """One request to Chat Completions."""

    provider = "openai"
    api = "openai-completions"

    def __init__(self, scribe: Scribe, beside: JsonObject) -> None:
        super().__init__(scribe, beside)
        name = (self.model or "").rpartition("/")[2].lower()
        self.provider = next(
            (maker for begin, maker in _MAKERS.items() if name.startswith(begin)), self.provider
        )

    def message(self, message: JsonObject) -> None:
        """A message of any role."""
        role, content = as_text(message.get("role")), message.get("content")
        if role == "assistant":
            self._answer(message)
        elif role in ("system", "developer"):
            self.end_step()
            self.turn.system_message(content_of(content))
        elif role == "user":
            self.for_prompt().user_message(content_of(content))
        elif role in ("tool", "function"):
            self.end_step()
            call = as_text(message.get("tool_call_id"))
            told: Json = message.get("name")
            self.turn.tool_result(call, content, tool_name=told if isinstance(told, str) else None)
            self.calls.discard(call)
        else:
            self.scribe.note("raw", "A message of no known role.", message)

    def _answer(self, message: JsonObject) -> None:
        answer = Answer(self.begin_step())
        answer.delta(message)
        answer.end()
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                name = as_text(call.get("id"))
                self.turn.start_call(name)
                self.calls.add(name)
