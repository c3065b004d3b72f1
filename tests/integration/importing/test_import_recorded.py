"""A session's file taken in beside what `turnledger record claude-code` recorded of the same run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ledger import Ledger
from ledger.intake.lines import split_lines
from ledger.intake.stream import End
from ledger.intake.streams import STREAMS
from ledger.recorded import RecordedEvent
from ledger.stream_recorder import StreamRecorder
from projections.conversation import rows
from replay import neutral, plan
from tests.claude_files import SESSION, SessionLines, call
from tests.conformance import needs_shared
from tests.corpus.test_claude_code_files import FILES, FIXTURES, PAIRS
from tests.streams import lines
from turnledger.cli import main
from turnledger.importing.reports import ConversationReport
from turnledger.importing.storing import import_file


def stream_of(name: str) -> list[bytes]:
    path = FIXTURES / f"claude-code-stream/v2.1.332-{name}.jsonl"
    return path.read_bytes().splitlines(keepends=True)


def file_of(name: str) -> Path:
    return FILES / f"v2.1.332-{PAIRS[name]}.jsonl"


def record(ledger: Ledger, conversation: str, stream: Iterable[bytes], end: End = "eof") -> None:
    recorder = StreamRecorder(ledger, conversation, "claude-code", STREAMS["claude-code"])
    for line in split_lines(stream):
        recorder.line(line)
    recorder.end(end)


def take_in(ledger: Ledger, path: Path, conversation: str) -> ConversationReport:
    report = import_file(ledger, "claude-code", path, conversation, False, lambda _size: None)
    assert report.failure is None
    return report.conversations[0]


def refusal(ledger: Ledger, path: Path, conversation: str) -> str:
    head = ledger.head(conversation)
    report = import_file(ledger, "claude-code", path, conversation, False, lambda _size: None)
    assert ledger.head(conversation) == head, "nothing is stored"
    return report.failure or ""


def shown(events: Iterable[RecordedEvent]) -> dict[str, list[Any]]:
    """Answers by step and calls by their id, as people see them."""
    found: dict[str, list[Any]] = {}
    for row in rows(list(events), "c"):
        if row["row"] == "assistant":
            names = ["text", "thinking", "model", "agent_id", "retracted", "hidden"]
            found.setdefault(row["step_id"], []).append({name: row[name] for name in names})
        elif row["row"] == "tool":
            names = ["step_id", "tool_name", "args", "status", "result", "agent_id"]
            found.setdefault(row["tool_call_id"], []).append({name: row[name] for name in names})
    return found


def answered(events: Iterable[RecordedEvent]) -> list[Any]:
    """What would be sent of the model and of tools."""
    return [
        (message.role, [{**part, "provider_metadata": None} for part in message.parts])
        for message in neutral(plan(list(events)))
        if message.role != "user"
    ]


def texts(events: Iterable[RecordedEvent]) -> list[str]:
    """The texts that people would be sent as theirs."""
    return [
        str(part.get("text"))
        for message in neutral(plan(list(events)))
        for part in message.parts
        if message.role == "user"
    ]


def check_single(events: list[RecordedEvent]) -> None:
    """Nothing is there twice, and no step is in two turns."""
    values = [json.loads(event.body) for event in events]
    gone = {name for value in values if value["type"] == "retraction" for name in value.get("event_ids", ())}
    values = [value for value in values if value["id"] not in gone]
    starts = Counter(value["step_id"] for value in values if value["type"] == "step_start")
    finishes = Counter(value["step_id"] for value in values if value["type"] == "step_finish")
    results = Counter(value["tool_call_id"] for value in values if value["type"] == "tool_result")
    places = Counter((v["step_id"], v["block_index"]) for v in values if v.get("block_index") is not None)
    for counted in (starts, finishes, results, places):
        assert all(count == 1 for count in counted.values()), counted
    turns: dict[str, set[str]] = {}
    for value in values:
        if value.get("step_id"):
            turns.setdefault(value["step_id"], set()).add(value["turn_id"])
    assert all(len(found) == 1 for found in turns.values())


@needs_shared
@pytest.mark.parametrize("name", sorted(PAIRS))
def test_a_file_adds_what_a_recording_cut_anywhere_did_not_hold(engine_url: str, name: str) -> None:
    stream, path = stream_of(name), file_of(name)
    with Ledger.open(engine_url) as ledger:
        take_in(ledger, path, "file")
        alone = list(ledger.read("file"))
        for count in range(1, len(stream) + 1):
            conversation = f"cut-{count}"
            record(ledger, conversation, stream[:count], "eof" if count % 2 else "terminated")
            live = list(ledger.read(conversation))
            first = take_in(ledger, path, conversation)
            whole = list(ledger.read(conversation))
            assert whole[: len(live)] == live
            check_single(whole)
            assert shown(whole) == shown(alone)
            assert answered(whole) == answered(alone)
            assert first.differing == 0
            again = take_in(ledger, path, conversation)
            assert (again.new, again.differing, again.unplaced) == (0, 0, first.unplaced)
            assert again.known == first.new + first.known


@needs_shared
@pytest.mark.parametrize("name", sorted(PAIRS))
def test_what_the_recording_showed_stays_what_it_was(engine_url: str, name: str) -> None:
    stream = stream_of(name)
    with Ledger.open(engine_url) as ledger:
        record(ledger, "c", stream)
        before = list(ledger.read("c"))
        seen, sent, turns = shown(before), answered(before), [e for e in before if e.type == "turn_start"]
        report = take_in(ledger, file_of(name), "c")
        after = list(ledger.read("c"))
        assert report.new > 0
        now = shown(after)
        assert {key: now[key] for key in seen} == seen
        if name != "fix":  # that session went on, and was compacted
            assert answered(after) == sent
            assert [event for event in after if event.type == "turn_start"] == turns
        kept = [json.loads(event.body) for event in after[len(before) :]]
        prompts = [note["entry"]["content"] for note in kept if note.get("kind") == "unplaced"]
        assert len(prompts) == report.unplaced > 0
        asked = next(json.loads(e.body) for e in take_alone(ledger, name) if e.type == "user_message")
        assert asked["content"] in prompts
        assert asked["content"] not in texts(after)


def take_alone(ledger: Ledger, name: str) -> list[RecordedEvent]:
    take_in(ledger, file_of(name), "alone")
    return list(ledger.read("alone"))


@needs_shared
@pytest.mark.parametrize("name", ["maxturns", "midfail"])
def test_a_block_that_the_stream_lost_comes_from_the_file(engine_url: str, name: str) -> None:
    stream = stream_of(name)
    with Ledger.open(engine_url) as ledger:
        alone = answered(take_alone(ledger, name))
        for lost, line in enumerate(stream):
            if json.loads(line)["type"] not in ("assistant", "user"):
                continue
            conversation = f"lost-{lost}"
            record(ledger, conversation, [*stream[:lost], *stream[lost + 1 :]])
            first = import_file(ledger, "claude-code", file_of(name), conversation, False, lambda _size: None)
            whole = list(ledger.read(conversation))
            check_single(whole)
            if first.failure is None:
                assert take_in(ledger, file_of(name), conversation).new == 0
                if b'"tool_use"' not in line and b'"tool_result"' not in line:
                    assert answered(whole) == alone


@needs_shared
def test_a_session_of_several_streams_and_one_file(engine_url: str) -> None:
    path = file_of("fix")
    with Ledger.open(engine_url) as ledger:
        alone = take_alone(ledger, "fix")
        for names, differing in ((("fix", "resume"), 0), (("fix", "resume", "compact", "aftercompact"), 1)):
            conversation = "-".join(names)
            for name in names:
                record(ledger, conversation, stream_of(name))
            # A stream does not tell what a compaction left: the one that was recorded differs.
            assert take_in(ledger, path, conversation).differing == differing
            whole = list(ledger.read(conversation))
            check_single(whole)
            assert shown(whole) == shown(alone)
            kinds = ("turn_start", "compaction")
            assert [e.type for e in whole if e.type in kinds] == [e.type for e in alone if e.type in kinds]
            assert (answered(whole) == answered(alone)) == (not differing)
            assert take_in(ledger, path, conversation).new == 0


@needs_shared
def test_a_model_call_that_would_come_too_late_is_refused(engine_url: str) -> None:
    with Ledger.open(engine_url) as ledger:
        for name in ("fix", "aftercompact"):
            record(ledger, "gap", stream_of(name))
        record(ledger, "end", stream_of("resume"))
        for conversation in ("gap", "end"):
            said = refusal(ledger, file_of("fix"), conversation)
            assert "comes before others that were recorded live" in said
            assert "--as NEW" in said


@needs_shared
def test_a_session_that_was_taken_in_and_went_on_live(engine_url: str, tmp_path: Path) -> None:
    whole = file_of("fix").read_bytes().splitlines(keepends=True)
    begins = next(at for at, line in enumerate(whole) if b"SECOND question" in line)
    path = tmp_path / file_of("fix").name
    with Ledger.open(engine_url) as ledger:
        alone = take_alone(ledger, "fix")
        path.write_bytes(b"".join(whole[:begins]))
        take_in(ledger, path, "c")
        record(ledger, "c", stream_of("resume"))
        path.write_bytes(b"".join(whole))
        report = take_in(ledger, path, "c")
        assert (report.differing, report.unplaced) == (0, 2)
        found = list(ledger.read("c"))
        check_single(found)
        assert (shown(found), answered(found)) == (shown(alone), answered(alone))
        again = take_in(ledger, path, "c")
        assert (again.new, again.differing) == (0, 0)


@needs_shared
def test_another_session_is_refused(engine_url: str) -> None:
    with Ledger.open(engine_url) as ledger:
        record(ledger, "c", stream_of("interrupt"))
        assert "of another session" in refusal(ledger, file_of("fix"), "c")


@needs_shared
def test_halves_of_a_recording_that_was_cut_are_taken_back(engine_url: str, tmp_path: Path) -> None:
    stream = stream_of("partial")
    path = tmp_path / "partial.jsonl"
    path.write_bytes(as_file(stream))
    with Ledger.open(engine_url) as ledger:
        take_in(ledger, path, "file")
        alone = answered(ledger.read("file"))
        halves = 0
        for count in range(1, len(stream) + 1, 3):
            conversation = f"cut-{count}"
            record(ledger, conversation, stream[:count])
            assert take_in(ledger, path, conversation).differing == 0
            whole = list(ledger.read(conversation))
            halves += sum(event.type == "retraction" for event in whole)
            check_single(whole)
            assert answered(whole) == alone
            assert take_in(ledger, path, conversation).new == 0
    assert halves > 10


def as_file(stream: list[bytes]) -> bytes:
    """The session file that the run of a stream would have left."""
    records = [json.loads(line) for line in stream]
    file = SessionLines(sessionId=records[0]["session_id"])
    file.user("prompt", "do it")
    written = [json.loads(line) for line in file.data().splitlines()]
    for one in records:
        if one["type"] in ("assistant", "user"):
            taken = {"type": one["type"], "uuid": one["uuid"], "message": one["message"], "apiBlockIndex": 0}
            more = {"toolUseResult": one["tool_use_result"]} if "tool_use_result" in one else {}
            parent = written[-1]["uuid"]
            written.append({**written[0], **taken, **more, "parentUuid": parent})
    return lines(written)


def test_a_person_sees_what_was_added_and_what_has_no_place(engine_url: str, tmp_path: Path) -> None:
    file = SessionLines()
    file.user("u1", "list them")
    file.model("a1", "m1", call("c1", "Bash", command="ls"), stop="tool_use")
    file.result("r1", "c1", "a b")
    file.model("a2", "m2", "two files")
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(file.data())
    written = [json.loads(line) for line in file.data().splitlines()]
    stream = [{"type": "system", "subtype": "init", "session_id": SESSION, "uuid": "i1"}]
    stream += [
        {"type": one["type"], "session_id": SESSION, "uuid": one["uuid"], "message": one["message"]}
        for one in written[1:3]
    ]
    desk = CliRunner()
    arguments = ["--db", engine_url, "record", "claude-code", "--conversation", SESSION]
    done = desk.invoke(main, arguments, input=lines(stream))
    assert done.exit_code == 0, done.output
    dry = desk.invoke(main, ["--db", engine_url, "import", "auto", str(path), "--dry-run", "--json"])
    first = desk.invoke(main, ["--db", engine_url, "import", "auto", str(path)])
    assert first.exit_code == 0, first.output
    assert "1 messages stand before what was recorded live" in first.output
    with Ledger.open(engine_url) as ledger:
        found = list(ledger.read(SESSION))
        assert len(found) - found[-1].version == 0
        new = json.loads(dry.stdout)["totals"]["new"]
        assert new == sum(1 for event in found if (event.event.source or {}).get("format"))
        assert [e.step_id for e in found if e.type == "step_start"] == ["m1", "m2"]
        assert [row["text"] for row in rows(found, SESSION) if row["row"] == "assistant"] == ["two files"]
    again = desk.invoke(main, ["--db", engine_url, "import", "auto", str(path), "--json"])
    assert json.loads(again.stdout)["totals"]["new"] == 0
