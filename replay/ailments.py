"""Damage by its class: what an importer's findings and a plan's diagnostics come to, which fault of a runtime
is known to leave it, and what a replay does about it."""

from collections.abc import Iterable
from typing import NamedTuple

from ledger.intake.problems import Problem
from ledger.recorded import RecordedEvent
from replay.diagnostics import Diagnostic, meaning


class Ailment(NamedTuple):
    """One class of damage. `fault` is what is known to cause it, `replay` what is done about it."""

    name: str
    fault: str
    replay: str


class Symptom(NamedTuple):
    """One place where damage was found: `line` of the file, or the `version` in its conversation."""

    ailment: Ailment
    text: str
    line: int | None = None
    conversation_id: str | None = None
    version: int | None = None

    @property
    def where(self) -> str:
        """The place, in words."""
        if self.line is not None:
            return f"line {self.line}"
        return "the whole file" if self.version is None else f"{self.conversation_id} version {self.version}"


_TORN = Ailment(
    "torn tail",
    "the runtime was killed, or the disk was full, while it wrote its last line",
    "what is before it is taken in; the line is read when a longer version of the file completes it",
)
_SPLICED = Ailment(
    "spliced lines",
    "two writers, or a write after a torn line: records fused into one line without a newline",
    "the whole records in it are taken apart and taken in; fragments are kept as notes",
)
_UNREADABLE = Ailment(
    "lines that are no records",
    "a crash of the file system (runs of NUL), an editor, or another program's output in the file",
    "kept as notes: they are in no request",
)
_DOUBLED = Ailment(
    "duplicate records", "a retried write, or a file that was copied onto itself", "each is taken once"
)
_SAME_ID = Ailment(
    "duplicate ids",
    "a session that was copied or resumed by two processes; providers whose call ids start anew",
    "both are kept; a second call of an id is renamed with its result",
)
_TREE = Ailment(
    "broken parent links",
    "a compaction or resume that named a record which was never written",
    "the record follows the one before it in the file",
)
_CYCLE = Ailment(
    "cycles",
    "two writers of one session, or an edit by hand",
    "cut at its first record: a branch, or where it was written",
)
_WRITERS = Ailment(
    "two writers",
    "two processes went on with one session",
    "each one's records are kept on a branch of their own, or told apart by their session",
)
_DANGLING = Ailment(
    "dangling calls",
    "the process died, or was interrupted, between a call and its result",
    "answered by a stand-in that says that the outcome is unknown",
)
_OPEN = Ailment(
    "open calls",
    "the runtime is still at it, or its process died in the tool",
    "none yet: the request is not sendable before the call is answered, or its turn is ended (`recover`)",
)
_ORPHAN = Ailment(
    "orphan results",
    "the call was cut off by a compaction, a trim or a failed write, and its result stayed",
    "left out",
)
_RESULTS = Ailment(
    "duplicate results",
    "a retry of the tool, or a resumed run that ran it again",
    "the last before the next step",
)
_HOLLOW = Ailment(
    "hollow thinking",
    "a stream that was cut before the signature, or a proxy that drops it",
    "left out: it is never shown to a model as text",
)
_BLOCKS = Ailment(
    "block-count mismatch",
    "content was edited or filtered after its provider state was kept beside it",
    "that one message is sent as plain content, without signatures",
)
_ENDS = Ailment(
    "turns ended twice",
    "a runtime that reports an abort and an end, or a resumed turn",
    "the first end decides",
)
_GONE = Ailment(
    "records that are gone",
    "items that were popped or cleared, or a runtime that cleans up after itself",
    "what was taken in before stays in the ledger",
)
_REWRITTEN = Ailment(
    "changed while it was read",
    "the runtime, or an editor, cut the file or wrote it anew",
    "what was read is taken in; importing it again adds what is there now",
)
_CHAIN = Ailment(
    "changed after it was recorded", "somebody edited the database, or the disk failed", "as it stands"
)

BY_CODE: dict[str, Ailment] = {
    "torn_tail": _TORN,
    "damaged_document": _TORN,
    "spliced_line": _SPLICED,
    "malformed_line": _UNREADABLE,
    "malformed_row": _UNREADABLE,
    "not_an_object": _UNREADABLE,
    "line_too_long": _UNREADABLE,
    "doubled_line": _DOUBLED,
    "duplicate_id": _SAME_ID,
    "missing_parent": _TREE,
    "agent_without_call": _TREE,
    "no_parent": _TREE,
    "parent_cycle": _CYCLE,
    "second_header": _WRITERS,
    "header_not_first": _UNREADABLE,
    "two_writers": _WRITERS,
    "other_session": _WRITERS,
    "unmatched_tool_call": _DANGLING,
    "pending_tool_call": _OPEN,
    "unmatched_tool_result": _ORPHAN,
    "duplicate_tool_result": _RESULTS,
    "duplicate_call_id_renamed": _SAME_ID,
    "empty_thinking_skipped": _HOLLOW,
    "invalid_replay_state": _BLOCKS,
    "edited_content": _BLOCKS,
    "records_gone": _GONE,
    "changed_export": _CHAIN,
    "cut_export": _TORN,
    "torn_frame": _TORN,
    "changed_while_read": _REWRITTEN,
    "no_conversation": _UNREADABLE,
    "bad_event": _UNREADABLE,
    "tool_id_mismatch": _SAME_ID,
    "extra_terminal": _ENDS,
}
"""Class by the code of a problem or of a diagnostic; a code that is not here is no damage."""


def of_problem(problem: Problem) -> Symptom:
    """What an importer found; a code of its own that has no class yet is said as it is."""
    other = Ailment(problem.code.replace("_", " "), "not known", "what could be read is taken in")
    return Symptom(BY_CODE.get(problem.code, other), problem.text, problem.line)


def of_diagnostics(found: Iterable[Diagnostic], records: Iterable[RecordedEvent]) -> list[Symptom]:
    """What a plan of a conversation says that is damage; where its event came from a file, with the line."""
    events = {record.version: record for record in records}
    symptoms: list[Symptom] = []
    for one in found:
        ailment = BY_CODE.get(one.code)
        if ailment is None:
            continue
        record = events.get(one.version) if one.version is not None else None
        source = (record.event.source or {}) if record is not None else {}
        line = source.get("line")
        named = one.detail.get("tool_call_id")
        text = f"{meaning(one.code)}{f' ({named})' if isinstance(named, str) else ''}"
        conversation = record.conversation_id if record is not None else None
        symptoms.append(
            Symptom(ailment, text, line if isinstance(line, int) else None, conversation, one.version)
        )
    return symptoms


def of_chain(text: str, conversation_id: str | None, version: int | None) -> Symptom:
    """What a verification found."""
    return Symptom(_CHAIN, text, None, conversation_id, version)
