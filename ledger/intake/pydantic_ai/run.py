"""One run of an agent: its events as they stream, its messages as they are settled. Pure.

The events show what is being written; the messages tell what it came to (token counts, why it stopped, what the
model was told). Either may be missing: what both tell is recorded once.
"""

from __future__ import annotations

from collections.abc import Sequence

from ledger.events import Json, JsonObject
from ledger.intake.mending import as_text
from ledger.intake.pydantic_ai.parts import failed, result_fields, said, usage_of, write_part
from ledger.intake.times import time_of
from ledger.turns import Step, Turn


class Run:
    """The events and messages of one run, in the JSON forms of pydantic-ai. `asked`: its prompt is recorded
    already. `provider` and `model` are those of steps whose messages have not come."""

    def __init__(
        self, turn: Turn, *, asked: bool = False, provider: str | None = None, model: str | None = None
    ) -> None:
        self.stop_reason: str | None = None
        """Why the last response stopped."""
        self._turn = turn
        self._asked = asked
        self._provider = provider
        self._model = model
        self._step: Step | None = None
        self._written: set[int] = set()  # parts of the step that are whole
        self._seen: dict[int, str] = {}  # parts of the step that began, and their kinds
        self._calls: dict[str, int] = {}  # calls of the step that began
        self._unnamed: list[str] = []  # steps whose start does not name their model
        self._steps: list[str] = []  # of responses, in order
        self._responses = 0  # how many of them are settled
        self._settled = 0  # messages of the run that are taken in
        self._answered: dict[str, str | None] = {}

    # -- events

    def event(self, event: JsonObject) -> bool:
        """One event of the stream. False when it is of no known kind."""
        kind, index = as_text(event.get("event_kind")), event.get("index")
        part = event.get("part")
        if kind in ("part_start", "part_end") and isinstance(index, int) and isinstance(part, dict):
            if kind == "part_start":
                self._start(index, part)
            else:
                self._whole(index, part)
            return True
        if kind == "part_delta" and isinstance(index, int) and isinstance(delta := event.get("delta"), dict):
            self._delta(index, delta)
            return True
        if kind == "final_result":
            return True
        if kind.endswith("tool_call") and isinstance(part, dict):
            self._called(part)
            return True
        if kind.endswith("tool_result"):
            told = part if isinstance(part, dict) else event.get("result")
            if isinstance(told, dict):
                self._close()
                self._answer(told)
                return True
        return False

    def _called(self, part: JsonObject) -> None:
        """A tool is about to run; its call is told once more, whole."""
        call_id = as_text(part.get("tool_call_id"))
        index = self._calls.get(call_id)
        if index is not None and index not in self._written and self._step is not None:
            self._whole(index, part)
        self._close()
        if self._turn.step_of(call_id) is None and not self._turn.start_call(call_id):
            self._turn.tool_call(call_id, as_text(part.get("tool_name")), part.get("args"))

    def _start(self, index: int, part: JsonObject) -> None:
        self._provider = as_text(part.get("provider_name")) or self._provider
        kind, piece = as_text(part.get("part_kind")), as_text(part.get("content"))
        step = self._at(index, kind, new=index == 0)
        if kind == "text":
            step.start_block(index, "text")
            step.text(piece, index)
        elif kind == "thinking":
            step.start_block(index, "reasoning")
            step.thinking(piece, index)
        elif kind.endswith("tool-call"):
            self._calls[as_text(part.get("tool_call_id"))] = index
            step.arguments(index, "", as_text(part.get("tool_call_id")), as_text(part.get("tool_name")))

    def _delta(self, index: int, delta: JsonObject) -> None:
        kind, piece = as_text(delta.get("part_delta_kind")), as_text(delta.get("content_delta"))
        step = self._at(index, kind)
        if kind == "text":
            step.text(piece, index)
        elif kind == "thinking":
            step.thinking(piece, index)
        elif kind == "tool_call" and isinstance(args := delta.get("args_delta"), str):
            call_id = as_text(delta.get("tool_call_id")) or None
            step.arguments(index, args, call_id, as_text(delta.get("tool_name_delta")) or None)

    def _whole(self, index: int, part: JsonObject) -> None:
        step = self._at(index, as_text(part.get("part_kind")))
        if index not in self._written:
            self._written.add(index)
            write_part(step, index, part)

    def _at(self, index: int, kind: str, *, new: bool = False) -> Step:
        """The response that a part belongs to: another one where its place is taken by a part of another kind,
        or with `new` by any."""
        step, kind = self._step, kind.replace("_", "-")
        taken = self._seen.get(index)
        if step is None or step.ended or (taken is not None and (new or taken != kind)):
            self._close()
            step = self._begin(self._provider, self._model)
        self._seen[index] = kind
        return step

    def _begin(self, provider: str | None, model: str | None, at: str | None = None) -> Step:
        self._step = step = self._turn.begin_step(provider=provider, model=model, at=at)
        self._steps.append(step.step_id)
        for held in (self._seen, self._written, self._calls):
            held.clear()
        self._unnamed += [step.step_id] if model is None else []
        return step

    def _close(self) -> None:
        """The response is over, as far as the events show it."""
        if self._step is not None:
            self._turn.end_step()
            self._step = None

    # -- messages

    def messages(self, messages: Sequence[JsonObject]) -> None:
        """The messages of this run so far; what was taken in before is skipped."""
        for message in messages[self._settled :]:
            self.message(message)

    def message(self, message: JsonObject) -> None:
        """The next message of this run."""
        first, self._settled = self._settled == 0, self._settled + 1
        if message.get("kind") == "request":
            self._request(message, first=first)
        elif message.get("kind") == "response":
            self._response(message)
        else:
            self._turn.note("message", "A message of no known kind.", entry=message)

    def _request(self, message: JsonObject, *, first: bool) -> None:
        parts = message.get("parts")
        listed = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        system = [as_text(part.get("content")) for part in listed if part.get("part_kind") == "system-prompt"]
        if instructions := as_text(message.get("instructions")):
            system.append(instructions)
        if system:
            self._turn.context(system="\n\n".join(system))
        for part in listed:
            kind, at = as_text(part.get("part_kind")), time_of(part.get("timestamp"))
            if kind == "tool-return" or (kind == "retry-prompt" and part.get("tool_name") is not None):
                self._answer(part)
            elif kind == "user-prompt":
                if not (first and self._asked):
                    self._turn.user_message(
                        said(part.get("content")), origin=None if first else "runtime", at=at
                    )
            elif kind == "retry-prompt":
                self._close()
                self._turn.user_message(as_text(part.get("content")), origin="runtime", at=at)
            elif kind != "system-prompt":
                self._turn.note("block", f"A part of kind {kind}.", entry=part)

    def _response(self, message: JsonObject) -> None:
        self._responses += 1
        usage = usage_of(message.get("usage"))
        reason = as_text(message.get("finish_reason")) or None
        self.stop_reason = reason or self.stop_reason
        provider = as_text(message.get("provider_name")) or self._provider
        model = as_text(message.get("model_name")) or self._model
        name = self._steps[self._responses - 1] if self._responses <= len(self._steps) else ""
        if name in self._unnamed and model is not None:  # known only now
            self._unnamed.remove(name)
            self._turn.write("step_start", {"step_id": name, "provider": provider, "model": model})
        if self._responses < len(self._steps) or (self._responses == len(self._steps) and self._step is None):
            if usage is not None:  # its events told all but this, and its step is over
                self._turn.token_usage(usage, name)
            return
        step = self._step
        if self._responses > len(self._steps) or step is None:
            step = self._begin(provider, model, time_of(message.get("timestamp")))
        parts = message.get("parts")
        for index, part in enumerate(parts if isinstance(parts, list) else ()):
            if index not in self._written and isinstance(part, dict):
                self._whole(index, part)
        details = message.get("provider_details")
        metadata: Json = {"pydantic-ai": {"provider_details": details}} if details else None
        step.finish(
            reason, usage, as_text(message.get("provider_response_id")) or None, provider_metadata=metadata
        )
        self._close()

    def _answer(self, part: JsonObject) -> None:
        """A tool's answer; the events tell it, and the next request again."""
        call_id = as_text(part.get("tool_call_id"))
        step_id = self._turn.step_of(call_id)
        if call_id in self._answered and self._answered[call_id] == step_id:
            return
        self._answered[call_id] = step_id
        if part.get("outcome") == "denied":
            self._turn.tool_approval(call_id, "denied")
        content, metadata = result_fields(part)
        self._turn.tool_result(
            call_id,
            content,
            is_error=failed(part),
            tool_name=as_text(part.get("tool_name")) or None,
            structured=part.get("metadata"),
            step_id=step_id,
            at=time_of(part.get("timestamp")),
            provider_metadata=metadata,
        )
