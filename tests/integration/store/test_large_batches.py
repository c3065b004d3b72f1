"""A batch too large for one message to the server is stored in several calls, and still whole or not at all."""

import pytest

from ledger import Ledger
from ledger.errors import IdConflict
from ledger.store import postgres
from replay.audit import verify
from tests.contract.material import assert_gapless, ids, said, several


def test_a_batch_in_several_calls_is_one_batch(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "CALL_BYTES", 1000)
    with Ledger.open(postgres_url) as ledger:
        for name in ("new", "new", "other"):
            start = len(list(ledger.read(name))) if ledger.head(name) else 0
            batch = [said(name, f"{name}-{start + n}", "x" * 150 * n) for n in range(12)]
            receipt = ledger.append(name, batch, expected_version=start)
            assert (receipt.first_version, receipt.last_version) == (start + 1, start + 12)
            assert (receipt.last_position or 0) - (receipt.first_position or 0) == 11
            assert ledger.append(name, batch) == receipt._replace(replayed=True)
        assert_gapless(list(ledger.follow()))
        assert verify(ledger).ok


def test_a_late_part_that_fails_takes_all_back(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.open(postgres_url) as ledger:
        ledger.append("c", several("c", "known"))
        monkeypatch.setattr(postgres, "CALL_BYTES", 100)
        with pytest.raises(IdConflict):
            ledger.append("c", several("c", *"abcdefgh", "known"))
        assert ids(ledger.read("c")) == ["known"]
        ledger.append("c", several("c", *"abcdefgh"))
        assert_gapless(list(ledger.follow()))
        assert verify(ledger).ok
