"""OpenCode's sessions as events: each rule of specs/formats.md 7, in databases that change as OpenCode's do."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ledger.events import Event, to_json
from projections.conversation import rows
from replay import Options, replay
from replay.providers.violations import violations
from tests.conformance import SHARED, needs_shared
from tests.imports import Taken, take_bytes, take_file
from tests.opencode_files import OpenCodeFile, completed, tokens

FIXTURES = SHARED / "fixtures" / "opencode"
RUNNING = {"status": "running", "input": {"n": 1}, "time": {"start": 5}}


@pytest.fixture
def file(tmp_path: Path) -> Iterator[OpenCodeFile]:
    made = OpenCodeFile(tmp_path / "opencode.db")
    yield made
    made.connection.close()


def take(file: OpenCodeFile) -> Taken:
    return take_file(file.path)


def told(taken: Taken, session: str | None = None) -> list[tuple[str, Any]]:
    """Type and what is said, by event."""
    return [(event.type, said(event)) for event in taken.events(session)]


def said(event: Event) -> Any:
    body = to_json(event)
    names = ("text", "content", "tool_call_id", "stop_reason", "reason", "summary", "kind", "code")
    return next((body[name] for name in names if name in body), None)


def of_type(taken: Taken, kind: str) -> list[dict[str, Any]]:
    return [to_json(event) for event in taken.events() if event.type == kind]


class Growth:
    """Looks after every change that nothing which was taken changes or moves."""

    def __init__(self, file: OpenCodeFile) -> None:
        self.file = file
        self.before: dict[str, list[dict[str, Any]]] = {}

    def look(self) -> Taken:
        taken = take(self.file)
        now = {name: [to_json(record.event) for record in own] for name, own in taken.own.items()}
        for name, events in self.before.items():
            assert now[name][: len(events)] == events
        self.before = now
        return taken


@needs_shared
def test_the_sample_as_it_grew_begins_every_time_as_before(file: OpenCodeFile) -> None:
    """OpenCode's own log of changes, played into a database one by one."""
    connection = sqlite3.connect(f"file:{FIXTURES / 'v1.18.33-opencode.db'}?mode=ro&immutable=1", uri=True)
    log = connection.execute("SELECT type, data FROM event ORDER BY seq").fetchall()
    connection.close()
    growth = Growth(file)
    for kind, data in log:
        value = json.loads(data)
        if kind.startswith("session."):
            file.session(value["sessionID"])
        elif kind.startswith("message.updated"):
            file.message({**value["info"], "sessionID": value["sessionID"]})
        elif kind.startswith("message.part.updated"):
            file.part(value["part"])
        growth.look()
    whole = take_file(FIXTURES / "v1.18.33-opencode.db")
    assert [event["id"] for event in growth.before[next(iter(whole.own))]] == whole.ids()[next(iter(whole.own))]


@needs_shared
def test_steps_and_tokens_are_those_of_the_session() -> None:
    path = FIXTURES / "v1.18.33-opencode.db"
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    (count,) = connection.execute(
        "SELECT count(*) FROM message WHERE json_extract(data, '$.role') = 'assistant'"
    ).fetchone()
    sums = connection.execute(
        "SELECT tokens_input, tokens_output + tokens_reasoning, tokens_reasoning, tokens_cache_read "
        "FROM session"
    ).fetchone()
    connection.close()
    taken = take_file(path)
    assert len(of_type(taken, "step_start")) == len(of_type(taken, "step_finish")) == count
    usages = [event["usage"] for event in of_type(taken, "step_finish")]
    names = ("input", "output", "reasoning", "cache_read")
    assert tuple(sum(usage[name] for usage in usages) for name in names) == sums


@needs_shared
def test_an_export_gives_what_the_database_gives() -> None:
    both = [take_file(FIXTURES / name) for name in ("v1.18.33-opencode.db", "v1.18.33-export.json")]
    events = [[to_json(event) for event in taken.events()] for taken in both]
    for event in events[0] + events[1]:
        source = event["source"]
        assert isinstance(source, dict)
        assert source.pop("file")
    assert events[0] == events[1]


