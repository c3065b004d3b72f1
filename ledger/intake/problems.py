"""What an importer met that was not as it should be: data for the report, never an exception."""

from typing import NamedTuple


class Problem(NamedTuple):
    """One finding: a stable `code`, the line it was met on (from 1; None = the whole file) and a sentence.

    `lost` is True where something of the file could not be read; False where it was mended and nothing is
    missing.
    """

    code: str
    line: int | None
    text: str
    lost: bool

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" if self.line is not None else self.text
