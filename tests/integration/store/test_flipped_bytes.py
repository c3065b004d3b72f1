"""A bit flipped anywhere in a SQLite file: verify says so, or it was where nothing of the ledger lies."""

import random
from pathlib import Path

import pytest

from ledger import Ledger
from ledger.errors import DatabaseError, TurnledgerError
from replay.audit import verify
from tests.contract.material import fork, several

Told = list[tuple[str, int, str, str, bytes, bytes]]


def told(ledger: Ledger) -> Told:
    """Everything that a reader is given."""
    return sorted(
        (event.conversation_id, event.version, event.event_id, event.type, event.header, event.body)
        for event in ledger.follow(all_tenants=True)
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_flipped_bit_is_found_or_does_no_harm(tmp_path: Path, seed: int, long_run: bool) -> None:
    path, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    with Ledger.open(f"sqlite:///{path}") as ledger:
        for name in ("a", "b"):
            for batch in range(6):
                ledger.append(name, several(name, *(f"{name}-{batch}-{n}" for n in range(4))))
        ledger.append("c", [fork("c", "a", 7), *several("c", "c-1")])
        whole = told(ledger)
    content = path.read_bytes()
    choose = random.Random(seed)
    places = [at for at, byte in enumerate(content) if byte]  # pages are mostly empty, and nothing lies there
    found = 0
    for _ in range(1000 if long_run else 60):
        flipped = bytearray(content)
        flipped[choose.choice(places)] ^= 1 << choose.randrange(8)
        copy.write_bytes(flipped)
        try:
            with Ledger.open(f"sqlite:///{copy}", create=False) as damaged:
                try:
                    seen = told(damaged)
                except (TurnledgerError, TypeError):
                    seen = []
                if verify(damaged).ok:
                    assert seen == whole
                    continue
        except DatabaseError:
            pass
        found += 1
    assert found > 20
