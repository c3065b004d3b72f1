"""`turnledger import`: what runtimes wrote, taken in again and again without doubles."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from ledger.errors import DatabaseMissing
from ledger.events import Json
from ledger.intake.identity import is_id
from ledger.store import Ledger
from turnledger.cli.front import Failure, Front, emit, json_option, placed, say, table
from turnledger.importing.files import STDIN, Missing, session_files
from turnledger.importing.formats import AUTO, FORMATS, part_of, suffixes
from turnledger.importing.reports import FileReport, totals
from turnledger.importing.storing import import_file
from turnledger.importing.watching import Watched

_SHOWN = 20  # problems of one file written out for people; --json has all


@click.command("import")
@click.argument("source_format", metavar="FORMAT", type=click.Choice([AUTO, *FORMATS]))
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--dry-run", "dry", is_flag=True, help="Say what would be stored; store nothing.")
@click.option("--as", "name", metavar="NEW", help="Another name for the conversation (one session file only).")
@click.option("--watch", is_flag=True, help="Go on taking in what is written there, until interrupted.")
@click.option(
    "--every",
    type=click.FloatRange(0.05),
    default=1.0,
    show_default=True,
    help="Seconds between looks, with --watch.",
)
@json_option
@click.pass_obj
def import_(
    front: Front,
    source_format: str,
    paths: tuple[str, ...],
    dry: bool,
    name: str | None,
    watch: bool,
    every: float,
    as_json: bool,
) -> None:
    """Take in transcripts of a runtime: files, folders, globs, or `-`.

    FORMAT is the runtime's, or `auto` for what a file looks like. A file makes one conversation named as its
    session, and one more for every branch of its tree (`SESSION~ENTRY`), which forks where the branch left.
    Importing again, or importing a longer version of a file, adds only what is new.
    """
    if name is not None and not is_id(name):
        raise click.BadParameter("must be 1-200 characters without control characters", param_hint="--as")
    if watch:
        if dry or name is not None or "-" in paths:
            raise click.UsageError("--watch goes with neither --dry-run nor --as nor standard input")
        _watch(front, source_format, paths, every, as_json)
        return
    files = list(session_files(paths, suffixes(source_format), part_of(source_format)))
    if name is not None and len(files) > 1:
        raise click.UsageError(f"--as names one conversation, but the paths name {len(files)} files")
    reports: list[FileReport] = []
    with ExitStack() as stack:
        ledger = _ledger(front, dry, stack)
        bar = stack.enter_context(_bar(files, as_json))

        def progress(size: int) -> None:
            bar.advance(bar.task_ids[0], size)

        for file in files:
            if isinstance(file, Missing):
                report = FileReport(file.path, failure=file.problem)
            else:
                bar.update(bar.task_ids[0], file=file.name)
                report = import_file(ledger, source_format, file, name, dry, progress)
                report.file = str(file)
            reports.append(report)
            _say_problems(report)
    if as_json:
        files_json: list[Json] = [one.as_json() for one in reports]
        emit({"format": source_format, "dry_run": dry, "files": files_json, "totals": totals(reports)})
    else:
        _table(reports, dry)
    bad = sum(report.incomplete for report in reports)
    if bad:
        raise Failure(f"{bad} of {len(reports)} files could not be read whole; the rest was taken in")


def _watch(front: Front, source_format: str, paths: tuple[str, ...], every: float, as_json: bool) -> None:
    """Takes in what is there, then whatever is written, a line for each look that found something new.

    A file that cannot be read (yet) is said and looked at again when it has changed.
    """
    watched = Watched(paths, suffixes(source_format), part_of(source_format))
    said: dict[Path, tuple[object, ...]] = {}
    with front.ledger(create=True) as ledger, interrupted() as stop:
        while not stop.is_set():
            for file in watched.changed():
                if isinstance(file, Missing):
                    say(f"{file.path}: {file.problem}; looked at again until it can be read")
                    continue
                report = import_file(ledger, source_format, file, None, False, lambda _size: None)
                report.file = str(file)
                problems = (report.failure, *report.problems)
                if said.get(file) != problems:
                    said[file] = problems
                    _say_problems(report)
                for one in report.conversations:
                    if one.new and as_json:
                        emit({"file": str(file), **one.as_json()})
                    elif one.new:
                        click.echo(f"{one.conversation_id}: {one.new} new, {one.known} known  ({file})")
            sys.stdout.flush()
            stop.wait(every)


@contextmanager
def interrupted() -> Iterator[threading.Event]:
    """An event that is set by SIGINT or SIGTERM while the block runs; a second one ends the process."""
    stop = threading.Event()

    def take(number: int, _frame: object) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL)

    before = {number: signal.signal(number, take) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ledger(front: Front, dry: bool, stack: ExitStack) -> Ledger | None:
    """The ledger to fill; for a dry run the one that is there, None when there is none yet."""
    try:
        return stack.enter_context(front.ledger(create=not dry))
    except DatabaseMissing:
        if dry:
            return None
        raise


@contextmanager
def _bar(files: list[Path | Missing], as_json: bool) -> Iterator[Progress]:
    console = Console(stderr=True)
    columns = (TextColumn("{task.fields[file]}"), BarColumn(), TaskProgressColumn())
    total = sum(2 * _size(file) for file in files)  # each is read twice
    with Progress(*columns, console=console, transient=True, disable=as_json or not console.is_terminal) as bar:
        bar.add_task("import", total=total, file="")
        yield bar


def _size(file: Path | Missing) -> int:
    if isinstance(file, Missing) or file == STDIN:
        return 0
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _say_problems(report: FileReport) -> None:
    if report.failure is not None:
        say(placed(report.file, report.failure))
    for problem in report.problems[:_SHOWN]:
        say(f"{report.file}: {problem}")
    if (more := len(report.problems) - _SHOWN) > 0:
        say(f"{report.file}: and {more} more; --json lists all")


def _table(reports: list[FileReport], dry: bool) -> None:
    rows = [
        (
            f"{one.conversation_id}{' *' if one.current and len(report.conversations) > 1 else ''}",
            one.turns,
            one.steps,
            one.calls,
            one.notes,
            one.known,
            one.new,
        )
        for report in reports
        for one in report.conversations
    ]
    if rows:
        new = "would be new" if dry else "new"
        table(("conversation", "turns", "steps", "calls", "notes", "known", new), rows)
    if any(" *" in str(row[0]) for row in rows):
        click.echo("* the branch that the session goes on with")
    sums = totals(reports)
    shown = (
        "files",
        "conversations",
        "turns",
        "steps",
        "calls",
        "notes",
        "repaired",
        "known",
        "differing",
        "new",
    )
    click.echo(", ".join(f"{sums[what]} {what}" for what in shown))
    if sums["unplaced"]:
        click.echo(
            f"{sums['unplaced']} messages stand before what was recorded live: kept as notes, not as messages"
        )
