"""Context that the runtime put before the model: shell commands, injected messages, summaries of branches.

pi sends all of these as user messages; they are recorded with origin `runtime`, in the words that the model
was given.
"""

from typing import cast

from ledger.events import Json, JsonObject
from ledger.intake.contents import content_of
from ledger.intake.mending import as_text
from ledger.intake.pi.maker import Maker


def bash_message(maker: Maker, message: JsonObject) -> JsonObject:
    """A command that the user ran beside the model; hidden when pi kept it out of the model's context."""
    pi = {name: value for name, value in message.items() if name not in ("output", "timestamp")}
    excluded = message.get("excludeFromContext") is True
    return _message(maker, bash_text(message), pi, hidden=excluded)


def bash_text(message: JsonObject) -> str:
    """The command, its output and how it ended, as the model reads them."""
    output = as_text(message.get("output"))
    parts = [
        f"Ran `{as_text(message.get('command'))}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    ]
    code = message.get("exitCode")
    if message.get("cancelled") is True:
        parts.append("(command cancelled)")
    elif code not in (None, 0):
        parts.append(f"Command exited with code {as_text(code)}")
    if message.get("truncated") is True and message.get("fullOutputPath"):
        parts.append(f"[Output truncated. Full output: {as_text(message['fullOutputPath'])}]")
    return "\n\n".join(parts)


def injected(maker: Maker, entry: JsonObject, holder: JsonObject, name: str = "content") -> JsonObject:
    """The message whose content is field `name` of `holder`; what else the entry says stays beside it."""
    content = content_of(holder.get(name))
    pi = {key: value for key, value in holder.items() if key not in (name, "id", "parentId", "timestamp")}
    pi.setdefault("type", entry.get("type"))
    return _message(maker, content, pi, hidden=False)


def _message(maker: Maker, content: str | list[JsonObject], pi: JsonObject, *, hidden: bool) -> JsonObject:
    said: JsonObject = {
        "content": cast(Json, content),
        "message_id": maker.key,
        "origin": "runtime",
        "visibility": "hidden" if hidden else None,
    }
    return maker.event("user_message", "user", said, pi=pi)
