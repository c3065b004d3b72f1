"""A turn of Claude Code as its session file tells it: what the stream says in other words, and the ends that a
file does not say (specs/formats.md 2)."""

from __future__ import annotations

from ledger.events import Json, JsonObject
from ledger.intake.claude_code.blocks import Mapped
from ledger.intake.claude_code.messages import Messages
from ledger.intake.claude_code.turn import ClaudeTurn
from ledger.intake.mending import as_text
from ledger.intake.token_counts import anthropic_usage
from ledger.turns import Lane, Step, Turn

_ENDS = frozenset({"end_turn", "stop_sequence", "refusal"})
_INFERRED: JsonObject = {"inferred": True}


class FileMessages(Messages):
    """Messages whose lines repeat the token counts and the stop reason of their whole message.

    Both may grow from line to line: the largest counts and the last reason hold. In older versions a block may
    grow, too: what was written of it before is taken back.
    """

    def __init__(self, lane: Lane) -> None:
        super().__init__(lane)
        self._snapshots = False
        self._block: tuple[str, Mapped, int, str] | None = None  # the last one: its message, place, event

    def assistant(self, record: JsonObject, message: JsonObject) -> list[str]:
        """A line of the model's message."""
        self._snapshots = "apiBlockIndex" not in record
        ids = super().assistant(record, message)
        if as_text(message.get("id")) == self._name:
            usage = message.get("usage")
            self._usage = _larger(self._usage, usage if isinstance(usage, dict) else {})
            self._final = bool(self._usage)
            self._stop = as_text(message.get("stop_reason")) or self._stop
        return ids

    def _write(self, step: Step | None, name: str, place: int, mapped: Mapped, more: dict[str, Json]) -> None:
        last = self._block
        if self._snapshots and last is not None and last[0] == name and last[1].event_type == mapped.event_type:
            if mapped.event_type == "tool_start" and _same(last[1], mapped, "tool_call_id"):
                if not _same(last[1], mapped, "args"):
                    call: JsonObject = {"id": mapped.fields["tool_call_id"], "input": mapped.fields["args"]}
                    self.lane.note("block", "A call that was written again.", entry=call)
                return
            if _grew(last[1], mapped) and last[3]:
                self.lane.retraction(event_ids=[last[3]])
                step, place = None, last[2]
        self._block = (name, mapped, place, as_text(more.get("id")))
        super()._write(step, name, place, mapped, more)

    @property
    def stop_reason(self) -> str | None:
        """Why the last message ended, where it says."""
        return self._stop

    def cut(self) -> None:
        """Text of Claude Code came: a message that says why it ended was whole."""
        if self._stop is not None:
            self.finish()
        else:
            self._cut_off()

    def broke_off(self) -> None:
        """The connection was cut, whatever its lines say of their end."""
        self._stop = None
        self._cut_off()

    def _cut_off(self) -> None:
        """What was said of the counts until then is kept: there is no end that would tell them."""
        step, open_ = self._step, self._step is not None and not self._step.ended
        super().cut()
        counts = anthropic_usage(self._usage) if open_ else None
        if counts is not None and step is not None:
            self.lane.token_usage(counts, step.step_id)


