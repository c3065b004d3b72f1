"""Conversations as documents: text in one piece, for people or for other libraries."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from ledger.events import Json, decode, json_bytes
from ledger.recorded import RecordedEvent
from ledger.store import Head, Ledger
from projections import html, markdown, ui_messages
from projections.conversation import rows
from projections.view import View
from replay import Options, replay
from turnledger.exporting.redaction import Redaction

ONE = frozenset({"html", "pydantic-ai", "ai-sdk"})
"""Forms that hold one conversation a file."""


def document(ledger: Ledger, heads: Sequence[Head], form: str, redaction: Redaction | None = None) -> str:
    """These conversations in a form of `FORMS`. Holds one conversation's events at a time.

    What is to be hidden is hidden in the events, before anything is made of them.
    """
    made = []
    for head in heads:
        name = head.conversation_id if redaction is None else redaction.name(head.conversation_id)
        made.append(FORMS[form](name, _events(ledger, head, redaction)))
    return "\n".join(made)


def _events(ledger: Ledger, head: Head, redaction: Redaction | None) -> list[RecordedEvent]:
    found = list(ledger.read(head.conversation_id, upto=head.version))
    if redaction is None:
        return found
    return [
        RecordedEvent.of(decode(json_bytes(redaction.event(json.loads(record.body)))), record.version)
        for record in found
    ]


def _view(conversation_id: str, events: list[RecordedEvent]) -> View:
    return View(conversation_id, events[-1].version if events else 0, rows(events, conversation_id))


def _markdown(conversation_id: str, events: list[RecordedEvent]) -> str:
    return markdown(_view(conversation_id, events))


def _html(conversation_id: str, events: list[RecordedEvent]) -> str:
    return html(_view(conversation_id, events))


def _ai_sdk(conversation_id: str, events: list[RecordedEvent]) -> str:
    return _json([*ui_messages(_view(conversation_id, events))])


def _pydantic_ai(conversation_id: str, events: list[RecordedEvent]) -> str:
    options = replace(Options(), pending_calls="close", fingerprints=False)
    return _json([*replay(events, conversation_id, "pydantic-ai", options).messages])


def _json(value: Json) -> str:
    return json.dumps(value, indent=2) + "\n"  # ASCII: lone surrogates stay what they are


FORMS: dict[str, Callable[[str, list[RecordedEvent]], str]] = {
    "markdown": _markdown,
    "html": _html,
    "pydantic-ai": _pydantic_ai,
    "ai-sdk": _ai_sdk,
}
"""By name; our own JSON Lines are streamed (`own_lines`)."""
