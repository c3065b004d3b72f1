"""Content as Bedrock's Converse takes it: texts, images, documents, results; every block has exactly one key
(B13). Bytes are base64 text, as they stand in the request's JSON."""

import base64
import re
from collections.abc import Iterable, Sequence
from typing import cast

from ledger.events import Json, JsonObject
from replay.parts import canonical
from replay.providers.bedrock_families import Family
from replay.providers.content import (
    NO_ERROR_TEXT,
    NO_OUTPUT,
    OUTPUT_BELOW,
    Report,
    is_blank,
    is_content_list,
    sendable_text,
    written_part,
)
from replay.providers.media import Media, image_problem, is_base64, refused, text_problem

FILLER = "."
"""What stands where a text is demanded and nothing is to be said; white space is refused too (B5)."""

_FORMATS = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/plain": "txt",
    "text/markdown": "md",
}
_TEXTS = frozenset({"csv", "html", "txt", "md"})
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9()\[\]-]+")
_NAME_LIMIT = 180


class DocumentNames:
    """Names of a request's documents: of the format's characters, none like another (B11)."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._counts: dict[str, int] = {}

    def fork(self) -> "DocumentNames":
        """A copy that goes on apart."""
        twin = DocumentNames(self._taken)
        twin._counts = dict(self._counts)
        return twin

    def take(self, name: str | None) -> str:
        """The name of one more document, made of the recorded one."""
        clean = _NOT_IN_NAMES.sub(" ", name or "").strip()[:_NAME_LIMIT].strip() or "document"
        sent, count = clean, self._counts.get(clean, 0)
        while count or sent in self._taken:
            count += 1
            sent = f"{clean} {count}"
            if sent not in self._taken:
                break
        self._counts[clean] = max(count, 1)
        self._taken.add(sent)
        return sent


def text_block(text: str) -> JsonObject:
    """A text block."""
    return {"text": text}


class Blocks:
    """Writes content blocks; it knows the names of the documents that were written before."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self._names = DocumentNames()

    def fork(self) -> "Blocks":
        """A copy that goes on apart."""
        twin = Blocks(self._family)
        twin._names = self._names.fork()
        return twin

    def user(self, parts: Sequence[JsonObject], report: Report) -> list[JsonObject]:
        """User content: blank text left out, what cannot be sent said in text. It may be empty."""
        blocks: list[JsonObject] = []
        for part in parts:
            block = written_part(part, self._media, report)
            if block is not None:
                blocks.append(text_block(str(block["text"])) if block.get("type") == "text" else block)
        return blocks

    def result(self, content: Json, failed: bool, report: Report) -> tuple[list[JsonObject], list[JsonObject]]:
        """A result's content, never empty (B12), and the blocks that it may not hold, to stand behind it."""
        moved: list[JsonObject] = []
        if isinstance(content, list) and is_content_list(content):
            blocks = self.user([block for block in content if isinstance(block, dict)], report)
            images = self._family.result_images and not failed
            moved = [one for one in blocks if "text" not in one and not (images and "image" in one)]
            blocks = [one for one in blocks if one not in moved]
            if moved and failed:
                report("error_media_moved", count=len(moved))
        else:
            text = sendable_text(content if isinstance(content, str) else canonical(content), report)
            blocks = [] if is_blank(text) else [text_block(text)]
        if not blocks:
            blocks = [text_block(NO_ERROR_TEXT if failed else OUTPUT_BELOW if moved else NO_OUTPUT)]
        elif failed and not self._family.status:
            blocks[0] = text_block(f"[error] {blocks[0]['text']}")
        return blocks, moved

    def _media(self, media: Media) -> JsonObject | str:
        if media.url is not None:
            return "this provider takes no URL"
        if media.kind == "image":
            problem = image_problem(media)
            kind = (media.media_type or "").removeprefix("image/")
            return problem or {"image": {"format": kind, "source": {"bytes": media.data}}}
        form = _FORMATS.get(media.media_type or "", "txt" if media.text is not None else None)
        if form is None:
            return refused(media)
        data = media.data
        if media.text is not None or form in _TEXTS:
            text, problem = text_problem(media)
            if problem is not None:
                return problem
            data = base64.b64encode(text.encode()).decode()
        if data is None or not is_base64(data):
            return "its data is not base64"
        return {"document": {"format": form, "name": self._names.take(media.name), "source": {"bytes": data}}}


def with_text(blocks: list[JsonObject]) -> list[JsonObject]:
    """The blocks, with a text among them where they hold a document (B11)."""
    bare = any("document" in block for block in blocks) and not any("text" in block for block in blocks)
    return [*blocks, text_block(FILLER)] if bare else blocks


def holds(message: JsonObject, kind: str) -> bool:
    """True when a written message has a block of a kind."""
    return any(kind in block for block in cast("list[JsonObject]", message["content"]))
