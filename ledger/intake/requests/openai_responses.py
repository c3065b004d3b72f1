"""Items of a request to the Responses API, as OpenAI Agents' sessions keep them too."""

from __future__ import annotations

import hashlib

from ledger.events import JsonObject, json_bytes
from ledger.intake.found import Found
from ledger.intake.mending import as_text
from ledger.intake.openai_agents.session import SessionItems
from ledger.intake.requests.conversation import Conversation
from ledger.intake.scribe import Scribe


class ResponsesRequest(Conversation):
    """One request to the Responses API."""

    provider = "openai"
    api = "openai-responses"
    system_key = "instructions"

    def __init__(self, scribe: Scribe, beside: JsonObject) -> None:
        super().__init__(scribe, beside)
        name = scribe.recording.sheet.conversation_id
        self._items = SessionItems(name, scribe.stamps, self.provider, self.model)

    def record(self, found: Found) -> None:
        """The next item."""
        self.scribe.take(found, f"message:{found.line}")
        if found.line == 1 and any(self.context):
            system, tools, settings = self.context
            digest = f"sha256:{hashlib.sha256(json_bytes([system, tools, settings])).hexdigest()}"
            self.scribe.write("context", digest=digest, system=system, tools=tools, settings=settings)
        item = found.value or {}
        if "type" not in item and as_text(item.get("role")):
            item = {"type": "message", **item}
        for event in self._items.take(item):
            told = event.get("source")
            if isinstance(told, dict):  # what was inferred, without the name of the sessions
                event["source"] = {name: value for name, value in told.items() if name != "format"}
            self.scribe.put(event)

    def message(self, message: JsonObject) -> None:
        """Items are taken as records."""
