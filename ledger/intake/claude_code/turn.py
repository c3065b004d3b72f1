"""One turn of Claude Code: its lanes, what is said to the model, its one result."""

from __future__ import annotations

from typing import cast

from ledger.events import Json, JsonObject
from ledger.intake.claude_code.blocks import mapped_block, record_id
from ledger.intake.claude_code.messages import Messages
from ledger.intake.contents import content_of
from ledger.intake.mending import as_text
from ledger.intake.stream import End
from ledger.intake.times import time_of
from ledger.intake.token_counts import anthropic_usage
from ledger.turns import Turn
from ledger.turns.lane import ALL_BEFORE

_SYNTHETIC = "<synthetic>"
INTERRUPTED = "[Request interrupted by user"
RUNTIME = (
    INTERRUPTED,
    "<local-command",
    "<command-",
    "<bash-stdout",
    "<bash-stderr",
    "<system-reminder",
    "<task-notification",
)
"""How text begins that Claude Code wrote, in a message of the user."""
_RESTATED = frozenset({"type", "result", "usage", "uuid", "session_id", "stop_reason", "is_error"})
_DENIED = frozenset({"reject", "rejected", "deny", "denied"})


class ClaudeTurn:
    """What belongs to one turn. It may get more after its end, from sub-agents that go on."""

    def __init__(self, turn: Turn, seen: set[str]) -> None:
        self.turn = turn
        self._main = Messages(turn)
        self._lanes: dict[str, Messages] = {}  # by the call that began the sub-agent
        self._tasks: dict[str, JsonObject] = {}  # likewise, what the stream said of it
        self._seen = seen  # records that came, of all turns, by uuid
        self._events: dict[str, list[str]] = {}  # the events of this turn's records
        self._boundary: JsonObject | None = None  # a compaction whose summary has not come yet
        self._through = ALL_BEFORE
        self._failure: tuple[str, str | None] | None = None
        self._interrupted = False

    def knows(self, parent: str) -> bool:
        """Whether this turn began the sub-agent of that call."""
        return parent in self._lanes or parent in self._tasks or self.turn.step_of(parent) is not None

    def task(self, record: JsonObject) -> None:
        """A task was started by a call: perhaps a sub-agent."""
        parent = record.get("tool_use_id")
        if isinstance(parent, str) and record.get("task_type") == "local_agent":
            self._tasks[parent] = record

    def lane(self, record: JsonObject) -> Messages:
        """The lane that a record belongs to."""
        parent = record.get("parent_tool_use_id")
        if not isinstance(parent, str) or not parent:
            return self._main
        found = self._lanes.get(parent)
        if found is None:
            task = self._tasks.get(parent, {})
            agent = as_text(record.get("agent_id")) or as_text(task.get("task_id")) or parent
            found = self._lanes[parent] = Messages(self.turn.lane(agent, parent))
            found.prompt = as_text(task.get("prompt")) or None
        return found

    # -- records

    def event(self, event: JsonObject, record: JsonObject) -> bool:
        """A raw event of the provider."""
        return self.lane(record).event(event, record)

    def assistant(self, record: JsonObject, message: JsonObject) -> None:
        """A block of the model's message, or what Claude Code put in the place of one."""
        if self._again(record):
            return
        self._unmarked()
        lane = self.lane(record)
        if record.get("supersedes"):
            self.retract(record.get("supersedes"), None)
        if message.get("model") == _SYNTHETIC or record.get("is_api_error_message") is True:
            self._synthetic(record, message)
            return
        ids = lane.assistant(record, message)
        self._remember(record, ids)
        if isinstance(record.get("error"), str):
            self._failure = (as_text(record["error"]), as_text(record["error"]))

    def user(self, record: JsonObject, message: JsonObject) -> None:
        """Results of tools, or text that the model is given."""
        if self._again(record):
            return
        lane, content = self.lane(record), message.get("content")
        blocks = content if isinstance(content, list) else None
        said: list[Json] = []
        ids: list[str] = []
        for number, block in enumerate(blocks or ()):
            if isinstance(block, dict) and block.get("type") == "tool_result":
                self._result_of(lane, record, block, number)
                ids += [name] if (name := record_id(record, str(number))) else []
            else:
                said.append(block)
        if said or blocks is None:
            ids += self._said(lane, record, content_of(content if blocks is None else said))
        self._remember(record, ids)

    def compacts(self, record: JsonObject, through: int = ALL_BEFORE) -> None:
        """The history, up to a version, is replaced by a summary, which comes in the next message of the
        user."""
        self._through = through
        self._unmarked()
        self._main.finish()
        self._boundary = record

    def retract(self, names: Json, record: JsonObject | None) -> None:
        """Records were taken back."""
        listed = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
        gone = [event for name in listed for event in self._events.get(name, ())]
        if gone and (record is None or not self._again(record)):
            self.turn.retraction(event_ids=gone, id=record_id(record, "retraction") if record else None)

    def result(self, record: JsonObject) -> None:
        """The turn's end. `subtype: success` alone is none: an error of the provider says it too."""
        if self._again(record):
            return
        self._unmarked()
        stop = as_text(record.get("stop_reason")) or None
        reason = as_text(record.get("terminal_reason")) or None
        subtype = as_text(record.get("subtype"))
        stopped = reason is not None and reason.startswith("aborted")
        if not self.turn.ended:
            if not stopped or reason == "aborted_tools":  # the model's answer was whole
                self._main.finish(stop)
            self._usage(record)
        more: dict[str, Json] = {
            "id": record_id(record, "end"),
            "provider_metadata": {"claude-code": self._rest(record)},
        }
        if stopped or (reason is None and subtype == "error_during_execution" and self._interrupted):
            self._cut()
            self.turn.abort("user_stop", **more)
        elif record.get("is_error") is True or subtype.startswith("error"):
            self._cut()
            message, code = self._failure or (None, None)
            errors = record.get("errors")
            if message is None and isinstance(errors, list) and errors:
                message = "; ".join(as_text(error) for error in errors)
            said = message or as_text(record.get("result")) or f"The turn ended with {subtype or 'an error'}."
            self.turn.error(said, code or subtype or None, reason=reason, **more)
        else:
            self.turn.complete(stop, **more)

    def close(self, end: End) -> None:
        """There is no more of it: lanes that went on after its end are finished, what is open is cut off."""
        self._unmarked()
        if self.turn.ended:
            for lane in self._lanes.values():
                lane.finish()
            return
        self._cut()
        if self._failure is not None and end == "eof":
            self.turn.error(*self._failure)
        elif end == "eof":
            self.turn.error("The stream ended without a result.", "missing_terminal_event")

    # -- inside

    def _again(self, record: JsonObject) -> bool:
        name = record.get("uuid")
        if not isinstance(name, str):
            return False
        if name in self._seen:
            return True
        self._seen.add(name)
        return False

    def _remember(self, record: JsonObject, ids: list[str]) -> None:
        if isinstance(name := record.get("uuid"), str):
            self._events[name] = ids

    def _cut(self) -> None:
        for lane in (*self._lanes.values(), self._main):
            lane.cut()

    def _synthetic(self, record: JsonObject, message: JsonObject) -> None:
        """Words of Claude Code in a message that no model made: never sent to a model again."""
        content = message.get("content")
        texts = (
            [mapped_block(block).fields.get("text") for block in content]
            if isinstance(content, list)
            else [content]
        )
        text = "\n\n".join(as_text(text) for text in texts)
        self.lane(record).cut()
        self._failure = (text, as_text(record.get("error")) or None)
        self._remember(record, [])
        self.lane(record).lane.note(
            "synthetic", text, entry=record, id=record_id(record, "0"), at=time_of(record.get("timestamp"))
        )

    def _result_of(self, lane: Messages, record: JsonObject, block: JsonObject, number: int) -> None:
        fields = mapped_block(block).fields
        call_id = as_text(fields["tool_call_id"])
        listed = record.get("tool_result_meta")
        told = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        meta = next((one for one in told if one.get("id") == call_id), None)
        decision = meta.get("permission_decision") if meta is not None else None
        if isinstance(decision, dict) and decision.get("decision") in _DENIED:
            by = as_text(decision.get("source")) or None
            name = record_id(record, f"{number}/approval")
            lane.lane.tool_approval(call_id, "denied", by=by, id=name)
        beside = fields["provider_metadata"]
        if meta is not None:
            beside = {**(beside if isinstance(beside, dict) else {}), "claude-code": meta}
        lane.lane.tool_result(
            call_id,
            fields["content"],
            is_error=cast(bool | None, fields["is_error"]),
            structured=record.get("tool_use_result"),
            step_id=lane.lane.step_of(call_id),
            id=record_id(record, str(number)),
            at=time_of(record.get("timestamp")),
            provider_metadata=beside,
        )

    def _said(self, lane: Messages, record: JsonObject, content: str | list[JsonObject]) -> list[str]:
        event_id, at = record_id(record, "0"), time_of(record.get("timestamp"))
        text = (
            content
            if isinstance(content, str)
            else "\n\n".join(as_text(block.get("text")) for block in content)
        )
        runtime = (
            record.get("isSynthetic") is True
            or lane is not self._main
            or text.lstrip().startswith(RUNTIME)
            or record.get("isMeta") is True
        )
        self._interrupted = self._interrupted or text.startswith(INTERRUPTED)
        boundary = self._boundary
        if boundary is not None and lane is self._main and record.get("isReplay") is not True:
            self._boundary = None
            about: JsonObject = {
                key: value for key, value in boundary.items() if key not in ("type", "subtype")
            }
            lane.lane.compaction(
                text, self._through, id=event_id, at=at, provider_metadata={"claude-code": about}
            )
            return [event_id] if event_id else []
        if runtime:
            lane.cut()  # the answer before it did not come to its end
        else:
            lane.finish()
        lane.prompt = None
        lane.lane.user_message(
            content,
            as_text(record.get("uuid")) or None,
            steering=True if not runtime and lane.lane.last_step_id is not None else None,
            origin="runtime" if runtime else None,
            id=event_id,
            at=at,
        )
        return [event_id] if event_id else []

    def _unmarked(self) -> None:
        """A compaction whose summary never came is kept as a note."""
        boundary, self._boundary = self._boundary, None
        if boundary is not None:
            self.turn.note("compact_boundary", "A compaction without its summary.", entry=boundary)

    def _usage(self, record: JsonObject) -> None:
        """The turn's token counts, where its messages did not say their own."""
        usage = record.get("usage")
        if (
            isinstance(usage, dict)
            and not self._main.counted
            and any(
                usage.get(name)
                for name in (
                    "input_tokens",
                    "output_tokens",
                    "cache_read_input_tokens",
                    "cache_creation_input_tokens",
                )
            )
        ):
            counts = anthropic_usage(usage)
            if counts is not None:
                self.turn.token_usage(counts, id=record_id(record, "usage"))

    def _rest(self, record: JsonObject) -> JsonObject:
        rest: JsonObject = {key: value for key, value in record.items() if key not in _RESTATED}
        if self._main.counted:
            rest["usage"] = record.get("usage")
        if as_text(record.get("result")) != self._main.spoken:
            rest["result"] = record.get("result")
        return rest