@needs_shared
def test_an_export_cut_anywhere_begins_as_the_whole() -> None:
    path = FIXTURES / "v1.18.33-export.json"
    data = path.read_bytes()
    whole = take_file(path).ids()
    for cut in range(2_000, len(data), 1_500):
        taken = take_bytes(data[:cut], path, "opencode")
        for name, ids in taken.ids().items():
            assert whole[name][: len(ids)] == ids
        assert taken.codes == ["damaged_document"]


def test_what_is_not_over_waits(file: OpenCodeFile) -> None:
    growth, session = Growth(file), file.session()
    assert told(growth.look()) == [("note", "The session's head.")]
    prompt = file.prompt(session)
    assert len(growth.look().events()) == 1, "its parts are not there yet"
    file.put(session, prompt, type="text", text="go")
    growth.look()
    answer = file.answer(session, prompt)
    file.put(session, answer, type="step-start")
    growth.look()
    text = file.put(session, answer, type="text", text="I lo", time={"start": 1})
    pending = {"status": "pending", "input": {}, "raw": ""}
    call = file.call(session, answer, "read", pending)
    other = file.call(session, answer, "read", completed("two"))
    assert told(growth.look())[-1] == ("step_start", None), "nothing behind what is not over"
    file.put(session, answer, text, type="text", text="I look.", time={"start": 1, "end": 2})
    assert told(growth.look())[-1] == ("text_complete", "I look.")
    file.call(session, answer, "read", RUNNING, call)
    assert told(growth.look())[-1] == ("tool_start", f"call_{call}")
    file.call(session, answer, "read", completed("one"), call)
    assert told(growth.look())[-3:] == [
        ("tool_result", "one"),
        ("tool_start", f"call_{other}"),
        ("tool_result", "two"),
    ]
    file.put(session, answer, type="step-finish", reason="tool-calls", tokens=tokens(), cost=0.5)
    growth.look()
    file.answer(session, prompt, answer, completed=True, finish="tool-calls")
    growth.look()
    file.said(session, prompt, "Done.")
    taken = growth.look()
    assert told(taken)[-3:] == [("text_complete", "Done."), ("step_finish", None), ("complete", "stop")]
    assert taken.texts()[-1] == "Done."
    assert [event["step_id"] for event in of_type(taken, "tool_result")] == [answer, answer]
    assert [event["block_index"] for event in of_type(taken, "tool_start")] == [1, 2]


def test_usage_and_what_else_a_step_says(file: OpenCodeFile) -> None:
    session = file.session()
    file.said(session, file.prompt(session, "hi"), "Hello.")
    taken = take(file)
    (start,), (finish,) = of_type(taken, "step_start"), of_type(taken, "step_finish")
    assert (start["provider"], start["model"]) == ("anthropic", "claude-opus-4-5")
    assert finish["usage"] == {
        "input": 10,
        "output": 7,
        "cache_read": 3,
        "cache_write": 0,
        "reasoning": 2,
        "reported": tokens(),
    }
    assert finish["finish_reason"] == "stop"


def test_several_steps_in_one_message_of_an_older_version(file: OpenCodeFile) -> None:
    session = file.session()
    prompt = file.prompt(session, "hi")
    name = file.answer(session, prompt)
    for text in ("one", "two"):
        file.put(session, name, type="step-start")
        file.put(session, name, type="text", text=text)
        file.put(session, name, type="step-finish", reason="stop", tokens=tokens(), cost=0)
    file.answer(session, prompt, name, completed=True)
    taken = take(file)
    assert [event["step_id"] for event in of_type(taken, "step_start")] == [name, f"{name}#2"]
    assert [event["step_id"] for event in of_type(taken, "text_complete")] == [name, f"{name}#2"]
    assert told(taken)[-1] == ("complete", "stop")


@pytest.mark.parametrize(
    ("error", "end"),
    [
        ({"name": "MessageAbortedError", "data": {"message": "Aborted"}}, ("abort", "user_stop")),
        ({"name": "APIError", "data": {"message": "Overloaded"}}, ("error", "APIError")),
        ({"name": "UnknownError"}, ("error", "UnknownError")),
    ],
)
def test_a_turn_that_failed_or_was_stopped(file: OpenCodeFile, error: dict[str, Any], end: Any) -> None:
    session = file.session()
    prompt = file.prompt(session, "hi")
    name = file.answer(session, prompt)
    file.put(session, name, type="step-start")
    file.put(session, name, type="text", text="Hel", time={"start": 1})
    gone = {"status": "error", "input": {}, "error": "Tool execution aborted", "time": {"start": 1, "end": 3}}
    file.call(session, name, "bash", gone)
    file.answer(session, prompt, name, completed=True, error=error)
    taken = take(file)
    assert told(taken)[-1] == end
    assert not of_type(taken, "step_finish")
    (text,), (result,) = of_type(taken, "text_complete"), of_type(taken, "tool_result")
    assert (text["text"], text["partial"]) == ("Hel", True)
    assert (result["is_error"], result["content"], result["duration_ms"]) == (True, "Tool execution aborted", 2)


