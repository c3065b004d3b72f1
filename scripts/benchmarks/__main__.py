"""`scripts/bench`: runs the benchmarks and prints what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click
from rich.console import Console

from scripts.benchmarks import (
    appending,
    folding,
    importing,
    memory,
    reading,
    recording,
    rendering,
    report,
    sharing,
    showing,
)
from scripts.benchmarks.measure import Figure
from scripts.benchmarks.settings import Settings

CASES: dict[str, Callable[[Settings], Iterator[Figure]]] = {
    "append-postgres": appending.append_postgres,
    "append-sqlite": appending.append_sqlite,
    "append-threads": sharing.append_threads,
    "encode": appending.encoding,
    "read-postgres": reading.read_postgres,
    "read-sqlite": reading.read_sqlite,
    "fold": folding.fold,
    "render": rendering.render,
    "go-on": rendering.go_on,
    "show-postgres": showing.show_postgres,
    "show-sqlite": showing.show_sqlite,
    "import": importing.importing,
    "memory": memory.memory,
    "record-loop": recording.recording,
    "record-stream": recording.stream,
}


@click.command(epilog=f"Names: {', '.join(CASES)}. A prefix names several: `append`.")
@click.argument("names", nargs=-1)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Interleaved rounds.")
@click.option(
    "--quick", is_flag=True, help="Small sizes and two rounds: to see that it works, not to be quoted."
)
@click.option("--json", "machine", is_flag=True, help="JSON instead of a table.")
def bench(names: tuple[str, ...], rounds: int, quick: bool, machine: bool) -> None:
    """Measure the ledger beside its peers, in the same run. Without NAMES, everything.

    Ratios are medians of each round's ratio. Of speeds, more is better (targets ≥); of times beside the bare
    decode, less is better (targets ≤).
    """
    unknown = [name for name in names if not any(case.startswith(name) for case in CASES)]
    if unknown:
        raise click.UsageError(f"there is no benchmark {unknown[0]!r}; there is: {', '.join(CASES)}")
    chosen = [case for case in CASES if not names or any(case.startswith(name) for name in names)]
    settings = Settings(2 if quick else rounds, quick)
    errors = Console(stderr=True)
    figures: list[Figure] = []
    try:
        for case in chosen:
            for figure in CASES[case](settings):
                figures.append(figure)
                ratio = "" if figure.ratio is None else f", {figure.ratio:.2f}× {figure.peer}"
                errors.print(
                    f"[dim]{figure.case}: {figure.contender} {figure.value:,.0f} {figure.unit}{ratio}[/]",
                    highlight=False,
                )
    finally:
        settings.close()
    if machine:
        click.echo(report.as_json(figures, settings))
    else:
        report.as_table(figures, Console(width=None if Console().is_terminal else 170))


if __name__ == "__main__":
    bench(prog_name="scripts/bench")
