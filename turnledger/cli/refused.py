"""`turnledger refused`: put a provider's refusal on record, so that the next request needs less."""

from typing import BinaryIO

import click

from ledger.events import Json, JsonObject
from ledger.recorded import RecordedEvent
from replay import Options, Target, refusal_note, replay
from turnledger.cli.asking import agent_option, target_options
from turnledger.cli.front import Failure, Front, emit, existing, json_option, printable


@click.command("refused")
@click.argument("conversation")
@click.argument("file", type=click.File("rb"), default="-")
@target_options
@agent_option
@json_option
@click.pass_obj
def refused(
    front: Front,
    conversation: str,
    file: BinaryIO,
    target: JsonObject,
    agent_id: str | None,
    as_json: bool,
) -> None:
    """Record that a provider refused the request for a CONVERSATION, with the error in FILE (default: stdin).

    FILE holds what came back, as it is: the message, the JSON body, or a gateway's wrapping of either. The next
    `replay` to that target and model starts on the rung that the refusal leaves. --rung says on which one the
    refused request stood; without it, on the one that `replay` would have chosen.
    """
    said = file.read().decode(errors="replace").strip()
    if not said:
        raise Failure("there is no error text; give what the provider answered, in FILE or on stdin")
    with front.ledger() as ledger:
        existing(ledger, conversation)
        stood = _stood(list(ledger.read(conversation)), conversation, target, agent_id)
        note, found = refusal_note(stood, said, agent_id)
        done = ledger.append(conversation, [note])
    if as_json:
        meant: dict[str, Json] = {
            "class": found.kind,
            "rules": list(found.rules),
            "refused": stood.rung,
            "rung": found.rung,
            "mend": found.mend,
        }
        emit({"conversation_id": conversation, "version": done.last_version, **meant})
        return
    rules = f" (rule {', '.join(found.rules)})" if found.rules else ""
    click.echo(printable(f"{found.kind}{rules}: {found.mend}"))
    if found.rung is None:
        click.echo(f"{stood.rung} is the last rung: the refusal is not about the history")
    else:
        click.echo(f"the next request to {stood.provider} starts on the rung {found.rung}, not {stood.rung}")


def _stood(events: list[RecordedEvent], conversation: str, target: JsonObject, agent_id: str | None) -> Target:
    """The target on the rung that the refused request stood on."""
    return replay(events, conversation, target, Options(agent_id=agent_id, fingerprints=False)).target
