"""`turnledger export`: our own lines import back to the same; documents hold all, and nothing in them runs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ledger import Ledger
from projections import view
from replay import replay
from tests.conformance import needs_shared
from tests.imports import FIXTURES, SAMPLES
from tests.integration.cli.desk import Desk, lines
from turnledger.importing.storing import import_file

HOSTILE = '<script>document.title="ran"</script><img src=x onerror="document.title=\'ran\'">'
STEP = {"turn_id": "t1", "step_id": "s1"}
TALK: list[dict[str, Any]] = [
    {"type": "user_message", "turn_id": "t1", "content": f"go {HOSTILE}"},
    {"type": "step_start", **STEP, "provider": "anthropic", "api": "messages", "model": "m"},
    {"type": "thinking_complete", **STEP, "text": f"hm {HOSTILE}", "signature": "c2ln"},
    {"type": "text_complete", "turn_id": "t1", "step_id": "s1", "text": f"```\n</pre>{HOSTILE}\n```"},
    {"type": "tool_start", **STEP, "tool_call_id": "c1", "tool_name": "ls", "args": {"p": HOSTILE}},
    {"type": "tool_result", "turn_id": "t1", "tool_call_id": "c1", "content": f"out {HOSTILE}"},
    {"type": "complete", "turn_id": "t1"},
]  # fmt: skip


def told(*events: dict[str, Any], conversation: str = "talk") -> bytes:
    return lines(
        [{"conversation_id": conversation, "id": f"e{number}", **one} for number, one in enumerate(events)]
    )


@pytest.fixture
def talk(desk: Desk) -> Desk:
    assert desk("append", "-", input=told(*TALK)).code == 0
    return desk


def elsewhere(tmp_path: Path, name: str = "other") -> Desk:
    return Desk(f"sqlite:///{tmp_path / name}.db")


def test_our_own_lines_import_back_to_the_same(talk: Desk, tmp_path: Path) -> None:
    file, again = tmp_path / "talk.jsonl", tmp_path / "again.jsonl"
    assert talk("export", "talk", "-o", str(file)).code == 0
    other = elsewhere(tmp_path)
    report = other("import", "auto", str(file), "--json").json
    assert (report["totals"]["new"], report["files"][0]["format"]) == (7, "turnledger")
    assert other("show", "talk", "--json").json == talk("show", "talk", "--json").json
    assert other("import", "turnledger", str(file), "--json").json["totals"]["new"] == 0
    assert other("export", "talk", "-o", str(again)).code == 0
    assert again.read_bytes() == file.read_bytes()
    more = {"type": "user_message", "turn_id": "t2", "content": "more", "id": "e9", "conversation_id": "talk"}
    assert talk("append", "-", input=lines([more])).code == 0
    assert talk("export", "talk", "--force", "-o", str(file)).code == 0
    grown = other("import", "auto", str(file), "--json").json["totals"]
    assert (grown["new"], grown["known"], grown["differing"]) == (1, 7, 0)


def test_a_branch_comes_with_what_it_left(talk: Desk, tmp_path: Path) -> None:
    fork = {"type": "fork", "source_conversation_id": "talk", "source_version": 3}
    asked = {"type": "user_message", "turn_id": "t9", "content": "instead"}
    assert talk("append", "-", input=told(fork, asked, conversation="aside")).code == 0
    file = tmp_path / "branch.jsonl"
    assert talk("export", "aside", "-o", str(file)).code == 0
    other = elsewhere(tmp_path)
    assert other("import", "auto", str(file)).code == 0
    for name in ("talk", "aside"):
        assert other("show", name, "--json").json == talk("show", name, "--json").json


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.replace(b"go <script>", b"no <script>"), "are not as they were exported"),
        (lambda data: data[: data.rindex(b'{"turnledger_end"')], "has no closing line"),
        (lambda data: data[: len(data) // 2], "has no closing line"),
        (lambda data: data.replace(b'"type":"complete"', b'"type":7'), "kept as a note"),
    ],
)
def test_an_export_that_was_changed_or_cut_is_told(talk: Desk, tmp_path: Path, change: Any, said: str) -> None:
    file = tmp_path / "talk.jsonl"
    talk("export", "talk", "-o", str(file))
    file.write_bytes(change(file.read_bytes()))
    answer = elsewhere(tmp_path)("import", "auto", str(file))
    assert said in answer.err
    assert elsewhere(tmp_path)("doctor", str(file)).code == 3


def test_another_conversation_of_that_name_is_not_mixed_up_with_it(talk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    talk("export", "talk", "-o", str(file))
    other = elsewhere(tmp_path)
    other("append", "-", input=lines([{**TALK[0], "conversation_id": "talk", "id": "other"}]))
    answer = other("import", "auto", str(file))
    assert answer.code == 1
    assert "another conversation has that name" in answer.err


def test_what_is_asked_for_must_make_sense(talk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "there.md"
    file.write_text("mine")
    assert talk("export", "talk", "-o", str(file)).code == 1
    assert file.read_text() == "mine"
    assert talk("export").code == 2
    assert talk("export", "talk", "--all").code == 2
    assert talk("export", "nothing").code == 1
    bad = tmp_path / "rules.json"
    bad.write_text('{"mine": "("}')
    answer = talk("export", "talk", "--redact-rules", str(bad))
    assert (answer.code, answer.out) == (1, "")
    assert "'mine' is no regular expression" in answer.err


def test_markdown_and_standard_output(talk: Desk) -> None:
    answer = talk("export", "talk", "--format", "markdown")
    assert answer.out.startswith("# talk\n\n*version 7*\n\n## User")
    assert talk("show", "talk", "--format", "html").out.startswith("<!doctype html>")


def test_what_pydantic_ai_loads(talk: Desk) -> None:
    messages = pytest.importorskip("pydantic_ai.messages")
    given = json.loads(talk("export", "talk", "--format", "pydantic-ai").out)
    loaded = messages.ModelMessagesTypeAdapter.validate_python(given)
    assert [part.part_kind for message in loaded for part in message.parts] == [
        "user-prompt", "thinking", "text", "tool-call", "tool-return"
    ]  # fmt: skip


def test_what_the_ai_sdk_stores(talk: Desk) -> None:
    user, assistant = json.loads(talk("export", "talk", "--format", "ai-sdk").out)
    assert user["role"] == "user"
    assert [part["type"] for part in assistant["parts"]] == ["step-start", "reasoning", "text", "tool-ls"]
    call = assistant["parts"][-1]
    assert (call["state"], call["toolCallId"], call["input"]) == ("output-available", "c1", {"p": HOSTILE})


def test_nothing_on_the_page_runs(talk: Desk, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    file = tmp_path / "talk.html"
    assert talk("export", "talk", "--format", "html", "-o", str(file)).code == 0
    page = file.read_text()
    assert HOSTILE not in page
    assert page.count("<script") == page.count('onerror="') == 0
    if browser is None:
        pytest.skip("no Chromium here: the page's source was checked, not the page")
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--no-first-run", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "<title>talk</title>" in done.stdout
    assert "&lt;script&gt;" in done.stdout
    assert "<details" in done.stdout


SECRETS = {
    "anthropic key": "sk-ant-api03-AAAABBBBCCCC",
    "openai key": "sk-proj-abcdefghijklmnopqrstuvwxyz",
    "google key": "AIza" + "a" * 35,
    "github token": "ghp_0123456789abcdefghij",
    "slack token": "xoxb-1234567890-abc",
    "aws key id": "AKIAIOSFODNN7EXAMPLE",
    "jwt": "eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl",
    "bearer token": "Bearer abcdefghij",
    "password in a url": "postgres://me:hunter22@host/db",
    "secret": 'API_KEY="abcdef123456"',
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    "home": "/home/marie/app and C:\\Users\\marie",
}


@pytest.mark.parametrize("form", ["jsonl", "markdown", "html", "pydantic-ai", "ai-sdk"])
def test_secrets_are_hidden_in_every_form(desk: Desk, form: str) -> None:
    words = {
        "anthropic key": "api03", "openai key": "ijklmnop", "google key": "aaaa", "github token": "456789",
        "slack token": "1234567890", "aws key id": "FODNN7", "jwt": "eyJzdWI", "bearer token": "abcdefghij",
        "password in a url": "hunter22", "secret": "abcdef123456", "private key": "MIIE", "home": "marie",
    }  # fmt: skip
    said = "\n".join(SECRETS.values())
    events = [
        {"type": "user_message", "turn_id": "t1", "content": said},
        {"type": "tool_start", "turn_id": "t1", "step_id": "s1", "tool_call_id": "c1", "tool_name": "ls",
         "args": {said: [said]}},
        {"type": "tool_result", "turn_id": "t1", "tool_call_id": "c1", "content": said},
        {"type": "thinking_complete", **STEP, "text": said, "signature": "T1BBUVVF"},
    ]  # fmt: skip
    assert desk("append", "-", input=told(*events)).code == 0
    answer = desk("export", "talk", "--format", form, "--redact")
    assert answer.code == 0
    for name, word in words.items():
        assert word not in answer.out, name
        assert name in answer.err
    assert "T1BBUVVF" not in answer.out
    assert "opaque state" in answer.err


def test_what_cannot_be_searched_is_hidden(desk: Desk, tmp_path: Path) -> None:
    image = {"type": "image", "media_type": "image/png", "data": "QUJD" * 100}
    long = "xxxx " * 200_001
    events = [
        {"type": "user_message", "turn_id": "t1", "content": [image, {"type": "text", "text": long}]},
        {"type": "user_message", "turn_id": "t1", "content": "the code is zebra"},
    ]
    assert desk("append", "-", input=told(*events)).code == 0
    rules = tmp_path / "rules.json"
    rules.write_text('{"code word": "zebra"}')
    answer = desk("export", "talk", "--redact-rules", str(rules))
    assert "QUJD" not in answer.out
    assert "xxxx" not in answer.out
    assert "zebra" not in answer.out
    assert "1 code word, 1 data, 1 too long to be searched" in answer.err
    assert json.loads(answer.out.splitlines()[0])["redacted"] is True
    assert elsewhere(tmp_path)("import", "turnledger", "-", input=answer.out).code == 0


@needs_shared
@pytest.mark.parametrize("name", sorted({name for name, _ in SAMPLES}))
def test_samples_come_back_equal(engine_url: str, tmp_path: Path, name: str) -> None:
    target = {"provider": "anthropic", "model": "claude-opus-4-5"}
    with Ledger.open(engine_url) as ledger:
        for _, path in [one for one in SAMPLES if one[0] == name]:
            import_file(ledger, name, FIXTURES / path, None, False, lambda _: None)
        file = tmp_path / "all.jsonl"
        assert Desk(engine_url)("export", "--all", "-o", str(file)).code == 0
        with Ledger.open(f"sqlite:///{tmp_path / 'back.db'}") as back:
            report = import_file(back, "auto", file, None, False, lambda _: None)
            assert (report.failure, report.problems) == (None, [])
            names = [one.conversation_id for one in ledger.conversations()]
            assert [one.conversation_id for one in back.conversations()] == names
            for one in names:
                assert view(back, one).as_json() == view(ledger, one).as_json()
                old, new = (replay(held.read(one), one, target).as_json() for held in (ledger, back))
                assert new == old
