"""Turnledger: an event-sourced ledger of AI-agent conversations, its views, and its replay to providers.

The public API in one place. Open a `Ledger`, `append` events to a conversation, show it with `view`, and make
the request for the next model call with `replay`:

    with Ledger.open("sqlite:///turnledger.db") as ledger:
        ledger.append("demo", [{"type": "user_message", "turn_id": "t1", "content": "hello"}])
        rows = view(ledger, "demo").rows
        request = replay(ledger.read("demo"), "demo", Target("anthropic", "claude-x")).request

A `Recorder` records a runtime's turns as they happen.

Every error that is raised on purpose is a `TurnledgerError` (`turnledger.errors` has the tree).
"""

from ledger import (
    Appended,
    Conversation,
    Cursor,
    EncodedEvent,
    Head,
    Lease,
    Ledger,
    LiveTurn,
    RecordedEvent,
    Recorder,
    Recovered,
    errors,
    events,
)
from ledger.admission import parse_event, parse_line
from ledger.errors import (
    IdConflict,
    LeaseLost,
    RecordingStopped,
    TurnBusy,
    TurnledgerError,
    UnknownConversation,
    VersionConflict,
)
from ledger.events import Event, decode, encode
from projections import PROJECTIONS, Runner, View, fold, markdown, rebuild, text, view
from replay import (
    Continued,
    Diagnostic,
    Difference,
    Explanation,
    Options,
    PrefixChange,
    Refusal,
    Result,
    Sent,
    Target,
    difference,
    difference_from,
    explain_event,
    explain_message,
    explain_versions,
    next_rung,
    prefix_changes,
    refusal_note,
    replay,
    sent,
    targets,
)
from replay.providers.violations import Violation, violations

__all__ = [
    "PROJECTIONS",
    "Appended",
    "Continued",
    "Conversation",
    "Cursor",
    "Diagnostic",
    "Difference",
    "EncodedEvent",
    "Event",
    "Explanation",
    "Head",
    "IdConflict",
    "Lease",
    "LeaseLost",
    "Ledger",
    "LiveTurn",
    "Options",
    "PrefixChange",
    "RecordedEvent",
    "Recorder",
    "RecordingStopped",
    "Recovered",
    "Refusal",
    "Result",
    "Runner",
    "Sent",
    "Target",
    "TurnBusy",
    "TurnledgerError",
    "UnknownConversation",
    "VersionConflict",
    "View",
    "Violation",
    "decode",
    "difference",
    "difference_from",
    "encode",
    "errors",
    "events",
    "explain_event",
    "explain_message",
    "explain_versions",
    "fold",
    "markdown",
    "next_rung",
    "parse_event",
    "parse_line",
    "prefix_changes",
    "rebuild",
    "refusal_note",
    "replay",
    "sent",
    "targets",
    "text",
    "view",
    "violations",
]
