"""`turnledger project`: run, inspect and rebuild the conversation views."""

import signal
import threading
from types import FrameType

import click

from ledger.events import Json, JsonObject
from projections import PROJECTIONS, Runner, delete, rebuild, status
from turnledger.cli.front import Failure, Front, emit, json_option, say, table


@click.group("project")
def project() -> None:
    """The read models: rows in tables, so that long conversations are shown at once."""


@project.command("run")
@click.option("--follow", is_flag=True, help="Go on with what is appended, until stopped.")
@json_option
@click.pass_obj
def run(front: Front, follow: bool, as_json: bool) -> None:
    """Fold what the views have not taken yet; once, or `--follow`."""
    stop = threading.Event()
    if follow:
        _stop_on_signals(stop)
    events = rows = 0
    with front.ledger(components=(PROJECTIONS,)) as ledger:
        runner = Runner(ledger)
        for page in runner.follow(stop) if follow else runner.catch_up():
            events, rows = events + page.events, rows + page.rows
            if follow and not as_json:
                say(f"{events} events, {rows} rows written")
    if as_json:
        emit({"events": events, "rows_written": rows})
    elif not follow:
        click.echo(f"{events} events folded, {rows} rows written")


@project.command("status")
@json_option
@click.pass_obj
def status_(front: Front, as_json: bool) -> None:
    """Say how far the views are behind, and which conversations wait at an event."""
    with front.ledger(components=(PROJECTIONS,)) as ledger:
        found = status(ledger)
    if as_json:
        emit(
            {
                "lag": sum(one.last - one.taken for one in found.lags),
                "books": [one._asdict() for one in found.lags],
                "paused": [
                    {"tenant": one.tenant, "conversation_id": one.conversation_id, **one.pause.as_json()}
                    for one in found.paused
                ],
            }
        )
        return
    behind = [one for one in found.lags if one.last != one.taken]
    lag = sum(one.last - one.taken for one in behind)
    click.echo(f"{lag} events behind, in {len(behind)} of {len(found.lags)} books")
    if behind:
        table(("book", "taken", "there are"), ((one.book, one.taken, one.last) for one in behind))
    for one in found.paused:
        say(f"{one.conversation_id} (tenant {one.tenant}) waits {one.pause}")


@project.command("rebuild")
@click.option("--delete", "anew", is_flag=True, help="Delete all rows first, instead of folding beside them.")
@json_option
@click.pass_obj
def rebuild_(front: Front, anew: bool, as_json: bool) -> None:
    """Fold every view again from its events; exit 3 where rows were not what their events say."""
    differing: dict[str, list[str]] = {}
    conversations = rows = 0
    with front.ledger(components=(PROJECTIONS,)) as ledger:
        if anew:
            delete(ledger)
        for one in rebuild(ledger):
            conversations, rows = conversations + 1, rows + one.rows
            if one.differing:
                differing[f"{one.tenant}/{one.conversation_id}"] = one.differing
        events = sum(page.events for page in Runner(ledger).catch_up())
    if as_json:
        named: JsonObject = {name: list[Json](ids) for name, ids in differing.items()}
        emit({"conversations": conversations, "rows": rows, "events_taken": events, "differing": named})
    else:
        click.echo(f"{conversations} conversations folded again, {rows} rows; {events} further events taken")
        for name, ids in differing.items():
            click.echo(f"{name}: {len(ids)} rows were not as their events say: {', '.join(ids[:10])}")
    if differing:
        raise Failure(f"{len(differing)} views differed from their events; they are right now", exit_code=3)


def _stop_on_signals(stop: threading.Event) -> None:
    def ask(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
