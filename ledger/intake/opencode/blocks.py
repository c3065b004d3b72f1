"""What stands in OpenCode's parts as the ledger's blocks, outcomes and token counts. Pure."""

from ledger.events import Json, JsonObject
from ledger.intake.mending import as_text


def block_of(part: JsonObject) -> JsonObject:
    """A part of a prompt, or a file that a tool gave, as a block: texts, images, files."""
    if part.get("type") == "text":
        return {"type": "text", "text": as_text(part.get("text"))}
    mime = as_text(part.get("mime"))
    block: JsonObject = {"type": "image" if mime.startswith("image/") else "file", "media_type": mime}
    return {
        **block,
        **{name: part[name] for name in ("url", "filename", "source") if part.get(name) is not None},
    }


def output_of(state: JsonObject) -> Json:
    """What a tool gave the model: its text, with the files behind it."""
    output, files = as_text(state.get("output")), state.get("attachments")
    blocks = [block_of(file) for file in (files if isinstance(files, list) else ()) if isinstance(file, dict)]
    return [{"type": "text", "text": output}, *blocks] if blocks else output


def failed(state: JsonObject) -> bool | None:
    """Whether a tool failed. A command that did is `completed`, its exit code beside (specs/formats.md 7)."""
    if state.get("status") == "error":
        return True
    metadata = state.get("metadata")
    code = metadata.get("exit") if isinstance(metadata, dict) else None
    return code != 0 if isinstance(code, int) and not isinstance(code, bool) else None


def duration_of(state: JsonObject) -> int | float | None:
    """Milliseconds that a tool ran."""
    time = state.get("time")
    start, end = (time.get("start"), time.get("end")) if isinstance(time, dict) else (None, None)
    known = isinstance(start, int | float) and isinstance(end, int | float)
    return end - start if known and end >= start else None  # type: ignore[operator]


def beside(state: JsonObject) -> JsonObject | None:
    """What a tool's state says and its result does not: title, metadata; None for nothing."""
    rest: JsonObject = {name: value for name, value in state.items() if name in ("title", "metadata") and value}
    return rest or None


def ended(part: JsonObject) -> bool:
    """Whether a text or reasoning part is whole."""
    time = part.get("time")
    return isinstance(time, dict) and time.get("end") is not None


def is_done(info: JsonObject) -> bool:
    """Whether a message of the model is over, by its own word."""
    time = info.get("time")
    return info.get("error") is not None or (isinstance(time, dict) and time.get("completed") is not None)


def begun_at(value: JsonObject) -> Json:
    """When a message or a part began."""
    time = value.get("time")
    return (time.get("created") or time.get("start")) if isinstance(time, dict) else None


def ended_at(value: JsonObject) -> Json:
    """When a message or a part ended."""
    time = value.get("time")
    return (time.get("completed") or time.get("end")) if isinstance(time, dict) else None


def child_of(part: JsonObject) -> str | None:
    """The session of the sub-agent that a call of the tool `task` started."""
    state = part.get("state")
    metadata = state.get("metadata") if isinstance(state, dict) else None
    if not isinstance(metadata, dict) or part.get("type") != "tool":
        return None
    child = metadata.get("sessionId", metadata.get("sessionID"))
    return child if isinstance(child, str) and child else None
