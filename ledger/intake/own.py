"""Turnledger's own JSON Lines: what an export is made of, and conversations read from one again.

    {"turnledger": 1, "conversation_id": "c", "source_conversation_id": null, "source_version": null}
    one event a line, as it is stored, in order
    {"turnledger_end": "c", "events": 2, "sha256": "…"}

Conversations stand one after the other, sources before their branches. The last line of each says how many
events there were, and the SHA-256 of their lines: what was cut off or changed is told.
"""

import hashlib
from collections.abc import Iterator, Mapping

from ledger.admission import admit
from ledger.errors import BadInput, NotASession
from ledger.events import Json, JsonObject, json_bytes
from ledger.intake.found import Findings, Found, HasFindings, records
from ledger.intake.identity import made_id
from ledger.intake.linear import first_records
from ledger.intake.mending import as_text
from ledger.intake.sniffing import first_objects
from ledger.intake.transcript import ConversationStream, Format, Source
from ledger.recorded import EncodedEvent

FORMAT = "turnledger"
VERSION = 1


def opening(
    conversation_id: str, source: str | None, source_version: int | None, *, redacted: bool = False
) -> JsonObject:
    """The line before a conversation's own events."""
    head: JsonObject = {"turnledger": VERSION, "conversation_id": conversation_id}
    head |= {"source_conversation_id": source, "source_version": source_version}
    return {**head, "redacted": True} if redacted else head


def closing(conversation_id: str, events: int, digest: str) -> JsonObject:
    """The line behind them; `digest` is the SHA-256 of their lines, without line ends, as hex."""
    return {"turnledger_end": conversation_id, "events": events, "sha256": digest}


class OwnTranscript(HasFindings):
    """The conversations of one export."""

    version: int | str | None = VERSION

    def __init__(self, source: Source, name: str | None) -> None:
        self._source = source
        self._name = name
        self.findings = Findings()
        self._ahead: Found | None = None
        self.id = self.current = name or ""

    def streams(self) -> Iterator[ConversationStream]:
        """The conversations in their order; each must be read to its end before the next."""
        self.findings = Findings()
        found = records(self._source.lines(), self.findings)
        self._ahead = next(found, None)
        first = True
        while self._ahead is not None:
            head = self._ahead.value or {}
            if "turnledger" not in head:
                text = "stands before any conversation; left out"
                self.findings.problem("no_conversation", self._ahead.line, text, lost=True)
                self._ahead = next(found, None)
                continue
            stream = _Stream(self, found, head, self._name if first else None, self._ahead.line)
            self.id = self.id or stream.conversation_id
            self.current = stream.conversation_id
            first = False
            yield stream
            for _ in stream.events():  # whoever did not ask for them goes past them
                pass


class _Stream:
    """One conversation of an export."""

    def __init__(
        self, transcript: OwnTranscript, found: Iterator[Found], head: JsonObject, name: str | None, line: int
    ) -> None:
        self.conversation_id = name or as_text(head.get("conversation_id"))
        source, version = head.get("source_conversation_id"), head.get("source_version")
        self.source = source if isinstance(source, str) else None
        self.source_version = version if isinstance(version, int) else 0
        self._transcript = transcript
        self._found = found
        self._line = line
        self._read = False

    def events(
        self,
        stored: Mapping[str, int] | None = None,  # noqa: ARG002 - nothing here names versions
        head: int | None = None,  # noqa: ARG002
    ) -> Iterator[EncodedEvent]:
        """Its events as they were exported; a note stands in the place of what cannot be read."""
        if self._read:
            return
        self._read = True
        findings, digest, count = self._transcript.findings, hashlib.sha256(), 0
        for one in self._found:
            value = one.value
            if value is not None and "turnledger_end" in value:
                if value.get("sha256") != digest.hexdigest() or value.get("events") != count:
                    text = f"the events of {self.conversation_id} are not as they were exported"
                    findings.problem("changed_export", one.line, text)
                self._transcript._ahead = next(self._found, None)
                return
            if value is not None and "turnledger" in value:
                self._transcript._ahead = one
                break
            count += 1  # noqa: SIM113 - lines that close are none
            event = self._event(one, findings)
            digest.update(event.body if value is not None else one.raw or b"")
            yield event
        else:
            self._transcript._ahead = None
        text = f"{self.conversation_id} has no closing line: what was exported behind it is missing"
        findings.problem("cut_export", self._line, text, lost=True)

    def _event(self, one: Found, findings: Findings) -> EncodedEvent:
        value = one.value
        if value is not None:
            try:
                given: JsonObject = {**value, "conversation_id": self.conversation_id}
                return admit(given, self.conversation_id, "")._replace(body=json_bytes(given))
            except BadInput as error:
                findings.problem("bad_event", one.line, f"{error.message}; kept as a note", lost=True)
        name = made_id(FORMAT, self.conversation_id, one.digest.hex(), "note")
        entry: Json = value if value is not None else (one.raw or b"").decode(errors="replace")
        note: JsonObject = {"type": "note", "id": name, "kind": "damaged", "text": "a line that is no event"}
        source: JsonObject = {"format": FORMAT, "line": one.line, "sha256": one.digest.hex()}
        kept = {**note, "entry": json_bytes(entry).decode() if value is not None else entry, "source": source}
        return admit(kept, self.conversation_id, name)


def read(source: Source, name: str | None = None) -> OwnTranscript:
    """The conversations of an export; `name` is another name for the first.

    Raises `NotASession` where no line of its beginning opens one, or one of a later version does.
    """

    def found(findings: Findings) -> Iterator[Found]:
        return records(source.lines(), findings)

    heads = [
        value for one in first_records(found, FORMAT, source.name) if "turnledger" in (value := one.value or {})
    ]
    if not heads:
        raise NotASession(file=source.name, runtime=FORMAT, problem="no line opens a conversation")
    if heads[0]["turnledger"] != VERSION:
        problem = f"it is of version {heads[0]['turnledger']}, and this build reads {VERSION}"
        raise NotASession(file=source.name, runtime=FORMAT, problem=problem)
    return OwnTranscript(source, name)


def _looks_like(_name: str, head: bytes) -> bool:
    return any("turnledger" in value and "conversation_id" in value for value in first_objects(head, 1))


FILES = Format(FORMAT, "Turnledger's own export", (".jsonl",), read, _looks_like, own=True)
