"""`turnledger explain`: the events behind a row or a message, and what became of them."""

import re
from typing import cast

import click

from ledger.errors import BadInput
from ledger.events import JsonObject
from ledger.recorded import RecordedEvent
from projections import view
from replay import (
    Explanation,
    Options,
    Result,
    explain_event,
    explain_message,
    explain_versions,
    replay,
)
from turnledger.cli.asking import agent_option, target_options
from turnledger.cli.front import Front, emit, existing, json_option, printable

_SUBJECT = re.compile(r"(row|message|version):?(\d+)(?:[.-](\d+))?")


@click.command("explain")
@click.argument("conversation")
@click.argument("subject", required=False)
@target_options
@click.option("--at", type=click.IntRange(0), metavar="VERSION", help="As it was at that version.")
@agent_option
@json_option
@click.pass_obj
def explain(
    front: Front,
    conversation: str,
    subject: str | None,
    target: JsonObject,
    at: int | None,
    agent_id: str | None,
    as_json: bool,
) -> None:
    """Say which events made something of a CONVERSATION, and why anything recorded is missing.

    SUBJECT is `message:3` (or `message:3.1`, its part 1; both from 0), `row:3` (a row of `show`, from 0),
    `version:7` (or `version:7-9`), or an event id. Without it: every event, and what became of it.
    """
    with front.ledger() as ledger:
        existing(ledger, conversation)
        events = list(ledger.read(conversation, upto=at))
        rows = view(ledger, conversation, at=at).rows if subject and subject.startswith("row") else []
    answer = replay(events, conversation, target, Options(agent_id=agent_id))
    found = _found(answer, events, subject, rows)
    if as_json:
        about: JsonObject = {"conversation_id": conversation, "version": answer.version}
        emit({**about, "target": answer.target.as_json(), **found.as_json()})
    else:
        click.echo(printable(found.text()))


def _found(
    answer: Result, events: list[RecordedEvent], subject: str | None, rows: list[JsonObject]
) -> Explanation:
    if subject is None:
        if not events:
            return Explanation("no events yet", [])
        return explain_versions(answer, events, 1, answer.version)
    named = _SUBJECT.fullmatch(subject)
    if named is None:
        return explain_event(answer, events, subject)
    number, further = int(named[2]), None if named[3] is None else int(named[3])
    if named[1] == "message":
        return explain_message(answer, events, number, further)
    if named[1] == "version":
        return explain_versions(answer, events, number, further)
    if number >= len(rows):
        raise BadInput(problem=f"there is no row {number}: the view has {len(rows)}, from 0")
    row = rows[number]
    first, last = cast("list[int]", row["versions"])
    found = explain_versions(answer, events, first, last)
    named_by = row.get("tool_call_id") or row.get("step_id") or row.get("turn_id") or ""
    return Explanation(f"row {number}: {row['row']} {named_by}".rstrip(), found.fates, found.notes)
