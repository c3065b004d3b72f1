"""The records of one rollout as events, in order, nothing looked ahead.

Codex writes what it shows twice: as the response item that the model gave, and as an event for its screen.
The items count. An event's text waits until the step is over, and stands only where no item said the same; what
an event tells of a tool's run (exit code, diff) goes with the tool's result.
"""

from ledger.events import Json, JsonObject
from ledger.intake.codex.envelopes import (
    Envelope,
    failed,
    is_made_by_model,
    is_person,
    item_type,
    opened,
    text_of,
)
from ledger.intake.contents import content_of
from ledger.intake.found import Found
from ledger.intake.mending import as_text
from ledger.intake.openai_responses.items import Items
from ledger.intake.openai_responses.tools import OUTPUTS, call_of, output_of
from ledger.intake.scribe import Scribe
from ledger.intake.token_counts import openai_usage
from ledger.turns import Step, Turn
from ledger.turns.lane import ALL_BEFORE

FORMAT = "codex"
API = "openai-responses"

_RUNS = frozenset({"CommandExecution", "FileChange", "McpToolCall", "WebSearch"})
_RUN_ENDS = frozenset({"exec_command_end", "patch_apply_end", "mcp_tool_call_end", "web_search_end"})
_SAID = {
    "agent_message": "message",
    "agent_reasoning": "text",
    "AgentMessage": "content",
    "Reasoning": "summary_text",
}
_SILENT = frozenset({"item_started", "item_updated", "agent_message_delta", "agent_reasoning_delta"})