def test_a_crash_is_known_by_what_the_model_made_after_it(file: OpenCodeFile) -> None:
    growth, session = Growth(file), file.session()
    prompt = file.prompt(session, "hi")
    name, _ = file.called(session, prompt, "bash", RUNNING)
    file.put(session, name, type="text", text="Hel", time={"start": 1})
    growth.look()
    second = file.prompt(session, "again")
    assert told(growth.look())[-1][0] == "tool_start", "a prompt may be typed while the model works"
    file.said(session, second, "Yes.")
    taken = growth.look()
    assert [kind for kind, _ in told(taken)].count("text_complete") == 2
    (abort,) = of_type(taken, "abort")
    assert abort["source"]["inferred"] is True
    assert abort["turn_id"] == prompt
    file.connection.execute("DELETE FROM message WHERE id >= ?", (second,))
    file.said(session, file.prompt(session, "instead"), "No.")
    assert of_type(take(file), "abort") == [abort], "whatever comes behind it"
    assert told(taken)[-1] == ("complete", "stop")


def test_commands_that_failed_and_files_that_a_tool_gave(file: OpenCodeFile) -> None:
    session = file.session()
    prompt = file.prompt(session, "hi")
    name, _ = file.called(session, prompt, "bash", completed("no", metadata={"exit": 2}))
    file.call(session, name, "bash", completed("yes", metadata={"exit": 0}))
    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA", "filename": "a.png"}
    file.call(session, name, "read", completed("a picture", attachments=[picture]))
    results = of_type(take(file), "tool_result")
    assert [result.get("is_error") for result in results] == [True, False, None]
    assert results[0]["structured"] == {"metadata": {"exit": 2}}
    assert results[2]["content"] == [
        {"type": "text", "text": "a picture"},
        {"type": "image", "media_type": "image/png", "url": picture["url"], "filename": "a.png"},
    ]


def test_a_result_that_was_pruned_later_is_as_it_was(file: OpenCodeFile) -> None:
    growth, session = Growth(file), file.session()
    prompt = file.prompt(session, "hi")
    _, part = file.called(session, prompt, "read", completed("long"))
    name = growth.look().events()[-1].step_id
    pruned = completed("long", time={"start": 5, "end": 9, "compacted": 99})
    file.call(session, str(name), "read", pruned, part)
    assert told(growth.look())[-1] == ("tool_result", "long")


def test_signatures_and_sealed_reasoning(file: OpenCodeFile) -> None:
    session = file.session()
    prompt = file.prompt(session, "hi")
    name = file.answer(session, prompt)
    file.put(session, name, type="step-start")
    time = {"start": 1, "end": 2}
    file.put(
        session,
        name,
        type="reasoning",
        text="So.",
        time=time,
        metadata={"anthropic": {"signature": "c2ln"}},
    )
    sealed = {"anthropic": {"redactedData": "c2VhbA=="}}
    file.put(session, name, type="reasoning", text="", time=time, metadata=sealed)
    thoughts = of_type(take(file), "thinking_complete")
    assert [thought.get("signature") for thought in thoughts] == ["c2ln", None]
    assert thoughts[1]["redacted_data"] == "c2VhbA=="


def test_prompts_with_files_and_with_what_was_put_in(file: OpenCodeFile) -> None:
    session = file.session()
    picture = {"type": "file", "mime": "image/png", "url": "https://x.y/a.png", "filename": "a.png"}
    file.prompt(
        session,
        "look",
        picture,
        {"type": "text", "text": "Called the Read tool", "synthetic": True},
        {"type": "text", "text": "for eyes only", "ignored": True},
        {"type": "agent", "name": "plan"},
        summary={"diffs": []},
        agent="build",
    )
    taken = take(file)
    messages = of_type(taken, "user_message")
    assert messages[0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image", "media_type": "image/png", "url": "https://x.y/a.png", "filename": "a.png"},
    ]
    assert [message.get("origin") for message in messages] == [None, "runtime", "runtime"]
    assert [message.get("visibility") for message in messages] == [None, None, "hidden"]
    assert [note["kind"] for note in of_type(taken, "note")] == ["session", "agent"]
    assert len(of_type(taken, "turn_start")) == 1


