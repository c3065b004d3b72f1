"""Events of one record: their envelope, ids and source are filled in here."""

from collections.abc import Mapping

from ledger.events import Json, JsonObject
from ledger.intake.identity import kept_id, made_id
from ledger.intake.mending import Mended
from ledger.intake.pi.table import Record
from ledger.intake.times import time_of

FORMAT = "pi"
_ENTRY = frozenset({"type", "id", "parentId", "timestamp", "message"})


class Maker:
    """Makes the events of one record of one conversation."""

    def __init__(
        self, conversation_id: str, session: str, file: str, record: Record, value: JsonObject | None
    ) -> None:
        self.conversation_id = conversation_id
        self.session = session
        self.record = record
        self.key = kept_id(record.key)
        self.at = time_of(value.get("timestamp")) if value is not None else None
        self._around: JsonObject = {}
        if value is not None and record.kind == "message":
            self._around = {name: item for name, item in value.items() if name not in _ENTRY}
        self._source: JsonObject = {
            "format": FORMAT,
            "file": file,
            "session": session,
            "line": record.line,
            "offset": record.offset,
            "sha256": record.digest.hex(),
        }
        if record.id is not None:
            self._source["entry"] = record.id
        if record.inferred:
            self._source["parent_inferred"] = True

    def event(
        self,
        event_type: str,
        block: str,
        fields: Mapping[str, Json],
        *,
        at: str | None = None,
        inferred: bool = False,
        pi: JsonObject | None = None,
    ) -> JsonObject:
        """An event of type `event_type`; `block` tells it from the record's other events.

        Of `fields` those that are None are absent, but a call's `args` and a result's `content`; `pi` goes
        into `provider_metadata`, together with what the entry said around its message.
        """
        event: JsonObject = {
            "type": event_type,
            "id": made_id(FORMAT, self.session, self.record.key, block),
            "conversation_id": self.conversation_id,
        }
        keep = ("args", "content")
        event.update({name: value for name, value in fields.items() if value is not None or name in keep})
        if (moment := at or self.at) is not None:
            event["at"] = moment
        beside: JsonObject = {**(pi or {}), **({"entry": self._around} if self._around else {})}
        self._around = {}  # said once
        if beside:
            event["provider_metadata"] = {FORMAT: beside}
        event["source"] = {**self._source, "inferred": True} if inferred else self._source
        return event

    def note(
        self,
        kind: str,
        text: str,
        entry: Json,
        *,
        block: str = "note",
        fields: Mapping[str, Json] | None = None,
    ) -> JsonObject:
        """A note that keeps what was found whole, in `entry`."""
        return self.event("note", block, {**(fields or {}), "kind": kind, "text": text, "entry": entry})


def call_id(value: Json, pi: JsonObject) -> str:
    """A tool call id that can stand as one; the original is put into `pi` when it cannot."""
    original = value if isinstance(value, str) else ""
    kept = kept_id(original, may_be_empty=True)
    if kept != original or not isinstance(value, str):
        pi["tool_call_id"] = value
        return Mended(kept)
    return kept
