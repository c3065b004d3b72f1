"""`turnledger list` and `turnledger show`: conversations, and the rows of one."""

from datetime import UTC, datetime

import click

from projections import html, markdown, text, view
from turnledger.cli.front import Front, emit, existing, json_option, printable, say, table


@click.command("list")
@click.option("--prefix", default="", help="Only conversations whose name begins so.")
@click.option("--limit", type=click.IntRange(1), help="At most N.")
@json_option
@click.pass_obj
def list_(front: Front, prefix: str, limit: int | None, as_json: bool) -> None:
    """List the conversations."""
    with front.ledger() as ledger:
        found = list(ledger.conversations(prefix=prefix, limit=limit))
    if as_json:
        emit(
            {
                "conversations": [
                    {
                        "conversation_id": one.conversation_id,
                        "version": one.version,
                        "created_at": _time(one.created_at),
                        "recorded_at": _time(one.recorded_at),
                        "source_conversation_id": one.source_conversation_id,
                        "source_version": one.source_version,
                    }
                    for one in found
                ]
            }
        )
        return
    table(
        ("conversation", "events", "last recorded", "branch of"),
        (
            (
                one.conversation_id,
                one.version,
                _time(one.recorded_at),
                f"{one.source_conversation_id} at {one.source_version}" if one.source_conversation_id else "",
            )
            for one in found
        ),
    )
    if not found:
        say("no conversations" + (f" beginning with {prefix!r}" if prefix else ""))


@click.command("show")
@click.argument("conversation")
@click.option("--at", type=click.IntRange(0), metavar="VERSION", help="As it was at that version.")
@click.option("--turns", is_flag=True, help="One message for each turn, its steps folded together.")
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the last N rows.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown", "html"]),
    default="text",
    show_default=True,
)
@json_option
@click.pass_obj
def show(
    front: Front, conversation: str, at: int | None, turns: bool, last: int | None, form: str, as_json: bool
) -> None:
    """Show the rows of a CONVERSATION: what was said, thought, called and answered."""
    with front.ledger() as ledger:
        existing(ledger, conversation)
        seen = view(ledger, conversation, at=at, last=last, turns=turns)
    if as_json or form == "json":
        emit(seen.as_json())
        return
    shown = {"markdown": markdown, "html": html}.get(form, text)
    click.echo(printable(shown(seen)), nl=False)
    if seen.pause is not None:
        say(f"shown up to version {seen.version}: {seen.pause}")


def _time(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1_000_000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
