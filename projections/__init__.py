"""Read models folded from events: the conversation view, the runner that keeps it, and its exports."""

from projections.conversation import Changes, apply, changes, fold, rows
from projections.export.html import html
from projections.export.markdown import markdown
from projections.export.text import text, text_lines
from projections.export.ui_messages import ui_messages
from projections.pause import Pause
from projections.rebuild import Rebuilt, Status, delete, rebuild, status
from projections.runner import Progress, Runner
from projections.state import Found, State
from projections.store import PROJECTIONS
from projections.store.recorder import ViewRecorder
from projections.view import View, view

__all__ = [
    "PROJECTIONS",
    "Changes",
    "Found",
    "Pause",
    "Progress",
    "Rebuilt",
    "Runner",
    "State",
    "Status",
    "View",
    "ViewRecorder",
    "apply",
    "changes",
    "delete",
    "fold",
    "html",
    "markdown",
    "rebuild",
    "rows",
    "status",
    "text",
    "text_lines",
    "ui_messages",
    "view",
]
