"""One message of the model: one call of it, its parts in order, its end."""

from collections.abc import Callable, Iterator

from ledger.events import Json, JsonObject
from ledger.intake.ai_sdk.metadata import redacted_of, signature_of
from ledger.intake.mending import as_text
from ledger.intake.opencode import blocks
from ledger.intake.opencode.reading import FORMAT, Message
from ledger.intake.opencode.writing import Records, Unfinished
from ledger.intake.token_counts import opencode_usage
from ledger.turns import Step, Turn
from ledger.turns.lane import ALL_BEFORE, Lane

_GOES_ON = frozenset({"", "tool-calls", "unknown"})
"""Finish reasons after which OpenCode calls the model again."""
_OVER = frozenset({"completed", "error"})

Child = Callable[[JsonObject, str, bool], Iterator[None]]
"""What the sub-agent of a call said: of its part, the call, and whether the sub-agent is at its end."""


class Answer:
    """`turn` is None in the lane of a sub-agent. `over` when nothing more comes. `through` is up to which
    version a summary stands for what was said; None for all of it."""

    def __init__(
        self,
        records: Records,
        message: Message,
        lane: Lane,
        turn: Turn | None,
        over: bool,
        child: Child,
        through: int | None,
    ) -> None:
        self._records = records
        self._message = message
        self._lane = lane
        self._turn = turn
        self._done = blocks.is_done(message.info)
        self._over = over or self._done
        self._child = child
        self._summary = message.info.get("summary") is True
        self._through = through
        self._hidden = "hidden" if self._summary else None  # the compaction tells it
        self._step: Step | None = None
        self._steps = 0
        self._texts: list[str] = []
        self._reason = as_text(message.info.get("finish"))

    def part(self, index: int, part: JsonObject) -> Iterator[None]:
        """The next part. Raises `Unfinished` where it is not over."""
        kind = part.get("type")
        if kind == "step-start":
            self._begin(part)
        elif kind in ("text", "reasoning"):
            self._block(index, part, thinking=kind == "reasoning")
        elif kind == "tool":
            yield from self._tool(index, part)
        elif kind == "step-finish":
            self._finish(part)
        else:
            self._records.note(self._message, part, self._lane)
        yield

    def end(self) -> Iterator[None]:
        """There are no more parts. Raises `Unfinished` where more may come."""
        if not self._over:
            raise Unfinished
        info, records = self._message.info, self._records
        told: JsonObject = {name: info[name] for name in ("id", "finish", "error", "time") if name in info}
        records.message(self._message, blocks.ended_at(info), "end", told)
        error = info.get("error")
        self._end_step(error is not None or not self._done)
        records.damaged(self._message)
        if error is not None:
            self._failed(error)
        elif self._done:
            if self._summary and self._texts:
                through = ALL_BEFORE if self._through is None else self._through
                self._lane.compaction("\n\n".join(self._texts), through)
            if self._turn is not None and self._reason not in _GOES_ON:
                self._turn.complete(self._reason)
        yield

    def _begin(self, part: JsonObject | None) -> Step:
        if self._step is not None:
            self._step.finish()
        info = self._message.info
        self._steps += 1
        name = self._message.id if self._steps == 1 else f"{self._message.id}#{self._steps}"
        if self._steps == 1:
            self._records.message(self._message, blocks.begun_at(info))
        beside = {
            name: info[name] for name in ("agent", "mode", "variant", "path") if info.get(name) is not None
        }
        if part is not None:
            if self._steps > 1:
                self._records.part(self._message, part)
            if part.get("snapshot") is not None:
                beside["snapshot"] = part["snapshot"]
        self._step = self._lane.begin_step(
            name or None,
            provider=as_text(info.get("providerID")) or None,
            model=as_text(info.get("modelID")) or None,
            provider_metadata={FORMAT: beside},
        )
        return self._step

    def _block(self, index: int, part: JsonObject, *, thinking: bool) -> None:
        ended = blocks.ended(part)
        if not ended and not self._over:
            raise Unfinished
        step = self._step or self._begin(None)
        metadata = part.get("metadata")
        beside = metadata if isinstance(metadata, dict) else {}
        text = as_text(part.get("text"))
        partial = True if not ended and isinstance(part.get("time"), dict) else None
        self._records.part(self._message, part, blocks.ended_at(part))
        if thinking:
            step.end_thinking(
                text,
                index,
                signature_of(beside),
                redacted_of(beside),
                provider_metadata=beside or None,
                partial=partial,
                visibility=self._hidden,
            )
            return
        self._texts.append(text)
        step.end_text(text, index, provider_metadata=beside or None, partial=partial, visibility=self._hidden)

    def _tool(self, index: int, part: JsonObject) -> Iterator[None]:
        found = part.get("state")
        state = found if isinstance(found, dict) else {}
        status = state.get("status")
        if status not in ("running", "completed", "error") and not self._over:
            raise Unfinished
        step = self._step or self._begin(None)
        metadata = part.get("metadata")
        beside = metadata if isinstance(metadata, dict) else {}
        hosted = True if beside.get("providerExecuted") is True else None
        call, tool = as_text(part.get("callID") or part.get("id")), as_text(part.get("tool"))
        args = state.get("input")
        said: JsonObject = {"id": part.get("id"), "callID": call, "tool": tool, "input": args}
        # The start that the state tells is written anew while the tool runs.
        self._records.part(self._message, said, blocks.begun_at(self._message.info))
        step.call(call, tool, args, index, provider_executed=hosted, provider_metadata=beside or None)
        self._lane.start_call(call)
        yield
        yield from self._child(part, call, self._over or status == "completed")
        if status not in _OVER and not self._over:
            raise Unfinished
        if status in _OVER:
            kept: JsonObject = {name: it for name, it in state.items() if name != "time"}
            told: JsonObject = {"id": part.get("id"), "callID": call, "state": kept}
            self._records.part(self._message, told, blocks.ended_at(state), as_text(status))
            content = blocks.output_of(state) if status == "completed" else as_text(state.get("error"))
            self._result(step, call, tool, content, state, hosted, f"{index}.result")

    def _result(
        self,
        step: Step,
        call: str,
        tool: str,
        content: Json,
        state: JsonObject,
        hosted: bool | None,
        index: str,
    ) -> None:
        error, structured = blocks.failed(state), blocks.beside(state)
        if hosted:
            step.provider_result(
                call, content, index, is_error=error, tool_name=tool or None, structured=structured
            )
            return
        self._lane.tool_result(
            call,
            content,
            is_error=error,
            tool_name=tool or None,
            duration_ms=blocks.duration_of(state),
            structured=structured,
            step_id=step.step_id,
        )

    def _finish(self, part: JsonObject) -> None:
        step = self._step or self._begin(None)
        tokens, reason = part.get("tokens"), as_text(part.get("reason"))
        self._reason = self._reason or reason
        beside: JsonObject = {name: part[name] for name in ("cost", "snapshot") if part.get(name) is not None}
        usage = opencode_usage(tokens) if isinstance(tokens, dict) else None
        self._records.part(self._message, part)
        step.finish(reason or None, usage, provider_metadata={FORMAT: beside})
        self._lane.end_step()
        self._step = None

    def _end_step(self, cut: bool) -> None:
        """The call is over without a `step-finish`."""
        step, self._step = self._step, None
        if step is None:
            return
        tokens = self._message.info.get("tokens")
        usage = opencode_usage(tokens) if isinstance(tokens, dict) else None
        if usage and any(isinstance(count, int) and count > 0 for count in usage.values()):
            step.usage(usage)
        if cut:
            self._lane.cut_step()
        else:
            step.finish(self._reason or None)
            self._lane.end_step()

    def _failed(self, error: Json) -> None:
        said = error if isinstance(error, dict) else {}
        name, data = as_text(said.get("name")), said.get("data")
        message = as_text(data.get("message")) if isinstance(data, dict) else as_text(said.get("message"))
        if self._turn is None:
            self._lane.note("error", message or name, entry=error)
        elif name == "MessageAbortedError":
            self._turn.abort("user_stop")
        else:
            self._turn.error(message or name, name or None, provider_metadata={FORMAT: said})