def test_parts_and_roles_that_are_not_known_are_kept(file: OpenCodeFile) -> None:
    session = file.session()
    prompt = file.prompt(session, "hi")
    name = file.answer(session, prompt)
    for kind in ("patch", "snapshot", "retry", "subtask", "of-tomorrow"):
        file.put(session, name, type=kind, what={"deep": [1]})
    file.answer(session, prompt, name, completed=True, finish="stop")
    file.message({"id": file.next("msg"), "sessionID": session, "role": "judge", "time": {"created": 99}})
    notes = of_type(take(file), "note")
    assert [note["kind"] for note in notes[1:]] == [
        "patch",
        "snapshot",
        "retry",
        "subtask",
        "of-tomorrow",
        "raw",
    ]
    assert all(note["entry"]["what"] == {"deep": [1]} for note in notes[1:-1])
    assert notes[-1]["entry"]["info"]["role"] == "judge"


def test_damaged_rows_are_said_and_kept_and_the_rest_goes_on(file: OpenCodeFile) -> None:
    session = file.session()
    prompt = file.prompt(session, "hi")
    name = file.said(session, prompt, "Hello.")
    bad = file.put(session, name, type="patch")
    file.connection.execute("UPDATE part SET data = '{\"type\": ' WHERE id = ?", (bad,))
    worse = file.said(session, file.prompt(session, "more"), "More.")
    file.connection.execute("UPDATE message SET data = '[1' WHERE id = ?", (worse,))
    file.session(parent=session)
    taken = take(file)
    assert taken.codes == ["malformed_row"] * 2
    assert f"part {bad} is damaged" in str(taken.session.problems[0])
    assert [note["entry"] for note in of_type(taken, "note") if note["kind"] == "damaged"] == [
        '{"type": ',
        "[1",
    ]
    assert ("text_complete", "Hello.") in told(taken)


def test_a_compaction_and_the_tail_that_it_keeps(file: OpenCodeFile) -> None:
    session = file.session()
    file.said(session, file.prompt(session, "one"), "First.")
    kept = file.prompt(session, "two")
    file.said(session, kept, "Second.")
    marker = file.prompt(session, {"type": "compaction", "auto": True, "tail_start_id": kept})
    file.said(session, marker, "What was done.", summary=True, mode="compaction")
    file.said(session, file.prompt(session, "three"), "Third.")
    taken = take(file)
    assert [text for text in taken.texts() if "What was done." not in text] == [
        "two",
        "Second.",
        "three",
        "Third.",
    ]
    assert "What was done." in taken.texts()[0]


def test_a_compaction_of_all(file: OpenCodeFile) -> None:
    session = file.session()
    file.said(session, file.prompt(session, "one"), "First.")
    marker = file.prompt(session, {"type": "compaction", "auto": False})
    file.said(session, marker, "What was done.", summary=True)
    file.said(session, file.prompt(session, "three"), "Third.")
    texts = take(file).texts()
    assert len(texts) == 3
    assert "What was done." in texts[0]


@pytest.mark.parametrize("whole", [True, False])
def test_what_was_reverted_is_retracted(file: OpenCodeFile, whole: bool) -> None:
    growth, session = Growth(file), file.session()
    file.said(session, file.prompt(session, "one"), "First.")
    second = file.prompt(session, "two")
    name, part = file.called(session, second, "read", completed("out"))
    file.put(session, name, type="text", text="Second.", time={"start": 1, "end": 2})
    file.answer(session, second, name, completed=True, finish="stop")
    third = file.prompt(session, "three")
    file.said(session, third, "Third.")
    growth.look()
    file.session(session, revert={"messageID": second} if whole else {"messageID": name, "partID": part})
    taken = growth.look()
    (retraction,) = of_type(taken, "retraction")
    assert retraction.get("turn_ids") == ([second, third] if whole else [third])
    assert taken.texts() == (["one", "First."] if whole else ["one", "First.", "two"])


