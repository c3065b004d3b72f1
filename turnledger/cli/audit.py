"""`turnledger audit`: prove that nothing was changed, or name what was."""

import click

from ledger.events import Json
from replay.audit import verify
from replay.sent import Sent, sent
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


@audit.command("sent")
@click.argument("conversation")
@click.option("--last", type=click.IntRange(1), metavar="N", help="Check the last N requests alone.")
@json_option
@click.pass_obj
def sent_(front: Front, conversation: str, last: int | None, as_json: bool) -> None:
    """Render again what each step of a CONVERSATION was sent, and compare it with the fingerprint on record.

    Steps whose `step_start` has no `request_fingerprint` are not looked at. Exit 3 when a request was another
    one than the ledger renders; `replay diff --request` says where, if the request was kept.
    """
    with front.ledger() as ledger:
        existing(ledger, conversation)
        found = sent(list(ledger.read(conversation)), conversation, last)
    different = sum(one.verdict == "different" for one in found)
    if as_json:
        emit({"conversation_id": conversation, "requests": [one.as_json() for one in found]})
    else:
        for one in found:
            click.echo(printable(f"version {one.version}, step {one.step_id}: {_verdict(one)}"))
        click.echo(f"{len(found)} requests with a fingerprint, {different} not as the ledger renders them")
    if different:
        raise Failure(f"{different} requests were not what the ledger renders", exit_code=3)


def _verdict(one: Sent) -> str:
    if one.verdict == "same":
        return "sent as rendered"
    if one.verdict == "unknown_target":
        return "not checked: its target is not known here (record request_target)"
    if one.messages is not None:
        return f"not as rendered: it ended before message {one.messages}"
    if one.as_of is not None:
        return f"not as rendered: it was the request of version {one.as_of}"
    return "not as rendered"