class Rollout:
    """One thread. Turns begin where Codex says so, else with what a person said."""

    def __init__(self, scribe: Scribe) -> None:
        self._scribe = scribe
        self._provider: str | None = None
        self._model: str | None = None
        self._step: Step | None = None
        self._items: Items | None = None
        self._sampled: Json = None  # what newer files call the model call that an item is of
        self._answered = False  # an output came since the step's last item
        self._count = 0  # items of the step
        self._asked: set[str] = set()  # texts that the turn's user messages said
        self._given: set[str] = set()  # texts that the turn's items said
        self._shown: list[tuple[str, str]] = []  # texts of events that no item said yet: type of event, text
        self._runs: dict[str, JsonObject] = {}  # of calls whose output has not come
        self._outputs: set[str] = set()  # calls of the turn that have one
        self._total: Json = None  # the running total of tokens
        self._turns: list[str] = []

    def record(self, found: Found) -> None:
        """The next line."""
        envelope = opened(found.value or {})
        payload = envelope.payload
        key = as_text(payload.get("id")) if envelope.kind == "response_item" else ""
        if not key and isinstance(envelope.ordinal, int):
            key = f"{envelope.kind}:{envelope.ordinal}"
        self._scribe.take(found, key or None, envelope.at)
        kind = envelope.kind
        if kind == "response_item":
            self._response_item(envelope)
        elif kind == "event_msg":
            self._event(as_text(payload.get("type")), payload)
        elif kind == "session_meta":
            self._provider = as_text(payload.get("model_provider")) or self._provider
            self._note(kind, "The thread's head.", payload)
        elif kind == "turn_context":
            self._model = as_text(payload.get("model")) or self._model
            if self._sampled is None and self._step is not None and self._answered:
                self._finish_step()
            self._note(kind, None, payload)
        elif kind == "token_usage_record":
            self._usage_of_step(payload)
        elif kind == "compacted":
            self._compacted(payload)
        else:
            self._note(kind or "raw", None, found.value)

    def end(self) -> None:
        """Nothing is proved by the file's end: it may still grow."""

    # -- response items

    def _response_item(self, envelope: Envelope) -> None:
        item = envelope.payload
        kind = item_type(item)
        if is_made_by_model(item):
            self._made(envelope, {"type": kind, **item})
        elif kind in OUTPUTS:
            self._output(item)
        elif kind == "message":
            self._message(item)
        else:
            self._note(kind or "raw", None, item)

    def _made(self, envelope: Envelope, item: JsonObject) -> None:
        sampled = envelope.metadata.get("sampled_through_sequence")
        step = self._step
        if step is None or step.ended or (sampled != self._sampled if sampled is not None else self._answered):
            self._begin_step(sampled)
        items, turn = self._items, self._turn()
        if items is None:
            return
        kind = item_type(item)
        self._given.add(text_of(item.get("summary" if kind == "reasoning" else "content")))
        items.done(self._count, item)
        items.settle()  # every tool is run by Codex
        if kind not in ("message", "reasoning"):
            turn.start_call(call_of(item, self._count).id)
        self._count += 1

    def _begin_step(self, sampled: Json) -> None:
        self._finish_step()
        turn = self._turn()
        self._sampled, self._answered, self._count = sampled, False, 0
        name = None if sampled is None else f"sampled:{as_text(sampled)}"
        self._step = turn.begin_step(name, provider=self._provider, api=API, model=self._model)
        self._items = Items(turn, self._step)

    def _finish_step(self, usage: JsonObject | None = None, response_id: str | None = None) -> None:
        step, self._step = self._step, None
        if step is not None and not step.ended:
            self._say()
            step.finish(None, usage, response_id)
            self._turn().end_step()

    def _output(self, item: JsonObject) -> None:
        told = output_of(item, "")
        run = self._runs.pop(told.call_id, None)
        self._outputs.add(told.call_id)
        error = told.is_error or failed(text_of(told.content), run)
        self._answered = True
        self._turn().tool_result(
            told.call_id,
            told.content,
            is_error=error,
            structured=run,
            provider_metadata={name: it for name, it in told.beside.items() if name != "type"} or None,
        )

    def _message(self, item: JsonObject) -> None:
        content = item.get("content")
        text = text_of(content)
        person = is_person(item, text)
        if person and text in self._asked:
            return  # an event said it before
        self._ask(content_of(content), text, as_text(item.get("id")) or None, person=person)

    def _ask(self, content: str | list[JsonObject], text: str, name: str | None, *, person: bool) -> None:
        turn = self._scribe.recording.running
        if turn is None:
            turn = self._begin_turn(None)
        self._finish_step()
        stepped = turn.last_step_id is not None
        if person:
            self._asked.add(text)
        turn.user_message(
            content,
            name,
            origin=None if person else "runtime",
            steering=(person and stepped) or None,
        )

    # -- events

    def _event(self, kind: str, payload: JsonObject) -> None:
        item = payload.get("item")
        if kind == "item_completed" and isinstance(item, dict):
            self._item(as_text(item.get("type")), item)
        elif kind == "task_started":
            self._close()
            self._begin_turn(as_text(payload.get("turn_id")) or None)
        elif kind == "task_complete":
            self._complete(payload)
        elif kind == "turn_aborted":
            reason = as_text(payload.get("reason"))
            self._say_all()
            self._turn().abort("user_stop" if reason == "interrupted" else reason or None)
        elif kind == "user_message":
            text = as_text(payload.get("message"))
            if text not in self._asked:
                self._ask(text, text, as_text(payload.get("client_id")) or None, person=True)
        elif kind in _SAID:
            self._show(kind, as_text(payload.get(_SAID[kind])))
        elif kind in _RUN_ENDS:
            self._run(as_text(payload.get("call_id")), payload)
        elif kind == "token_count":
            self._count_tokens(payload)
        elif kind == "thread_rolled_back":
            self._roll_back(payload)
        elif kind == "error":
            self._turn().note("error", as_text(payload.get("message")), entry=payload)
        elif kind not in _SILENT:
            self._note(kind or "raw", None, payload)

    def _item(self, kind: str, item: JsonObject) -> None:
        if kind in _RUNS:
            self._run(as_text(item.get("id")), item)
        elif kind in _SAID:
            said = item.get(_SAID[kind])
            parts = said if isinstance(said, list) and all(isinstance(part, str) for part in said) else None
            self._show(kind, text_of(said) if parts is None else "\n".join(map(as_text, parts)))
        elif kind == "UserMessage":
            text = text_of(item.get("content"))
            if text not in self._asked:
                self._ask(content_of(item.get("content")), text, as_text(item.get("id")) or None, person=True)
        else:
            self._note(kind or "item", None, item)

    def _show(self, kind: str, text: str) -> None:
        if text and text not in self._given:
            self._shown.append(("thinking" if "eason" in kind else "text", text))

    def _say(self) -> None:
        """What events showed and no item said is all that there is of it."""
        shown, self._shown = self._shown, []
        turn = self._scribe.recording.turn
        for kind, text in shown:
            if text in self._given or turn is None:
                continue
            step = (
                self._step or turn.step or turn.begin_step(provider=self._provider, api=API, model=self._model)
            )
            if kind == "text":
                step.end_text(text)
            else:
                step.end_thinking(text)

    def _run(self, call: str, item: JsonObject) -> None:
        """A tool ran: its output is the next that names the call; what comes behind it is a note."""
        turn = self._turn()
        if (
            turn.step_of(call) is not None
            and not turn.ended
            and call not in self._runs
            and call not in self._outputs
        ):
            self._runs[call] = item
        else:
            turn.note(as_text(item.get("type")) or "run", None, entry=item, tool_call_id=call or None)

    def _count_tokens(self, payload: JsonObject) -> None:
        info = payload.get("info")
        if not isinstance(info, dict):
            return
        total, last = info.get("total_token_usage"), info.get("last_token_usage")
        changed = total != self._total
        self._total = total
        if not changed or self._sampled is not None or not isinstance(last, dict):
            return  # told again; or newer files, which say it in a record of their own
        turn = self._turn()
        usage = openai_usage(_told(last))
        if usage is not None:
            turn.token_usage(usage, turn.last_step_id)

    def _usage_of_step(self, payload: JsonObject) -> None:
        reported = payload.get("usage")
        usage = openai_usage(_told(reported)) if isinstance(reported, dict) else None
        response = as_text(payload.get("response_id")) or None
        if self._step is not None:
            self._finish_step(usage, response)
        else:
            self._note("token_usage_record", "A model call of which nothing else was kept.", payload)

    # -- turns

    def _turn(self) -> Turn:
        """The turn under way, else the last one: what comes late still belongs to it."""
        recording = self._scribe.recording
        return recording.turn if recording.turn is not None else self._begin_turn(None)

    def _begin_turn(self, name: str | None) -> Turn:
        self._asked.clear()
        self._given.clear()
        self._runs.clear()
        self._outputs.clear()
        turn = self._scribe.recording.begin_turn(name, runtime=FORMAT)
        self._turns.append(turn.turn_id)
        return turn

    def _close(self) -> None:
        """Another turn begins: of the end of the one before, nothing was said."""
        turn = self._scribe.recording.running
        if turn is not None:
            self._say_all()
            turn.abort("unknown", source={"inferred": True})

    def _complete(self, payload: JsonObject) -> None:
        turn = self._turn()
        self._finish_step()
        self._say_all()
        error = payload.get("error")
        if error:
            said = error.get("message") if isinstance(error, dict) else error
            turn.error(as_text(said), entry=error)
        else:
            turn.complete()

    def _say_all(self) -> None:
        """The turn is over: texts that only events said, and runs whose output never came."""
        self._say()
        turn = self._turn()
        runs, self._runs = self._runs, {}
        for call, run in runs.items():
            turn.note(as_text(run.get("type")) or "run", None, entry=run, tool_call_id=call)

    def _roll_back(self, payload: JsonObject) -> None:
        count = payload.get("num_turns")
        self._close()
        gone = self._turns[-count:] if isinstance(count, int) and count > 0 else []
        if gone:
            del self._turns[-len(gone) :]
            self._turn().retraction(turn_ids=gone)
        else:
            self._note("thread_rolled_back", None, payload)

    def _compacted(self, payload: JsonObject) -> None:
        summary = as_text(payload.get("message"))
        beside: Json = {FORMAT: {name: value for name, value in payload.items() if name != "message"}}
        if summary:
            self._finish_step()
            self._turn().compaction(summary, ALL_BEFORE, provider_metadata=beside)
        else:
            self._note("compacted", "A compaction without a summary.", payload)

    def _note(self, kind: str, text: str | None, entry: Json) -> None:
        self._scribe.recording.note(kind, text, entry=entry)


def _told(reported: JsonObject) -> JsonObject:
    """Codex's names of token counts as the API's."""
    details: JsonObject = {
        "cached_tokens": reported.get("cached_input_tokens"),
        "cache_write_tokens": reported.get("cache_write_input_tokens"),
    }
    output: JsonObject = {"reasoning_tokens": reported.get("reasoning_output_tokens")}
    return {**reported, "input_tokens_details": details, "output_tokens_details": output}
