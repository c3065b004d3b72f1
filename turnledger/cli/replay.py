"""`turnledger replay`: the request for the next model call, with what was mended beside the messages."""

import click

from ledger.events import JsonObject
from replay import Options, replay
from turnledger.cli.asking import agent_option, target_options
from turnledger.cli.diff import WithDiff
from turnledger.cli.front import Failure, Front, emit, existing, json_option, printable
from turnledger.cli.telling import told, why_not_sendable


@click.command("replay", cls=WithDiff)
@click.argument("conversation")
@target_options
@click.option("--at", type=click.IntRange(0), metavar="VERSION", help="As it was at that version.")
@agent_option
@click.option(
    "--unanswered-calls",
    type=click.Choice(["synthesize", "drop"]),
    default="synthesize",
    show_default=True,
    help="Answer a call without a result by a stand-in, or leave the call out.",
)
@click.option(
    "--late-results",
    type=click.Choice(["append", "hoist"]),
    default="append",
    show_default=True,
    help="Results that came after the next step: as user text where they arrived, or at their call.",
)
@click.option(
    "--pending-calls",
    type=click.Choice(["refuse", "close"]),
    default="refuse",
    show_default=True,
    help="A call that may still be running: the request waits for it, or it counts as unanswered.",
)
@click.option("--require-sendable", is_flag=True, help="Exit 1 when the request cannot be sent as it stands.")
@json_option
@click.pass_obj
def replay_(
    front: Front,
    conversation: str,
    target: JsonObject,
    at: int | None,
    agent_id: str | None,
    unanswered_calls: str,
    late_results: str,
    pending_calls: str,
    require_sendable: bool,
    as_json: bool,
) -> None:
    """Replay a CONVERSATION into the messages of a provider's request.

    What had to be left out, moved, renamed or mended stands beside the message it belongs to.
    `turnledger replay diff` says where two requests part.
    """
    options = Options(
        unanswered_calls=unanswered_calls,  # type: ignore[arg-type]
        late_results=late_results,  # type: ignore[arg-type]
        pending_calls=pending_calls,  # type: ignore[arg-type]
        agent_id=agent_id,
    )
    with front.ledger() as ledger:
        existing(ledger, conversation)
        answer = replay(ledger.read(conversation, upto=at), conversation, target, options)
    if as_json:
        emit(answer.as_json())
    else:
        for line in told(answer):
            click.echo(printable(line))
    if require_sendable and not answer.sendable:
        raise Failure(f"the request for {conversation} is not sendable: {why_not_sendable(answer)}")
