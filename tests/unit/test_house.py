"""The house stands as drawn: imports run downward only, rooms are small, each package is typed."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FLOORS = ("ledger", "projections", "replay", "turnledger")  # each may import itself and what stands before it
MOST_LINES = 400
BANNED = {"utils", "util", "helpers", "helper", "manager", "base", "common", "misc"}
PURE = {  # rules: no I/O, clock or randomness
    "ledger/events.py",
    "ledger/admission.py",
    "ledger/assembler.py",
    "ledger/chain.py",
    "ledger/turns/encoding.py",
    "ledger/turns/lane.py",
    "ledger/turns/recording.py",
    "ledger/turns/sheet.py",
    "ledger/turns/stamps.py",
    "ledger/turns/step.py",
    "ledger/turns/writing.py",
    "projections/conversation.py",
    "replay/plan.py",
    "replay/materialize.py",
    "replay/diagnostics.py",
}
IMPURE = {"asyncio", "io", "os", "psycopg", "random", "secrets", "socket", "sqlite3", "subprocess"}
IMPURE |= {"threading", "time", "uuid"}


def modules(package: str) -> list[Path]:
    return sorted((REPOSITORY / package).rglob("*.py"))


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything that a module imports, wherever in it the import stands."""
    package = path.relative_to(REPOSITORY).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name
        elif isinstance(node, ast.ImportFrom):
            prefix = ".".join(package[: -node.level]) + "." if node.level else ""
            for name in node.names:
                yield node.lineno, f"{prefix}{node.module or ''}.{name.name}"


@pytest.mark.parametrize("package", FLOORS)
def test_imports_run_downward_only(package: str) -> None:
    above = set(FLOORS[FLOORS.index(package) + 1 :]) | {"tests", "scripts"}
    upward = [
        f"{path.relative_to(REPOSITORY)}:{line} imports {name}"
        for path in modules(package)
        for line, name in imported(path)
        if name.split(".")[0] in above
    ]
    assert not upward, "\n".join(upward)


def test_the_import_walk_sees_every_spelling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / "ledger" / "store"
    room.mkdir(parents=True)
    module = room / "m.py"
    module.write_text(
        "import replay.plan\ndef f():\n    from turnledger import cli\nfrom ..chain import head\n"
    )
    monkeypatch.setattr("tests.unit.test_house.REPOSITORY", tmp_path)
    assert sorted(name for _, name in imported(module)) == [
        "ledger.chain.head",
        "replay.plan",
        "turnledger.cli",
    ]


@pytest.mark.parametrize("path", sorted(PURE))
def test_the_core_is_pure(path: str) -> None:
    found = [
        f"{path}:{line} imports {name}"
        for line, name in imported(REPOSITORY / path)
        if name.split(".")[0] in IMPURE
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("package", FLOORS)
def test_rooms_hold_one_idea(package: str) -> None:
    sizes = {path: len(path.read_text("utf-8").splitlines()) for path in modules(package)}
    large = [
        f"{path.relative_to(REPOSITORY)}: {lines} lines" for path, lines in sizes.items() if lines > MOST_LINES
    ]
    assert not large, "\n".join(large)
    assert not [path for path in sizes if path.stem in BANNED]


@pytest.mark.parametrize("package", FLOORS)
def test_packages_are_typed_and_shipped(package: str) -> None:
    assert (REPOSITORY / package / "py.typed").is_file()
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    assert f"{package}*" in project["tool"]["setuptools"]["packages"]["find"]["include"]
    assert package in project["tool"]["mypy"]["packages"]


def test_every_invariant_names_tests_that_exist() -> None:
    page = (REPOSITORY / "docs" / "invariants.md").read_text("utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page)
    assert len(named) > 20
    for file, test in named:
        path = REPOSITORY / file
        assert path.is_file(), file
        assert not test or f"def {test}(" in path.read_text("utf-8"), f"{file}::{test}"
