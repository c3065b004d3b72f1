"""One lane of a turn: the main agent or a sub-agent, its steps one after the other."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import cast

from ledger.events import Json, JsonObject, json_bytes
from ledger.intake.mending import plain_json
from ledger.turns.sheet import Sheet
from ledger.turns.step import OpenBlock, Step

Content = str | list[JsonObject]

ALL_BEFORE = 2**53 - 1
"""A `through_version` for "all before this event": above its own version, it counts as one below it (DESIGN.md
7.2, rule 12). A stream cannot know the versions that its events will have."""


class Lane:
    """Messages, steps, calls and results of one agent in one turn. At most one step is open at a time.

    Every method takes further fields of its event by name (`id`, `at`, `source`, `visibility`,
    `provider_metadata`).
    """

    def __init__(
        self,
        sheet: Sheet,
        turn_id: str,
        agent_id: str | None = None,
        parent_tool_call_id: str | None = None,
        contexts: dict[str | None, str] | None = None,
    ) -> None:
        self.sheet = sheet
        self.turn_id = turn_id
        self.agent_id = agent_id
        self.tags: JsonObject = {}
        if agent_id is not None:
            self.tags["agent_id"] = agent_id
        if parent_tool_call_id is not None:
            self.tags["parent_tool_call_id"] = parent_tool_call_id
        self.step: Step | None = None
        """The step that is open."""
        self.last_step_id: str | None = None
        self.failed: str | None = None
        """The step that the next one retries."""
        self._contexts = {} if contexts is None else contexts  # the digest in force, a lane; outlives the turn
        self._calls: dict[str, str] = {}

    # -- messages

    def user_message(
        self,
        content: Content,
        message_id: str | None = None,
        *,
        steering: bool | None = None,
        origin: str | None = None,
        **more: Json,
    ) -> None:
        """What the model is told; `steering` when it came while the turn was running."""
        fields: dict[str, Json] = {
            "content": cast(Json, content),
            "message_id": message_id,
            "steering": steering,
            "origin": origin,
        }
        self.write("user_message", {**fields, **more})

    def system_message(self, content: Content, **more: Json) -> None:
        """A system message."""
        self.write("system_message", {"content": cast(Json, content), **more})

    def context(self, system: Json = None, tools: Json = None, settings: Json = None, **more: Json) -> str:
        """What the model is given beside the messages; written only when it differs from what is in force.

        Gives its digest, which the steps that follow name.
        """
        parts: JsonObject = {}
        for name, value in (("system", system), ("tools", tools), ("settings", settings)):
            if value is not None:
                parts[name] = plain_json(value)
        digest = f"sha256:{hashlib.sha256(_canonical(parts)).hexdigest()}"
        if self._contexts.get(self.agent_id) != digest:
            self._contexts[self.agent_id] = digest
            self.write(
                "context", {"digest": digest, "system": system, "tools": tools, "settings": settings, **more}
            )
        return digest

    # -- steps

    def begin_step(
        self,
        step_id: str | None = None,
        *,
        provider: str | None = None,
        api: str | None = None,
        model: str | None = None,
        retry_of: str | None = None,
        request_fingerprint: str | None = None,
        **more: Json,
    ) -> Step:
        """A model call begins: writes `step_start`. Call it before the request is sent.

        A step that is still open is finished first. `retry_of` is by itself the step that failed just before.
        """
        self.end_step()
        name = step_id or self.sheet.stamps.step_id()
        retry_of, self.failed = retry_of or self.failed, None
        fields: dict[str, Json] = {
            "step_id": name,
            "provider": provider,
            "api": api,
            "model": model,
            "retry_of": retry_of,
            "context": self._contexts.get(self.agent_id),
            "request_fingerprint": request_fingerprint,
        }
        written = self.write("step_start", {**fields, **more})
        self.step = Step(self, cast(str, written["step_id"]))
        self.last_step_id = self.step.step_id
        return self.step

    def ensure_step(self) -> Step:
        """The open step; begun now where there is none: for streams that do not say where a step begins."""
        return self.step if self.step is not None and not self.step.ended else self.begin_step()

    def end_step(self) -> None:
        """Finish the open step, if there is one."""
        if self.step is not None:
            self.step.finish()
            self.step = None

    def cut_step(self) -> None:
        """Cut the open step off, if there is one: what was streamed is kept, and marked where it was not
        complete."""
        if self.step is not None:
            self.step.cut()
            self.step = None

    def step_limit_notice(self, text: str, **more: Json) -> None:
        """A text that no model wrote, because the turn ran into its step limit; with a step id of its own."""
        self.end_step()
        step_id = self.sheet.stamps.step_id()
        self.write(
            "text_complete", {"step_id": step_id, "block_index": 0, "text": text, "synthetic": True, **more}
        )

    # -- tools

    def start_call(self, tool_call_id: str, **more: Json) -> bool:
        """A tool begins to run: its `tool_start` is written now if it still waits in the open step. False if
        not."""
        return self.step is not None and self.step.start_call(tool_call_id, **more)

    def tool_call(
        self,
        tool_call_id: str,
        tool_name: str,
        args: Json,
        *,
        step_id: str | None = None,
        provider_executed: bool | None = None,
        **more: Json,
    ) -> None:
        """A call of a step that has ended already (or of none): written now. Calls of the open step go
        through it."""
        fields: dict[str, Json] = {
            "step_id": step_id or self.last_step_id,
            "tool_call_id": tool_call_id,
            "tool_name": tool_name,
            "args": args,
            "provider_executed": provider_executed,
        }
        self.write("tool_start", {**fields, **more})
        self.called(tool_call_id, cast(str, fields["step_id"]))
        self.sheet.urgent()

    def tool_result(
        self,
        tool_call_id: str,
        content: Json,
        *,
        is_error: bool | None = None,
        tool_name: str | None = None,
        duration_ms: float | None = None,
        final: bool | None = None,
        structured: Json = None,
        **more: Json,
    ) -> None:
        """What a tool gave; `final=False` for progress. A call that still waits in the open step is written
        first."""
        self.start_call(tool_call_id)
        fields: dict[str, Json] = {
            "tool_call_id": tool_call_id,
            "content": content,
            "is_error": is_error,
            "tool_name": tool_name,
            "duration_ms": duration_ms,
            "final": final,
            "structured": structured,
        }
        self.write("tool_result", {**fields, **more})

    def tool_approval(
        self, tool_call_id: str, decision: str, *, by: str | None = None, args: Json = None, **more: Json
    ) -> None:
        """Someone was asked about a call, or answered: `requested`, `approved`, `denied`, `expired`."""
        self.start_call(tool_call_id)
        fields: dict[str, Json] = {"tool_call_id": tool_call_id, "decision": decision, "by": by, "args": args}
        self.write("tool_approval", {**fields, **more})

    def called(self, tool_call_id: str, step_id: str) -> None:
        """A call was written: remember its step."""
        self._calls[tool_call_id] = step_id

    def step_of(self, tool_call_id: str) -> str | None:
        """The step of a call that was written in this turn; None when there is no such call."""
        return self._calls.get(tool_call_id)

    # -- the rest

    def token_usage(self, usage: JsonObject, step_id: str | None = None, **more: Json) -> None:
        """Token counts of a step, or without a step of the turn."""
        self.write("token_usage", {"step_id": step_id, "usage": usage, **more})

    def compaction(self, summary: str, through_version: int = ALL_BEFORE, **more: Json) -> None:
        """The history up to a version, by itself all of it so far, was replaced by a summary."""
        self.write("compaction", {"summary": summary, "through_version": through_version, **more})

    def retraction(
        self,
        *,
        turn_ids: list[str] | None = None,
        step_ids: list[str] | None = None,
        event_ids: list[str] | None = None,
        **more: Json,
    ) -> None:
        """Something recorded was taken back."""
        fields = {"turn_ids": turn_ids, "step_ids": step_ids, "event_ids": event_ids}
        self.write("retraction", {**cast(dict[str, Json], fields), **more})

    def note(self, kind: str, text: str | None = None, **more: Json) -> None:
        """Anything worth keeping that has no type of its own."""
        self.write("note", {"kind": kind, "text": text, **more})

    def write(self, event_type: str, fields: Mapping[str, Json]) -> JsonObject:
        """Any event of this turn and lane."""
        return self.sheet.write(event_type, {"turn_id": self.turn_id, **self.tags, **fields})

    def open_blocks(self) -> list[OpenBlock]:
        """What streams now and is no event yet."""
        step = self.step
        return step.open_blocks() if step is not None else []


def _canonical(value: JsonObject) -> bytes:
    return json_bytes(_sorted(value))


def _sorted(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
