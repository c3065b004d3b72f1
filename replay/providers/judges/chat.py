"""What the judges of formats with a role `tool` share: reading messages, and calls against their results."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from ledger.events import Json, JsonObject


class PairFault(NamedTuple):
    """A call or a result that stands alone: message `at`, and the call's id.

    `unanswered`: a call of that message has no result right behind it. `unasked`: that tool message answers no
    call that waits. `repeated`: two calls of that message have one id.
    """

    kind: Literal["unanswered", "unasked", "repeated"]
    at: int
    call_id: str

    @property
    def message(self) -> str:
        """What is wrong, in words."""
        if self.kind == "unasked":
            return f"no call {self.call_id} is waiting for this result"
        if self.kind == "repeated":
            return f"two calls have the id {self.call_id}"
        return f"the call {self.call_id} has no result right behind it"


def role_of(message: Json) -> str:
    """A message's role; empty where it has none that is a text."""
    role = message.get("role") if isinstance(message, dict) else None
    return role if isinstance(role, str) else ""


def calls_of(message: Json) -> list[JsonObject]:
    """The tool calls of an assistant message that are objects."""
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def pair_faults(messages: Sequence[Json], sendable: bool) -> Iterator[PairFault]:
    """Each run of tool messages against the calls of the message right before it.

    In the start of a conversation (not `sendable`; X8) the calls of the last assistant message may be open, and
    those of the assistant messages right before it.
    """
    roles = [role_of(message) for message in messages]
    open_from = len(roles)
    if not sendable and "assistant" in roles:
        open_from -= 1 + roles[::-1].index("assistant")
        while open_from and roles[open_from - 1] == "assistant":
            open_from -= 1
    waiting: list[str] = []
    asked = 0
    for at, message in enumerate(messages):
        if roles[at] == "tool" and isinstance(message, dict):
            call_id = str(message.get("tool_call_id"))
            if call_id in waiting:
                waiting.remove(call_id)
            else:
                yield PairFault("unasked", at, call_id)
            continue
        if asked < open_from:
            yield from (PairFault("unanswered", asked, call_id) for call_id in waiting)
        waiting, asked = [str(call.get("id")) for call in calls_of(message)], at
        for call_id in sorted({one for one in waiting if waiting.count(one) > 1}):
            yield PairFault("repeated", at, call_id)
    if sendable:
        yield from (PairFault("unanswered", asked, call_id) for call_id in waiting)
