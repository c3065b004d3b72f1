"""A plan as a request to Mistral: Chat Completions in its strict dialect, with ids of nine characters.

What is Mistral's own of specs/providers.md 7: ids (M1), an assistant turn between results and a user message
(M3), no system message amid the history (M3), no reasoning fields and no names (M6). The rest is the format's
(`openai_chat`).
"""

import hashlib
import re
from collections.abc import Sequence

from replay.materialize import Message
from replay.options import Target
from replay.plan import Plan
from replay.providers.openai_chat import ChatWriting
from replay.providers.openai_dialects import DIALECTS
from replay.render import Rendered

BETWEEN = "."
"""The assistant turn that stands between a result and the user text behind it (M3)."""

_LENGTH = 9
_FITS = re.compile(r"[a-zA-Z0-9]{9}")
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class NineIds:
    """The call ids of one request: an id of nine letters and digits is kept, any other is hashed to one (M1).

    Two recorded ids never get the same: the first in the request keeps it. Nothing depends on what comes later.
    """

    def __init__(self) -> None:
        self._sent: dict[str, str] = {}
        self._taken: set[str] = set()

    def sent(self, name: str) -> str:
        """What a recorded id is sent as; always the same within a request."""
        found = self._sent.get(name)
        if found is None:
            found, attempt = name if _FITS.fullmatch(name) else _made(name), 0
            while found in self._taken:
                attempt += 1
                found = _made(f"{name}\x00{attempt}")
            self._taken.add(found)
            self._sent[name] = found
        return found

    def known(self, name: str) -> str:
        """What an id that was asked for before is sent as."""
        return self._sent.get(name, name)


def render(plan: Plan, messages: Sequence[Message], target: Target) -> Rendered:
    """The request for `plan`, whose neutral messages are `messages`; pure and append-only."""
    return ChatWriting(plan, messages, target, DIALECTS["mistral"], NineIds(), BETWEEN).rendered()


def _made(name: str) -> str:
    number = int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest(), "big")
    digits = []
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(digits)
