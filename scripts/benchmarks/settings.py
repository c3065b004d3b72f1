"""What a run was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from tests.postgres import PostgresServer

T = TypeVar("T")


@dataclass
class Settings:
    """`quick` is for looking whether it works: smaller and fewer, not to be quoted."""

    rounds: int
    quick: bool = False
    _servers: list[PostgresServer] = field(default_factory=list)

    def pick(self, full: Sequence[T], *, quick: Sequence[T]) -> Sequence[T]:
        return quick if self.quick else full

    def size(self, full: int, *, quick: int) -> int:
        return quick if self.quick else full

    @cached_property
    def server(self) -> PostgresServer:
        """A PostgreSQL that syncs its commits, started when first asked for."""
        self._servers.append(PostgresServer.start(fsync=True))
        return self._servers[0]

    def close(self) -> None:
        for server in self._servers:
            server.stop()
