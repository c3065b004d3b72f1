"""Two recorders of one conversation at the same moment: one records, the other is told, nothing mixes."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from ledger import Ledger
from ledger.errors import TurnBusy
from ledger.recorder import Recorder


def race(ledgers: tuple[Ledger, Ledger], conversation_id: str, name: str) -> None:
    gate, refused = threading.Barrier(2), threading.Event()

    def record(number: int) -> str:
        recorder = Recorder(ledgers[number], conversation_id)
        gate.wait(timeout=60)
        try:
            with recorder.turn("hi", turn_id=f"{name}-{number}") as turn:
                for _ in range(2):
                    with turn.begin_step() as step:
                        step.text("words ")
                    turn.flush()
                assert refused.wait(timeout=60), "the other one is refused while the turn runs"
        except TurnBusy as busy:
            refused.set()
            return f"busy with {busy.turn_id}"
        return "recorded"

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(record, range(2), timeout=120))
    winner = outcomes.index("recorded")
    assert outcomes[1 - winner] == f"busy with {name}-{winner}"


def test_two_recorders(engine_url: str) -> None:
    with Ledger.open(engine_url) as one, Ledger.open(engine_url) as other:
        for number in range(100):
            race((one, other), f"c{number % 2}", str(number))
        for name in ("c0", "c1"):
            events = [(recorded.turn_id, recorded.type) for recorded in one.read(name)]
            for at in range(0, len(events), 9):
                assert len({turn for turn, _ in events[at : at + 9]}) == 1, "no interleaving"
            assert [kind for _, kind in events].count("complete") == len(events) // 9
