"""From a ledger's events to the next model call: plan, neutral messages, requests, and the reasons."""

from replay.diagnostics import CODES, Code, Diagnostic
from replay.materialize import Message, neutral
from replay.options import Options, Target
from replay.plan import Plan, plan
from replay.render import Rendered, renderer, targets
from replay.result import Result, replay

__all__ = [
    "CODES",
    "Code",
    "Diagnostic",
    "Message",
    "Options",
    "Plan",
    "Rendered",
    "Result",
    "Target",
    "neutral",
    "plan",
    "renderer",
    "replay",
    "targets",
]

from replay import providers as _providers  # noqa: F401 - it registers its renderers and their codes
