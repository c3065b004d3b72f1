"""The command line on each engine."""

from __future__ import annotations

import pytest

from tests.integration.cli.desk import Desk


@pytest.fixture
def desk(engine_url: str) -> Desk:
    return Desk(engine_url)
