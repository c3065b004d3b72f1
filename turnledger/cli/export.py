"""`turnledger export`: conversations as files, ours or for others."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from ledger.errors import BadInput
from ledger.events import Json
from ledger.store import Head, Ledger
from turnledger.cli.front import Failure, Front, existing, say
from turnledger.exporting.documents import FORMS, ONE, document
from turnledger.exporting.own_lines import own_lines, with_sources
from turnledger.exporting.redaction import Redaction, rules_of
from turnledger.exporting.shapes import Rule

OWN = "jsonl"
SPOOLED = 32 * 1024 * 1024
"""Bytes for standard output that are kept in memory before they go to a temporary file."""


@click.command("export")
@click.argument("conversations", metavar="CONVERSATION...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every conversation of the tenant.")
@click.option(
    "--format",
    "form",
    type=click.Choice([OWN, *FORMS]),
    default=OWN,
    show_default=True,
    help="jsonl is our own, which `import` takes back.",
)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="A file; without it, standard output.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option(
    "--redact", is_flag=True, help="Hide secrets, home folders, and what cannot be searched for them."
)
@click.option(
    "--redact-rules",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help='Further rules, as JSON: {"name": "regular expression", ...}; implies --redact.',
)
@click.pass_obj
def export(
    front: Front,
    conversations: tuple[str, ...],
    everything: bool,
    form: str,
    output: Path | None,
    force: bool,
    redact: bool,
    redact_rules: Path | None,
) -> None:
    """Give CONVERSATIONs back as a file.

    `jsonl` holds every event, with the conversations that these branched off from, and imports back to equal
    conversations. The other forms are documents: Markdown, one self-contained HTML page, the message lists of
    pydantic-ai and of the AI SDK.
    """
    if bool(conversations) == everything:
        raise click.UsageError("name conversations, or give --all")
    if output is not None and output.exists() and not force:
        raise Failure(f"{output} is there already; --force writes over it")
    redaction = Redaction(_rules(redact_rules)) if redact or redact_rules is not None else None
    with front.ledger() as ledger:
        names = [one.conversation_id for one in ledger.conversations()] if everything else list(conversations)
        heads = [existing(ledger, name) for name in names]
        if form in ONE and len(heads) != 1:
            raise click.UsageError(f"{form} holds one conversation a file, not {len(heads)}")
        if redaction is not None:
            _learn(ledger, heads, redaction)
        _write(_pieces(ledger, heads, form, redaction), output)
    if redaction is not None:
        counted = ", ".join(f"{number} {name}" for name, number in sorted(redaction.hidden.items()))
        say(f"hidden: {counted or 'nothing was found'}")


def _rules(path: Path | None) -> tuple[Rule, ...]:
    if path is None:
        return ()
    try:
        given: Json = json.loads(path.read_bytes())
    except (OSError, ValueError) as problem:
        raise BadInput(problem=f"{path.name}: {problem}") from None
    return rules_of(given)


def _learn(ledger: Ledger, heads: list[Head], redaction: Redaction) -> None:
    for head in with_sources(ledger, [one.conversation_id for one in heads]):
        for record in ledger.read(head.conversation_id, head.first_version - 1, head.version):
            redaction.learn(json.loads(record.body))


def _pieces(ledger: Ledger, heads: list[Head], form: str, redaction: Redaction | None) -> Iterator[bytes]:
    if form == OWN:
        yield from own_lines(ledger, with_sources(ledger, [one.conversation_id for one in heads]), redaction)
    else:
        yield document(ledger, heads, form, redaction).encode("utf-8", "backslashreplace")


def _write(pieces: Iterable[bytes], output: Path | None) -> None:
    """As a whole, or nothing at all."""
    if output is None:
        with tempfile.SpooledTemporaryFile(max_size=SPOOLED) as held:
            held.writelines(pieces)
            held.seek(0)
            with click.open_file("-", "wb") as stream:
                shutil.copyfileobj(held, stream)
        return
    try:
        handle, name = tempfile.mkstemp(dir=output.parent or Path(), prefix=f".{output.name}.")
    except OSError as problem:
        raise Failure(f"{output.parent}: {problem.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            for piece in pieces:
                file.write(piece)
        os.replace(name, output)
    except BaseException:
        os.unlink(name)
        raise
