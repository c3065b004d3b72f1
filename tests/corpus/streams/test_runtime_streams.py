"""The recorded streams of pi, Claude Code and Codex: exactly what each one gives, whole, cut and damaged."""

from __future__ import annotations

import functools
import json
import random
from typing import Any

import pytest

from ledger import Ledger
from ledger.admission import parse_line
from ledger.intake.lines import split_lines
from ledger.intake.pydantic_ai.run import Run
from ledger.intake.streams import STREAMS
from ledger.recorded import RecordedEvent
from ledger.stream_recorder import StreamRecorder, Summary
from ledger.turns import Recording, StreamStamps
from ledger.turns.encoding import encoded
from replay import replay
from tests.conformance import SHARED, needs_shared
from tests.corpus.streams.runtime_expected import EXPECTED
from tests.streams import Taken, check_sound, take

pytestmark = needs_shared

FIXTURES = SHARED / "fixtures"
RUNTIMES = {
    "pi": "pi",
    "claude-code-stream": "claude-code",
    "codex-exec": "codex-exec",
    "openai-agents": "openai-agents",
    "pydantic-ai": "pydantic-ai",
}
NAMES = sorted(EXPECTED)
each_file = pytest.mark.parametrize("name", NAMES)


def runtime_of(name: str) -> str:
    return RUNTIMES[name.partition("/")[0]]


@functools.cache
def bytes_of(name: str) -> bytes:
    return (FIXTURES / name).read_bytes()


@functools.cache
def whole(name: str) -> Taken:
    return take(runtime_of(name), bytes_of(name))


def records_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in bytes_of(name).split(b"\n") if line]


def test_every_file_is_expected() -> None:
    there = [*FIXTURES.glob("pi/streams/*/*.jsonl")]
    there += [
        *FIXTURES.glob("claude-code-stream/*"),
        *FIXTURES.glob("codex-exec/*"),
        *FIXTURES.glob("pydantic-ai/*.jsonl"),
        *FIXTURES.glob("openai-agents/*.jsonl"),
    ]
    names = {str(path.relative_to(FIXTURES)) for path in there if "timeline" not in path.name}
    assert names == set(EXPECTED)


@each_file
def test_what_it_gives(name: str) -> None:
    these, expected = whole(name), EXPECTED[name]
    assert len(these.of("turn_start")) == len(expected.ends)
    assert these.ends == expected.ends
    assert len(these.steps) == expected.steps
    assert [tool for _, tool, _ in these.calls] == expected.calls
    assert (
        len([result for result in these.of("tool_result") if result.get("final") is not False])
        == expected.results
    )
    for said, beginnings in ((these.texts, expected.texts), (these.thoughts, expected.thoughts)):
        assert len(said) == len(beginnings), said
        assert all(map(str.startswith, said, beginnings)), said
    assert these.notes("raw") == these.notes("broken line") == []
    check_sound(these)


@each_file
def test_any_chunks_give_the_same_events(name: str) -> None:
    data = bytes_of(name)
    chance = random.Random(name)
    chunks, at = [], 0
    while at < len(data):
        size = chance.choice((1, 2, 7, 100, 4096)) if len(data) < 20_000 else chance.randint(1, 9000)
        chunks.append(data[at : at + size])
        at += size
    assert take(runtime_of(name), chunks).events == whole(name).events


def completed(these: Taken) -> dict[str, Any]:
    """Blocks that were complete when they were written, by id."""
    kinds = ("thinking_complete", "text_complete", "tool_start", "tool_result", "compaction", "user_message")
    return {event["id"]: event for event in these.of(*kinds) if not event.get("partial")}


