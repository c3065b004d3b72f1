"""A plan as a request to Mistral: Chat Completions in its strict dialect, with ids of nine characters.

What is Mistral's own of specs/providers.md 7: ids (M1), an assistant turn between results and a user message,
and a user message before the first of the assistant's (M3), no system message amid the history (M3), no
reasoning fields and no names (M6). The rest is the format's (`openai_chat`).
"""

from collections.abc import Sequence
from dataclasses import replace

from replay.materialize import Message
from replay.options import Target
from replay.plan import Plan
from replay.providers.names import NineIds
from replay.providers.openai_chat import ChatWriting
from replay.providers.openai_dialects import DIALECTS
from replay.render import Rendered, Writing, written

APIS = frozenset({"mistral-conversations"})
DIALECT = replace(DIALECTS["mistral"], between=".")


def writing(plan: Plan, target: Target) -> Writing:
    """A request in progress."""
    return ChatWriting(plan, target, DIALECT, NineIds())


def render(plan: Plan, messages: Sequence[Message], target: Target) -> Rendered:
    """The request for `plan`, whose neutral messages are `messages`; pure and append-only."""
    return written(writing(plan, target), messages)
