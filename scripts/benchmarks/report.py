"""The report: a table for people, JSON for machines."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from scripts.benchmarks.measure import Figure
from scripts.benchmarks.settings import Settings


def as_json(figures: Sequence[Figure], settings: Settings) -> str:
    """One JSON object: how it was run, and every figure."""
    machine: dict[str, Any] = {
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
    }
    return json.dumps(
        {
            "rounds": settings.rounds,
            "quick": settings.quick,
            "machine": machine,
            "figures": [figure.as_json() for figure in figures],
        },
        indent=2,
    )


def as_table(figures: Sequence[Figure], console: Console) -> None:
    """A line a figure; the ratio with its range over the rounds, and whether its target was met."""
    table = Table(title=None, header_style="bold", pad_edge=False)
    for name in ("case", "contender"):
        table.add_column(name)
    for name in ("figure", "beside", "ratio", "target", ""):
        table.add_column(name, justify="right" if name != "beside" else "left")
    table.add_column("note", overflow="fold")
    case = ""
    for figure in figures:
        if case and figure.case != case:
            table.add_section()
        table.add_row(
            figure.case if figure.case != case else "",
            figure.contender,
            f"{figure.value:,.0f} {figure.unit}" if figure.value >= 10 else f"{figure.value:.1f} {figure.unit}",
            figure.peer or "",
            _ratio(figure),
            str(figure.target) if figure.target else "",
            {None: "", True: "[green]met[/]", False: "[red]missed[/]"}[figure.met],
            figure.note,
        )
        case = figure.case
    console.print(table)
    judged = [figure for figure in figures if figure.met is not None]
    missed = sum(1 for figure in judged if not figure.met)
    console.print(f"{len(judged) - missed} of {len(judged)} targets met")


def _ratio(figure: Figure) -> str:
    if figure.ratio is None:
        return "" if figure.growth is None else f"{figure.growth:+,.0f} {figure.unit}"
    return f"{figure.ratio:.2f}× [dim]({figure.low:.2f}–{figure.high:.2f})[/]"
