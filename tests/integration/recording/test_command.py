"""`turnledger record` and `recover`: pipes, files, signals, closed readers, the same stream again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ledger import Ledger
from projections import view
from replay import replay
from tests.contract.test_leases import lapse, wait_until
from tests.integration.cli.desk import Desk
from tests.integration.recording.test_kills import frames
from tests.writer import ROOT


@pytest.fixture
def desk(engine_url: str) -> Desk:
    return Desk(engine_url)


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    """A message of a model, as a file."""
    path = tmp_path / "stream.sse"
    path.write_bytes(b"".join(frames("one", 30)))
    return path


def command(url: str, *arguments: str) -> list[str]:
    program = "from turnledger.cli import main; main()"
    return [sys.executable, "-c", program, "--db", url, *arguments]


def start(url: str, *arguments: str, **more: Any) -> subprocess.Popen[bytes]:
    """A recording process with a pipe into it."""
    arguments = ("record", "anthropic", "--conversation", "c", *arguments)
    return subprocess.Popen(
        command(url, *arguments), cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, **more
    )


def stored(url: str, conversation: str = "c") -> list[dict[str, Any]]:
    with Ledger.open(url) as ledger:
        return [json.loads(recorded.body) for recorded in ledger.read(conversation)]


def types(url: str, conversation: str = "c") -> list[str]:
    return [event["type"] for event in stored(url, conversation)]


ONE_MESSAGE = ["turn_start", "step_start", "text_complete", "step_finish", "complete"]


def test_a_file_and_the_same_file_again(desk: Desk, stream: Path) -> None:
    first = desk("record", "anthropic", str(stream), "--conversation", "c")
    assert first.code == 0
    assert first.out == ""
    assert "1 turn (complete), 1 step, 0 calls, 0 notes, 5 new and 0 known events" in first.err
    assert types(desk.url) == ONE_MESSAGE
    for again in (
        desk("record", "anthropic", str(stream), "--conversation", "c", "--json"),
        desk("record", "anthropic", "--conversation", "c", "--json", input=stream.read_bytes()),
    ):
        assert again.code == 0
        assert (again.json["added"], again.json["known"], again.json["turns"]) == (0, 5, ["complete"])
    assert types(desk.url) == ONE_MESSAGE
    other = desk("record", "anthropic", str(stream), "--conversation", "another", "--turn", "my-turn")
    assert other.code == 0
    assert {event["turn_id"] for event in stored(desk.url, "another")} == {"my-turn"}


def test_a_turn_of_its_own_name_is_another_recording(desk: Desk, stream: Path) -> None:
    for turn in ("one", "two", "one"):
        desk("record", "anthropic", str(stream), "--conversation", "c", "--turn", turn)
    assert types(desk.url) == ONE_MESSAGE * 2


def test_usage_errors(desk: Desk, stream: Path) -> None:
    assert desk("record", "anthropic", str(stream)).code == 2
    assert desk("record", "no-such-runtime", str(stream), "--conversation", "c").code == 2
    absent = desk("record", "anthropic", "absent.sse", "--conversation", "c")
    assert absent.code == 1
    assert "absent.sse" in absent.err
    assert desk("record", "anthropic", str(stream), "--conversation", "bad\nid").code == 1
    assert "--tee" in desk("record", "--help").out


def test_a_busy_conversation_is_an_error_and_the_pipe_still_flows(engine_url: str, stream: Path) -> None:
    with Ledger.open(engine_url) as ledger:
        ledger.begin_turn("c", turn_id="t", holder="somebody else")
        data = stream.read_bytes()
        done = subprocess.run(
            command(engine_url, "record", "anthropic", "--conversation", "c", "--tee"),
            cwd=ROOT,
            input=data,
            capture_output=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert b"somebody else" in done.stderr
    assert done.stdout == data, "every byte was passed on"
    assert types(engine_url) == ["turn_start"]


def test_tee_passes_every_byte_on_unchanged(engine_url: str) -> None:
    data = b"".join(frames("one", 2_000)) + b"\xff\xfe not a line\r\n\n\x00 the last line has no end"
    done = subprocess.run(
        command(engine_url, "record", "anthropic", "--conversation", "c", "--tee"),
        cwd=ROOT,
        input=data,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, data), done.stderr
    assert types(engine_url)[:5] == ONE_MESSAGE


def test_a_reader_that_goes_away_stops_nothing(engine_url: str) -> None:
    process = start(engine_url, "--tee", stdout=subprocess.PIPE)
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"".join(frames("one", 10)))
        assert process.stdout.read(10)
        process.stdout.close()
        for number in range(20):
            process.stdin.write(b"".join(frames(f"more{number}", 500)))
        process.stdin.close()
        told = process.stderr.read()
        assert process.wait(timeout=60) == 0, told
    assert types(engine_url) == ONE_MESSAGE * 21


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals(engine_url: str, number: signal.Signals, code: int) -> None:
    """What was streamed is stored, the turn is aborted, and the exit code says why."""
    process = start(engine_url)
    with process:
        assert process.stdin is not None
        assert process.stderr is not None
        for frame in frames("one", 30)[:20]:
            process.stdin.write(frame)
        wait_for_text(engine_url)
        process.send_signal(number)
        told = process.stderr.read().decode()
        assert process.wait(timeout=60) == code, told
    assert "1 turn (abort)" in told
    events = stored(engine_url)
    assert events[-1]["type"] == "abort"
    assert events[-1]["reason"] == ("user_stop" if number == signal.SIGINT else "terminated")
    [text] = [event for event in events if event["type"] == "text_complete"]
    assert text["text"] == "".join(f"word{place} " for place in range(18))
    assert text["partial"] is True
    with Ledger.open(engine_url) as ledger:
        assert ledger.leases.running() == []


def test_a_runtime_that_was_stopped_too_says_how_its_turn_ended(engine_url: str) -> None:
    process = start(engine_url)
    with process:
        assert process.stdin is not None
        whole = frames("one", 30)
        process.stdin.write(b"".join(whole[:20]))
        wait_for_text(engine_url)
        process.send_signal(signal.SIGINT)
        process.stdin.write(b"".join(whole[20:]))
        process.stdin.close()
        assert process.wait(timeout=60) == 130
    assert types(engine_url) == ONE_MESSAGE


def wait_for_text(url: str) -> None:
    """Until text of an open block is in the checkpoint table: then all that was written before was read."""

    def there() -> bool:
        with Ledger.open(url) as ledger:
            return bool(ledger.leases.open_texts("c"))

    wait_until(there, 30)


def test_a_stream_that_just_stops(desk: Desk, stream: Path, tmp_path: Path) -> None:
    """Kept as far as it came, an error; the whole stream after that takes its place."""
    whole = stream.read_bytes()
    half = tmp_path / "half.sse"
    half.write_bytes(whole[: whole.index(b"word20")])
    done = desk("record", "anthropic", str(half), "--conversation", "c")
    assert done.code == 0
    assert "1 turn (error)" in done.err
    first = types(desk.url)
    assert first[-1] == "error"
    again = desk("record", "anthropic", str(stream), "--conversation", "c")
    assert again.code == 0
    with Ledger.open(desk.url) as ledger:
        [message] = replay(ledger.read("c"), "c").as_json()["messages"]
        assert message["content"] == [{"type": "text", "text": "".join(f"word{n} " for n in range(30))}]
        [turn] = [row for row in view(ledger, "c").as_json()["rows"] if row["row"] == "turn"]
        assert turn["status"] == "complete"
    third = desk("record", "anthropic", str(stream), "--conversation", "c", "--json")
    assert third.json["added"] == 0


def test_another_run_that_begins_alike(desk: Desk, tmp_path: Path) -> None:
    """Streams without ids of their own may begin with the same bytes: they are two turns all the same."""
    first, second = frames("same", 5), frames("same", 5)
    second[3] = second[3].replace(b"word1", b"other")
    for name, parts in (("first", first), ("second", second)):
        path = tmp_path / name
        path.write_bytes(b"".join(parts))
        for added in (5, 0):
            done = desk("record", "anthropic", str(path), "--conversation", "c", "--json")
            assert (done.json["added"], done.json["known"]) == (added, 5 - added)
    events = stored(desk.url)
    assert [event["type"] for event in events] == ONE_MESSAGE * 2
    assert len({event["turn_id"] for event in events}) == 2
    assert len({event["id"] for event in events}) == 10


def test_a_file_that_grew(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "log.sse"
    path.write_bytes(b"".join(frames("one", 5)))
    desk("record", "anthropic", str(path), "--conversation", "c")
    with path.open("ab") as file:
        file.write(b"".join(frames("two", 5)))
    done = desk("record", "anthropic", str(path), "--conversation", "c", "--json")
    assert (done.json["added"], done.json["known"]) == (5, 5)
    assert types(desk.url) == ONE_MESSAGE * 2


@pytest.mark.parametrize("size", [1, 7, 100])
def test_bytes_may_come_cut_anywhere(engine_url: str, size: int) -> None:
    data = b"".join(frames("one", 12)).replace(b"word3", "wörd😀\u2028".encode())
    process = start(engine_url)
    with process:
        assert process.stdin is not None
        for at in range(0, len(data), size):
            process.stdin.write(data[at : at + size])
        process.stdin.close()
        assert process.wait(timeout=60) == 0
    assert types(engine_url) == ONE_MESSAGE
    [text] = [event["text"] for event in stored(engine_url) if event["type"] == "text_complete"]
    assert "wörd😀\u2028" in text


def test_broken_lines_are_kept_and_the_stream_goes_on(desk: Desk) -> None:
    parts = frames("one", 4)
    parts.insert(3, b'data: {"type": "content_block_delta", \n\n')
    parts.insert(4, b"data: \xff\xfe\n\n")
    done = desk("record", "anthropic", "--conversation", "c", "--json", input=b"".join(parts))
    assert done.code == 0
    assert done.json["turns"] == ["complete"]
    assert done.json["notes"] == 2
    notes = [event for event in stored(desk.url) if event["type"] == "note"]
    assert all("line" in json.dumps(note).lower() for note in notes)
    [text] = [event["text"] for event in stored(desk.url) if event["type"] == "text_complete"]
    assert text == "word0 word1 word2 word3 "


def test_recover(desk: Desk, engine_url: str) -> None:
    with Ledger.open(engine_url) as ledger:
        ledger.begin_turn("c", turn_id="t1", holder="the one that died")
        ledger.begin_turn("d", turn_id="t2", holder="another one")
        still = desk("recover")
        assert still.code == 0
        assert "nothing to recover" in still.out
        assert "the one that died" in still.err
        lapse(ledger)
    done = desk("recover", "c")
    assert done.code == 0
    assert "t1" in done.out
    assert "t2" not in done.out
    [other] = desk("recover", "--json").json["recovered"]
    assert (other["conversation_id"], other["turn_id"], other["first_version"]) == ("d", "t2", 2)
    assert types(engine_url) == ["turn_start", "abort"]
    assert desk("recover", "--json").json == {"recovered": [], "running": []}
    unknown = desk("recover", "no-such-conversation")
    assert unknown.code == 1
    assert "no-such-conversation" in unknown.err


def test_recover_by_force(desk: Desk, engine_url: str) -> None:
    with Ledger.open(engine_url) as ledger:
        ledger.begin_turn("c", turn_id="t1")
    assert desk("recover", "--force").code == 0
    assert types(engine_url) == ["turn_start", "abort"]


def test_a_database_that_is_away_for_a_while(sqlite_url: str) -> None:
    """Locked by somebody else: the pipe is read on, and everything is stored once it is free."""
    with Ledger.open(sqlite_url) as ledger:
        ledger.append("other", [{"type": "note", "turn_id": "t"}])
        process = start(sqlite_url, "--tee", stdout=subprocess.PIPE)
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            with ledger.engine.transaction():
                data = b"".join(frames("one", 100))
                process.stdin.write(data)
                process.stdin.close()
                read = b""
                while len(read) < len(data):
                    read += os.read(process.stdout.fileno(), 1 << 16)
                time.sleep(0.2)
                assert process.poll() is None
            assert process.wait(timeout=60) == 0
    assert types(sqlite_url) == ONE_MESSAGE
