"""Fixtures that all tests share: engines with a fresh database, ledgers, and how long a run may take."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres import PostgresServer

if TYPE_CHECKING:
    from ledger import Ledger

ENGINES = ("sqlite", "postgres")

# The machine may be shared: a slow example is not a wrong one. An ordinary run tells the same of the same code,
# wherever it runs; a long one looks for what nobody has seen.
settings.register_profile(
    "ordinary", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", settings.get_profile("ordinary"), derandomize=False, max_examples=2000)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long", action="store_true", help="full sizes: more crashes, bigger ledgers, more examples"
    )
    parser.addoption(
        "--examples", type=int, default=20_000, help="with --long: random ledgers that go to every target"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes minutes; runs only with --long")
    settings.load_profile("long" if config.getoption("--long") else "ordinary")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long"):
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="runs with --long"))


@pytest.fixture(scope="session")
def long_run(request: pytest.FixtureRequest) -> bool:
    """Whether the run was asked for full sizes."""
    return bool(request.config.getoption("--long"))


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """The one server of this run. Raises `NoPostgres`: without it half of the promises would go untested."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        with PostgresServer.start(fsync=False) as server:
            yield server
        return
    # Workers share one server: the first to come starts it, and it ends with their parent.
    shared = tmp_path_factory.getbasetemp().parent / "postgres.json"
    with os.fdopen(os.open(shared, os.O_RDWR | os.O_CREAT, 0o600), "r+") as state:
        fcntl.flock(state, fcntl.LOCK_EX)
        text = state.read()
        if not text:
            text = json.dumps(PostgresServer.start(fsync=False, owner=os.getppid()).admin)
            state.write(text)
    yield PostgresServer(admin=json.loads(text))


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """The URL of a fresh, empty PostgreSQL database."""
    with postgres.database() as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of a SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """The name of the engine that a test runs on, each in turn."""
    return str(request.param)


@pytest.fixture
def engine_url(engine: str, request: pytest.FixtureRequest) -> str:
    """The URL of a fresh, empty database, on each engine in turn."""
    return str(request.getfixturevalue(f"{engine}_url"))


@pytest.fixture
def ledger(engine_url: str) -> Iterator[Ledger]:
    """An open ledger in a fresh database, on each engine in turn."""
    from ledger import Ledger

    with Ledger.open(engine_url) as opened:
        yield opened
