"""`turnledger lint`: what a provider would refuse in a finished request, whoever made it."""

from typing import BinaryIO

import click

from ledger.events import Json
from replay.options import Target
from replay.providers.violations import violations
from turnledger.cli.captured import request_in
from turnledger.cli.front import Failure, emit, json_option, printable


@click.command("lint")
@click.argument("file", type=click.File("rb"))
@click.option("--to", "provider", required=True, metavar="TARGET", help="Whose wire format the request is in.")
@click.option("--model", help="The model that gets the request; else the one that the request names.")
@click.option("--api", help="The provider's api, where it has several.")
@click.option("--dialect", help="The variant of the format, as for `replay`; else by the model's name.")
@click.option("--prefix", is_flag=True, help="Judge it as the start of a conversation: its end may be open.")
@json_option
def lint(
    file: BinaryIO,
    provider: str,
    model: str | None,
    api: str | None,
    dialect: str | None,
    prefix: bool,
    as_json: bool,
) -> None:
    """Judge the request in FILE (one JSON object, `-` for stdin) by a provider's rules.

    Each rule that it breaks is named with the place and the mend. Exit 3 when there is any. The rules are in
    docs/providers.md.
    """
    request = request_in(file)
    named = request.get("model")
    if model is None and isinstance(named, str):
        model = named
    broken = violations(Target(provider, model, api, dialect=dialect), request, sendable=not prefix)
    if as_json:
        found: list[Json] = [dict(one._asdict()) for one in broken]
        emit({"target": provider, "model": model, "violations": found})
    else:
        for one in broken:
            click.echo(printable(f"{one.rule} at {one.where}: {one.message}"))
            click.echo(printable(f"  mend: {one.mend}"))
        if not broken:
            click.echo(f"no rule of {provider} is broken")
    if broken:
        rules = "rule is" if len(broken) == 1 else "rules are"
        raise Failure(f"{len(broken)} {rules} broken", exit_code=3)
