"""What a message of the user in a session file is: who wrote it, and what it does to the turn."""

from ledger.events import Json, JsonObject
from ledger.intake.claude_code.turn import INTERRUPTED, RUNTIME
from ledger.intake.mending import as_text

CUT_OFF = "Your response above was cut off mid-stream"
_COMMANDS = ("<command-name>", "<command-message>", "<bash-input>")


def text_of(content: Json) -> str:
    """The text of a message's content, its blocks one after the other."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n\n".join(as_text(block.get("text")) for block in blocks if isinstance(block, dict))


def content_in(record: JsonObject) -> Json:
    """The content of a record's message."""
    message = record.get("message")
    return message.get("content") if isinstance(message, dict) else None


def brings_results(content: Json) -> bool:
    """Whether a message brings results of tools."""
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    )


def is_of_runtime(text: str) -> bool:
    """Whether Claude Code wrote it, and no person."""
    return text.lstrip().startswith(RUNTIME)


def is_command(text: str) -> bool:
    """A command that a person gave."""
    return text.lstrip().startswith(_COMMANDS)


def is_notification(record: JsonObject, text: str) -> bool:
    """A task in the background ended, and the model is told so in a turn of its own."""
    origin = record.get("origin")
    kind: Json = origin.get("kind") if isinstance(origin, dict) else None
    return kind == "task-notification" or text.lstrip().startswith("<task-notification")


def goes_on(record: JsonObject) -> bool:
    """A record with which somebody goes on: a prompt, or a command. Where it does not follow on the last
    message the conversation was rewound."""
    if record.get("type") != "user" or record.get("isMeta") is True or record.get("isCompactSummary") is True:
        return False
    content = content_in(record)
    if brings_results(content):
        return False
    text = text_of(content).lstrip()
    return not text.startswith((INTERRUPTED, "<local-command", "<bash-std", "<system-reminder"))
