"""The events of one path, record by record: turns opened and closed on what the file shows, nothing looked
ahead.

What a record means may depend on those before it, never on those after: so the events of a longer version
of a file begin with those of the shorter one. An error is final only once something other than another
attempt follows, and a turn that a new prompt found open is closed then, by a terminal marked as inferred
(DESIGN.md 3.2).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from ledger.events import Json, JsonObject
from ledger.intake.contents import content_of
from ledger.intake.identity import kept_id
from ledger.intake.mending import as_text
from ledger.intake.pi.assistant import step_events, stop_reason
from ledger.intake.pi.maker import Maker, call_id
from ledger.intake.pi.runtime import bash_message, injected
from ledger.intake.pi.state import State, Turn
from ledger.intake.pi.table import Record
from ledger.intake.times import ms_of

Boundary = Callable[[JsonObject], int]
"""The last version that a compaction entry summarises."""


class Path:
    """Maps the records of one conversation, in order; `key` gives the key of a record by its number."""

    def __init__(
        self, conversation_id: str, session: str, file: str, state: State, key: Callable[[int], str]
    ) -> None:
        self.conversation_id = conversation_id
        self.state = state
        self._session = session
        self._file = file
        self._key_of = key

    def maker(self, record: Record, value: JsonObject | None) -> Maker:
        """Makes events of a record in this conversation."""
        return Maker(self.conversation_id, self._session, self._file, record, value)

    def events(self, record: Record, value: JsonObject, boundary: Boundary) -> list[JsonObject]:
        """The events of a whole record that follows on those given before; `boundary` places a compaction."""
        maker = self.maker(record, value)
        kind = record.kind
        if kind == "message":
            message = value.get("message")
            events = (
                self._message(maker, value, message)
                if isinstance(message, dict)
                else [maker.note("message", "a message entry without a message", value)]
            )
        elif kind == "custom_message":
            events = self._injected(maker, injected(maker, value, value))
        elif kind == "branch_summary":
            events = [*self._close(maker), *self._injected(maker, injected(maker, value, value, "summary"))]
        elif kind == "compaction":
            events = [self._compaction(maker, value, boundary)]
        elif kind in ("model_change", "thinking_level_change"):
            events = [self._settings(maker, value)]
        else:
            events = [maker.note(kind, _headline(kind, value), value)]
        time = ms_of(value.get("timestamp"))
        self.state.at_ms = time if time is not None else self.state.at_ms
        return events

    def _message(self, maker: Maker, value: JsonObject, message: JsonObject) -> list[JsonObject]:
        role = message.get("role")
        if role == "user":
            return self._prompt(maker, message)
        if role == "assistant":
            return self._step(maker, message)
        if role == "toolResult":
            return self._result(maker, message)
        if role == "bashExecution":
            return self._injected(maker, bash_message(maker, message))
        if role in ("custom", "hookMessage"):
            return self._injected(maker, injected(maker, value, message))
        if role == "system":
            system: JsonObject = {"content": cast(Json, content_of(message.get("content")))}
            return [maker.event("system_message", "system", system, pi=_rest(message, "content"))]
        return [maker.note("message", f"a message of role {as_text(role)}", value)]

    def _key(self, record: int | None) -> str | None:
        return None if record is None else kept_id(self._key_of(record))

    def _prompt(self, maker: Maker, message: JsonObject) -> list[JsonObject]:
        steering = self._is_steering(message)
        events = [] if steering else [*self._close(maker), *self._open(maker)]
        turn = self.state.turn
        said: JsonObject = {
            "turn_id": turn.id if turn is not None else maker.key,
            "content": cast(Json, content_of(message.get("content"))),
            "message_id": maker.key,
            "steering": steering or None,
        }
        return [*events, maker.event("user_message", "user", said, pi=_rest(message, "content"))]

    def _is_steering(self, message: JsonObject) -> bool:
        """True when this message was sent into the running turn.

        pi hands a queued message over once the calls at work have their results; it carries the time it was
        typed, which is before that of the record in front of it. What was typed later met a run that had
        ended.
        """
        turn = self.state.turn
        if turn is None or turn.over or not turn.stepped or self.state.failed or self.state.unanswered:
            return False
        typed, before = ms_of(message.get("timestamp")), self.state.at_ms
        return typed is None or before is None or typed <= before

    def _step(self, maker: Maker, message: JsonObject) -> list[JsonObject]:
        state = self.state
        events: list[JsonObject] = []
        if state.turn is None or state.turn.over or not state.turn.started:
            events = self._open(maker)
        turn = state.turn or Turn(maker.key, maker.record.number)
        turn_id = turn.id
        retry_of = state.failed[0] if state.failed else None
        step, calls = step_events(maker, message, turn_id, state, retry_of)
        events += step
        state.failed = None
        state.turn = replace(turn, started=True, stepped=True)
        for call in calls:
            state.calls.put(call, turn.record, maker.record.number)
            state.unanswered.add(call)
        reason = stop_reason(message)
        if reason == "stop" or (reason == "length" and not calls):
            events.append(maker.event("complete", "end", {"turn_id": turn_id, "stop_reason": reason}))
        elif reason == "aborted":
            events.append(maker.event("abort", "end", {"turn_id": turn_id, "reason": "user_stop"}))
        elif reason == "error":
            said = as_text(message.get("errorMessage"))
            state.failed = (maker.key, said)
            failed: JsonObject = {
                "turn_id": turn_id,
                "step_id": maker.key,
                "message": said,
                "retryable": True,
            }
            events.append(maker.event("error", "failed", failed))
        if reason in ("stop", "aborted") or (reason == "length" and not calls):
            state.turn = replace(state.turn, over=True)
        return events

    def _result(self, maker: Maker, message: JsonObject) -> list[JsonObject]:
        state = self.state
        pi = _rest(message, "toolCallId", "toolName", "content", "isError", "details")
        call = call_id(message.get("toolCallId"), pi)
        events: list[JsonObject] = []
        turn_id, step_id = map(self._key, state.calls.get(call) or (None, None))
        if turn_id is None:
            if state.turn is None:
                events = self._open(maker)
            turn_id = state.turn.id if state.turn is not None else maker.key
        state.unanswered.discard(call)
        name, is_error = message.get("toolName"), message.get("isError")
        if name is not None and not isinstance(name, str):
            pi["toolName"] = name
        if is_error is not None and not isinstance(is_error, bool):
            pi["isError"] = is_error
        content = message.get("content")
        result: JsonObject = {
            "turn_id": turn_id,
            "step_id": step_id,
            "tool_call_id": call,
            "tool_name": name if isinstance(name, str) else None,
            "content": [] if content is None else content,
            "is_error": is_error if isinstance(is_error, bool) else None,
            "structured": message.get("details"),
        }
        return [*events, maker.event("tool_result", "result", result, pi=pi)]

    def _injected(self, maker: Maker, message: JsonObject) -> list[JsonObject]:
        """Context that nobody typed: part of the running turn, else it waits for the next one."""
        turn = self.state.turn
        if turn is None or turn.over:
            turn = self.state.turn = Turn(maker.key, maker.record.number)
            self.state.unanswered.clear()
        return [{**message, "turn_id": turn.id}]

    def _open(self, maker: Maker) -> list[JsonObject]:
        """A turn begins; context that waits for one is taken into it."""
        turn = self.state.turn
        if turn is None or turn.over or turn.started:
            turn = Turn(maker.key, maker.record.number)
        self.state.turn = replace(turn, started=True, stepped=False)
        self.state.unanswered.clear()
        self.state.failed = None
        return [maker.event("turn_start", "turn", {"turn_id": turn.id, "runtime": "pi"})]

    def _close(self, maker: Maker) -> list[JsonObject]:
        """The turn that was open is over: something else goes on, and the file says nothing of its end."""
        turn, failed = self.state.turn, self.state.failed
        if turn is None or turn.over or not turn.started:
            return []
        self.state.turn = replace(turn, over=True)
        self.state.failed = None
        if failed:
            said: JsonObject = {"turn_id": turn.id, "message": failed[1]}
            return [maker.event("error", "close", said, inferred=True)]
        return [maker.event("abort", "close", {"turn_id": turn.id}, inferred=True)]

    def _compaction(self, maker: Maker, value: JsonObject, boundary: Boundary) -> JsonObject:
        cut: JsonObject = {
            "summary": as_text(value.get("summary")),
            "through_version": boundary(value),
        }
        return maker.event("compaction", "compaction", cut, pi=_rest(value, "summary", "timestamp"))

    def _settings(self, maker: Maker, value: JsonObject) -> JsonObject:
        named = {"provider": "provider", "modelId": "model", "thinkingLevel": "thinking_level"}
        for theirs, ours in named.items():
            if theirs in value:
                self.state.settings[ours] = value[theirs]
        now: JsonObject = {"digest": self.state.digest or "", "settings": dict(self.state.settings)}
        return maker.event("context", "context", now, pi=_rest(value, "timestamp", *named))


def damaged(maker: Maker, raw: bytes | None, length: int) -> JsonObject:
    """The note that keeps bytes which are no record."""
    if raw is None:
        gone: JsonObject = {"omitted_bytes": length, "sha256": maker.record.digest.hex()}
        return maker.note("damaged", "a line too long to be read", gone, fields={"normalized": ["entry"]})
    text = raw.decode(errors="replace")
    changed: Json = ["entry"] if "\ufffd" in text else None
    return maker.note("damaged", "a line that is not a record", text, fields={"normalized": changed})


def _rest(value: JsonObject, *mapped: str) -> JsonObject:
    return {name: item for name, item in value.items() if name not in ("role", "type", "id", *mapped)}


def _headline(kind: str, value: JsonObject) -> str:
    """One line for people: what kind of entry, and what it names."""
    for name in ("name", "label", "customType", "cwd", "targetId"):
        if isinstance(said := value.get(name), str) and said:
            return f"{kind}: {said}"
    return kind
