"""Documents by the command line: they hold all, do nothing in a browser, and the AI SDK's list reads again."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ledger import Ledger
from projections import view
from tests.conformance import needs_shared
from tests.imports import FIXTURES, SAMPLES
from tests.integration.cli.desk import Desk
from tests.unit.projections.test_export_html import everywhere
from tests.unit.projections.ui_message_shapes import ui_message_faults
from turnledger.importing.storing import import_file

LONG = "\n".join(f"line {number}  of   it" for number in range(2_000))
STEP = {"turn_id": "t1", "step_id": "s1"}
TALK: list[dict[str, Any]] = [
    {"type": "user_message", "turn_id": "t1", "content": "go"},
    {"type": "tool_start", **STEP, "tool_call_id": "c1", "tool_name": "Write", "args": {"text": LONG}},
    {"type": "tool_result", "turn_id": "t1", "tool_call_id": "c1", "content": LONG},
    {"type": "complete", "turn_id": "t1"},
]


def told(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"conversation_id": "talk", "id": f"e{number}", **one} for number, one in enumerate(events)]


@pytest.mark.parametrize("form", ["markdown", "html"])
@pytest.mark.parametrize("command", ["export", "show"])
def test_documents_hold_all_and_a_terminal_gets_little(desk: Desk, form: str, command: str) -> None:
    assert desk.append(*told(TALK)).code == 0
    document = desk(command, "talk", "--format", form)
    assert document.code == 0
    assert document.out.replace("  line", "line").count("line 1999  of   it") == 2
    assert "more characters" not in document.out
    short = desk("show", "talk")
    assert len(short.out) < 5_000
    assert "more characters" in short.out


def test_hostile_events_do_nothing_in_a_browser(desk: Desk, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here: tests of the page's source are in tests/unit/projections")
    page = tmp_path / "talk.html"
    events = [one for one in told(everywhere()) if one["type"] != "fork"]
    assert desk.append(*events).code == 0
    assert desk("export", "talk", "--format", "html", "-o", str(page)).code == 0
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--no-first-run", f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", "--v=0",
         "--virtual-time-budget=2000", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    dom = done.stdout
    assert "<title>talk</title>" in dom
    assert dom.count("<script") == dom.count("<iframe") == dom.count("<link") == 0
    assert dom.count("<img") == 1
    assert "Content Security Policy" not in done.stderr  # nothing even tried
    assert {one for one in ("onerror=", "javascript:") if f'" {one}' in dom or f'href="{one}' in dom} == set()


def said(ledger: Ledger, name: str) -> list[tuple[Any, ...]]:
    """What UIMessages hold of a conversation's rows, as they spell it."""
    rows: list[Any] = view(ledger, name).rows
    replaced = {(one["turn_id"], one["step_id"]) for one in rows if one.get("status") == "superseded"}
    shown: list[tuple[Any, ...]] = []
    for row in rows:
        if (
            row["agent_id"] is not None
            or row["hidden"]
            or row.get("retracted")
            or row.get("status") == "orphan"
        ):
            continue
        if row["row"] == "user":
            if row["content"]:
                shown.append(("user", spelled([_block(one) for one in _blocks(row["content"])])))
        elif (row["turn_id"], row.get("step_id")) in replaced:
            continue
        elif row["row"] == "assistant":
            thoughts = [one["text"] for one in row["thinking"] if one["text"]]
            if row["text"] or thoughts:
                shown.append(("assistant", row["text"], thoughts))
        elif row["row"] == "tool":
            status, result = row["status"], spelled(row["result"])
            if status in ("error", "interrupted"):  # an error is a text, and a call that is over has one
                status, result = "error", spelled_error(result)
            shown.append(("tool", row["tool_name"], row["args"], status, result))
    return shown


def spelled(content: Any) -> Any:
    """Blocks that are text and nothing else, as their text."""
    blocks = content if isinstance(content, list) else [None]
    plain = all(isinstance(one, dict) and one.keys() == {"type", "text"} for one in blocks)
    return "\n\n".join(one["text"] for one in blocks) if plain and blocks else content


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _block(block: dict[str, Any]) -> dict[str, Any]:
    """A block of a person's message as the importer writes it: data beside its type; unknown ones unwrapped."""
    source = block.get("source", {})
    if "data" in source:
        return {"type": block["type"], "media_type": source["media_type"], "data": source["data"]}
    wrapped = block.get("data")
    unknown = block["type"].startswith("data-") and isinstance(wrapped, dict) and "type" in wrapped
    return wrapped if unknown else {key: value for key, value in block.items() if value is not None}


def spelled_error(result: Any) -> str:
    if result is None or isinstance(result, str):
        return result or "The call has no result."
    return json.dumps(result, ensure_ascii=False)


@needs_shared
@pytest.mark.parametrize("name", sorted({name for name, _ in SAMPLES}))
def test_samples_read_again_as_ui_messages(engine_url: str, tmp_path: Path, name: str) -> None:
    desk = Desk(engine_url)
    with Ledger.open(engine_url) as ledger:
        for _, path in [one for one in SAMPLES if one[0] == name]:
            import_file(ledger, name, FIXTURES / path, None, False, lambda _: None)
        names = [one.conversation_id for one in ledger.conversations()]
        assert names
        for number, one in enumerate(names):
            answer = desk("export", one, "--format", "ai-sdk")
            messages = json.loads(answer.out)
            before = said(ledger, one)
            assert bool(messages) == bool(before)
            if not messages:
                continue
            assert ui_message_faults(messages) == []
            file = tmp_path / f"{number}.json"
            file.write_text(answer.out)
            with Ledger.open(f"sqlite:///{tmp_path / f'{number}.db'}") as back:
                report = import_file(back, "ai-sdk", file, None, False, lambda _: None)
                assert (report.failure, report.problems) == (None, [])
                (only,) = [found.conversation_id for found in back.conversations()]
                assert said(back, only) == before, one
