"""SQL files: statements by name, each with its reason, spelled for the engine."""

from pathlib import Path

import pytest

import ledger.store
from ledger.store.statements import load_statements

SQL = Path(ledger.store.__file__).with_name("sql")


def test_names_parameters_and_comments(tmp_path: Path) -> None:
    file = tmp_path / "x.sql"
    file.write_text(
        "-- A file.\n\n-- name: one\n-- Why.\nSELECT a::text, :who\nFROM b -- c\n\n-- name: two\nSELECT 2\n"
    )
    assert load_statements("sqlite", file) == {"one": "SELECT a::text, :who\nFROM b -- c", "two": "SELECT 2"}
    assert load_statements("postgres", file)["one"] == "SELECT a::text, %(who)s\nFROM b -- c"


@pytest.mark.parametrize("text", ["SELECT 1", "-- name: a\nSELECT 1\n-- name: a\nSELECT 2"])
def test_a_file_that_is_wrong_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.sql"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"x\.sql"):
        load_statements("sqlite", file)


@pytest.mark.parametrize("file", sorted(SQL.glob("*.sql")), ids=lambda file: file.name)
def test_every_statement_says_what_it_is_for(file: Path) -> None:
    parts = file.read_text(encoding="utf-8").split("-- name: ")[1:]
    assert parts
    for part in parts:
        name, comment = part.splitlines()[:2]
        assert comment.startswith("-- "), f"{file.name}: {name} has no comment"