@each_file
def test_cut_anywhere(name: str) -> None:
    """No cut raises, every turn keeps one end, and what was recorded before the cut stays word for word."""
    data, runtime = bytes_of(name), runtime_of(name)
    ends = [place + 1 for place, byte in enumerate(data) if byte == 10]
    chance = random.Random(name)
    few = max(1, len(ends) * len(data) // 1_500_000)
    for place in [*ends[::few], *(chance.randrange(len(data)) for _ in range(8 if few == 1 else 2))]:
        cut = take(runtime, data[:place])
        check_sound(cut)
        kept, all_of_it = completed(cut), completed(whole(name))
        for event_id in kept.keys() & all_of_it.keys():
            assert all_of_it[event_id] == kept[event_id]
        before = [
            event["id"] for event in cut.events if event["id"] in {other["id"] for other in whole(name).events}
        ]
        assert before == [event["id"] for event in whole(name).events if event["id"] in set(before)]
        said, ran = told_whole(data[:place])
        assert said <= set(cut.texts) | set(cut.thoughts), said - set(cut.texts)
        assert ran <= {call_id for call_id, _, _ in cut.calls}


def told_whole(data: bytes) -> tuple[set[str], set[str]]:
    """Texts and thoughts, and calls that ran, which the whole lines of a stream tell as complete."""
    said: set[str] = set()
    ran: set[str] = set()
    for line in data.split(b"\n")[:-1]:
        record = json.loads(line)
        kind, item = record.get("type") or record["event_kind"], record.get("item", {})
        blocks: list[dict[str, Any]] = []
        made = record["data"].get("item") if kind == "raw_response_event" else None
        if made and record["data"]["type"] == "response.output_item.done":
            blocks = made.get("content") or made.get("summary") or []
        elif record.get("name") == "tool_output":
            ran.add(item["raw_item"]["call_id"])
        elif kind == "assistant" and record["message"]["model"] != "<synthetic>":
            blocks = record["message"]["content"]
            ran |= {block["id"] for block in blocks if block["type"] == "tool_use"}
        elif kind == "message_end" and record["message"]["role"] == "assistant":
            blocks = record["message"]["content"]
        elif kind == "part_end":
            blocks = [{"text": record["part"]["content"]}] if "content" in record["part"] else []
        elif kind == "function_tool_call":
            ran.add(record["part"]["tool_call_id"])
        elif kind == "tool_execution_start":
            ran.add(record["toolCallId"])
        elif item.get("type") in ("agent_message", "reasoning") and kind == "item.completed":
            said.add(item["text"])
        elif kind == "item.started":
            ran.add(item["id"])
        said |= {
            block.get("text") or block.get("thinking") or "" for block in blocks if not block.get("redacted")
        }
    return said - {""}, ran


@each_file
def test_a_broken_line_costs_itself(name: str) -> None:
    lines, runtime = bytes_of(name).split(b"\n"), runtime_of(name)
    chance = random.Random(name)
    for _ in range(3):
        at = chance.randrange(len(lines))
        broken = [*lines[:at], b'{"type":"text-delta", "\xff', *lines[at:]]
        these = take(runtime, b"\n".join(broken))
        (note,) = these.notes("broken line")
        assert note["line"] == at + 1
        assert "\ufffd" in note["bytes"]
        assert note["normalized"] == ["bytes"]
        assert (these.texts, these.calls, these.ends) == (
            whole(name).texts,
            whole(name).calls,
            whole(name).ends,
        )
        check_sound(these)


def test_damage_at_random(long_run: bool) -> None:
    """Bytes flipped, lines lost, doubled and swapped: never an exception, always one end a turn."""
    chance = random.Random(3)
    for name in NAMES:
        data = bytes_of(name)
        if len(data) > 60_000 and not long_run:
            continue
        for _ in range(60 if long_run else 8):
            lines = data.split(b"\n")
            for _ in range(chance.randint(1, 4)):
                at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
                what = chance.choice(("lose", "double", "swap", "flip", "halve"))
                if what == "lose":
                    lines[at] = b""
                elif what == "double":
                    lines.insert(at, lines[other])
                elif what == "swap":
                    lines[at], lines[other] = lines[other], lines[at]
                elif what == "halve":
                    lines[at] = lines[at][: len(lines[at]) // 2]
                elif lines[at]:
                    place = chance.randrange(len(lines[at]))
                    flipped = bytes([lines[at][place] ^ (1 << chance.randrange(8))])
                    lines[at] = lines[at][:place] + flipped + lines[at][place + 1 :]
            check_sound(take(runtime_of(name), b"\n".join(lines)))


# -- what the streams restate themselves


def restated_by_pi(name: str) -> list[dict[str, Any]]:
    """The messages of every `agent_end` that a later run did not replace, in the neutral form."""
    said: list[dict[str, Any]] = []
    run: list[dict[str, Any]] = []
    for record in records_of(name):
        if record["type"] == "agent_end":
            run = record["messages"]
            last = [message for message in run if message["role"] == "assistant"][-1]
            said += run[:-1] if last["stopReason"] == "error" else run
    messages: list[dict[str, Any]] = []
    for message in said:
        role, parts = message["role"], message["content"]
        if role == "user":
            messages.append({"role": "user", "content": parts})
        elif role == "assistant":
            content = [part for block in parts if (part := neutral(block)) is not None]
            if message["stopReason"] == "aborted":  # calls that never ran are dropped (DESIGN.md 5)
                content = [part for part in content if part["type"] != "tool_call"]
            messages += [{"role": "assistant", "content": content}] if content else []
        elif role == "toolResult":
            answer = {
                "type": "tool_result",
                "tool_call_id": message["toolCallId"],
                "content": parts,
                "is_error": message["isError"],
            }
            if messages[-1]["role"] == "tool":
                messages[-1]["content"].append(answer)
            else:
                messages.append({"role": "tool", "content": [answer]})
    return messages


def neutral(block: dict[str, Any]) -> dict[str, Any] | None:
    kind = block["type"]
    if kind == "text":
        return {"type": "text", "text": block["text"]} if block["text"] else None
    if kind == "toolCall":
        named = {"tool_call_id": block["id"], "tool_name": block["name"], "args": block["arguments"]}
        return {"type": "tool_call", **named}
    if block.get("redacted"):
        return {"type": "thinking", "text": "", "redacted_data": block["thinkingSignature"]}
    if not block["thinking"]:
        return None
    told = {"type": "thinking", "text": block["thinking"]}
    signed = block.get("thinkingSignature")
    return {**told, "signature": signed} if signed and signed != "reasoning_content" else told


AGENT_ENDS = [
    name
    for name in NAMES
    if name.startswith("pi/")
    and not any(
        mark in name for mark in ("compaction", "no-credentials", "control", "stdin-closed", "exhausted")
    )
    and not any(
        mark in name for mark in ("error-nonretryable", "abort-retry-in-delay", "cut-midstream-retried")
    )
]


@pytest.mark.parametrize("name", AGENT_ENDS)
def test_the_neutral_replay_is_what_agent_end_restates(name: str) -> None:
    replayed = [message for message in whole(name).replay().messages if message["role"] != "system"]
    told = [
        {
            **message,
            "content": [
                {key: value for key, value in part.items() if value is not None} for part in message["content"]
            ]
            if isinstance(message["content"], list)
            else message["content"],
        }
        for message in replayed
        if "noted abc" not in json.dumps(message["content"])  # of no run: an extension put it in
    ]
    assert told == restated_by_pi(name)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("claude")])
