"""The schema, in numbered steps: `migrations/{engine}/NNNN_name.sql`, applied in order, once each, under a
lock.

Each room that keeps tables has a component of its own with its own numbers. What is applied is written in the
database, so that a newer one is refused and an older one is brought up to date on first use.
"""

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ledger.errors import DatabaseMissing, SchemaTooNew
from ledger.store.engine import Engine

_FILE = re.compile(r"(\d{4})_(\w+)\.sql")


class Migration(NamedTuple):
    """One step: its number (from 1), its name, and its SQL."""

    number: int
    name: str
    text: str


class Component(NamedTuple):
    """A room's tables: its name, and the folder that holds `sqlite/` and `postgres/` with the numbered
    files."""

    name: str
    folder: Path

    def migrations(self, engine: str) -> list[Migration]:
        """The steps for an engine, in order. Raises `ValueError` when the numbers have a gap."""
        found = []
        for file in sorted((self.folder / engine).glob("*.sql")):
            if (named := _FILE.fullmatch(file.name)) is None:
                raise ValueError(f"{file.name} is not named NNNN_name.sql")
            found.append(Migration(int(named[1]), named[2], file.read_text(encoding="utf-8")))
        if [migration.number for migration in found] != list(range(1, len(found) + 1)):
            raise ValueError(f"the migrations in {self.folder / engine} are not numbered 1, 2, 3 …")
        return found


LEDGER = Component("ledger", Path(__file__).with_name("migrations"))


class ComponentStatus(NamedTuple):
    """How far a component's tables are: `applied` is the number in the database, `known` the newest here."""

    component: str
    applied: int
    known: int
    pending: Sequence[str]
    """The names of the steps still to run, as NNNN_name."""


def status(engine: Engine, components: Sequence[Component] = (LEDGER,)) -> list[ComponentStatus]:
    """How far each component is. Raises `DatabaseError` classes; a database without tables has applied
    nothing."""
    applied = engine.applied()
    found = []
    for component in components:
        known = component.migrations(engine.name)
        done = applied.get(component.name, 0)
        pending = [f"{step.number:04}_{step.name}" for step in known if step.number > done]
        found.append(ComponentStatus(component.name, done, len(known), pending))
    return found


def migrate(engine: Engine, components: Sequence[Component] = (LEDGER,)) -> list[str]:
    """Bring the tables up to date; gives what was applied, as component/NNNN_name. Several may call it at once.

    Raises `SchemaTooNew` when the database is ahead of this version.
    """
    _refuse_newer(engine, engine.applied(), components)
    done: list[str] = []
    with engine.migrating() as connection:
        applied = engine.applied_in(connection)  # another process may have been quicker
        _refuse_newer(engine, applied, components)
        for component in components:
            for step in component.migrations(engine.name)[applied.get(component.name, 0) :]:
                engine.run_script(connection, step.text)
                connection.execute(
                    engine.statements["add_migration"],
                    {
                        "component": component.name,
                        "number": step.number,
                        "name": step.name,
                        "now": time.time_ns() // 1000,
                    },
                )
                done.append(f"{component.name}/{step.number:04}_{step.name}")
        engine.found(connection)
    return done


def ensure(engine: Engine, components: Sequence[Component], create: bool) -> None:
    """Make a database ready for use: up to date, or made when it is empty and `create` is true.

    Raises `DatabaseMissing` when it is empty and must not be made, `SchemaTooNew` when it is ahead.
    """
    applied = engine.applied()
    if not applied.get(LEDGER.name) and not create:
        raise DatabaseMissing(database=engine.database)
    _refuse_newer(engine, applied, components)
    if any(applied.get(each.name, 0) < len(each.migrations(engine.name)) for each in components):
        migrate(engine, components)


def _refuse_newer(engine: Engine, applied: Mapping[str, int], components: Sequence[Component]) -> None:
    for component in components:
        known = len(component.migrations(engine.name))
        if applied.get(component.name, 0) > known:
            raise SchemaTooNew(database=engine.database, actual=applied[component.name], known=known)
