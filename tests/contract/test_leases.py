"""Leases: one recorder a lane, fenced; what may be appended beside it; dead turns are closed (DESIGN.md 4)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from ledger import Ledger
from ledger.errors import LeaseLost, TurnBusy
from ledger.events import json_bytes
from ledger.store.leases import Piece
from tests.writer import ROOT


def types(ledger: Ledger, conversation_id: str = "c") -> list[str]:
    return [recorded.type for recorded in ledger.read(conversation_id)]


def event(kind: str, turn_id: str = "t", **fields: object) -> dict[str, object]:
    needed: dict[str, dict[str, object]] = {
        "user_message": {"content": "hi"},
        "tool_result": {"tool_call_id": "x", "content": 1},
        "tool_approval": {"tool_call_id": "x", "decision": "approved"},
        "text_complete": {"text": "x", "step_id": "s"},
        "system_message": {"content": "x"},
        "tool_start": {"tool_call_id": "x", "tool_name": "n", "args": {}, "step_id": "s"},
    }
    return {"type": kind, "turn_id": turn_id, **needed.get(kind, {}), **fields}


def lapse(ledger: Ledger, lane: str = "") -> None:
    """As if the deadline of every lease of a lane had passed."""
    with ledger.engine.transaction() as connection:
        schema = "turnledger." if ledger.engine.name == "postgres" else ""
        connection.execute(f"UPDATE {schema}lease SET deadline = 1 WHERE lane = '{lane}'", ())


def test_a_second_recorder_is_told_by_whom_the_lane_is_held(ledger: Ledger, engine_url: str) -> None:
    ledger.begin_turn("c", turn_id="t1", holder="first one")
    with Ledger.open(engine_url) as other:
        for handle in (ledger, other):
            with pytest.raises(TurnBusy) as refused:
                handle.begin_turn("c", turn_id="t2")
            assert refused.value.holder == "first one"
            assert refused.value.turn_id == "t1"
            assert refused.value.lane == "main"
            assert refused.value.since.endswith("Z")
    assert types(ledger) == ["turn_start"], "nothing of the second turn is there"


def test_a_turn_from_its_beginning_to_its_end(ledger: Ledger) -> None:
    opening = [event("turn_start"), event("user_message")]
    lease = ledger.begin_turn("c", turn_id="t", events=opening)
    ledger.append("c", [event("text_complete")], lease=lease)
    ledger.leases.renew(lease)
    ledger.append("c", [event("complete")], lease=lease)
    ledger.leases.end(lease)
    assert types(ledger) == ["turn_start", "user_message", "text_complete", "complete"]
    assert ledger.leases.running() == []
    again = ledger.begin_turn("c", turn_id="u")
    ledger.append("c", [event("complete", "u")], lease=again)
    with pytest.raises(LeaseLost):
        ledger.append("c", [event("text_complete")], lease=lease)
    ledger.leases.end(lease)
    assert [held.turn_id for _, held in ledger.leases.running()] == ["u"], "an old lease ends nothing"


def test_a_turn_that_ended_holds_nobody_back(ledger: Ledger, engine_url: str) -> None:
    """Its recorder could not give the lane back, or has not yet."""
    lease = ledger.begin_turn("c", turn_id="t")
    ledger.append("c", [event("complete")], lease=lease)
    with Ledger.open(engine_url) as other:
        other.begin_turn("c", turn_id="u")
    ledger.leases.end(lease)
    assert [held.turn_id for _, held in ledger.leases.running()] == ["u"]
    assert types(ledger) == ["turn_start", "complete", "turn_start"]
    with pytest.raises(LeaseLost):
        ledger.append("c", [event("note")], lease=lease)


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("kind", ["user_message", "tool_result", "tool_approval", "retraction", "note"])
def test_what_may_stand_beside_a_lease(ledger: Ledger, engine_url: str, kind: str, elsewhere: bool) -> None:
    lease = ledger.begin_turn("c", turn_id="t")
    with Ledger.open(engine_url) as other:
        (other if elsewhere else ledger).append("c", [event(kind)])
    ledger.append("c", [event("complete")], lease=lease)
    assert types(ledger) == ["turn_start", kind, "complete"]


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize(
    "kind", ["text_complete", "tool_start", "complete", "turn_start", "system_message", "new"]
)
def test_what_may_not(ledger: Ledger, engine_url: str, kind: str, elsewhere: bool) -> None:
    ledger.append("c", [event("note")])
    lease = ledger.begin_turn("c", turn_id="t")
    with Ledger.open(engine_url) as other:
        handle = other if elsewhere else ledger
        with pytest.raises(TurnBusy):
            handle.append("c", [event("note"), event(kind)])
        handle.append("c", [event(kind, agent_id="helper")])
        assert types(ledger) == ["note", "turn_start", kind]
        ledger.leases.end(lease)
        handle.append("c", [event(kind)])
    assert types(ledger) == ["note", "turn_start", kind, kind]


def test_who_knew_of_no_lease_finds_out(ledger: Ledger, engine_url: str) -> None:
    """Fencing is inside the append: what another process remembers of the conversation does not matter."""
    with Ledger.open(engine_url) as other:
        other.append("c", [event("note")])
        lease = ledger.begin_turn("c", turn_id="t")
        with pytest.raises(TurnBusy):
            other.append("c", [event("complete", "u")])
        other.append("c", [event("note")])
        ledger.append("c", [event("text_complete")], lease=lease)
        ledger.leases.end(lease)
        other.append("c", [event("complete", "u")])
    assert types(ledger) == ["note", "turn_start", "note", "text_complete", "complete"]


def test_lanes_are_held_each_by_itself(ledger: Ledger) -> None:
    main = ledger.begin_turn("c", turn_id="t")
    helper = ledger.begin_turn("c", "helper", turn_id="t-helper")
    with pytest.raises(TurnBusy) as refused:
        ledger.append("c", [event("text_complete", agent_id="helper")], lease=main)
    assert refused.value.lane == "helper"
    with pytest.raises(TurnBusy):
        ledger.append("c", [event("text_complete")], lease=helper)
    ledger.append("c", [event("text_complete", agent_id="helper")], lease=helper)
    ledger.append("c", [event("text_complete")], lease=main)
    ledger.append("c", [event("text_complete", agent_id="third")], lease=main)
    with pytest.raises(TurnBusy):
        ledger.begin_turn("c", "helper", turn_id="v")


def test_a_lapsed_holder_is_refused_until_it_renews(ledger: Ledger) -> None:
    lease = ledger.begin_turn("c", turn_id="t")
    lease.lapses_at = 0.0
    with pytest.raises(LeaseLost, match="lapsed"):
        ledger.append("c", [event("text_complete")], lease=lease)
    ledger.leases.renew(lease)
    ledger.append("c", [event("text_complete")], lease=lease)


@pytest.mark.parametrize("by", ["recover", "begin_turn"])
def test_a_lapsed_turn_is_closed_and_its_holder_refused(ledger: Ledger, engine_url: str, by: str) -> None:
    lease = ledger.begin_turn("c", turn_id="t")
    ledger.append("c", [event("text_complete")], lease=lease)
    assert ledger.recover() == [], "it is held"
    lapse(ledger)
    with Ledger.open(engine_url) as other:
        if by == "recover":
            [done] = other.recover()
            assert (done.conversation_id, done.turn_id, done.first_version) == ("c", "t", 3)
            assert other.recover() == []
        else:
            other.begin_turn("c", turn_id="u")
    for attempt in (
        lambda: ledger.append("c", [event("text_complete")], lease=lease),
        lambda: ledger.append("c", [event("note")], lease=lease),
        lambda: ledger.leases.renew(lease),
    ):
        with pytest.raises(LeaseLost):
            attempt()
    after = [] if by == "recover" else ["turn_start"]
    assert types(ledger) == ["turn_start", "text_complete", "abort", *after]
    assert [recorded.event.reason for recorded in ledger.read("c") if recorded.type == "abort"] == ["crash"]  # type: ignore[union-attr]


@pytest.mark.parametrize("terminal", ["complete", "abort", "error"])
def test_a_turn_that_ended_is_not_closed_again(ledger: Ledger, terminal: str) -> None:
    lease = ledger.begin_turn("c", turn_id="t")
    more = {"message": "boom"} if terminal == "error" else {}
    ledger.append("c", [event(terminal, **more)], lease=lease)
    lapse(ledger)
    [done] = ledger.recover()
    assert done.first_version is None
    assert types(ledger) == ["turn_start", terminal]


def test_a_retryable_error_ends_nothing(ledger: Ledger) -> None:
    lease = ledger.begin_turn("c", turn_id="t")
    ledger.append("c", [event("error", message="later", retryable=True)], lease=lease)
    ledger.append("c", [event("complete", "another")], lease=lease)
    lapse(ledger)
    ledger.recover()
    assert types(ledger) == ["turn_start", "error", "complete", "abort"]


def piece(block: int, part: int, text: str, **fields: object) -> Piece:
    head = json_bytes({"type": "text_complete", "turn_id": "t", "step_id": "s", "block_index": block, **fields})  # type: ignore[dict-item]
    return Piece(block, part, head if part == 0 else None, json_bytes(text))


def test_checkpointed_text_becomes_events(ledger: Ledger) -> None:
    lease = ledger.begin_turn("c", turn_id="t")
    ledger.leases.checkpoint(
        lease, [piece(0, 0, "think", type="thinking_complete"), piece(1, 0, "Hel\ud83d")], []
    )
    ledger.leases.checkpoint(lease, [piece(1, 1, "\ude00lo \x00"), piece(2, 0, "done")], [])
    ledger.append("c", [event("text_complete", text="done", block_index=2)], lease=lease)
    assert [text.text for text in ledger.leases.open_texts("c")] == ["think", "Hel\ud83d\ude00lo \x00", "done"]
    ledger.recover(force=True)
    stored = [json.loads(recorded.body) for recorded in ledger.read("c")][2:]
    assert [(one["type"], one.get("text"), one.get("partial")) for one in stored] == [
        ("thinking_complete", "think", True),
        ("text_complete", "Hel\U0001f600lo \x00", True),
        ("abort", None, None),
    ], "what was an event already is not doubled"
    assert ledger.leases.open_texts("c") == []
    assert ledger.recover(force=True) == []


def test_a_thought_that_was_cut_off_is_closed_by_an_empty_text(ledger: Ledger) -> None:
    lease = ledger.begin_turn("c", turn_id="t")
    ledger.leases.checkpoint(lease, [piece(0, 0, "hm", type="thinking_complete")], [])
    ledger.recover(force=True)
    assert types(ledger) == ["turn_start", "thinking_complete", "text_complete", "abort"]
    assert [recorded.event.text for recorded in ledger.read("c", 1, 3)] == ["hm", ""]  # type: ignore[union-attr]


def test_done_blocks_leave_no_checkpoint(ledger: Ledger) -> None:
    lease = ledger.begin_turn("c", turn_id="t")
    ledger.leases.checkpoint(lease, [piece(0, 0, "a"), piece(1, 0, "b")], [])
    ledger.leases.checkpoint(lease, [], [0])
    assert [text.text for text in ledger.leases.open_texts("c")] == ["b"]
    ledger.leases.end(lease)
    ledger.leases.checkpoint(lease, [piece(3, 0, "late")], [])
    with ledger.engine.transaction() as connection:
        schema = "turnledger." if ledger.engine.name == "postgres" else ""
        assert connection.execute(f"SELECT count(*) FROM {schema}checkpoint", ()).fetchone() == (0,)


def test_a_dead_process_of_this_machine_holds_nothing(ledger: Ledger, engine_url: str) -> None:
    """Its deadline is far away, but it is gone: nobody has to wait."""
    program = (
        "import os, sys; from ledger import Ledger\n"
        "Ledger.open(sys.argv[1]).begin_turn('c', turn_id='dead', seconds=3600); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", program, engine_url], cwd=ROOT, timeout=60, check=False)
    assert types(ledger) == ["turn_start"]
    if not os.path.exists("/proc/self/ns/pid"):
        pytest.skip("this system does not tell which processes live")
    ledger.begin_turn("c", turn_id="t")
    assert types(ledger) == ["turn_start", "abort", "turn_start"]


def test_races_for_a_lane(engine_url: str, long_run: bool) -> None:
    """Whoever comes at the same time: one gets it, the other is told; their turns do not mix."""
    rounds = 100 if long_run else 20
    with Ledger.open(engine_url) as one, Ledger.open(engine_url) as other:
        for number in range(rounds):
            race((one, other), f"c{number % 3}", str(number))
        for name in ("c0", "c1", "c2"):
            turns = [recorded.turn_id for recorded in one.read(name)]
            assert all(len(set(turns[at : at + 5])) == 1 for at in range(0, len(turns), 5)), turns


def race(ledgers: tuple[Ledger, Ledger], conversation_id: str, name: str) -> None:
    gate, busy = threading.Barrier(2), threading.Event()

    def record(number: int) -> str:
        ledger, turn = ledgers[number], f"{name}-{number}"
        gate.wait(timeout=60)
        try:
            lease = ledger.begin_turn(conversation_id, turn_id=turn)
        except TurnBusy:
            busy.set()
            return "busy"
        for _ in range(3):
            ledger.append(conversation_id, [event("text_complete", turn)], lease=lease)
        assert busy.wait(timeout=60), "the other one is refused while the turn runs"
        ledger.append(conversation_id, [event("complete", turn)], lease=lease)
        ledger.leases.end(lease)
        return "held"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(record, range(2), timeout=120)) == ["busy", "held"]


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for something that another thread does."""
    tick = threading.Event()
    for _ in range(int(seconds / 0.01)):
        if condition():
            return
        tick.wait(0.01)
    raise AssertionError("it did not happen")
