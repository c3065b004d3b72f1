"""The command line: one click group, a module a command."""

import click

from turnledger.cli.append import append
from turnledger.cli.audit import audit
from turnledger.cli.db import db
from turnledger.cli.doctor import doctor
from turnledger.cli.explain import explain
from turnledger.cli.export import export
from turnledger.cli.front import DEFAULT_DATABASE, Front, FrontGroup
from turnledger.cli.import_ import import_
from turnledger.cli.lint import lint
from turnledger.cli.project import project
from turnledger.cli.record import record, recover
from turnledger.cli.refused import refused
from turnledger.cli.replay import replay_
from turnledger.cli.show import list_, show


@click.group(cls=FrontGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--db",
    "database",
    envvar="TURNLEDGER_DB",
    default=DEFAULT_DATABASE,
    show_default=True,
    metavar="URL",
    help="sqlite:///PATH or postgresql://…; TURNLEDGER_DB too.",
)
@click.option("--tenant", envvar="TURNLEDGER_TENANT", default="default", show_default=True, metavar="NAME")
@click.version_option(package_name="turnledger")
@click.pass_context
def main(ctx: click.Context, database: str, tenant: str) -> None:
    """Keep what AI agents did; show it, replay it to a provider, prove it."""
    ctx.obj = Front(database, tenant)


for command in (
    append,
    record,
    recover,
    import_,
    doctor,
    export,
    list_,
    show,
    replay_,
    refused,
    explain,
    lint,
    project,
    audit,
    db,
):
    main.add_command(command)
