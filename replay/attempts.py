"""Attempts that were retried (DESIGN.md 7.2 rule 11): which of them are left out, and how that is said."""

from ledger.events import Json
from replay.answers import Answers
from replay.findings import Findings
from replay.items import Call, Step, is_nothing
from replay.reading import Reading


def superseded(reading: Reading, findings: Findings) -> set[Step]:
    """The steps that a retry or a retryable error names, but for those that stay.

    One stays when a call of it was answered (a side effect happened), and comes back when its turn is over and
    no later step of the turn has a block.
    """
    found: set[Step] = set()
    gone = findings.gone
    for turn in reading.turns.values():
        if not turn.retried:
            continue
        later_block = False
        for step in reversed(turn.steps):
            if step.replaced_by is not None and any(
                not gone(record, turn.named.get(record.step_id or "")) for record in step.replaced_by
            ):
                over = turn.terminal is not None or reading.user_after(turn.turn_id, step.version)
                answered = any(isinstance(block, Call) and block.answered for block in step.blocks)
                if not answered and (later_block or not over):
                    found.add(step)
            later_block = later_block or any(
                not is_nothing(block) and not gone(block.record, step) for block in step.blocks
            )
    return found


def report_superseded(step: Step, cut: int, findings: Findings, answers: Answers) -> None:
    """One diagnostic an attempt, naming the versions that go with it; none for what the cut removes."""
    mark = len(findings.diagnostics)
    versions: list[int] = []
    for block in step.blocks:
        if findings.any_gone and answers.taken_back(block):
            continue
        versions.append(block.version)
        if isinstance(block, Call):
            for records in (block.progress, block.unused):
                versions += (record.version for record in records or ())
    if step.version <= cut and max(versions, default=0) <= cut:
        del findings.diagnostics[mark:]
    elif versions:
        said: list[Json] = [*sorted(versions)]
        findings.say("superseded_step_skipped", step.record, step.step_id, versions=said)
