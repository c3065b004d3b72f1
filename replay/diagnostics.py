"""Every code that a plan or a render can report: one table, and the diagnostics themselves.

A diagnostic is data about something left out, moved, renamed or mended. It is never an exception and never
blocks. `docs/diagnostics.md` is made from the table (`document`).
"""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ledger.events import Json, JsonObject
from ledger.recorded import RecordedEvent

Severity: TypeAlias = Literal["info", "warning"]


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of diagnostic: what it means and what, if anything, to do about it."""

    code: str
    severity: Severity
    meaning: str
    advice: str


@dataclass(slots=True)
class Diagnostic:
    """One finding: its code, the event that it is about, and the data needed to act (`detail`)."""

    code: str
    severity: Severity
    version: int | None
    event_id: str | None
    turn_id: str | None
    step_id: str | None
    detail: JsonObject = field(default_factory=dict)

    def as_json(self) -> JsonObject:
        """The shape of DESIGN.md 7.5."""
        return {
            "code": self.code,
            "severity": self.severity,
            "version": self.version,
            "event_id": self.event_id,
            "turn_id": self.turn_id,
            "step_id": self.step_id,
            "detail": self.detail,
        }


def diagnostic(code: str, record: RecordedEvent, step_id: str | None = None, **detail: Json) -> Diagnostic:
    """A diagnostic of `code` (which must be in the table) about one event.

    `step_id` names the step where the event itself does not (a result's step is that of its call).
    """
    return Diagnostic(
        code,
        SEVERITY[code],
        record.version,
        record.event_id,
        record.turn_id,
        record.step_id if step_id is None else step_id,
        detail,
    )


def _warning(code: str, meaning: str, advice: str) -> Code:
    return Code(code, "warning", meaning, advice)


def _info(code: str, meaning: str, advice: str = "Nothing.") -> Code:
    return Code(code, "info", meaning, advice)


CODES: tuple[Code, ...] = (
    _info(
        "after_terminal",
        "A replayed event was recorded after its turn had ended; it keeps its place.",
        "Nothing, unless the runtime should have stopped by then.",
    ),
    _warning(
        "block_order_assumed",
        "A step has two signed thinkings and not every block has a block_index: their order is a guess.",
        "Record block_index on every block; where a provider freezes thinking, the later ones are left out.",
    ),
    _warning(
        "compaction_clamped",
        "A compaction's through_version is at or above its own version; it counts as one below it.",
        "Give the version of the last event that the summary covers.",
    ),
    _info(
        "denied_tool_call",
        "A call was denied and did not run; it is answered by a result that says so.",
    ),
    _warning(
        "duplicate_call_id_renamed",
        "A tool call id is used twice in the request; this call and its result are renamed (detail.renamed).",
        "Nothing: ledger and views keep the recorded id.",
    ),
    _warning(
        "duplicate_tool_result",
        "A call has several final results; this one is not the one that is sent.",
        "Find out why the runtime records a result twice.",
    ),
    _warning(
        "edited_content",
        "A block is not what the digest recorded with it says; its signature and other state are not sent.",
        "Nothing, when the edit was meant; the block is sent as plain content.",
    ),
    _info("empty_text_skipped", "Empty text is left out; providers refuse it."),
    _info("empty_thinking_skipped", "Thinking without text, signature, data or metadata is left out."),
    _warning(
        "extra_terminal",
        "A turn that had already ended was ended again; the first terminal decides.",
        "End a turn once.",
    ),
    _warning(
        "invalid_replay_state",
        "A step's replay envelope cannot be used (detail.reason); that one message is sent as plain content.",
        "Nothing is lost but signatures; look at the writer of the envelope when it happens often.",
    ),
    _warning(
        "late_tool_result",
        "A result came after the next step's start; it is user text where it arrived, or hoisted on request.",
        "Wait for results before the next model call, or record progress until the final one.",
    ),
    _info("model_hidden_skipped", "A hidden event is never sent to a model."),
    _warning(
        "pending_tool_call",
        "A call may still be running; the request cannot be sent yet.",
        "Wait for its result, end the turn, or render with pending_calls=close.",
    ),
    _info(
        "prefix_changed",
        "An event changed what earlier requests had held, from detail.message on (detail.reason says how).",
        "Nothing: caches and thinking bound to the earlier requests are lost from that message on.",
    ),
    _info(
        "progress_as_result",
        "The history went on with progress alone; the last progress before that stands as the answer.",
    ),
    _info(
        "progress_skipped", "A progress result is not sent: another result answers the call, or none does yet."
    ),
    _info("retracted_skipped", "A rewind or an undo named this event; it is left out."),
    _warning(
        "retry_ignored",
        "retry_of names the step itself, a later one, or none of this turn (detail.retry_of).",
        "Name the step that this attempt replaces.",
    ),
    _warning(
        "signed_thinking_in_tool_turn_skipped",
        "Signed thinking is left out because a call of its turn has no step id: it cannot be placed safely.",
        "Record step ids.",
    ),
    _info(
        "superseded_step_skipped",
        "An attempt that was retried is left out (detail.versions).",
    ),
    _warning(
        "tool_id_mismatch",
        "A result names another tool than its call; the pair stays.",
        "Check the runtime's call ids: two calls may share one.",
    ),
    _warning(
        "unknown_event_skipped",
        "An event of a type that this version does not know is left out.",
        "Upgrade, if the type is from a newer version.",
    ),
    _warning(
        "unmatched_tool_call",
        "A call has no result and the history goes on; a stand-in answers it, or it is left out on request.",
        "Check whether the tool ran: its outcome is unknown.",
    ),
    _warning(
        "unmatched_tool_result",
        "A result belongs to no call before it; it is left out.",
        "Check the result's tool_call_id and turn_id.",
    ),
    _warning(
        "unreadable_event_skipped",
        "A stored event cannot be decoded (detail.problem); it is left out.",
        "Run audit verify; upgrade, if the event is from a newer version.",
    ),
)
"""The codes of the plan, by name; renderers add theirs (`register`)."""

SEVERITY: dict[str, Severity] = {entry.code: entry.severity for entry in CODES}
_BY_CODE: dict[str, Code] = {entry.code: entry for entry in CODES}


def register(*codes: Code) -> None:
    """Add a renderer's codes to the table; the same code twice must be the same entry.

    Raises `ValueError` when a code is taken by another meaning.
    """
    for code in codes:
        if _BY_CODE.setdefault(code.code, code) != code:
            raise ValueError(f"diagnostic code {code.code} has two meanings")
        SEVERITY[code.code] = code.severity


def codes() -> list[Code]:
    """Every code there is, those of renderers included, by name."""
    return [_BY_CODE[name] for name in sorted(_BY_CODE)]


def meaning(code: str) -> str:
    """What a code means, in a sentence; nothing for one that is not in the table."""
    entry = _BY_CODE.get(code)
    return entry.meaning if entry is not None else ""


def document() -> str:
    """The table as a Markdown page: `docs/diagnostics.md`."""
    lines = [
        "# Diagnostics",
        "",
        "A replay never fails over what a ledger holds. What it leaves out, moves, renames or mends it says,",
        "as data: a diagnostic has a `code`, a `severity` (`info` or `warning`), the `version` and `event_id`",
        "that it is about, `turn_id`, `step_id`, and a `detail` object. None of them blocks; whether a request",
        "can be sent is `sendable`.",
        "",
        "This page is made from the table in `replay/diagnostics.py` and the providers' additions.",
        "",
        "| code | severity | meaning | what to do |",
        "|---|---|---|---|",
    ]
    lines += (f"| `{entry.code}` | {entry.severity} | {entry.meaning} | {entry.advice} |" for entry in codes())
    return "\n".join(lines) + "\n"
