"""The rows of one session log as events, in order, nothing looked ahead.

The log holds what streamed (chunks, several to a row) and what was settled. What was settled counts; the pieces
of a step whose message never came are kept as what was heard of it.
"""

from __future__ import annotations

from ledger.events import Json, JsonObject
from ledger.intake.contents import content_of
from ledger.intake.found import Found
from ledger.intake.mending import as_text
from ledger.intake.scribe import Scribe
from ledger.turns import Step, Turn
from ledger.turns.lane import ALL_BEFORE

FORMAT = "dsh"
_INFERRED: JsonObject = {"inferred": True}
_PIECES = {"text-chunks": "texts", "reasoning-chunks": "texts", "tool-call-chunks": "args"}
_DELTAS = {
    "text-delta": "text-chunks",
    "reasoning-delta": "reasoning-chunks",
    "tool-call-delta": "tool-call-chunks",
}
_DECIDED = {"allowed-once": "approved", "allowed": "approved", "allowed-always": "approved"}
_STOPS = {"max-tokens": "max_tokens", "tool-calls": "tool_use"}


class Log:
    """One session. Turn numbers go on over resumes, step numbers begin anew with each turn."""

    def __init__(self, scribe: Scribe) -> None:
        self._scribe = scribe
        self._turn: Turn | None = None
        self._step: Step | None = None
        self._context: tuple[Json, Json, Json] | None = None  # of a header that no turn has taken yet
        self._stop: str | None = None  # why the provider says that it stopped
        self._heard: dict[int, tuple[str, list[str], str, str]] = {}  # pieces: kind, texts, call, tool
        self._asked: dict[str, str] = {}  # calls by the approval that was asked for

    def record(self, found: Found) -> None:
        """The next row."""
        row = found.value or {}
        kind, data = as_text(row.get("type")), row.get("data")
        self._scribe.take(found, f"line:{found.line}", row.get("time"))
        told = data if isinstance(data, dict) else {}
        if kind == "turn/start":
            self._begin(told)
        elif kind in ("assistant/chunk", *_PIECES):
            self._pieces(kind, told)
        elif kind == "assistant/message":
            self._message(told)
        elif kind == "user/message":
            self._said(told, row.get("surfaceOp"))
        elif kind == "tool/result":
            self._result(told, row.get("surfaceOp"))
        elif kind == "step/end":
            self._finish_step()
        elif kind == "turn/end":
            self._over(told)
        elif kind == "request/header" and isinstance(header := told.get("header"), dict):
            settings: Json = {"config": header.get("config")} if header.get("config") else None
            self._context = header.get("system"), _tools(header.get("tools")), settings
            self._give_context()
        elif kind == "llm/retry":
            self._unsettled()
            self._note(kind, row)
        elif kind.startswith("approval/") and self._approval(kind, told):
            pass
        elif kind not in ("step/start", "tool/call"):
            self._note(kind or "raw", row)

    def end(self) -> None:
        """Nothing is proved by the file's end: it may still grow."""

    # -- turns

    def _running(self) -> Turn:
        return self._turn if self._turn is not None else self._begin({})

    def _begin(self, data: JsonObject) -> Turn:
        self._finish_step()
        if self._turn is not None and not self._turn.ended:
            self._turn.abort("unknown", source=_INFERRED)
        number = data.get("turn")
        name = f"turn:{number}" if isinstance(number, int) else None
        self._turn = self._scribe.recording.begin_turn(name, runtime=FORMAT)
        self._give_context()
        return self._turn

    def _give_context(self) -> None:
        if self._context is not None and self._turn is not None:
            self._turn.context(*self._context)
            self._context = None

    def _over(self, data: JsonObject) -> None:
        self._finish_step()
        turn, reason = self._running(), data.get("reason")
        told: JsonObject = reason if isinstance(reason, dict) else {"kind": reason}
        kind = as_text(told.get("kind"))
        if kind == "completed":
            turn.complete(self._stop or "stop")
        elif kind == "max-tokens":
            turn.complete("max_tokens")
        elif kind == "error":
            error = told.get("error")
            failure = error if isinstance(error, dict) else {"message": error}
            turn.error(as_text(failure.get("message")), as_text(failure.get("code")) or None, entry=error)
        elif kind in ("aborted", "interrupted"):
            cause = told.get("reason")
            why = as_text(cause.get("kind")) if isinstance(cause, dict) else as_text(cause)
            stopped = "user_stop" if why in ("user", "legacy", "") and kind == "aborted" else why
            turn.abort("crash" if kind == "interrupted" else stopped)
        else:
            turn.error(f"The turn was {kind or 'ended without a reason'}.", kind or None, entry=told)

    # -- steps

    def _message(self, data: JsonObject) -> None:
        message = data.get("message")
        whole: JsonObject = message if isinstance(message, dict) else data  # the older shape
        source = whole.get("source", data.get("provenance"))
        by: JsonObject = source if isinstance(source, dict) else {}
        turn = self._running()
        self._finish_step(settle=False)
        name = f"{as_text(data.get('turn'))}/{as_text(data.get('step'))}"
        name = f"{turn.turn_id}/{data.get('step')}" if isinstance(data.get("step"), int) else name
        step = self._step = turn.begin_step(
            name, provider=as_text(by.get("provider")) or None, model=as_text(by.get("model")) or None
        )
        partial = True if data.get("interrupted") is True else None
        content = whole.get("content")
        for place, block in enumerate(content if isinstance(content, list) else ()):
            self._block(
                turn, step, place, block if isinstance(block, dict) else {"type": "", "value": block}, partial
            )
        self._heard.clear()
        state: Json = by.get("replayState")
        if partial:
            step.cut()
        else:
            step.finish(
                self._stop, _usage(data.get("usage")), as_text(whole.get("id")) or None, replay_state=state
            )
        turn.end_step()
        self._step = None

    def _block(self, turn: Turn, step: Step, place: int, block: JsonObject, partial: bool | None) -> None:
        kind = as_text(block.get("type"))
        beside: JsonObject = {
            key: value for key, value in block.items() if key not in ("type", "text", "id", "name", "arguments")
        }
        if kind == "text":
            step.end_text(as_text(block.get("text")), place, provider_metadata=beside or None, partial=partial)
        elif kind == "reasoning":
            signature = as_text(beside.get("signature")) or None
            step.end_thinking(
                as_text(block.get("text")), place, signature, provider_metadata=beside or None, partial=partial
            )
        elif kind == "tool-call":
            call = as_text(block.get("id"))
            step.call(
                call,
                as_text(block.get("name")),
                block.get("arguments"),
                place,
                provider_metadata=beside or None,
            )
            turn.start_call(call)
        else:
            step.block("note", {"kind": "block", "text": f"A block of type {kind}.", "entry": block}, place)

    def _finish_step(self, *, settle: bool = True) -> None:
        if settle:
            self._unsettled()
        self._step = None

    def _pieces(self, kind: str, data: JsonObject) -> None:
        """What streamed of the step: kept until its message comes."""
        chunk = data.get("chunk")
        told: JsonObject = chunk if isinstance(chunk, dict) else {**data, "type": kind}
        kind = _DELTAS.get(as_text(told.get("type")), as_text(told.get("type")))
        if kind == "finish":
            reason = told.get("reason")
            said = as_text(reason.get("kind")) if isinstance(reason, dict) else as_text(reason)
            self._stop = _STOPS.get(said, said) or None
            return
        index = told.get("index")
        if kind not in _PIECES or not isinstance(index, int):
            return
        pieces = told.get(_PIECES[kind], [told.get("text", told.get("arguments", told.get("delta")))])
        entry = self._heard.setdefault(index, (kind, [], as_text(told.get("id")), as_text(told.get("name"))))
        entry[1].extend(as_text(piece) for piece in (pieces if isinstance(pieces, list) else ()))

    def _unsettled(self) -> None:
        """The step is over, and its message never came: what was heard of it is partial."""
        heard, self._heard = self._heard, {}
        if not any("".join(texts) for _, texts, _, _ in heard.values()):
            return
        turn = self._running()
        step = turn.begin_step(None)
        for index, (kind, texts, call, name) in sorted(heard.items()):
            text = "".join(texts)
            if kind == "text-chunks":
                step.end_text(text, index, partial=True)
            elif kind == "reasoning-chunks":
                step.end_thinking(text, index, partial=True)
            else:
                note: dict[str, Json] = {
                    "kind": "block",
                    "text": f"A call of {name} that was cut.",
                    "entry": text,
                }
                step.block("note", {**note, "tool_call_id": call or None}, index)
        step.cut()
        turn.end_step()

    # -- what the model is told

    def _said(self, data: JsonObject, place: Json) -> None:
        turn = self._running()
        content, source = content_of(data.get("content")), data.get("source")
        by: JsonObject = source if isinstance(source, dict) else {}
        person = by.get("kind") == "user"
        if isinstance(place, dict) and place.get("op") == "replace":
            text = (
                content
                if isinstance(content, str)
                else "\n".join(as_text(block.get("text")) for block in content)
            )
            told: JsonObject = {"surfaceOp": place, "source": source}
            turn.compaction(text, ALL_BEFORE, provider_metadata={FORMAT: told})
            return
        turn.user_message(
            content,
            as_text(data.get("id")) or None,
            origin=None if person else "runtime",
            steering=True if person and turn.last_step_id is not None else None,
        )

    def _result(self, data: JsonObject, place: Json) -> None:
        message = data.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        block = content[0] if isinstance(content, list) and content and isinstance(content[0], dict) else {}
        call = as_text(block.get("toolCallId", data.get("callId")))
        if isinstance(place, dict):  # a result that was written again, shorter
            self._note("tool/result", data)
            return
        failed = block.get("isError", data.get("isError"))
        self._running().tool_result(
            call,
            block.get("content", data.get("content")),
            is_error=failed if isinstance(failed, bool) else None,
            structured=data.get("meta", data.get("error")),
        )

    def _approval(self, kind: str, data: JsonObject) -> bool:
        name = as_text(data.get("id"))
        if kind == "approval/asked":
            self._asked[name] = as_text(data.get("callId"))
            self._running().tool_approval(
                self._asked[name], "requested", approval_id=name, reason=data.get("reason")
            )
            return True
        call = self._asked.get(name)
        if kind != "approval/decided" or call is None:
            return False
        outcome = as_text(data.get("outcome"))
        self._running().tool_approval(call, _DECIDED.get(outcome, "denied"), approval_id=name, reason=outcome)
        return True

    def _note(self, kind: str, entry: Json) -> None:
        self._scribe.recording.note(kind, None, entry=entry)


def _tools(tools: Json) -> Json:
    return tools if isinstance(tools, list) else None


def _usage(usage: Json) -> JsonObject | None:
    """Token counts: `inputTokens` holds no cached ones, `outputTokens` holds those of reasoning."""
    if not isinstance(usage, dict):
        return None
    names = {
        "inputTokens": "input", "outputTokens": "output", "cacheReadTokens": "cache_read",
        "cacheWriteTokens": "cache_write", "reasoningTokens": "reasoning",
    }  # fmt: skip
    counts: JsonObject = {
        ours: usage[theirs]
        for theirs, ours in names.items()
        if isinstance(usage.get(theirs), int) and not isinstance(usage.get(theirs), bool)
    }
    return {**counts, "reported": usage} if counts else None