def test_sub_agents_are_lanes_of_the_calls_that_started_them(file: OpenCodeFile) -> None:
    growth, session = Growth(file), file.session()
    prompt = file.prompt(session, "do it")
    child = file.session(parent=session)
    running = {**RUNNING, "metadata": {"sessionId": child}}
    name, part = file.called(session, prompt, "task", running)
    growth.look()
    asked = file.prompt(child, "look around")
    growth.look()
    inner = file.session(parent=child)
    step, call = file.called(child, asked, "task", {**RUNNING, "metadata": {"sessionId": inner}})
    file.said(inner, file.prompt(inner, "deeper"), "Deep.")
    growth.look()
    file.call(child, step, "task", completed("Deep.", metadata={"sessionId": inner}), call)
    file.answer(child, asked, step, completed=True, finish="tool-calls")
    growth.look()
    file.said(child, asked, "All is well.")
    growth.look()
    file.call(session, name, "task", completed("All is well.", metadata={"sessionId": child}), part)
    file.answer(session, prompt, name, completed=True, finish="tool-calls")
    growth.look()
    # the same sub-agent is asked once more
    again, more = file.called(session, prompt, "task", running)
    file.said(child, file.prompt(child, "and now?"), "Still well.")
    growth.look()
    file.call(session, again, "task", completed("Still well.", metadata={"sessionId": child}), more)
    file.answer(session, prompt, again, completed=True, finish="tool-calls")
    file.said(session, prompt, "Done.")
    taken = growth.look()
    assert list(taken.own) == [session]
    lanes = [
        (event.agent_id, event.parent_tool_call_id, said(event))
        for event in taken.events()
        if event.agent_id is not None and event.type in ("user_message", "text_complete")
    ]
    assert lanes == [
        (child, f"call_{part}", "look around"),
        (inner, f"call_{call}", "deeper"),
        (inner, f"call_{call}", "Deep."),
        (child, f"call_{part}", "All is well."),
        (child, f"call_{more}", "and now?"),
        (child, f"call_{more}", "Still well."),
    ]
    assert {event.turn_id for event in taken.events() if event.turn_id} == {prompt}
    assert [event["origin"] for event in of_type(taken, "user_message")[1:]] == ["runtime"] * 3
    assert [text for text in taken.texts() if "Deep" in text or "look around" in text] == []


def in_folders(file: OpenCodeFile, storage: Path) -> Path:
    """The database's sessions as OpenCode up to 1.1 stored them; where the files of sessions lie."""
    rows = file.connection.execute("SELECT id, parent_id, time_created FROM session").fetchall()
    for name, parent, created in rows:
        info = {"id": name, "projectID": "p", "directory": "/home/dev/project", "time": {"created": created}}
        stored(storage / "session" / "p" / name, {**info, **({"parentID": parent} if parent else {})})
    for name, session, data in file.connection.execute("SELECT id, session_id, data FROM message"):
        stored(storage / "message" / session / name, {"id": name, "sessionID": session, **json.loads(data)})
    for name, message, data in file.connection.execute("SELECT id, message_id, data FROM part"):
        stored(storage / "part" / message / name, {"id": name, "messageID": message, **json.loads(data)})
    return storage / "session" / "p"


def stored(path: Path, value: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".json").write_text(json.dumps(value))


def test_the_folders_of_older_versions_give_what_a_database_gives(file: OpenCodeFile, tmp_path: Path) -> None:
    session = file.session()
    child, alone = file.session(parent=session), file.session(parent=session)
    prompt = file.prompt(session, "go")
    for number in (1, 2):
        done = completed(f"out {number}", metadata={"sessionId": child})
        name, _ = file.called(session, prompt, "task", done)
        file.answer(session, prompt, name, completed=True, finish="tool-calls")
        file.said(child, file.prompt(child, f"look {number}"), f"Seen {number}.")
    file.said(session, prompt, "Done.")
    file.said(alone, file.prompt(alone, "hi"), "Hello.")
    folder = in_folders(file, tmp_path / "storage")
    whole = take(file)
    names = {"source"}
    for name in (session, alone):
        taken = take_file(folder / f"{name}.json")
        both = [
            [{key: it for key, it in to_json(event).items() if key not in names} for event in one.events(name)]
            for one in (whole, taken)
        ]
        assert both[0] == both[1]
        assert len(both[0]) > 5
    assert take_file(folder / f"{child}.json").own == {}, "it is in its parent's"


