"""What every request in progress has in common, whatever its format: who is asked to write what, the system
prompt, names that are the provider's, and the end that nothing answers."""

from abc import ABC, abstractmethod

from replay.items import Call, Entry, Step
from replay.materialize import Message
from replay.plan import Plan
from replay.providers.content import system_texts
from replay.providers.names import Renamed
from replay.providers.noting import Noting


class RequestWriting(Noting, ABC):
    """One render in progress. `ids` and `names` make call ids and tool names fit; `_last_step` is the step that
    was written last."""

    def __init__(self, plan: Plan, ids: Renamed, names: Renamed) -> None:
        super().__init__(plan.context_record)
        self._ids = ids
        self._names = names
        self._last_step: Step | None = None

    def write(self, message: Message) -> None:
        """Write the next neutral message."""
        item = message.item
        if isinstance(item, Entry):
            self._record, self._step_id = item.record, None
            self._entry(item, message)
        elif message.role == "tool":
            self._results(message)
        else:
            self._last_step, self._step_id = item, item.step_id
            self._step(item, message)

    @abstractmethod
    def _entry(self, entry: Entry, message: Message) -> None:
        """What stands between the steps."""

    @abstractmethod
    def _results(self, message: Message) -> None:
        """What a step's calls gave."""

    @abstractmethod
    def _step(self, step: Step, message: Message) -> None:
        """What the model said."""

    def _system_texts(self, plan: Plan) -> dict[str, list[int]]:
        """The context's system prompt, then the system messages before the conversation; equal texts once, each
        with the versions behind it."""
        texts: dict[str, list[int]] = {}
        record = self._record = plan.context_record
        for text in system_texts((plan.context or {}).get("system"), self._note):
            texts.setdefault(text, [] if record is None else [record.version])
        for entry in plan.system:
            self._record = entry.record
            for text in system_texts(list(entry.parts), self._note):
                texts.setdefault(text, [entry.version])
        self._record = record
        return texts

    def _call_id(self, call: Call) -> str:
        """The id that a call is sent under."""
        sent = self._ids.sent(call.id)
        if sent != call.id:
            self._note("tool_id_rewritten", tool_call_id=call.id, sent=sent)
        return sent

    def _tool_name(self, call: Call) -> str:
        """The name that a call's tool is sent under."""
        recorded = call.event.tool_name
        sent = self._names.sent(recorded)
        if sent != recorded:
            self._note("tool_name_rewritten", tool_name=recorded, sent=sent)
        return sent

    def _unanswerable(self) -> bool:
        """False, and it is said why: the request is empty, or ends with the model (X5)."""
        if self._last_step is not None:
            self._record, self._step_id = self._last_step.record, self._last_step.step_id
        self._note("nothing_to_answer")
        return False
