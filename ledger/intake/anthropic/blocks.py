"""Blocks of one message: `content_block_start`, its deltas, `content_block_stop` (specs/formats.md 9)."""

from __future__ import annotations

from ledger.events import Json, JsonObject
from ledger.intake.mending import Mended, as_text
from ledger.turns import Step, Turn
from ledger.turns.lane import ALL_BEFORE

TEXT, THINKING, COMPACTION = "text", "thinking", "compaction"
CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_DELTA_OF = {
    "text_delta": frozenset({TEXT}),
    "citations_delta": frozenset({TEXT}),
    "thinking_delta": frozenset({THINKING}),
    "signature_delta": frozenset({THINKING}),
    "input_json_delta": CALLS,
    "compaction_delta": frozenset({COMPACTION}),
}
_CALL_FIELDS = frozenset({"type", "id", "name", "input"})
_RESULT_FIELDS = frozenset({"type", "tool_use_id", "content", "is_error"})


class Blocks:
    """The blocks of one message. `broken` is the count of lines that could not be read when a block began:
    when it has risen, what streamed has a hole, and no signature over it can hold."""

    def __init__(self, turn: Turn, step: Step) -> None:
        self.calls = 0  # calls that a client has to answer
        self.thought = False
        self._turn = turn
        self._step = step
        self._open: dict[int, _Block] = {}
        self._seen: set[int] = set()
        self._names: dict[str, str] = {}  # of provider-executed calls, by id

    def start(self, index: int, block: JsonObject, broken: int) -> bool:
        """A block begins; what is whole already is written. False for one that began before."""
        if index in self._seen:
            return False
        self._seen.add(index)
        kind = as_text(block.get("type"))
        opened = _Block(index, kind, block, broken)
        step = self._step
        if kind == TEXT:
            step.start_block(index, "text")
            step.text(as_text(block.get("text")), index)
            citations = block.get("citations")
            opened.citations = list(citations) if isinstance(citations, list) else []
        elif kind == THINKING:
            self.thought = True
            step.start_block(index, "reasoning")
            step.thinking(as_text(block.get("thinking")), index)
            opened.signature = as_text(block.get("signature")) or None
        elif kind == "redacted_thinking":
            self.thought = True
            step.end_thinking("", index, redacted_data=as_text(block.get("data")))
        elif kind in CALLS:
            step.arguments(index, "", as_text(block.get("id")), as_text(block.get("name")))
        elif kind.endswith("_tool_result"):
            self._result(index, block)
        elif kind == "fallback":
            self._fallback(index, block)
        else:  # compaction, and whatever comes in later years: known when it stops
            step.start_block(index, kind or "block")
        if kind not in ("redacted_thinking", "fallback") and not kind.endswith("_tool_result"):
            self._open[index] = opened
        return True

    def delta(self, index: int, delta: JsonObject) -> bool:
        """A piece of a block. False when it is of no kind that this block takes, or the block is not open."""
        kind = as_text(delta.get("type"))
        block = self._open.get(index)
        if block is None and index not in self._seen and kind in _DELTA_OF:
            # Its start was lost: a call could not be told from one that the provider runs.
            if kind in ("input_json_delta", "compaction_delta"):
                return False
            self.start(index, {"type": TEXT if kind in ("text_delta", "citations_delta") else THINKING}, -1)
            block = self._open.get(index)
        if block is None:
            return False
        takes = _DELTA_OF.get(kind)
        if takes is None:
            if block.kind in (TEXT, THINKING) or block.kind in CALLS:
                return False
            block.deltas.append(delta)
        elif block.kind not in takes:
            return False
        elif kind == "text_delta":
            self._step.text(as_text(delta.get("text")), index)
        elif kind == "thinking_delta":
            piece = as_text(delta.get("thinking"))
            block.mended = block.mended or isinstance(piece, Mended)
            self._step.thinking(piece, index)
        elif kind == "signature_delta":
            block.signature = as_text(delta.get("signature")) or block.signature
        elif kind == "citations_delta":
            block.citations.append(delta.get("citation"))
        elif kind == "input_json_delta":
            piece = as_text(delta.get("partial_json"))
            block.streamed = block.streamed or bool(piece)
            self._step.arguments(index, piece)
        else:
            block.grow_compaction(delta)
        return True

    def stop(self, index: int, broken: int, *, cut: bool = False) -> bool:
        """A block is complete, or with `cut` as complete as it will be. False when none began."""
        block = self._open.pop(index, None)
        if block is None:
            return index in self._seen
        hole = block.broken != broken or block.mended
        partial = True if cut or hole else None
        if block.kind == TEXT:
            told: Json = {"citations": block.citations} if block.citations else None
            self._step.end_text(None, index, provider_metadata=told, partial=partial)
        elif block.kind == THINKING:
            # A signature over text that is not whole is refused for ever: kept, but not as one.
            void = hole and block.signature is not None
            told = {"signature": block.signature} if void else None
            signature = None if void else block.signature
            self._step.end_thinking(None, index, signature, provider_metadata=told, partial=partial)
        elif block.kind in CALLS:
            self._call(block, partial)
        elif block.kind == COMPACTION and block.compacts:
            summary = as_text(block.start.get("content"))
            self._step.block(
                "compaction",
                {"summary": summary, "through_version": ALL_BEFORE},
                index,
                provider_metadata={"anthropic": block.start},
                partial=partial,
            )
        else:
            self._note(block, partial)
        return True

    def stop_all(self, broken: int) -> None:
        """The message ended: blocks whose own end is missing are taken as they are."""
        for index in list(self._open):
            self.stop(index, broken)

    def cut(self, broken: int) -> None:
        """The message was cut off. Open text without anything else, and open calls, are the step's to keep or
        to drop; of other open blocks what came is kept."""
        for index, block in list(self._open.items()):
            if block.kind not in CALLS and (block.kind != TEXT or block.citations):
                self.stop(index, broken, cut=True)

    def _call(self, block: _Block, partial: bool | None) -> None:
        start, step = block.start, self._step
        call_id, name = as_text(start.get("id")), as_text(start.get("name"))
        hosted = block.kind != "tool_use"
        more: dict[str, Json] = {key: value for key, value in start.items() if key not in _CALL_FIELDS}
        if block.kind == "mcp_tool_use":
            more["type"] = block.kind
        given = start.get("input")
        step.call(
            call_id,
            name,
            {} if given is None else given,
            block.index,
            provider_executed=hosted or None,
            accumulated=block.streamed,
            provider_metadata=more or None,
            partial=partial,
        )
        if hosted:  # the provider runs it already
            self._names[call_id] = name
            self._turn.start_call(call_id)
        else:
            self.calls += 1

    def _result(self, index: int, block: JsonObject) -> None:
        call_id, content = as_text(block.get("tool_use_id")), block.get("content")
        failed = block.get("is_error")
        if not isinstance(failed, bool):
            kind = content.get("type") if isinstance(content, dict) else None
            failed = True if isinstance(kind, str) and kind.endswith("_error") else None
        more = {key: value for key, value in block.items() if key not in _RESULT_FIELDS}
        more["type"] = block.get("type")
        self._step.provider_result(
            call_id,
            content,
            index,
            is_error=failed,
            tool_name=self._names.get(call_id),
            provider_metadata=more,
        )

    def _fallback(self, index: int, block: JsonObject) -> None:
        told, gave_up = _model(block.get("to")), _model(block.get("from"))
        text = f"The answer of {gave_up or 'the model'} ends here; {told or 'another model'} goes on."
        self._step.block("note", {"kind": "fallback", "text": text, "entry": block}, index)
        if told and not self.thought:
            # Signatures from here on are the other model's. After thinking of the first one the step stays the
            # first one's: neither model may be given what the other signed.
            self._turn.write("step_start", {"step_id": self._step.step_id, "model": told})

    def _note(self, block: _Block, partial: bool | None) -> None:
        fields: dict[str, Json] = {
            "kind": "block",
            "text": f"A block of type {block.kind}.",
            "entry": block.start,
            "deltas": list(block.deltas) or None,
        }
        self._step.block("note", fields, block.index, partial=partial)


class _Block:
    """A block that is open. `broken`: see `Blocks`; -1 when its start was lost."""

    def __init__(self, index: int, kind: str, start: JsonObject, broken: int) -> None:
        self.index = index
        self.kind = kind
        self.start = dict(start)
        self.broken = broken
        self.signature: str | None = None
        self.citations: list[Json] = []
        self.deltas: list[Json] = []
        self.streamed = self.mended = False

    @property
    def compacts(self) -> bool:
        """False for a compaction that failed: it changes nothing."""
        return any(isinstance(self.start.get(key), str) for key in ("content", "encrypted_content"))

    def grow_compaction(self, delta: JsonObject) -> None:
        for key, piece in delta.items():
            if key != "type" and piece is not None:
                so_far = self.start.get(key)
                whole = so_far + piece if isinstance(so_far, str) and isinstance(piece, str) else piece
                mended = isinstance(so_far, Mended) or isinstance(piece, Mended)
                self.start[key] = Mended(whole) if mended and isinstance(whole, str) else whole


def _model(told: Json) -> str | None:
    model = told.get("model") if isinstance(told, dict) else None
    return model if isinstance(model, str) and model else None
