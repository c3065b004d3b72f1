"""Records of `codex exec --json` in, calls of a recording out (specs/formats.md 5; table in
docs/recording-streams.md).

The stream has no marks of steps, no times and no ids but those of items, which begin at `item_0` in every
process. A step is concluded: what the model made up to the first output that follows; it is marked as
inferred.
"""

from __future__ import annotations

from ledger.events import Json, JsonObject
from ledger.intake.codex_exec.items import TOOLS, call_of, result_of
from ledger.intake.lines import Line
from ledger.intake.mending import as_text
from ledger.intake.payloads import DONE, Payloads
from ledger.intake.stream import End, StreamOptions
from ledger.turns import Recording, Step, Turn

RUNTIME = "codex-exec"
_TEXTS = frozenset({"agent_message", "reasoning"})
_COUNTS = {
    "input_tokens": "input",
    "cached_input_tokens": "cache_read",
    "cache_write_input_tokens": "cache_write",
    "output_tokens": "output",
    "reasoning_output_tokens": "reasoning",
}


class CodexStream:
    """One stream: turn after turn of one thread."""

    def __init__(self, recording: Recording, options: StreamOptions) -> None:
        self._recording = recording
        self._payloads = Payloads(recording)
        self._turn_id = options.turn_id  # of the first turn only
        self._answered = False  # whether an output came since the step began: the next item is another step's
        self._open: dict[str, JsonObject] = {}  # items that began and have not ended, as last told
        self._total: JsonObject | None = None
        self._failure: str | None = None

    def line(self, line: Line) -> None:
        """The next line."""
        for payload in self._payloads.of(line):
            if payload == DONE or not self._record(payload):
                self._recording.note("raw", f"Line {line.number}: not understood.", entry=payload)

    def end(self, end: End) -> None:
        """There is no more. A turn that has no end by now was killed, or failed of what was reported last."""
        self._payloads.end()
        turn = self._recording.running
        if turn is None:
            return
        self._cut(turn)
        if self._failure is not None and end == "eof":
            turn.error(self._failure)

    def _record(self, record: JsonObject) -> bool:
        kind = as_text(record.get("type"))
        item = record.get("item")
        if kind.startswith("item.") and isinstance(item, dict):
            return self._item(kind, item)
        if kind == "thread.started":
            self._recording.note("thread", f"thread: {as_text(record.get('thread_id'))}", entry=record)
        elif kind == "turn.started":
            self._begin()
        elif kind == "turn.completed":
            self._completed(record)
        elif kind == "turn.failed":
            turn = self._turn()
            self._cut(turn)
            error = record.get("error")
            told = error.get("message") if isinstance(error, dict) else error
            code = error.get("code") if isinstance(error, dict) else None
            said = as_text(told) or self._failure or "The turn failed."
            turn.error(said, code if isinstance(code, str) else None, entry=record)
        elif kind == "error":
            self._failure = as_text(record.get("message")) or "An error was reported."
            self._recording.note("error", self._failure, entry=record)
        else:
            return False
        return True

    # -- items

    def _item(self, kind: str, item: JsonObject) -> bool:
        what, name = as_text(item.get("type")), as_text(item.get("id"))
        if what in _TEXTS:
            if kind == "item.completed":
                self._open.pop(name, None)
                self._text(what, as_text(item.get("text")))
            else:
                self._open[name] = item
        elif what in TOOLS:
            self._tool(kind, name, item)
        elif kind not in ("item.started", "item.updated", "item.completed"):
            return False
        elif kind != "item.started" or what not in ("todo_list", "plan"):
            said = as_text(item.get("message")) or as_text(item.get("text")) or f"{what} ({kind})"
            self._recording.note(what or "item", said, entry=item)
        return True

    def _text(self, what: str, text: str, partial: bool | None = None) -> None:
        step = self._step()
        if what == "agent_message":
            step.end_text(text, partial=partial)
        else:
            step.end_thinking(text, partial=partial)

    def _tool(self, kind: str, name: str, item: JsonObject) -> None:
        if name not in self._open:
            step, (tool_name, args) = self._step(), call_of(item)
            step.call(name, tool_name, args)
            self._turn().start_call(name)
            self._open[name] = item
        if kind == "item.updated":
            self._open[name] = item
        elif kind == "item.completed":
            del self._open[name]
            content, failed = result_of(item)
            turn = self._turn()
            if item.get("status") == "declined":
                turn.tool_approval(name, "denied")
            turn.tool_result(name, content, is_error=failed, structured=item, step_id=turn.step_of(name))
            self._answered = True

    def _cut(self, turn: Turn) -> None:
        """What is open will not end: texts are kept as far as they came, output of tools as progress."""
        for name, item in self._open.items():
            what = as_text(item.get("type"))
            if what in _TEXTS:
                if text := as_text(item.get("text")):
                    self._text(what, text, partial=True)
            else:
                content, _ = result_of(item)
                if content and content != item.get("status"):
                    turn.tool_result(name, content, final=False, step_id=turn.step_of(name))
        self._open.clear()
        turn.cut_step()

    # -- turns and steps

    def _begin(self) -> Turn:
        running = self._recording.running
        if running is not None:  # its end was lost
            self._cut(running)
            running.error("Another turn began before this one ended.", "missing_terminal_event")
        turn = self._recording.begin_turn(self._turn_id, runtime=RUNTIME)
        self._turn_id = self._failure = None
        self._answered = False
        self._open.clear()
        return turn

    def _turn(self) -> Turn:
        return self._recording.running or self._begin()

    def _step(self) -> Step:
        """The step that a new item of the model belongs to."""
        turn = self._turn()
        if turn.step is None or turn.step.ended or self._answered:
            self._answered = False
            return turn.begin_step(provider="openai", source={"format": RUNTIME, "inferred": True})
        return turn.step

    def _completed(self, record: JsonObject) -> None:
        turn = self._turn()
        if self._open:
            self._cut(turn)
        else:
            turn.end_step()
        usage = record.get("usage")
        metadata: Json = None
        if isinstance(usage, dict):
            metadata = {RUNTIME: {"usage_total": usage}}
            if self._total is not None and (counts := _difference(usage, self._total)) is not None:
                turn.token_usage(counts)
            self._total = usage
        turn.complete(provider_metadata=metadata)


def _difference(now: JsonObject, before: JsonObject) -> JsonObject | None:
    """The turn's counts from two running totals of the thread; None where they do not run on."""
    counts: JsonObject = {}
    for theirs, ours in _COUNTS.items():
        new, old = now.get(theirs), before.get(theirs)
        if isinstance(new, int) and isinstance(old, int):
            if new < old:
                return None
            counts[ours] = new - old
    whole, read, write = (counts.get(name) for name in ("input", "cache_read", "cache_write"))
    if isinstance(whole, int):
        inside = sum(part for part in (read, write) if isinstance(part, int))
        counts["input"] = max(0, whole - inside)  # the total counts cached tokens too
    return {**counts, "reported": {"total": now, "before": before}} if counts else None


def make(recording: Recording, options: StreamOptions) -> CodexStream:
    """The adapter of one stream."""
    return CodexStream(recording, options)
