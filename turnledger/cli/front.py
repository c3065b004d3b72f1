"""The front of every command: where the ledger is, how errors leave, how answers are printed."""

import difflib
import errno
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ledger.errors import TurnledgerError, UnknownConversation
from ledger.events import Json
from ledger.store import Component, Head, Ledger
from ledger.store.migrations import LEDGER
from projections import PROJECTIONS

DEFAULT_DATABASE = "sqlite:///turnledger.db"
COMPONENTS = (LEDGER, PROJECTIONS)

_NOT_SHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

Command = TypeVar("Command", bound=Callable[..., object])


@dataclass(frozen=True)
class Front:
    """What the options before the command said."""

    database: str
    tenant: str

    def ledger(self, *, create: bool = False, components: Sequence[Component] = ()) -> Ledger:
        """The ledger that the options name; `create` makes its database where there is none.

        Raises `DatabaseMissing` and the other `DatabaseError`s of `Ledger.open`.
        """
        return Ledger.open(self.database, tenant=self.tenant, create=create, components=components)


class Failure(click.ClickException):
    """One clear line on stderr and the exit code that belongs to it."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]  # click reads the instance

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"turnledger: {printable(self.message)}", file=file or sys.stderr)


class FrontGroup(click.Group):
    """A command group whose errors are single lines: exit 1 for what could not be done, 2 for usage."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except TurnledgerError as error:
            raise Failure(str(error), error.exit_code) from error

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.ClickException as failure:
            failure.show()
            sys.exit(failure.exit_code)
        except (click.Abort, KeyboardInterrupt):
            sys.exit(130)
        except OSError as error:
            if error.errno != errno.EPIPE:
                Failure(f"{error.filename or 'input'}: {error.strerror or error}").show()
                sys.exit(1)
            _leave_broken_pipe()
        sys.exit(code if isinstance(code, int) else 0)


def _leave_broken_pipe() -> NoReturn:
    """The reader of our output went away: nothing is left to say."""
    sys.stdout = sys.stderr
    sys.exit(1)


def json_option(command: Command) -> Command:
    """`--json`: one JSON object for machines instead of text for people."""
    return click.option("--json", "as_json", is_flag=True, help="Answer with JSON.")(command)


def emit(answer: Mapping[str, Json]) -> None:
    """Print one JSON object on a line of its own; lone surrogates leave as escapes."""
    text = json.dumps(answer, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(answer)
    click.echo(text)


def printable(text: str) -> str:
    """`text` for a terminal: what could act on it (controls, direction marks, lone surrogates) as escapes."""
    return _NOT_SHOWN.sub(lambda match: ascii(match[0])[1:-1], text)


def say(message: str) -> None:
    """Print one line of progress or warning on stderr."""
    click.echo(printable(message), err=True)


def placed(path: str, failure: str) -> str:
    """Why a file could not be read, with its path where the sentence begins with its name."""
    name = Path(path).name
    for known in (name, Path(name).stem):  # what was compressed is named as it was before
        if failure.startswith(f"{known} "):
            return f"{path}{failure[len(known) :]}"
    return f"{path}: {failure}"


def table(headings: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a table on stdout, coloured only where a person reads it."""
    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console.width = 10_000  # a file or a pipe has no edge: ids stay whole
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        drawn.add_column(heading, overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(printable(str(cell))) for cell in row))
    console.print(drawn)


def existing(ledger: Ledger, conversation_id: str) -> Head:
    """The head of a conversation that must be there.

    Raises `UnknownConversation` with names near the one that was asked for.
    """
    head = ledger.head(conversation_id)
    if head is not None:
        return head
    names = [one.conversation_id for one in ledger.conversations()]
    near = difflib.get_close_matches(conversation_id, names, n=3, cutoff=0.5)
    near += [name for name in names if name.startswith(conversation_id) and name not in near][: 3 - len(near)]
    if near:
        hint = f"; near names: {', '.join(near)}"
    elif names:
        hint = "; `turnledger list` shows what there is"
    else:
        hint = "; the ledger is empty, `turnledger append` or `import` fill it"
    raise UnknownConversation(conversation_id=conversation_id, hint=hint)
