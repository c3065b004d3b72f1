"""Neutral parts (DESIGN.md 7.5): what the content of one event becomes in a message."""

import json

from ledger.events import Content, Json, JsonObject

_canonical = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode


def canonical(value: Json) -> str:
    """JSON text with sorted keys, no blanks and non-ASCII as it is: the same for equal values."""
    return _canonical(value)


def text_part(text: str) -> JsonObject:
    """A text part."""
    return {"type": "text", "text": text}


def system_as_user(text: str) -> JsonObject:
    """A system message as tagged user text, for who has no such role amid the history."""
    return text_part(f"<system>\n{text}\n</system>")


def is_empty_text(block: Json) -> bool:
    """True for a text block without a character: providers refuse it; blank text is not empty."""
    return isinstance(block, dict) and block.get("type") == "text" and block.get("text") == ""


def content_parts(content: Content) -> list[JsonObject]:
    """The parts of a user or system message, empty text included; blocks are kept as recorded."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content


def late_parts(name: str, call_id: str, content: Json, is_error: bool) -> list[JsonObject]:
    """The user text that a late result becomes (DESIGN.md 7.2 rule 5)."""
    return told_parts(f"[late {'error' if is_error else 'result'} of {name} ({call_id})]", content)


def told_parts(head: str, content: Json) -> list[JsonObject]:
    """A result's content told as user text after `head`.

    Strings and text blocks are text, images and files are blocks after it, other content is canonical JSON.
    """
    blocks: list[JsonObject] = []
    if isinstance(content, str):
        text = content
    elif isinstance(content, list) and any(map(_is_block, content)):
        texts: list[str] = []
        for block in content:
            if not _is_block(block) or not isinstance(block, dict):
                texts.append(canonical(block))
            elif block["type"] == "text":
                texts.append(str(block["text"]))
            else:
                blocks.append(block)
        text = "\n\n".join(texts)
    else:
        text = canonical(content)
    return [text_part(f"{head} {text}" if text else head), *blocks]


def _is_block(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    return isinstance(value.get("text"), str) if kind == "text" else kind in ("image", "file")
