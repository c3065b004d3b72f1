"""From a ledger's events to the next model call: plan, neutral messages, requests, and the reasons."""

from replay.continued import Continued
from replay.diagnostics import Code, Diagnostic, codes
from replay.difference import Difference, difference, difference_from
from replay.explain import Explanation, Fate, explain_event, explain_message, explain_versions
from replay.materialize import Message, neutral
from replay.options import Options, Target
from replay.plan import Plan, plan
from replay.prefix import PrefixChange, prefix_changes
from replay.refusals import Refusal, next_rung
from replay.render import Rendered, renderer, targets
from replay.result import Result, replay
from replay.rung_notes import refusal_note
from replay.sent import Sent, sent

__all__ = [
    "Code",
    "Continued",
    "Diagnostic",
    "Difference",
    "Explanation",
    "Fate",
    "Message",
    "Options",
    "Plan",
    "PrefixChange",
    "Refusal",
    "Rendered",
    "Result",
    "Sent",
    "Target",
    "codes",
    "difference",
    "difference_from",
    "explain_event",
    "explain_message",
    "explain_versions",
    "neutral",
    "next_rung",
    "plan",
    "prefix_changes",
    "refusal_note",
    "renderer",
    "replay",
    "sent",
    "targets",
]

from replay import providers as _providers  # noqa: F401 - it registers its renderers and their codes
