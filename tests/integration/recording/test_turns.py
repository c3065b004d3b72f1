"""The recorder in a runtime's own process: every way out of a turn, sync and async, on both engines."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ledger import Ledger
from ledger.errors import DatabaseUnavailable, LeaseLost, RecordingStopped, TurnBusy
from ledger.recorder import Recorder
from projections import view
from replay import replay
from tests.contract.rawstore import execute
from tests.contract.test_leases import lapse, wait_until


def stored(ledger: Ledger, *names: str) -> list[tuple[Any, ...]]:
    """The events of the conversation: their types, and the named fields."""
    bodies = [json.loads(recorded.body) for recorded in ledger.read("c")]
    return [(body["type"], *(body.get(name) for name in names)) for body in bodies]


@contextmanager
def away(ledger: Ledger) -> Iterator[None]:
    """The database does not answer while the block runs."""
    engine = ledger.engine
    append, transact = engine.append, engine.transact

    def refuse(*_: object, **__: object) -> Any:
        raise DatabaseUnavailable(database=engine.database, problem="it is away")

    engine.append = engine.transact = refuse  # type: ignore[method-assign]
    try:
        yield
    finally:
        engine.append, engine.transact = append, transact  # type: ignore[method-assign]


def test_a_turn_and_what_a_reader_gets(ledger: Ledger) -> None:
    recorder = Recorder(ledger, "c", runtime="test 1.0")
    with recorder.turn("What is 2 + 2?", turn_id="t", message_id="m1") as turn:
        turn.context(system="Be brief.", tools=[{"name": "add"}])
        with turn.begin_step(provider="anthropic", model="claude") as step:
            step.thinking("Add them.")
            step.call("x1", "add", {"a": 2, "b": 2})
            step.finish("tool_use", {"input": 7, "output": 3})
        with turn.tool("x1") as tool:
            assert stored(ledger)[-1] == ("step_finish",), "stored before the tool runs"
            tool.result(4)
        with turn.begin_step(provider="anthropic", model="claude") as step:
            step.text("It is ")
            step.text("4.")
        assert turn.complete("end_turn")
    answer = replay(ledger.read("c"), "c").as_json()
    assert [message["role"] for message in answer["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert {one["severity"] for one in answer["diagnostics"]} <= {"info"}
    assert answer["context"]["system"] == "Be brief."
    rows = view(ledger, "c").as_json()["rows"]
    assert [(row["row"], row.get("status")) for row in rows if row["row"] != "note"] == [
        ("user", None),
        ("assistant", "complete"),
        ("tool", "done"),
        ("assistant", "complete"),
        ("turn", "complete"),
    ]
    assert rows[-1]["usage"] == {"input": 7, "output": 3}
    assert ledger.leases.running() == []


def test_nothing_is_said_twice_over_turns(ledger: Ledger) -> None:
    """The context in force is remembered, by the recorder and by the next one."""
    for recorder in (Recorder(ledger, "c"), Recorder(ledger, "c")):
        for _ in range(2):
            with recorder.turn() as turn:
                turn.context(system="Be brief.")
                turn.lane("helper").context(system="Help.")
    assert [kind for (kind,) in stored(ledger)].count("context") == 2


class Stop(BaseException):
    """Something that is no `Exception`."""


@pytest.mark.parametrize(
    ("error", "end", "said"),
    [
        (ValueError("boom"), "error", {"message": "boom", "code": "ValueError"}),
        (KeyError(), "error", {"message": "KeyError", "code": "KeyError"}),
        (TimeoutError("slow"), "abort", {"reason": "timeout"}),
        (KeyboardInterrupt(), "abort", {"reason": "user_stop"}),
        (Stop(), "abort", {"reason": "cancelled"}),
        (asyncio.CancelledError(), "abort", {"reason": "cancelled"}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
@pytest.mark.parametrize("way", ["sync", "async"])
def test_every_way_out_of_a_turn(
    ledger: Ledger, error: BaseException, end: str, said: dict[str, str], way: str
) -> None:
    """What was streamed is stored, marked where it was open; the error goes on its way."""

    def run() -> None:
        with Recorder(ledger, "c").turn("hi") as turn:
            step = turn.begin_step("s")
            step.end_thinking("whole")
            step.text("half")
            raise error

    async def run_async() -> None:
        async with Recorder(ledger, "c").turn("hi") as turn:
            step = turn.begin_step("s")
            step.end_thinking("whole")
            step.text("half")
            raise error

    with pytest.raises(type(error)):
        run() if way == "sync" else asyncio.run(run_async())
    assert stored(ledger, "text", "partial")[2:] == [
        ("step_start", None, None),
        ("thinking_complete", "whole", None),
        ("text_complete", "half", True),
        (end, None, None),
    ]
    last = [json.loads(recorded.body) for recorded in ledger.read("c")][-1]
    assert {name: last[name] for name in said} == said
    [turn_row] = [row for row in view(ledger, "c").as_json()["rows"] if row["row"] == "turn"]
    assert turn_row["partial_output_retained"] is True
    assert ledger.leases.running() == []


@pytest.mark.parametrize("streamed", [True, False])
def test_partial_output_retained_tells_the_truth(ledger: Ledger, streamed: bool) -> None:
    with Recorder(ledger, "c").turn("hi") as turn:
        step = turn.begin_step("s")
        step.thinking("only a thought")
        if streamed:
            step.text("a word")
        turn.abort("user_stop")
    [turn_row] = [row for row in view(ledger, "c").as_json()["rows"] if row["row"] == "turn"]
    assert turn_row["partial_output_retained"] is streamed


def test_a_block_that_just_ends_completes_its_turn(ledger: Ledger) -> None:
    with Recorder(ledger, "c").turn() as turn:
        turn.begin_step("s").text("all of it")
    assert stored(ledger, "partial") == [
        ("turn_start", None),
        ("step_start", None),
        ("text_complete", None),
        ("step_finish", None),
        ("complete", None),
    ]


def test_an_end_that_was_said_stands(ledger: Ledger) -> None:
    def run() -> None:
        with Recorder(ledger, "c").turn() as turn:
            turn.complete("end_turn")
            raise ValueError("afterwards")

    with pytest.raises(ValueError, match="afterwards"):
        run()
    assert [kind for (kind,) in stored(ledger)] == ["turn_start", "complete"]


def test_a_cancelled_task_stores_what_it_streamed(ledger: Ledger) -> None:
    """Cancelled while it waits for the model; and once more while it is being stored."""

    async def run(started: asyncio.Event) -> None:
        async with Recorder(ledger, "c").turn() as turn:
            turn.begin_step("s").text("half")
            started.set()
            await asyncio.sleep(3600)

    async def main() -> None:
        started = asyncio.Event()
        task = asyncio.create_task(run(started))
        await started.wait()
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert stored(ledger, "text")[-2:] == [("text_complete", "half"), ("abort", None)]


def test_tasks_record_their_conversations_side_by_side(ledger: Ledger) -> None:
    async def run(number: int) -> None:
        recorder = Recorder(ledger, f"c{number}")
        for _ in range(2):
            async with recorder.turn("hi") as turn:
                with turn.begin_step() as step:
                    step.text("hello")
                    step.call("x", "wait", {})
                async with turn.tool("x") as tool:
                    await asyncio.sleep(0)
                    tool.result("done")
                await turn.flush()

    async def main() -> None:
        await asyncio.gather(*(run(number) for number in range(8)))

    asyncio.run(main())
    for number in range(8):
        assert len(list(ledger.read(f"c{number}"))) == 16


def test_tools_in_threads_answer_in_any_order(ledger: Ledger) -> None:
    with Recorder(ledger, "c").turn() as turn:
        with turn.begin_step() as step:
            for number in range(5):
                step.call(f"x{number}", "add", {"n": number})

        def run(number: int) -> None:
            with turn.tool(f"x{number}") as tool:
                tool.result(number)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
    answer = replay(ledger.read("c"), "c").as_json()
    results = answer["messages"][-1]["content"]
    assert [(part["tool_call_id"], part["content"]) for part in results] == [(f"x{n}", n) for n in range(5)]


def test_a_tool_that_raises_gives_an_error_result(ledger: Ledger) -> None:
    with Recorder(ledger, "c").turn() as turn:
        turn.begin_step().call("x", "add", {})

        def run() -> None:
            with turn.tool("x") as tool:
                tool.progress("half way")
                raise ValueError("no such file")

        with pytest.raises(ValueError, match="no such file"):
            run()
    assert stored(ledger, "content", "is_error", "final")[2:5] == [
        ("tool_start", None, None, None),
        ("tool_result", "half way", None, False),
        ("tool_result", "no such file", True, None),
    ]


def test_events_are_stored_without_anybody_waiting(ledger: Ledger, engine_url: str) -> None:
    """At the latest after a quarter of a second, and open text is in the checkpoint table."""
    with Recorder(ledger, "c").turn() as turn, Ledger.open(engine_url) as other:
        step = turn.begin_step("s")
        step.end_thinking("whole")
        wait_until(lambda: stored(other)[-1] == ("thinking_complete",), 10)
        step.text("Hel")
        wait_until(lambda: [text.text for text in other.leases.open_texts("c")] == ["Hel"], 10)
        step.text("lo")
        wait_until(lambda: [text.text for text in other.leases.open_texts("c")] == ["Hello"], 10)
        step.end_text()
        wait_until(lambda: not other.leases.open_texts("c"), 10)
        assert stored(other, "text")[-1] == ("text_complete", "Hello")


def test_a_second_recorder_is_refused_and_nothing_of_it_is_there(ledger: Ledger, engine_url: str) -> None:
    with Recorder(ledger, "c", holder="the first").turn(turn_id="t1") as turn, Ledger.open(engine_url) as other:
        with pytest.raises(TurnBusy, match="the first"), Recorder(other, "c").turn("hi", turn_id="t2"):
            pytest.fail("it must not be entered")
        other.append("c", [{"type": "user_message", "turn_id": "t1", "content": "steer", "steering": True}])
        turn.begin_step().text("so")
    assert [kind for (kind,) in stored(ledger)] == [
        "turn_start",
        "user_message",
        "step_start",
        "text_complete",
        "step_finish",
        "complete",
    ]


def test_a_recorder_that_lost_its_lane_is_told(ledger: Ledger, engine_url: str) -> None:
    with Ledger.open(engine_url) as other:

        def run() -> None:
            with Recorder(ledger, "c").turn(turn_id="t1") as turn:
                turn.flush().wait()
                lapse(other)
                other.recover()
                turn.begin_step()
                turn.flush().wait()

        with pytest.raises(LeaseLost):
            run()
    assert [kind for (kind,) in stored(ledger)] == ["turn_start", "abort"]


def test_a_lease_that_lapsed_unnoticed_is_renewed(ledger: Ledger) -> None:
    """A laptop that slept: nobody else wanted the lane, so the turn goes on."""
    with Recorder(ledger, "c", lease_seconds=0.2).turn() as turn:
        lease = turn._out._lease  # type: ignore[union-attr]
        assert lease is not None
        wait_until(lambda: lease.lapses_at > 0, 5)
        lease.lapses_at = 0.0
        turn.begin_step().text("still here")
        turn.flush().wait()
    assert [kind for (kind,) in stored(ledger)][-2:] == ["step_finish", "complete"]


def test_a_database_that_comes_back(ledger: Ledger) -> None:
    """Nothing is lost, nothing doubled, and the runtime never waited."""
    with Recorder(ledger, "c").turn() as turn:
        with away(ledger):
            for number in range(20):
                with turn.begin_step() as step:
                    step.text(f"step {number}")
            receipt = turn.flush()
            assert not receipt.stored
        receipt.wait()
    texts = [text for kind, text in stored(ledger, "text") if kind == "text_complete"]
    assert texts == [f"step {number}" for number in range(20)]


def test_an_answer_that_was_lost_doubles_nothing(ledger: Ledger) -> None:
    """Stored, but the answer never came: sent again with the same ids."""
    append = ledger.engine.append
    lost = []

    def lose(batch: Any) -> Any:
        answer = append(batch)
        if len(lost) < 3:
            lost.append(batch)
            raise DatabaseUnavailable(database="x", problem="the answer was lost")
        return answer

    ledger.engine.append = lose  # type: ignore[method-assign]
    with Recorder(ledger, "c").turn() as turn:
        for number in range(3):
            with turn.begin_step(f"s{number}"):
                pass
            turn.flush().wait()
    ledger.engine.append = append  # type: ignore[method-assign]
    assert len(lost) == 3
    assert stored(ledger, "step_id") == [
        ("turn_start", None),
        *((kind, f"s{number}") for number in range(3) for kind in ("step_start", "step_finish")),
        ("complete", None),
    ]


def test_a_database_that_stays_away(ledger: Ledger) -> None:
    """Up to the limit everything is kept; then an error says what is stored and what is not."""
    recorder = Recorder(ledger, "c", memory=200_000)

    def run() -> None:
        with recorder.turn("hi") as turn, away(ledger):
            for _ in range(1_000):
                turn.note("filler", "x" * 1_000)

    with pytest.raises(RecordingStopped) as stopped:
        run()
    told = stopped.value
    assert told.stored == 2
    assert 100 < told.lost < 200
    assert told.size <= 200_000
    assert str(told).startswith("recording of c")


def test_patience_ends_when_somebody_waits(ledger: Ledger) -> None:
    def run() -> None:
        with Recorder(ledger, "c", patience=0.2).turn() as turn, away(ledger):
            turn.begin_step()
            turn.flush().wait()

    with pytest.raises(RecordingStopped, match="it is away"):
        run()


def test_the_runtimes_own_error_is_not_hidden(ledger: Ledger) -> None:
    def run() -> None:
        with Recorder(ledger, "c", patience=0.2).turn() as turn:
            turn.begin_step()
            patch.__enter__()
            raise ValueError("the runtime's own")

    patch = away(ledger)
    with pytest.raises(ValueError, match="the runtime's own") as raised:
        run()
    patch.__exit__(None, None, None)
    assert any("stopped" in note for note in raised.value.__notes__)


def test_values_that_json_cannot_hold_are_kept_as_they_can(ledger: Ledger) -> None:
    with Recorder(ledger, "c").turn() as turn:
        with turn.begin_step() as step:
            step.call("x", "f", {"nan": float("nan"), "long": 10**5000, "set": {1}, "bytes": b"\xff"})
        turn.tool_result("x", "y" * (17 << 20))
        turn.note("deep", value=json.loads("[" * 300 + "]" * 300))
    bodies = {body["type"]: body for body in (json.loads(recorded.body) for recorded in ledger.read("c"))}
    assert bodies["tool_start"]["args"]["nan"] == "NaN"
    assert set(bodies["tool_start"]["normalized"]) == {"args.nan", "args.long", "args.bytes"}
    assert bodies["tool_result"]["content"]["omitted_bytes"] == (17 << 20) + 2
    assert bodies["tool_result"]["normalized"] == ["content"]
    assert len(bodies["note"]["normalized"]) == 1


def test_late_results_of_a_turn_beside_the_next_one(ledger: Ledger, engine_url: str) -> None:
    """Results may come late; other late events are kept as notes while another recorder writes."""
    with Recorder(ledger, "c").turn(turn_id="t1") as turn:
        turn.complete()
        turn.flush().wait()
        with Ledger.open(engine_url) as other, Recorder(other, "c").turn(turn_id="t2"):
            turn.tool_result("x", "late")
            turn.write("text_complete", {"step_id": "s", "text": "late too"})
            turn.flush().wait()
    assert stored(ledger, "turn_id", "kind") == [
        ("turn_start", "t1", None),
        ("complete", "t1", None),
        ("turn_start", "t2", None),
        ("tool_result", "t1", None),
        ("note", "t1", "late event"),
        ("complete", "t2", None),
    ]


def test_a_turn_outside_its_block(ledger: Ledger) -> None:
    turn = Recorder(ledger, "c").turn()
    with pytest.raises(RuntimeError, match="with"):
        turn.begin_step()
    with turn:
        pass
    with pytest.raises(RuntimeError, match="once"), turn:
        pass


def test_a_sub_agent_recorded_by_itself(ledger: Ledger, engine_url: str) -> None:
    """In a lane of its own, beside the turn that called it."""
    with Recorder(ledger, "c").turn(turn_id="main") as turn, Ledger.open(engine_url) as other:
        with turn.begin_step() as step:
            step.call("x1", "ask", {})
        turn.start_call("x1")
        helper = Recorder(other, "c", agent_id="helper", parent_tool_call_id="x1")
        with helper.turn("Look it up.", turn_id="sub") as inner:
            with pytest.raises(TurnBusy), Recorder(ledger, "c", agent_id="helper").turn():
                pytest.fail("it must not be entered")
            with inner.begin_step() as step:
                step.text("Found.")
        turn.tool_result("x1", "Found.")
    told = stored(ledger, "turn_id", "agent_id", "parent_tool_call_id")
    assert {row[2:] for row in told if row[1] == "sub"} == {("helper", "x1")}
    assert {row[2:] for row in told if row[1] == "main"} == {(None, None)}
    assert [kind for kind, turn_id, *_ in told if turn_id == "sub"] == [
        "turn_start",
        "user_message",
        "step_start",
        "text_complete",
        "step_finish",
        "complete",
    ]
    assert ledger.leases.running() == []


def test_a_server_that_drops_every_connection_now_and_then(postgres_url: str) -> None:
    """The lease, the appends and the checkpoints all survive it; nothing is doubled."""
    done = threading.Event()

    def terminate() -> None:
        while not done.wait(0.03):
            execute(
                postgres_url,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()",
            )

    with Ledger.open(postgres_url) as ledger:
        killer = threading.Thread(target=terminate)
        killer.start()
        try:
            for number in range(5):
                with Recorder(ledger, "c").turn("hi", turn_id=f"t{number}") as turn:
                    for place in range(6):
                        with turn.begin_step(f"{number}/{place}") as step:
                            step.text("words ")
                        turn.flush().wait()
        finally:
            done.set()
            killer.join(timeout=60)
        told = stored(ledger, "turn_id", "step_id")
        finished = [step_id for kind, _, step_id in told if kind == "step_finish"]
        assert finished == [f"{number}/{place}" for number in range(5) for place in range(6)]
        ends = [(kind, turn_id) for kind, turn_id, _ in told if kind in ("complete", "abort", "error")]
        assert ends == [("complete", f"t{number}") for number in range(5)]