class FileTurn(ClaudeTurn):
    """One turn of a file. `agent` is the lane's name where the file is that of a sub-agent."""

    def __init__(self, turn: Turn, seen: set[str]) -> None:
        super().__init__(turn, seen)
        self._main: FileMessages = FileMessages(turn)
        self._calls: set[str] = set()  # of the main lane, without a result
        self._broken = False
        self.asked = False
        """Whether a person said something in it, or was told something for which the turn began."""
        self.prompted = False
        """Whether that was a prompt, which the model has to answer."""
        self._last: tuple[str, bool] = ("", False)  # the main lane's last message: id, whether it calls tools

    def has(self, message: str) -> bool:
        """Whether a message of the main lane belongs to this turn."""
        return message in self._main._places

    @property
    def begun(self) -> bool:
        """Whether the model has answered in it."""
        return self.turn.last_step_id is not None

    @property
    def done(self) -> bool:
        """Whether the turn is over, as far as can be told: it ended, or the model's last message says so."""
        answered = self._main.stop_reason in _ENDS and not self._calls and self._failure is None
        return self.turn.ended or answered

    def lane(self, record: JsonObject) -> Messages:
        """The lane that a record belongs to: that of `agent_id`, begun by `parent_tool_use_id`."""
        agent, parent = record.get("agent_id"), record.get("parent_tool_use_id")
        if not isinstance(agent, str) or not agent:
            return self._main
        found = self._lanes.get(agent)
        if found is None:
            begun_by = parent if isinstance(parent, str) and parent else None
            found = self._lanes[agent] = FileMessages(self.turn.lane(agent, begun_by))
        return found

    def assistant(self, record: JsonObject, message: JsonObject) -> None:
        """A block of the model's message, or what Claude Code put in the place of one."""
        content = message.get("content")
        if self.lane(record) is self._main:
            self._failure, self._broken = None, False
            calls = {
                as_text(block.get("id"))
                for block in (content if isinstance(content, list) else ())
                if isinstance(block, dict) and block.get("type") == "tool_use"
            }
            self._calls |= calls
            name = as_text(message.get("id"))
            self._last = (name, bool(calls) or (self._last[0] == name and self._last[1]))
        super().assistant(record, message)

    def user(self, record: JsonObject, message: JsonObject) -> None:
        """Results of tools, or text that the model is given."""
        content = message.get("content")
        self._calls.difference_update(
            as_text(block.get("tool_use_id"))
            for block in (content if isinstance(content, list) else ())
            if isinstance(block, dict) and block.get("type") == "tool_result"
        )
        super().user(record, message)

    def summary(self, record: JsonObject, message: JsonObject) -> None:
        """What stands for the history from now on; its boundary may not have been written."""
        if self._boundary is None:
            self.compacts({"type": "system", "subtype": "compact_boundary"})
        self.user(record, message)

    def over(self) -> None:
        """Another turn begins: the end of this one is told from what it holds, and marked so."""
        self._unmarked()
        for lane in self._lanes.values():
            lane.finish()
        if self.turn.ended:
            return
        stop = self._main.stop_reason
        self._main.finish()
        if self._failure is not None:
            self.turn.error(*self._failure, source=_INFERRED)
        elif self._answered(stop):
            self.turn.complete(stop, source=_INFERRED)
        else:
            self.turn.abort("unknown", source=_INFERRED)

    def rests(self) -> None:
        """The model's answer is whole, where it says how it ended."""
        if self._main.stop_reason in _ENDS and not self._calls:
            self._main.finish()

    def _answered(self, stop: str | None) -> bool:
        """Whether the turn came to its end, as far as can be told. Older versions say no stop reason."""
        if self._calls or self.turn.last_step_id is None:
            return not self._calls and not self.prompted
        return stop in _ENDS or (stop is None and not self._last[1] and not self._broken)

    def broke_off(self) -> None:
        """The connection was cut within the last message, whatever its lines say of their end."""
        self._broken = True
        self._main.broke_off()

    def failed(self) -> None:
        """Claude Code gave up, and showed the error."""
        if self._failure is not None and not self.turn.ended:
            self._cut()
            self.turn.error(*self._failure, reason="api_error")

    def too_many(self, most: Json) -> None:
        """The turn came to its limit of model calls."""
        if not self.turn.ended:
            self._main.finish()
            said = f"Reached maximum number of turns ({as_text(most)})"
            self.turn.error(said, "error_max_turns", reason="max_turns")

    def interrupted(self) -> None:
        """The person stopped it."""
        if not self.turn.ended:
            self._main.cut()
            self.turn.abort("user_stop")

    def _synthetic(self, record: JsonObject, message: JsonObject) -> None:
        lane = self.lane(record)
        if isinstance(lane, FileMessages) and (
            record.get("streamCutCause") or record.get("truncatedAfterOutput") is True
        ):
            lane.broke_off()
        super()._synthetic(record, message)


def _same(one: Mapped, other: Mapped, field: str) -> bool:
    return one.fields.get(field) == other.fields.get(field)


def _grew(before: Mapped, now: Mapped) -> bool:
    """Whether a text is the one before it, written again."""
    said, says = as_text(before.fields.get("text")), as_text(now.fields.get("text"))
    return bool(said) and says.startswith(said) and now.event_type in ("text_complete", "thinking_complete")


def _larger(counts: JsonObject, others: JsonObject) -> JsonObject:
    """Field by field the larger count; what is no count as the other says it."""
    found: JsonObject = dict(counts)
    for name, value in others.items():
        before: Json = found.get(name)
        if before is value and value is not None:
            continue
        if isinstance(value, dict) and isinstance(before, dict):
            found[name] = _larger(before, value)
        elif not (isinstance(value, int | float) and isinstance(before, int | float) and before > value):
            found[name] = value if value is not None else before
    return found
