"""`turnledger audit`: prove that nothing was changed, or name what was."""

import click

from ledger.events import Json
from replay.audit import verify
from turnledger.cli.front import Failure, Front, emit, existing, json_option, printable


@click.group("audit")
def audit() -> None:
    """What happened, and proof that nobody changed it."""


@audit.command("verify")
@click.argument("conversation", required=False)
@json_option
@click.pass_obj
def verify_(front: Front, conversation: str | None, as_json: bool) -> None:
    """Recompute the chain of a CONVERSATION, or of every one in the database, and check every place.

    Exit 3 when anything was changed, moved, taken out or put in; each conversation's first bad event is named.
    """
    with front.ledger() as ledger:
        if conversation is not None:
            existing(ledger, conversation)
        found = verify(ledger, conversation)
    if as_json:
        findings: list[Json] = [dict(one._asdict()) for one in found.findings]
        emit({"conversations": found.conversations, "events": found.events, "findings": findings})
    else:
        for one in found.findings:
            click.echo(printable(f"{one.kind}: {one}"))
        if not found.findings:
            click.echo(f"{found.events} events of {found.conversations} conversations: nothing was changed")
    if found.findings:
        raise Failure(f"{len(found.findings)} of what was checked is not as it was recorded", exit_code=3)
