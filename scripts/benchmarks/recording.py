"""Recording live turns: a runtime's loop with the recorder beside the same loop writing JSON Lines, and a
long stream."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ledger import Ledger
from ledger.intake.lines import split_lines
from ledger.intake.streams import STREAMS
from ledger.recorder import Recorder
from ledger.stream_recorder import StreamRecorder
from scripts.benchmarks.measure import Figure, Target, in_process, interleave, peak_rss_mb
from scripts.benchmarks.settings import Settings

STEPS = 1_000
DELTAS = 20
PIECE = "some words of an answer, "
STREAM_BYTES = 100 * 1024 * 1024


def recording(settings: Settings) -> Iterator[Figure]:
    """A loop of steps and deltas: how much longer it takes with the recorder."""
    steps = settings.size(STEPS, quick=200)
    with tempfile.TemporaryDirectory(prefix="turnledger-bench-") as folder:
        number = iter(range(1_000_000))

        def lines() -> Callable[[], object]:
            path = Path(folder) / f"{next(number)}.jsonl"
            return lambda: _write_lines(path, steps)

        def recorder(wait: bool) -> Callable[[], Callable[[], object]]:
            def prepare() -> Callable[[], object]:
                ledger = Ledger.open(f"sqlite:///{Path(folder) / f'{next(number)}.db'}")
                return lambda: _record(ledger, steps, wait)

            return prepare

        contenders = {
            "JSON Lines, fsync a step": lines,
            "recorder": recorder(False),
            "recorder, waiting at each step": recorder(True),
        }
        rounds = interleave(contenders, settings.rounds)
    case = f"loop of {steps:,} steps, {DELTAS} deltas each"
    yield rounds.plain(case, "JSON Lines, fsync a step", steps)
    for name, target in (("recorder", Target(1.05, at_least=False)), ("recorder, waiting at each step", None)):
        figure = rounds.compare(case, name, "JSON Lines, fsync a step", steps, target, speed=False)
        figure.unit = "steps/s"
        yield figure


def _write_lines(path: Path, steps: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for step in range(steps):
            file.write(json.dumps({"type": "step_start", "step": step}) + "\n")
            for _ in range(DELTAS):
                file.write(json.dumps({"type": "text_delta", "step": step, "text": PIECE}) + "\n")
            file.write(json.dumps({"type": "step_finish", "step": step}) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _record(ledger: Ledger, steps: int, wait: bool) -> None:
    with Recorder(ledger, "c").turn("Go.") as turn:
        for _ in range(steps):
            step = turn.begin_step(model="m")
            for _ in range(DELTAS):
                step.text(PIECE)
            step.finish("stop")
            if wait:
                turn.flush().wait()


def stream(settings: Settings) -> Iterator[Figure]:
    """A long stream through `record`'s own loop: records a second, and the most memory that it takes."""
    size = settings.size(STREAM_BYTES, quick=5 * 1024 * 1024)
    for runtime in ("pi", "anthropic"):
        if runtime not in STREAMS:
            continue
        with tempfile.TemporaryDirectory(prefix="turnledger-bench-") as folder:
            path = Path(folder) / "stream"
            in_process(__name__, ["make", runtime, path, size])
            answers = [
                in_process(__name__, ["record", runtime, path, Path(folder) / f"{number}.db"])
                for number in range(min(settings.rounds, 3))
            ]
        case = f"record {runtime}, a stream of {size // 2**20} MiB"
        speeds = sorted(answer["lines"] / answer["seconds"] for answer in answers)
        peak = max(answer["peak"] for answer in answers)
        speed = speeds[len(speeds) // 2]
        yield Figure(
            case,
            "turnledger record",
            speed,
            "records/s",
            "5,000 records/s",
            speed / 5_000,
            speeds[0] / 5_000,
            speeds[-1] / 5_000,
            Target(1),
        )
        at_most = Target(1, at_least=False)
        share = peak / 100
        yield Figure(case, "peak memory", peak, "MiB", "100 MiB", share, share, share, at_most)


def _anthropic(path: Path, size: int) -> None:
    def frame(kind: str, **fields: object) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"

    written = message = 0
    with path.open("w", encoding="utf-8") as file:
        while written < size:
            usage = {"input_tokens": 10, "output_tokens": 1}
            start = {"id": f"msg_{message}", "role": "assistant", "model": "m", "content": [], "usage": usage}
            text = frame("message_start", message=start)
            text += frame("content_block_start", index=0, content_block={"type": "text", "text": ""})
            delta = {"type": "text_delta", "text": PIECE * 4}
            text += frame("content_block_delta", index=0, delta=delta) * 200
            text += frame("content_block_stop", index=0)
            text += frame("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 800})
            text += frame("message_stop")
            file.write(text)
            written += len(text)
            message += 1


def _pi(path: Path, size: int) -> None:
    def line(**fields: object) -> str:
        return json.dumps(fields) + "\n"

    written = turn = 0
    with path.open("w", encoding="utf-8") as file:
        file.write(line(type="session", version=3, id="s", timestamp="2026-11-30T00:00:00.000Z", cwd="/"))
        while written < size:
            user = {"role": "user", "content": [{"type": "text", "text": f"q{turn}"}], "timestamp": turn}
            body = PIECE * 800
            said = {
                "role": "assistant",
                "content": [{"type": "text", "text": body}],
                "api": "a",
                "provider": "p",
                "model": "m",
                "stopReason": "stop",
                "timestamp": turn,
                "usage": {"input": 1, "output": 2},
            }
            text = line(type="agent_start") + line(type="turn_start")
            text += line(type="message_start", message=user) + line(type="message_end", message=user)
            text += line(type="message_start", message={**said, "content": []})
            for kind in ("text_start", *["text_delta"] * 200, "text_end"):
                event = {"type": kind, "contentIndex": 0, "delta": PIECE * 4, "content": body}
                event = {k: v for k, v in event.items() if k != "content" or kind == "text_end"}
                text += line(type="message_update", assistantMessageEvent=event)
            text += line(type="message_end", message=said)
            text += line(type="turn_end", message=said, toolResults=[])
            text += line(type="agent_end", messages=[user, said], willRetry=False) + line(type="agent_settled")
            file.write(text)
            written += len(text)
            turn += 1


def main(what: str, runtime: str, path: Path, other: str) -> dict[str, float]:
    """Make a stream, or record it, in this process."""
    if what == "make":
        {"anthropic": _anthropic, "pi": _pi}[runtime](path, int(other))
        return {}
    started, lines = time.perf_counter(), 0
    with Ledger.open(f"sqlite:///{other}") as ledger, path.open("rb") as file:
        recorder = StreamRecorder(ledger, "c", runtime, STREAMS[runtime])
        for line in split_lines(iter(lambda: file.read(65536), b"")):
            recorder.line(line)
            lines += line.raw is not None and line.raw[:1] != b"e"  # of SSE the data lines
        recorder.end("eof")
    return {"lines": lines, "seconds": time.perf_counter() - started, "peak": peak_rss_mb()}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4])))
