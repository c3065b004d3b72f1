"""A process that records turn after turn and says what it was told is stored: for kills.

`python -m tests.recording_worker URL CONVERSATION SEED`. Prints `ready`, waits for a line, then records
turns with streaming steps and tools until it is killed; one JSON line after every wait that returned: the
step that is stored by then.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time


def main(url: str, conversation_id: str, seed: int) -> None:
    from ledger import Ledger
    from ledger.recorder import Recorder

    choose = random.Random(seed)

    def stream(step: object, count: int) -> None:
        for number in range(count):
            step.text(f"word{number} ")  # type: ignore[attr-defined]
            if choose.random() < 0.3:
                time.sleep(choose.random() * 0.01)

    with Ledger.open(url) as ledger:
        recorder = Recorder(ledger, conversation_id, lease_seconds=3600)
        os.write(1, b"ready\n")
        sys.stdin.readline()
        for number in range(1_000_000):
            turn_id = f"turn{number}"
            with recorder.turn(f"question {number}", turn_id=turn_id) as turn:
                for place in range(choose.randint(1, 4)):
                    with turn.begin_step(f"{turn_id}/step{place}") as step:
                        if choose.random() < 0.5:
                            step.thinking("hm " * choose.randint(1, 50))
                        stream(step, choose.choice([5, 40, 400]))
                        step.call(f"call{place}", "roll", {"n": place})
                    with turn.tool(f"call{place}") as tool:
                        tool.result(choose.randint(1, 6))
                    turn.flush().wait()
                    told = {"turn": turn_id, "step": f"{turn_id}/step{place}"}
                    os.write(1, json.dumps(told).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
