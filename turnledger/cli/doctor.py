"""`turnledger doctor`: what a file is, what is wrong with it, and what a replay will do about it."""

from dataclasses import replace
from itertools import groupby
from pathlib import Path

import click

from ledger.events import Json
from turnledger.cli.front import Failure, Front, emit, json_option, placed, printable, say
from turnledger.importing.examining import Examination, examine, examine_ledger, is_ledger
from turnledger.importing.files import Missing, session_files
from turnledger.importing.formats import AUTO, FORMATS, suffixes

_SHOWN = 5  # places of one class written out for people; --json has all


@click.command("doctor")
@click.argument("paths", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--format",
    "source_format",
    type=click.Choice([AUTO, *FORMATS]),
    default=AUTO,
    show_default=True,
    help="The runtime's format, where it cannot be told from the file.",
)
@json_option
@click.pass_obj
def doctor(front: Front, paths: tuple[str, ...], source_format: str, as_json: bool) -> None:
    """Look over transcripts of runtimes, or a ledger's own SQLite database, for damage; change nothing.

    Each class of damage is named with its places, with the fault of a runtime that is known to leave it, and
    with what a replay does about it. Exit 0 when healthy, 3 when damaged, 1 when a file cannot be read.
    """
    files = session_files(paths, (*suffixes(source_format), ".db"))
    found = [_examined(front, path, source_format) for path in files]
    if as_json:
        told: list[Json] = [one.as_json() for one in found]
        emit({"files": told})
    else:
        for one in found:
            _show(one)
    failed = [one for one in found if one.failure is not None]
    for one in failed:
        say(placed(one.file, one.failure or ""))
    damaged = sum(bool(one.symptoms) for one in found)
    if damaged:
        raise Failure(f"{damaged} of {len(found)} files {'is' if damaged == 1 else 'are'} damaged", exit_code=3)
    if failed:
        raise Failure(f"{len(failed)} of {len(found)} files could not be read")


def _examined(front: Front, path: Path | Missing, source_format: str) -> Examination:
    if isinstance(path, Missing):
        return Examination(path.path, failure=path.problem)
    if source_format == AUTO and is_ledger(path):
        with replace(front, database=f"sqlite:///{path.absolute()}").ledger() as ledger:
            return examine_ledger(ledger, str(path))
    return examine(path, source_format)


def _counted(number: int, name: str) -> str:
    return f"{number} {name}{'s'[: number != 1]}"


def _show(one: Examination) -> None:
    if one.failure is not None:
        return
    version = "" if one.version is None else f" {one.version}"
    held = f"{_counted(one.conversations, 'conversation')}, {_counted(one.events, 'event')}"
    lines = f", {_counted(one.lines, 'line')}" if one.lines else ""
    click.echo(printable(f"{one.file}: {one.format}{version}{lines}, {held}"))
    if not one.symptoms:
        click.echo("  healthy")
    ordered = sorted(one.symptoms, key=lambda symptom: symptom.ailment.name)
    for ailment, group in groupby(ordered, key=lambda symptom: symptom.ailment):
        symptoms = list(group)
        click.echo(printable(f"  {ailment.name}: {len(symptoms)}"))
        for symptom in symptoms[:_SHOWN]:
            click.echo(printable(f"    {symptom.where}: {symptom.text}"))
        if len(symptoms) > _SHOWN:
            click.echo(f"    and {len(symptoms) - _SHOWN} more; --json lists all")
        click.echo(printable(f"    known cause: {ailment.fault}"))
        click.echo(printable(f"    in a replay: {ailment.replay}"))
