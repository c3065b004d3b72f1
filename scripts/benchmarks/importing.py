"""Taking in large session files: speed beside `json.loads` of the same lines and a bare copy; peak memory."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from scripts.benchmarks import sessions
from scripts.benchmarks.corpus import Corpus
from scripts.benchmarks.measure import Figure, Target, in_process, interleave, peak_rss_mb
from scripts.benchmarks.settings import Settings

MOST_TIMES = 3.0
"""What an import may cost beside `json.loads` of the same lines."""
FAST_ENOUGH = 20.0
"""MB a second that will do, whatever the ratio."""
MOST_GROWTH = 50.0
"""MB that a large file may need more than a small one."""
_MB = 1024 * 1024


def importing(settings: Settings) -> Iterator[Figure]:
    """Claude Code's format, the most used: CPU time into a SQLite ledger and without a store, beside
    `json.loads` of the same lines and, as the least that a durable copy costs, digest and synced write of the
    same bytes; then memory. From real samples where they are there."""
    large = settings.size(50 * _MB, quick=2 * _MB)
    real = sessions.available()
    with tempfile.TemporaryDirectory(prefix="turnledger-bench-") as name:
        folder = Path(name)
        path = folder / "session.jsonl"
        (sessions.write_claude_code if real else write_session)(path, large)
        size, lines = path.stat().st_size / _MB, _loads(path)
        kind = "claude-code, real samples" if real else "claude-code, made up"
        case = f"import, {size:.0f} MB of {kind}, CPU time"
        contenders: dict[str, Callable[[], Callable[[], object]]] = {
            "json.loads": lambda: lambda: _loads(path),
            "digest and write": lambda: lambda: _copy(path, folder / "copy"),
            "import, no store": lambda: lambda: _take(path),
            "import, SQLite": lambda: lambda: _store(path, folder),
        }
        rounds = interleave(contenders, min(settings.rounds, 3), time.process_time)
        for peer in ("json.loads", "digest and write"):
            yield rounds.plain(
                case, peer, lines, note=f"records a second; {size / rounds.median(peer):.0f} MB/s"
            )
        for contender in ("import, no store", "import, SQLite"):
            speed = size / rounds.median(contender)
            aim = contender == "import, SQLite"
            target = Target(MOST_TIMES, at_least=False) if aim and speed < FAST_ENOUGH else None
            note = f"{speed:.1f} MB/s"
            if aim:
                note += f" (at least {FAST_ENOUGH:g}, or the ratio at most {MOST_TIMES:g})"
            yield rounds.compare(case, contender, "json.loads", lines, target, speed=False, note=note)
        yield rounds.compare(case, "import, SQLite", "digest and write", lines, None, speed=False)
        yield from _memory(folder, settings)


def _memory(folder: Path, settings: Settings) -> Iterator[Figure]:
    made = {"claude-code": sessions.Sample(".jsonl", lambda path, size: (write_session(path, size), None)[1])}
    for source_format, sample in (sessions.SAMPLES if sessions.available() else made).items():
        peaks: list[float] = []
        for size in settings.pick((1, 100), quick=(1, 5)):
            path = folder / f"{size}{sample.suffix}"
            sample.write(path, size * _MB)
            answer = in_process(__name__, [source_format, path, folder])
            path.unlink()
            peaks.append(answer["peak"])
            growth = peaks[-1] - peaks[0] if peaks[1:] else None
            yield Figure(
                "import into SQLite, peak memory",
                f"{size} MB of {source_format}",
                peaks[-1],
                "MB",
                target=None if growth is None else Target(MOST_GROWTH, at_least=False),
                note=f"{answer['events']:,} events" + (", beside the small file" if peaks[1:] else ""),
                growth=growth,
            )


def write_session(path: Path, size: int) -> int:
    """A session file of about that many bytes, as Claude Code writes it; gives the count of its lines."""
    corpus, parent, lines = Corpus(3), None, 0
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size:
            for record in _turn(corpus, lines, parent):
                parent, lines = record["uuid"], lines + 1
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return lines


def _turn(corpus: Corpus, number: int, parent: object) -> Iterator[dict[str, object]]:
    """A prompt, steps of thinking, text and two calls a line each, results, an answer."""
    made = number

    def record(kind: str, message: dict[str, object], **more: object) -> dict[str, object]:
        nonlocal made, parent
        name = f"00000000-0000-4000-8000-{made:012x}"
        whole: dict[str, object] = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/dev/project",
            "sessionId": "5e551017-0000-4000-8000-000000000000",
            "version": "2.1.332",
            "gitBranch": "main",
            "type": kind,
            "message": message,
            **more,
            "uuid": name,
            "timestamp": "2026-11-30T12:00:00.000Z",
        }
        made, parent = made + 1, name
        return whole

    yield record("user", {"role": "user", "content": corpus.words(500)})
    for step in range(6):
        last = step == 5
        message: dict[str, object] = {
            "id": f"msg_{number:012x}{step}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-4-5",
            "stop_reason": "end_turn" if last else "tool_use",
            "usage": {"input_tokens": 12, "output_tokens": 310, "cache_read_input_tokens": 50_000},
        }
        thinking = {"type": "thinking", "thinking": corpus.words(900), "signature": corpus.words(300)}
        yield record("assistant", {**message, "content": [thinking]}, requestId=f"req_{number}_{step}")
        text = {"type": "text", "text": corpus.words(400)}
        yield record("assistant", {**message, "content": [text]}, requestId=f"req_{number}_{step}")
        calls = [] if last else [f"toolu_{number}_{step}_{call}" for call in range(2)]
        for call in calls:
            block = {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": corpus.words(60)}}
            yield record("assistant", {**message, "content": [block]}, requestId=f"req_{number}_{step}")
        for call in calls:
            told = corpus.words(1800)
            result = {"type": "tool_result", "tool_use_id": call, "content": told}
            file = {"type": "text", "file": {"filePath": "a.py", "content": told, "numLines": 40}}
            yield record("user", {"role": "user", "content": [result]}, toolUseResult=file)


def _loads(path: Path) -> int:
    with path.open("rb") as file:
        return sum(json.loads(line) is not None for line in file)


def _take(path: Path) -> int:
    from turnledger.importing.files import opened
    from turnledger.importing.formats import format_of

    count = 0
    with opened(path) as file:
        for stream in format_of("claude-code", file).read(file, None).streams():
            for _ in stream.events():
                count += 1
    return count


def _copy(path: Path, copy: Path) -> None:
    """What nobody who keeps the bytes can leave out."""
    digest = hashlib.sha256()
    with path.open("rb") as source, copy.open("wb") as target:
        while chunk := source.read(_MB):
            digest.update(chunk)
            target.write(chunk)
        os.fsync(target.fileno())


def _store(path: Path, folder: Path, source_format: str = "claude-code") -> int:
    """Import into a new ledger; gives the count of events that are new in it."""
    from ledger import Ledger
    from turnledger.importing.storing import import_file

    with tempfile.TemporaryDirectory(dir=folder) as place:
        with Ledger.open(f"sqlite:///{place}/ledger.db") as ledger:
            report = import_file(ledger, source_format, path, None, False, lambda _: None)
        if report.failure is not None:
            raise RuntimeError(report.failure)
        return sum(one.new for one in report.conversations)


if __name__ == "__main__":
    events = _store(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[1])
    print(json.dumps({"peak": peak_rss_mb(), "events": events}))