def test_what_is_no_message_in_an_export_is_kept(tmp_path: Path) -> None:
    info = {"id": "ses_1", "projectID": "p", "directory": "/d"}
    user = {"role": "user", "id": "msg_1", "sessionID": "ses_1", "time": {"created": 1}}
    parts = ["torn", {"type": "text", "text": "hi", "id": "prt_1"}]
    messages: list[Any] = [{"parts": []}, 7, {"info": user, "parts": parts}]
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"info": info, "messages": messages}))
    taken = take_file(path)
    assert taken.codes == ["malformed_row", "not_an_object", "not_an_object"]
    assert [note["entry"] for note in of_type(taken, "note")[1:]] == ['{"parts":[]}', "7", '"torn"']
    assert taken.texts() == ["hi"]


def test_many_sessions_are_many_conversations(file: OpenCodeFile) -> None:
    sessions = [file.session() for _ in range(3)]
    for name in sessions:
        file.said(name, file.prompt(name, f"hello {name}"), "Hi.")
    orphan = file.session(parent="ses_gone")
    file.said(orphan, file.prompt(orphan, "alone"), "Hm.")
    unnamed = file.session(parent=sessions[0])
    file.said(unnamed, file.prompt(unnamed, "by a command"), "Hm.")
    file.session(sessions[1])  # touched last
    taken = take(file)
    assert list(taken.own) == [*sessions, orphan, unnamed]
    assert taken.session.current == sessions[1]
    assert of_type(taken, "note")[0]["entry"]["id"] == sessions[0]
    for name, own in taken.own.items():
        assert {(record.event.source or {})["session"] for record in own} == {name}


@pytest.mark.parametrize("lane", [False, True])
@pytest.mark.parametrize(
    "provider", ["anthropic", "openai-chat", "gemini", "bedrock", "openai-responses", "ai-sdk"]
)
def test_whatever_happened_it_can_be_sent(file: OpenCodeFile, provider: str, lane: bool) -> None:
    session = file.session()
    child = file.session(parent=session)
    prompt = file.prompt(
        session, "go", {"type": "file", "mime": "text/plain", "url": "file:///x", "filename": "x"}
    )
    task = completed("out", metadata={"sessionId": child})
    name, _ = file.called(session, prompt, "task", task)
    file.call(
        session, name, "bash", {"status": "error", "input": {}, "error": "no", "time": {"start": 1, "end": 2}}
    )
    file.answer(session, prompt, name, completed=True, finish="tool-calls")
    asked = file.prompt(child, "look")
    file.called(child, asked, "read", RUNNING)
    crashed, _ = file.called(session, prompt, "bash", RUNNING)
    file.put(session, crashed, type="text", text="Hel", time={"start": 1})
    second = file.prompt(session, "again")
    gone, _ = file.called(session, second, "bash", {"status": "pending", "input": {}, "raw": ""})
    file.answer(session, second, gone, completed=True, error={"name": "MessageAbortedError", "data": {}})
    marker = file.prompt(session, {"type": "compaction", "auto": True, "tail_start_id": second})
    file.said(session, marker, "So far.", summary=True)
    file.prompt(session, {"type": "text", "text": "Continue", "synthetic": True})
    taken = take(file)
    lanes = {event.agent_id for event in taken.events()} - {None}
    assert lanes == {child}
    target = {"provider": provider, "model": "m"}
    found = replay(taken.whole(), session, target, Options(agent_id=child if lane else None))
    assert violations(target, found.request, sendable=found.sendable) == []
    assert rows(taken.whole(), session)


def test_ids_that_begin_anew_do_not_change_the_order(file: OpenCodeFile) -> None:
    """Ids hold 36 bits of the time in milliseconds: they fall back every 795 days."""
    session = file.session()
    file.message({"id": "msg_fff", "sessionID": session, "role": "user", "time": {"created": 1}})
    file.put(session, "msg_fff", type="text", text="before")
    file.message({"id": "msg_000", "sessionID": session, "role": "user", "time": {"created": 2}})
    file.put(session, "msg_000", type="text", text="after")
    assert take(file).texts() == ["before", "after"]
