"""What each sample gives when it is imported, as docs/importing.md tells it.

`python -m tests.corpus.imports_page` writes the table anew, from the samples.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.imports import FIXTURES, SAMPLES
from turnledger.importing.reports import FileReport, totals
from turnledger.importing.storing import import_file

PAGE = Path(__file__).parents[2] / "docs" / "importing.md"
BEGIN, END = "<!-- samples -->\n", "<!-- end of samples -->\n"
COLUMNS = ("conversations", "turns", "steps", "calls", "notes", "repaired")


def report_of(name: str, path: str) -> FileReport:
    """What a sample would give an empty ledger."""
    return import_file(None, name, FIXTURES / path, None, True, lambda _: None)


def row(name: str, path: str) -> str:
    """A sample's line of the table."""
    report = report_of(name, path)
    sums = totals([report])
    found = sorted({problem.code.replace("_", " ") for problem in report.problems})
    cells = [name, f"`{path}`", *(str(sums[column]) for column in COLUMNS), ", ".join(found)]
    return f"| {' | '.join(cells)} |\n"


def table() -> str:
    """The table, between its marks."""
    head = ["format", "sample", *COLUMNS, "found"]
    lines = [f"| {' | '.join(head)} |\n", f"|{'---|' * len(head)}\n"]
    return BEGIN + "".join([*lines, *(row(name, path) for name, path in SAMPLES)]) + END


def written(page: str) -> str:
    """The part of a page that is the table."""
    found = re.search(f"{BEGIN}.*{END}", page, re.DOTALL)
    return found[0] if found else ""


if __name__ == "__main__":
    text = PAGE.read_text("utf-8")
    PAGE.write_text(text.replace(written(text), table()), "utf-8")