def test_the_last_text_of_a_turn_is_what_its_result_restates(name: str) -> None:
    these = whole(name)
    results = [record for record in records_of(name) if record["type"] == "result"]
    for turn, result in zip(these.of("turn_start"), results, strict=False):
        if result["is_error"] or not result["result"]:
            continue
        mine = [
            event["text"]
            for event in these.of("text_complete")
            if event["turn_id"] == turn["turn_id"] and "agent_id" not in event
        ]
        assert mine[-1] == result["result"]


def test_partial_messages_say_the_same_as_whole_ones() -> None:
    """Two runs of one script, with and without partial messages: only ids, times and counts differ."""
    with_parts, without = (whole(f"claude-code-stream/v2.1.332-{name}.jsonl") for name in ("partial", "fix"))
    assert with_parts.texts == without.texts
    assert with_parts.thoughts == without.thoughts
    assert [(name, set(args)) for _, name, args in with_parts.calls] == [
        (name, set(args)) for _, name, args in without.calls
    ]
    places = [[event["block_index"] for event in these.of("tool_start")] for these in (with_parts, without)]
    assert places[0] == places[1]
    counted = [event["usage"]["output"] for event in with_parts.of("step_finish")]
    (turn,) = without.of("token_usage")
    assert sum(counted) == turn["usage"]["output"] == 477
    assert with_parts.of("token_usage") == []


