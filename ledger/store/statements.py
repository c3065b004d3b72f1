"""Named SQL statements, read from `.sql` files: SQL is code, and lies where an editor and a reviewer see it
as such.

A file holds statements, each under a line `-- name: NAME` and a comment that says what it is for.
Parameters are written `:name` and become what the engine's driver wants.
"""

import re
from pathlib import Path

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")


def load_statements(engine: str, *files: Path) -> dict[str, str]:
    """The statements of `files` by name, their parameters as engine "sqlite" or "postgres" takes them.

    Raises `ValueError` when a name comes twice or text stands before the first name.
    """
    found: dict[str, str] = {}
    for file in files:
        before, *parts = _NAME.split(file.read_text(encoding="utf-8"))
        if any(line and not line.startswith("--") for line in before.splitlines()):
            raise ValueError(f"{file.name}: SQL before the first name")
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            if name in found:
                raise ValueError(f"{file.name}: the statement {name} is there twice")
            found[name] = _spell(engine, text)
    return found


def _spell(engine: str, text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("--")]
    statement = "\n".join(lines)
    return _PARAMETER.sub(r"%(\1)s", statement) if engine == "postgres" else statement
