"""One chat completion as it streams: the deltas of choice 0, gathered into the blocks of one step.

A completion has one text, one reasoning and its calls, without ids for the first two; so they are whole only
when it ends. Dialects (DeepSeek, Kimi, GLM, vLLM, OpenRouter, Mistral, Gemini's layer …) name reasoning in
their own ways; the name is kept, because it has to go back under the same one (specs/providers.md 2.1).
"""

from __future__ import annotations

import json

from ledger.events import Json, JsonObject
from ledger.intake.mending import as_text
from ledger.turns import Step

_REASONING = ("reasoning_content", "reasoning")
_TAKEN = frozenset(
    {"role", "content", "refusal", "tool_calls", "function_call", "reasoning_details", *_REASONING}
)
TEXT, THINKING, REFUSAL = "text", "thinking", "refusal"


class Answer:
    """The blocks of one completion."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self._field: str | None = None  # how this dialect calls reasoning
        self._details: list[JsonObject] = []
        self._beside: JsonObject = {}
        self._streamed: set[str] = set()
        self._calls: dict[str, _Call] = {}
        self._last: str | None = None

    @property
    def calls(self) -> bool:
        """Whether it calls a tool."""
        return bool(self._calls)

    def delta(self, delta: JsonObject) -> None:
        """Take one delta, or a whole message where a server sends one instead."""
        spoken = next((name for name in _REASONING if as_text(delta.get(name))), None)
        if spoken is not None:
            self._think(as_text(delta.get(spoken)), spoken)
        self._read_details(delta.get("reasoning_details"), speaks=spoken is None)
        self._content(delta.get("content"))
        self._rest(delta)

    def end(self, *, cut: bool = False) -> None:
        """The completion is over; with `cut` before its end, and only what a plain block cannot hold is
        settled."""
        partial = True if cut else None
        if THINKING in self._streamed or self._details:
            told: JsonObject = {"field": self._field or "reasoning_details"}
            if self._details:
                told["reasoning_details"] = list(self._details)
            self.step.end_thinking(None, THINKING, provider_metadata=told, partial=partial)
        if TEXT in self._streamed and not cut:
            self.step.end_text(None, TEXT)
        if REFUSAL in self._streamed:
            self.step.end_text(None, REFUSAL, provider_metadata={"type": "refusal"}, partial=partial)
        if not cut:
            for key, call in self._calls.items():
                self.step.call(
                    call.id or f"call-{call.number}",
                    call.name,
                    {},
                    key,
                    accumulated=call.streamed,
                    provider_metadata=call.beside or None,
                )

    @property
    def beside(self) -> JsonObject:
        """What the deltas held besides blocks."""
        return self._beside

    def _think(self, piece: str, field: str) -> None:
        self._field = self._field or field
        self._streamed.add(THINKING)
        self.step.thinking(piece, THINKING)

    def _content(self, content: Json) -> None:
        """Visible text: a string, or parts of text and thinking (Mistral)."""
        if isinstance(content, list):
            for part in content:
                kind = part.get("type") if isinstance(part, dict) else None
                if isinstance(part, dict) and kind == "thinking":
                    self._think(_said(part.get("thinking")), "content")
                elif isinstance(part, dict) and kind == "text":
                    self._content(part.get("text"))
                elif part is not None:
                    _append(self._beside, "content", part)
        elif piece := as_text(content):
            self._streamed.add(TEXT)
            self.step.text(piece, TEXT)

    def _rest(self, delta: JsonObject) -> None:
        if piece := as_text(delta.get("refusal")):
            self._streamed.add(REFUSAL)
            self.step.text(piece, REFUSAL)
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                self._call(call)
        old = delta.get("function_call")
        if isinstance(old, dict):
            self._call({"index": -1, "function": old})
        for name, value in delta.items():
            if name not in _TAKEN and value is not None and value != "" and value != []:
                _append(self._beside, name, value)

    def _call(self, piece: JsonObject) -> None:
        """A piece of a call: by its index, where servers count; by its id, where they do not."""
        function = piece.get("function")
        told: JsonObject = function if isinstance(function, dict) else {}
        call_id, name = as_text(piece.get("id")), as_text(told.get("name"))
        index = piece.get("index")
        key = f"call {index}" if isinstance(index, int) else f"call {call_id}" if call_id else self._last
        known = self._calls.get(key or "")
        if key is None or (known is not None and call_id and name and known.id and call_id != known.id):
            key = f"call {index} {call_id or len(self._calls)}"  # a server that gives all calls one index
            known = self._calls.get(key)
        elif known is not None and not call_id and self._last is not None and self._last.startswith(f"{key} "):
            key, known = self._last, self._calls[self._last]
        if known is None:
            known = self._calls[key] = _Call(len(self._calls))
        self._last = key
        known.id = known.id or call_id
        known.name = name or known.name
        arguments = told.get("arguments")
        if isinstance(arguments, dict | list):
            arguments = json.dumps(arguments, ensure_ascii=False)
        text = as_text(arguments)
        known.streamed = known.streamed or bool(text.strip())
        for field, value in piece.items():
            if field not in ("index", "id", "type", "function") and value is not None:
                known.beside[field] = value
        self.step.arguments(key, text, known.id or None, name or None)

    def _read_details(self, details: Json, *, speaks: bool) -> None:
        """Structured reasoning (OpenRouter): pieces of one index grow together; it speaks where nothing else
        does."""
        for piece in details if isinstance(details, list) else ():
            if not isinstance(piece, dict):
                continue
            said = as_text(piece.get("text")) or as_text(piece.get("summary"))
            if speaks and said:
                self._think(said, "reasoning_details")
            known = self._details[-1] if self._details else None
            same = known is not None and all(known.get(name) == piece.get(name) for name in ("type", "index"))
            if known is None or not same:
                self._details.append(dict(piece))
                continue
            for name, value in piece.items():
                before = known.get(name)
                grows = name in ("text", "summary", "data") and isinstance(before, str)
                if value is not None:
                    known[name] = f"{before}{value}" if grows and isinstance(value, str) else value


class _Call:
    def __init__(self, number: int) -> None:
        self.number = number
        self.id = self.name = ""
        self.streamed = False
        self.beside: JsonObject = {}


def _said(thinking: Json) -> str:
    """Thinking as a text, or as parts of text."""
    if not isinstance(thinking, list):
        return as_text(thinking)
    return "".join(as_text(part.get("text")) for part in thinking if isinstance(part, dict))


def _append(into: JsonObject, name: str, value: Json) -> None:
    """Keep all that came under a name: pieces of text as one, anything else as a list."""
    before = into.get(name)
    if isinstance(before, str) and isinstance(value, str):
        into[name] = before + value
    elif isinstance(before, list):
        before.append(value)
    else:
        into[name] = value if before is None and isinstance(value, str) else [value]
