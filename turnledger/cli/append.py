"""`turnledger append`: canonical events from a file or stdin, a batch for each run of one conversation."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO

import click

from ledger.admission import parse_line
from ledger.errors import BadInput, BatchTooLarge, TurnledgerError
from ledger.events import MAX_BATCH, MAX_EVENT_BYTES, Event, Json
from ledger.store import Appended
from turnledger.cli.front import Failure, Front, emit, json_option, say


@dataclass
class Batch:
    """A run of lines of one conversation, from line `first`; a fault in one of them spoils them all."""

    conversation_id: str | None
    first: int
    events: list[Event] = field(default_factory=list)
    faults: list[TurnledgerError] = field(default_factory=list)


def batches(lines: Iterable[bytes], size: int | None) -> Iterator[Batch]:
    """Cut lines of JSON into batches; blank lines are skipped.

    A line that is no event belongs to the run it stands in. `size` cuts a run into batches of that many events.
    """
    batch: Batch | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            event = parse_line(line)
        except BadInput as error:
            batch = batch or Batch(None, number)
            batch.faults.append(error.at_line(number))
            continue
        if batch is not None and batch.conversation_id is None:
            batch.conversation_id = event.conversation_id  # only faults so far: they stand in this run
        if batch is None or batch.conversation_id != event.conversation_id or len(batch.events) == size:
            if batch is not None:
                yield batch
            batch = Batch(event.conversation_id, number)
        if len(batch.events) == MAX_BATCH and not batch.faults:
            too_many = BatchTooLarge(field="the batch", limit=MAX_BATCH, actual=MAX_BATCH + 1)
            batch.faults.append(too_many.at_line(number))
        if not batch.faults:
            batch.events.append(event)
    if batch is not None:
        yield batch


def lines_of(stream: IO[bytes]) -> Iterator[bytes]:
    """Lines as they end with a newline byte, and no other character; a line far over the limit is cut short."""
    while line := stream.readline(MAX_EVENT_BYTES + 3):
        if len(line) == MAX_EVENT_BYTES + 3 and not line.endswith(b"\n"):
            while (rest := stream.readline(1 << 20)) and not rest.endswith(b"\n"):
                pass  # the rest of a line that is refused for its size anyway
        yield line


@click.command("append")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--batch", "size", type=click.IntRange(1, MAX_BATCH), help="Cut runs into batches of N events.")
@click.option(
    "--known",
    type=click.Choice(["conflict", "skip"]),
    default="conflict",
    show_default=True,
    help="What a known event id is: an error unless the whole batch is a repeat, or left out.",
)
@click.option("--expected-version", type=click.IntRange(0), help="Refuse unless the conversation is at N.")
@json_option
@click.pass_obj
def append(
    front: Front, file: IO[bytes], size: int | None, known: str, expected_version: int | None, as_json: bool
) -> None:
    """Append events from FILE (default: stdin), one JSON object a line.

    Consecutive lines of one conversation are one batch, stored whole or not at all. Lines that are refused are
    named by number, and nothing more of that conversation is stored; others go on.
    """
    failed: set[str | None] = set()
    faults = 0
    with front.ledger(create=True) as ledger:
        for batch in batches(lines_of(file), size):
            errors: list[TurnledgerError] = list(batch.faults)
            if not errors and batch.conversation_id in failed:
                skipped = BadInput(
                    problem=f"{len(batch.events)} events of {batch.conversation_id} not stored: "
                    "an earlier batch of the conversation was refused"
                )
                errors = [skipped.at_line(batch.first)]
            if not errors and batch.conversation_id is not None:
                try:
                    done = ledger.append(batch.conversation_id, batch.events, expected_version, known)  # type: ignore[arg-type]
                except TurnledgerError as error:
                    errors = [error.at_line(batch.first)]
                else:
                    _receipt(batch.conversation_id, done, as_json)
                    expected_version = done.last_version if expected_version is not None else None
            if errors:
                failed.add(batch.conversation_id)
                faults += len(errors)
                _refusals(batch, errors, as_json)
    if faults:
        raise Failure(
            f"{faults} {'refusal' if faults == 1 else 'refusals'}; correct the input and append it again"
        )


def _receipt(conversation_id: str, done: Appended, as_json: bool) -> None:
    if as_json:
        emit({"conversation_id": conversation_id, **done._asdict()})
        return
    what = "nothing new" if done.first_version is None else f"versions {done.first_version}–{done.last_version}"
    if done.replayed:
        what += ", known already"
    if done.known:
        what += f", {done.known} known left out ({done.differing} of them differ)"
    if done.live:
        what += f", {done.live} live deltas not stored"
    click.echo(f"{conversation_id}: {what}")


def _refusals(batch: Batch, errors: list[TurnledgerError], as_json: bool) -> None:
    for error in errors:
        say(str(error))
        if as_json:
            detail: dict[str, Json] = {
                name: value
                for name, value in error.attributes.items()
                if isinstance(value, str | int | float) or value is None
            }
            emit(
                {
                    "conversation_id": batch.conversation_id,
                    "error": {"class": type(error).__name__, "message": error.message, **detail},
                }
            )
