"""Runs the command line in this process, as a person or a machine would."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from click.testing import CliRunner

from turnledger.cli import main


@dataclass(frozen=True)
class Answer:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


class Desk:
    """The command line over one database."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __call__(self, *args: str, input: bytes | str | None = None) -> Answer:  # noqa: A002
        """Run a command. Fails when it leaves a traceback: an exception is no answer to a user."""
        done = CliRunner().invoke(main, ["--db", self.url, *args], input=input)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert "Traceback" not in done.stderr
        return Answer(done.exit_code, done.stdout, done.stderr)

    def append(self, *events: Mapping[str, Any]) -> Answer:
        return self("append", "-", "--json", input=lines(events))


def lines(events: Sequence[Mapping[str, Any]]) -> bytes:
    """The events as JSON Lines."""
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)
