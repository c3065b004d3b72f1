"""`turnledger replay diff`: where two requests part, or a captured one from what the ledger renders."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import click

from ledger.events import Json, JsonObject
from ledger.store import Ledger
from replay import Options, Result, replay
from replay.difference import Difference, Side, difference, difference_from
from turnledger.cli.asking import agent_option, target_options
from turnledger.cli.captured import name_of, request_in
from turnledger.cli.front import Failure, Front, emit, existing, json_option, printable
from turnledger.cli.telling import diagnostic_line


@click.command("diff")
@click.argument("conversation")
@target_options
@click.option(
    "--at",
    "versions",
    type=click.IntRange(0),
    multiple=True,
    metavar="VERSION",
    help="Twice: two versions. Once beside another side: both as they were then. Once alone: then and now.",
)
@click.option("--against", metavar="TARGET", help="A second target, with the model after a colon if any.")
@click.option("--request", "file", type=click.File("rb"), help="A captured request body; `-` for stdin.")
@agent_option
@json_option
@click.pass_obj
def diff(
    front: Front,
    conversation: str,
    target: JsonObject,
    versions: Sequence[int],
    against: str | None,
    file: BinaryIO | None,
    agent_id: str | None,
    as_json: bool,
) -> None:
    """Say where two requests of a CONVERSATION part: the message, the byte in it, and the events behind both.

    Two versions (`--at 10 --at 20`), two targets (`--against`), or a captured request and the ledger
    (`--request`). What stands beside the messages is compared first. Exit 0 when they are the same, 3 when not.
    """
    others = (against is not None) + (file is not None)
    if others > 1 or len(versions) + others > 2 or not (versions or others):
        raise click.UsageError("give two sides: --at once or twice, or --against TARGET, or --request FILE")
    options = Options(agent_id=agent_id)
    at = versions[0] if versions else None
    with front.ledger() as ledger:
        existing(ledger, conversation)
        if file is not None:
            right = _rendered(ledger, conversation, target, at, options)
            names = (name_of(file), f"the ledger at version {right.version}")
            found = difference_from(request_in(file), right)
        else:
            left = _rendered(ledger, conversation, target, at, options)
            other = target if against is None else _target(against)
            then = at if against is not None else versions[1] if len(versions) > 1 else None
            right = _rendered(ledger, conversation, other, then, options)
            names = (_side(left), _side(right))
            found = difference(left, right)
    if as_json:
        different: JsonObject | None = None if found is None else found.as_json()
        sides: list[Json] = [*names]
        emit({"conversation_id": conversation, "sides": sides, "same": found is None, "difference": different})
    elif found is None:
        click.echo(printable(f"{names[0]} and {names[1]} are the same"))
    else:
        for line in _told(found, names):
            click.echo(printable(line))
    if found is not None:
        raise Failure(f"{names[0]} and {names[1]} differ", exit_code=3)


class WithDiff(click.Command):
    """`replay ID …`, and `replay diff ID …`. A conversation `diff` is reached with an option before it."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        if args and args[0] == "diff":
            return diff.make_context(f"{info_name} diff", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


def _rendered(
    ledger: Ledger, conversation: str, target: JsonObject, at: int | None, options: Options
) -> Result:
    return replay(ledger.read(conversation, upto=at), conversation, target, options)


def _target(spelled: str) -> JsonObject:
    provider, _, model = spelled.partition(":")
    return {"provider": provider, "model": model} if model else {"provider": provider}


def _side(result: Result) -> str:
    model = f" {result.target.model}" if result.target.model else ""
    return f"version {result.version} for {result.target.provider}{model}"


def _told(found: Difference, names: tuple[str, str]) -> Iterator[str]:
    if found.beside is not None:
        yield f"beside the messages, {found.beside} differs at byte {found.offset}"
    else:
        part = "" if found.part is None else f", part {found.part},"
        yield f"message {found.message}{part} differs at byte {found.offset}"
    for name, side in zip(names, (found.left, found.right), strict=True):
        yield from _side_told(name, side)


def _side_told(name: str, side: Side) -> Iterator[str]:
    made = f" (versions {', '.join(map(str, side.versions))})" if side.versions else ""
    yield f"  {name}{made}: {'nothing there' if side.excerpt is None else side.excerpt}"
    for one in side.diagnostics:
        yield f"    ! {diagnostic_line(one)}"
