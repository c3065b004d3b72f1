"""`turnledger db`: the schema, apart from first use."""

import click

from ledger.store.address import connect
from ledger.store.migrations import ComponentStatus, migrate, status
from turnledger.cli.front import COMPONENTS, Front, emit, json_option, table


@click.group("db")
def db() -> None:
    """The database's schema."""


@db.command("migrate")
@json_option
@click.pass_obj
def migrate_(front: Front, as_json: bool) -> None:
    """Bring the tables up to date; several processes may do so at once."""
    engine = connect(front.database, None)
    try:
        done = migrate(engine, COMPONENTS)
    finally:
        engine.close()
    if as_json:
        emit({"applied": list(done)})
    else:
        click.echo("\n".join(f"applied {step}" for step in done) or "up to date, nothing to do")


@db.command("status")
@json_option
@click.pass_obj
def status_(front: Front, as_json: bool) -> None:
    """Say how far the tables are; changes nothing."""
    engine = connect(front.database, None)
    try:
        found = status(engine, COMPONENTS)
        name = engine.database
    finally:
        engine.close()
    if as_json:
        emit(
            {"database": name, "components": [dict(one._asdict(), pending=list(one.pending)) for one in found]}
        )
        return
    click.echo(name)
    table(
        ("tables of", "schema", "newest", "state"),
        ((one.component, one.applied, one.known, _state(one)) for one in found),
    )


def _state(one: ComponentStatus) -> str:
    if one.applied > one.known:
        return "newer than this version knows: upgrade turnledger"
    return "up to date" if not one.pending else f"to do: {', '.join(one.pending)}"
