"""`turnledger import --watch`: a folder followed while a runtime writes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from ledger import Ledger
from tests.pi_files import SessionFile


def wait_for(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Looks again and again until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.02)


RUN = "from turnledger.cli import main; main()"


def head(url: str, conversation: str) -> int:
    try:
        with Ledger.open(url) as ledger:
            found = ledger.head(conversation)
    except Exception:
        return 0  # not made yet
    return 0 if found is None else found.version


def test_what_is_written_is_taken_in_as_it_comes(engine_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    file = SessionFile()
    file.user("hello", "u1")
    command = [sys.executable, "-c", RUN, "--db", engine_url, "import", "pi", str(folder)]
    process = subprocess.Popen(
        [*command, "--watch", "--every", "0.05"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        session = _session(file)
        (folder / "a.jsonl").write_bytes(file.data())
        wait_for(lambda: head(engine_url, session) > 0)
        before = head(engine_url, session)
        whole = len(file.data())
        file.assistant("answer", entry_id="a1")
        longer = file.data()
        with (folder / "a.jsonl").open("ab") as grown:
            grown.write(longer[whole : whole + 20])  # a line that is not whole yet
            grown.flush()
            grown.write(longer[whole + 20 :])
        wait_for(lambda: head(engine_url, session) > before)
        process.send_signal(signal.SIGINT)
        said, problems = process.communicate(timeout=60)
        assert process.returncode == 0, problems
        assert f"{session}: " in said
        assert " new, " in said
        assert "Traceback" not in problems
    finally:
        process.kill()


def _session(file: SessionFile) -> str:
    import json

    return str(json.loads(file.data().split(b"\n")[0])["id"])