def in_neutral_form(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages of pydantic-ai, in the neutral form."""
    told: list[dict[str, Any]] = []
    for message in messages:
        content: list[dict[str, Any]] = []
        for part in message["parts"]:
            kind = part["part_kind"]
            if kind == "user-prompt":
                told.append({"role": "user", "content": [{"type": "text", "text": part["content"]}]})
            elif kind == "text":
                content.append({"type": "text", "text": part["content"]})
            elif kind == "thinking":
                content.append({"type": "thinking", "text": part["content"], "signature": part["signature"]})
            elif kind == "tool-call":
                named = {"tool_call_id": part["tool_call_id"], "tool_name": part["tool_name"]}
                args = json.loads(part["args"]) if isinstance(part["args"], str) else part["args"]
                content.append({"type": "tool_call", **named, "args": args})
            else:
                answer = {"tool_call_id": part["tool_call_id"], "content": part["content"]}
                content.append({"type": "tool_result", **answer, "is_error": part["outcome"] != "success"})
        if content:
            told.append({"role": "assistant" if message["kind"] == "response" else "tool", "content": content})
    return told


def test_the_neutral_replay_is_the_history_that_the_run_returns() -> None:
    name = "pydantic-ai/v2.68-run-stream-events.jsonl"
    history = records_of(name)[-1]["result"]["_state"]["message_history"]
    asked, *rest = in_neutral_form(history)
    assert whole(name).replay().messages == rest
    (note,) = whole(name).notes("prompt")
    assert note["entry"]["parts"][0]["content"] == asked["content"][0]["text"]
    (first, *_) = [event["usage"] for event in whole(name).of("token_usage")]
    assert {key: first[key] for key in ("input", "cache_read", "cache_write", "output", "reasoning")} == {
        "input": 12,
        "cache_read": 9000,
        "cache_write": 1500,
        "output": 128,
        "reasoning": 0,
    }


def test_messages_alone_tell_a_run_too() -> None:
    """Two runs by their messages, without events."""
    messages = json.loads((FIXTURES / "pydantic-ai/v2.68-messages-2turns.json").read_text())
    written: list[Any] = []
    recording = Recording("c", StreamStamps("pydantic-ai"), sink=written.append)
    for run_id in dict.fromkeys(message["run_id"] for message in messages):
        run = Run(recording.begin_turn(runtime="pydantic-ai"))
        run.messages([message for message in messages if message["run_id"] == run_id])
        assert recording.running is not None
        recording.running.complete(run.stop_reason)
    events = [parse_line(encoded(event).body) for event in written]
    records = [RecordedEvent.of(event, version) for version, event in enumerate(events, 1)]
    assert replay(records, "c", "neutral").messages == in_neutral_form(messages)
    assert [event.type for event in events].count("step_finish") == sum(
        m["kind"] == "response" for m in messages
    )


def test_a_sub_agent_has_its_own_lane() -> None:
    these = whole("claude-code-stream/v2.1.332-subagent.jsonl")
    lane = [event for event in these.events if event.get("agent_id")]
    assert {event["agent_id"] for event in lane} == {"ad71f656c4b76a467"}
    assert {event["parent_tool_call_id"] for event in lane} == {"toolu_0100060001AAAAAAAAAAAAAAAA"}
    assert [event["text"] for event in lane if event["type"] == "text_complete" and event["text"]] == [
        "2 Python files."
    ]
    assert [event["tool_name"] for event in lane if event["type"] == "tool_start"] == ["Bash"]


# -- stored


def record(ledger: Ledger, conversation: str, name: str, data: bytes) -> Summary:
    runtime = runtime_of(name)
    recorder = StreamRecorder(ledger, conversation, runtime, STREAMS[runtime])
    for line in split_lines([data]):
        recorder.line(line)
    recorder.caught_up()
    return recorder.end("eof")


def test_recording_twice_adds_nothing(ledger: Ledger) -> None:
    """Every file, on each engine: all events stored once, the second time all known."""
    for name in NAMES:
        conversation = name.replace("/", ".")
        first = record(ledger, conversation, name, bytes_of(name))
        stored = [(event.event_id, event.body) for event in ledger.read(conversation)]
        assert [event_id for event_id, _ in stored] == [event["id"] for event in whole(name).events]
        again = record(ledger, conversation, name, bytes_of(name))
        assert (first.added, again.added, again.differing) == (len(stored), 0, 0)
        assert [(event.event_id, event.body) for event in ledger.read(conversation)] == stored


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("codex-exec/v0.171.0-fix.jsonl", "codex-exec/v0.171.0-resume.jsonl"),
        ("claude-code-stream/v2.1.332-fix.jsonl", "claude-code-stream/v2.1.332-resume.jsonl"),
        (
            "pi/streams/0.80.10/rpc.two-turns.stdout.jsonl",
            "pi/streams/0.80.10/rpc.threshold-compaction.stdout.jsonl",
        ),
    ],
)
def test_a_session_that_is_resumed_goes_on_in_the_same_conversation(
    ledger: Ledger, first: str, second: str
) -> None:
    for name in (first, second):
        record(ledger, "c", name, bytes_of(name))
    told = [event.event for event in ledger.read("c")]
    turns = [event.turn_id for event in told if event.type == "turn_start"]
    assert len(turns) == len(set(turns)) == len(EXPECTED[first].ends) + len(EXPECTED[second].ends)
    assert len({event.turn_id for event in told if event.type == "complete"}) == len(turns)


def test_there_are_many() -> None:
    assert len(NAMES) > 50
